"""Nothing is compiled once clients may come, and nothing loaded that no warm-up knows."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import carla
import numpy as np
import pytest

from harness.carlite import compiled, warm_start
from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.server import COMPILING_LINES_EVERY, CompilationNotice
from harness.carlite.wire import snapshot
from tests.carlite.byte_client import Raw
from tests.carlite.opendrive_samples import crossing, straight_road
from tests.carlite.test_replies_actors import MODEL3, spawn
from tests.conftest import Carlite

FIRST_START = "compiling for this machine, once; this can take a minute or two"
"""What a server prints before its ready line if no other has compiled here."""
SENSORS = (
    "sensor.camera.rgb",
    "sensor.camera.depth",
    "sensor.camera.semantic_segmentation",
    "sensor.camera.instance_segmentation",
    "sensor.lidar.ray_cast",
    "sensor.lidar.ray_cast_semantic",
    "sensor.other.radar",
    "sensor.other.obstacle",
    "sensor.other.gnss",
    "sensor.other.imu",
    "sensor.other.collision",
)


def play(client: carla.Client, world: carla.World) -> None:
    """Let a bit of everything happen: traffic, walkers, crashes, triggers, sensors, rays."""
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    points = world.get_map().get_spawn_points()
    car = spawn(world, MODEL3, points[0])
    listening = [spawn(world, name, carla.Transform(), car) for name in SENSORS]
    for sensor in listening:
        assert isinstance(sensor, carla.Sensor)
        sensor.listen(lambda data: None)
    spawn(world, "static.trigger.friction", points[0], friction="0.2", extent_x="3000")
    spawn(world, "static.prop.streetbarrier", carla.Transform(points[1].location))
    batch = [
        carla.command.SpawnActor(blueprint, point).then(
            carla.command.ApplyVehicleControl(
                carla.command.FutureActor, carla.VehicleControl(throttle=1.0, steer=0.3)
            )
        )
        for blueprint, point in zip(
            itertools.cycle(world.get_blueprint_library().filter("vehicle.*")), points, strict=False
        )
    ]
    # A batch that ticks would hold Python's lock, which the sensors' callbacks wait for.
    client.apply_batch_sync(batch[:20], False)
    world.tick()
    somewhere = world.get_random_location_from_navigation()
    above = carla.Transform(points[0].location + carla.Location(z=4.0))
    walker = spawn(world, "walker.pedestrian.0001", above)
    assert isinstance(walker, carla.Walker)
    walker.apply_control(carla.WalkerControl(carla.Vector3D(1, 0, 0), 2.0, True))
    for vehicle in world.get_actors().filter("vehicle.*"):
        vehicle.set_simulate_physics(True)
        vehicle.add_impulse(carla.Vector3D(500, 500, 0))
    world.cast_ray(points[0].location, somewhere or points[1].location)
    world.project_point(points[0].location, carla.Vector3D(0, 0, -1), 10.0)
    world.ground_projection(points[0].location, 10.0)
    for _ in range(30):
        world.tick()
    for sensor in listening:
        assert isinstance(sensor, carla.Sensor)
        sensor.stop()
    world.apply_settings(carla.WorldSettings())


@pytest.mark.thorough
def test_nothing_is_compiled_in_mid_session() -> None:
    with Carlite() as server:
        client = server.client(60.0)
        play(client, client.get_world())
        play(client, client.load_world("CrucibleHill"))
        uploaded = crossing().replace("</OpenDRIVE>", f"<!-- {server.port} --></OpenDRIVE>")
        parameters = carla.OpendriveGenerationParameters()
        play(client, client.generate_opendrive_world(uploaded, parameters))
        # a town without lights or signs, where the spectator is alone
        client.generate_opendrive_world(straight_road(120.0), parameters).tick()
        with Raw(server) as raw:
            raw.reply("no_such_call", "long" * 1_000_000)
        lines = server.log().splitlines()
    is_start = re.compile(f"{re.escape(FIRST_START)}$|function .* is being compiled, after")
    assert [line for line in lines if not is_start.search(line)] == []


def test_one_actor_is_packed_by_the_code_that_packs_several() -> None:
    """An array of one record may have another type than one of several: see `VEHICLE_RECORD`."""
    kernels = [snapshot._write_actors, snapshot._write_vehicles, snapshot._write_walkers]
    for count in (5, 1):
        table = ActorTable()
        for actor in range(count):
            table.add_actor(actor + 1, kind=ActorKind.VEHICLE)
        snapshot.pack_actors(table, np.zeros(0, np.int64), np.zeros(0, snapshot.SIGNAL))
        signatures: list[Any] = [kernel.signatures for kernel in kernels]  # type: ignore[attr-defined]
        assert list(map(len, signatures)) == [1, 1, 1]


def test_a_start_without_warm_up_expects_what_one_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compiled, "FOLDER", tmp_path)
    assert warm_start.read_list() == frozenset()
    needed = {"one-0a": "lookup.nearest(float64)", "two-0b": "lookup.height(float64)"}
    # what is not on disk is compiled at every start: the warm-up stays
    (tmp_path / "one-0a").touch()
    warm_start.write_list(needed)
    assert warm_start.read_list() == frozenset()
    (tmp_path / "two-0b").touch()
    warm_start.write_list(needed)
    assert warm_start.read_list() == set(needed.values())
    notice = CompilationNotice()
    notice.expected, notice.is_ready = warm_start.read_list(), True
    notice("lookup.nearest(float64)", True)
    assert capsys.readouterr().err == ""
    notice("lookup.nearest(int64)", True)
    notice("lookup.height(float64)", False)
    assert capsys.readouterr().err.splitlines() == [
        "carlite: loaded lookup.nearest in mid-session",
        "carlite: compiling lookup.height in mid-session",
    ]


@pytest.mark.parametrize("damage", [b"", b"[1]", b"{}", b"\xff", b'{"one-0a": 3}', None])
def test_a_damaged_list_is_none(
    damage: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "FOLDER", tmp_path)
    (tmp_path / "one-0a").touch()
    warm_start.write_list({"one-0a": "lookup.nearest(float64)"})
    assert warm_start.read_list()
    if damage is None:  # a function that was removed
        (tmp_path / "one-0a").unlink()
    else:
        warm_start.build_list_path().write_bytes(damage)
    assert not {*warm_start.read_list()} & {"lookup.nearest(float64)"}


@pytest.mark.thorough
def test_the_notice_is_printed_once_and_only_when_something_is_compiled(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 0.0
    notice = CompilationNotice(clock=lambda: now)
    notice("lookup.nearest(float64)", True)
    assert capsys.readouterr().err == ""
    notice("lookup.nearest(float64)", False)
    notice("lookup.height(float64)", False)
    (line,) = capsys.readouterr().err.splitlines()
    assert "compiling for this machine, once" in line
    now = COMPILING_LINES_EVERY + 3.0
    notice("lookup.nearest(int64)", False)
    notice("lookup.height(int64)", False)
    assert capsys.readouterr().err.splitlines() == [
        "carlite: function 3 is being compiled, after 33 s"
    ]
    notice.is_ready = True
    notice("lookup.nearest(float64)", False)
    notice("lookup.height(float64)", True)
    assert capsys.readouterr().err.splitlines() == [
        "carlite: compiling lookup.nearest in mid-session",
        "carlite: loaded lookup.height in mid-session",
    ]
