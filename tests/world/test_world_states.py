"""A recorded world comes back as it was written, and is shown again to the pixel."""

from __future__ import annotations

import math
from pathlib import Path

import carla
import numpy as np
import pytest
from numpy.typing import NDArray

from harness.common.errors import AttemptError, UserError
from harness.common.world_states import (
    WorldState,
    get_world_file,
    read_world_state,
    write_world_state,
)
from harness.types.vocabulary import Singles
from harness.world.rig import RIGS, ScanningPost, read_rig
from harness.world.world_states import WorldReader, make_transform, open_stage
from tests.conftest import Carlite, synchronous
from tests.world.little_worlds import make_little_world
from tests.world.staging import context_of

RIG = read_rig(RIGS / "v2xverse_cameras.yaml")
CAMERAS = RIG.place_cameras("vehicle")
CARS = ("vehicle.tesla.model3", "vehicle.mitsubishi.fusorosa", "vehicle.gazelle.omafiets")
PUT_IN = "vehicle.volkswagen.t2"
LOW_BEAM = carla.VehicleLightState.LowBeam
DUSK = carla.WeatherParameters(sun_altitude_angle=-4.0, sun_azimuth_angle=60.0)


def test_a_state_comes_back(tmp_path: Path) -> None:
    state = make_little_world()
    write_world_state(tmp_path, "000003", state)
    read = read_world_state(tmp_path, "000003")
    assert read is not None
    assert read.blueprints == state.blueprints
    assert dict(read.weather) == dict(state.weather)
    for name in ("actors", "poses", "lamps", "signals", "hidden"):
        np.testing.assert_array_equal(getattr(read, name), getattr(state, name))
    assert read.cameras.keys() == state.cameras.keys()
    for agent, poses in state.cameras.items():
        np.testing.assert_array_equal(read.cameras[agent], poses)
    assert read_world_state(tmp_path, "000004") is None
    # equal states, equal bytes
    bytes_before = get_world_file(tmp_path, "000003").read_bytes()
    write_world_state(tmp_path, "000003", read)
    assert get_world_file(tmp_path, "000003").read_bytes() == bytes_before


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("poses", np.zeros((2, 6), np.float32), "do not fit together"),
        ("poses", np.full((3, 6), np.nan, np.float32), "not finite"),
        ("kinds", np.array([0, 1, 9]), "without a name"),
        ("actors", np.array([11, 11, 40]), "ascend"),
        ("counts", np.array([5, 5]), "do not fit to agents"),
        ("texts", np.frombuffer(b"{]", np.uint8), "state of a recorded world"),
    ],
)
def test_a_broken_state_is_refused(
    tmp_path: Path, name: str, value: NDArray[np.generic], why: str
) -> None:
    write_world_state(tmp_path, "000000", make_little_world())
    file = get_world_file(tmp_path, "000000")
    with np.load(file) as arrays:
        kept = {key: arrays[key] for key in arrays.files}
    np.savez_compressed(file, **{**kept, name: value})
    with pytest.raises(UserError, match=why):
        read_world_state(tmp_path, "000000")


def test_changes_of_a_state() -> None:
    state, pose = make_little_world(), np.ones(6, np.float32)
    more = state.add_actor(41, PUT_IN, pose)
    assert more.find_blueprint(41) == PUT_IN
    np.testing.assert_array_equal(more.get_pose(41), pose)
    assert more.remove_actor(12).actors.tolist() == [11, 40, 41]
    np.testing.assert_array_equal(state.move_actor(12, pose).get_pose(12), pose)
    assert state.actors.tolist() == [11, 12, 40]
    assert state.change_weather(cloudiness=90.0).weather["cloudiness"] == 90.0
    with pytest.raises(ValueError, match="above 40"):
        state.add_actor(40, PUT_IN, pose)


def play(carlite: Carlite, put_in: bool) -> tuple[WorldState, list[NDArray[np.uint8]], Singles]:
    """Drive cars and let people walk; return state and pictures of the last tick.

    Args:
        carlite: the server.
        put_in: whether one more car stands there in the last tick.
    """
    client = carlite.fresh_client()
    world = synchronous(client)
    world.set_weather(DUSK)
    context = context_of(client, world)
    library = world.get_blueprint_library()
    route = context.route
    actors: list[carla.Actor] = []

    def spawn(name: str, station: int, right: float, turned: float = 0.0) -> carla.Actor:
        x, y, z = route.xyz[station]
        yaw = float(route.yaw[station])
        x, y = x - right * math.sin(yaw), y + right * math.cos(yaw)
        pose = [x, y, z + 0.6, 0.0, math.degrees(yaw) + turned, 0.0]
        actors.append(world.spawn_actor(library.find(name), make_transform(pose)))
        return actors[-1]

    carrier = spawn("vehicle.lincoln.mkz_2020", 5, 0.0)
    cars = [spawn(name, 22 + 9 * n, 0.3 * n, 7.0 * n) for n, name in enumerate(CARS)]
    for n, car in enumerate((carrier, *cars)):
        control = carla.VehicleControl(throttle=0.3 + 0.1 * n, steer=0.02 * n)
        car.apply_control(control)
    cars[1].set_light_state(carla.VehicleLightState(LOW_BEAM | carla.VehicleLightState.Brake))
    walker = spawn("walker.pedestrian.0012", 18, 2.5)
    walker.apply_control(carla.WalkerControl(carla.Vector3D(0.3, 0.9, 0.0), 1.3))
    post = ScanningPost(
        context, RIG.vehicle, period=0.0, reads_points=False, carrier=carrier, cameras=CAMERAS
    )
    for _ in range(30):
        world.tick()
    # the one more stands between the others: it hides, and is hidden
    x, y, z = route.xyz[27]
    yaw = math.degrees(route.yaw[27]) + 55.0
    pose = np.array([x, y, z, 0.0, math.remainder(yaw, 360.0), 0.0], np.float32)
    if put_in:
        aloft = make_transform([0.0, 0.0, 500.0, 0.0, 0.0, 0.0])
        car = world.spawn_actor(library.find(PUT_IN), aloft)
        car.set_simulate_physics(False)
        car.set_collisions(False)
        car.set_transform(make_transform(pose))
    post.start_scanning()
    scan = post.collect_scan(world.tick())
    state = WorldReader(world).read_state(world.get_snapshot(), {7: post})
    return state, [image.pixels for image in scan.images], pose


def test_an_actor_more_is_shown_as_in_the_world_that_has_it(carlite: Carlite) -> None:
    """The stage knows the world without the car; the other world has been played with it."""
    state, before, pose = play(carlite, put_in=False)
    with_it, expected, _ = play(carlite, put_in=True)
    number = int(with_it.actors.max())
    assert with_it.find_blueprint(number) == PUT_IN
    np.testing.assert_array_equal(with_it.get_pose(number), pose)
    cameras = [
        (camera.mount, place) for camera, place in zip(CAMERAS, state.cameras[7], strict=True)
    ]
    with open_stage(carlite.host, carlite.port, carlite.town) as stage:
        again = stage.take_pictures(state, cameras)
        # ids of two episodes differ by whole periods
        shift = number - int(state.actors.max())
        alike = int(state.actors.max()) + shift % 120
        shown = stage.take_pictures(state.add_actor(alike, PUT_IN, pose), cameras, (80, 60))
        after = stage.take_pictures(state, cameras)
    changed = 0
    for one, other, there in zip(before, again.pixels, after.pixels, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, there)
    for one, other in zip(expected, shown.pixels, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(before, shown.pixels, strict=True):
        changed += int((one != other).any(axis=2).sum())
    assert changed > 1000
    assert [depth.shape for depth in shown.depths] == [(60, 80)] * len(CAMERAS)


def test_a_state_of_another_town_is_refused(carlite: Carlite) -> None:
    state = make_little_world()
    with (
        open_stage(carlite.host, carlite.port, carlite.town) as stage,
        pytest.raises(AttemptError, match="traffic lights"),
    ):
        stage.take_pictures(state, [(CAMERAS[0].mount, state.poses[0])])
