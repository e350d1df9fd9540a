"""CARLA's recorder and replayer through the real client, and its packets by themselves."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path

import carla
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.carlite.recording import queries
from harness.carlite.recording.packets import (
    HEADER,
    ROWS,
    PacketKind,
    RecordedActor,
    RecordedAttribute,
    RecordingError,
    pack_actors,
    pack_rows,
    unpack_actors,
    unpack_rows,
)
from tests.conftest import Carlite, synchronous

TICKS = 30
WORDS = st.text(max_size=8)
NUMBERS = st.floats(width=32, allow_nan=False)
VECTORS = st.tuples(NUMBERS, NUMBERS, NUMBERS)
IDS = st.integers(0, 2**32 - 1)
ACTORS = st.builds(
    RecordedActor,
    IDS,
    st.integers(0, 5),
    VECTORS,
    VECTORS,
    IDS,
    WORDS,
    st.lists(st.builds(RecordedAttribute, st.integers(0, 4), WORDS, WORDS), max_size=3).map(tuple),
)


def payload_of(packet: bytes) -> bytes:
    number, length = HEADER.unpack_from(packet)
    assert len(packet) == HEADER.size + length
    assert number in list(PacketKind)
    return packet[HEADER.size :]


@settings(max_examples=25)
@given(st.lists(ACTORS, max_size=4))
def test_actors_are_read_as_they_were_written(actors: list[RecordedActor]) -> None:
    assert unpack_actors(payload_of(pack_actors(actors))) == actors


@settings(max_examples=25)
@given(st.lists(st.tuples(IDS, *[NUMBERS] * 6), max_size=4))
def test_positions_are_read_as_they_were_written(rows: list[tuple[float, ...]]) -> None:
    packet = pack_rows(PacketKind.POSITION, rows)
    assert unpack_rows(PacketKind.POSITION, payload_of(packet)) == rows


@pytest.mark.parametrize("kind", ROWS)
def test_a_packet_that_is_too_short_is_refused(kind: PacketKind) -> None:
    with pytest.raises(RecordingError):
        unpack_rows(kind, b"\x01\x00")


def spawn_cast(world: carla.World) -> list[carla.Actor]:
    """Spawn a car that drives into a standing one, and a walker, for as long as a test lasts."""
    library, pose = world.get_blueprint_library(), world.get_map().get_spawn_points()[0]
    ahead = pose.get_forward_vector()
    car = library.find("vehicle.tesla.model3")
    car.set_attribute("role_name", "hero")
    hero = world.spawn_actor(car, pose)
    place = pose.location + carla.Location(7 * ahead.x, 7 * ahead.y, 0.0)
    other = world.spawn_actor(
        library.find("vehicle.audi.tt"), carla.Transform(place, pose.rotation)
    )
    aside = pose.location + carla.Location(-5 * ahead.y, 5 * ahead.x, 0.5)
    walker = world.spawn_actor(
        library.find("walker.pedestrian.0001"), carla.Transform(aside, pose.rotation)
    )
    sensor = world.spawn_actor(
        library.find("sensor.other.collision"), carla.Transform(), attach_to=hero
    )
    return [hero, other, walker, sensor]


def poses_of(snapshot: carla.WorldSnapshot, ids: list[int]) -> list[list[float]]:
    poses = [snapshot.find(number).get_transform() for number in ids]
    return [[p.location.x, p.location.y, p.location.z, p.rotation.yaw] for p in poses]


@pytest.fixture(scope="module")
def drive(
    target: Carlite, tmp_path_factory: pytest.TempPathFactory
) -> tuple[carla.Client, Path, list[list[list[float]]]]:
    """Record a short drive; return the client, the log, and where three actors were."""
    path = tmp_path_factory.mktemp("logs") / "drive.log"
    client = target.fresh_client()
    world = synchronous(client)
    cast = spawn_cast(world)
    hero, other, walker, _ = cast
    hero.apply_control(carla.VehicleControl(throttle=1.0))
    hero.set_light_state(carla.VehicleLightState.LowBeam)
    walker.apply_control(carla.WalkerControl(carla.Vector3D(1.0, 0.0, 0.0), 1.5))
    assert client.start_recorder(str(path), True) == str(path)
    seen = []
    for _ in range(TICKS):
        world.tick()
        seen.append(poses_of(world.get_snapshot(), [hero.id, other.id, walker.id]))
    client.stop_recorder()
    for actor in reversed(cast):
        actor.destroy()
    world.tick()
    return client, path, seen


def test_the_text_has_every_tick_in_carlas_form(
    drive: tuple[carla.Client, Path, list[list[list[float]]]],
) -> None:
    client, path, seen = drive
    text = client.show_recorder_file_info(str(path), True)
    assert text.endswith(f"\nFrames: {TICKS}\nDuration: 1.45 seconds\n")
    (hero,) = re.findall(r" Create (\d+): vehicle\.tesla\.model3 \(1\) at \(", text)
    assert f"  Id: {hero} LowBeam\n" in text
    places = re.findall(rf"  Id: {hero} Location: \((\S+), (\S+), (\S+)\)", text)
    assert len(places) == TICKS
    # six digits of centimetres
    for shown, poses in zip(places, seen, strict=True):
        assert [float(part) / 100.0 for part in shown] == pytest.approx(poses[0][:3], abs=2e-3)


def test_a_collision_is_listed_with_the_hero_first(
    drive: tuple[carla.Client, Path, list[list[list[float]]]],
) -> None:
    client, path, _ = drive
    text = client.show_recorder_collisions(str(path), "h", "v")
    assert re.search(r" v v +\d+ vehicle\.tesla\.model3 +\d+ vehicle\.audi\.tt", text)
    assert "vehicle" not in client.show_recorder_collisions(str(path), "w", "w")


def test_who_stood_still_is_listed(
    drive: tuple[carla.Client, Path, list[list[list[float]]]],
) -> None:
    client, path, _ = drive
    text = client.show_recorder_actors_blocked(str(path), 1.0, 100.0)
    assert "spectator" in text
    assert "vehicle.tesla.model3" not in text


def test_a_replay_puts_actors_where_they_were(
    drive: tuple[carla.Client, Path, list[list[list[float]]]],
) -> None:
    client, path, seen = drive
    text = client.replay_file(str(path), 0.0, 0.0, 0, False)
    assert "Replaying from 0 s - 1.45 s (1.45 s) at 1.0x" in text
    world = client.get_world()
    world.tick()
    ids = [
        world.get_actors().filter(name)[0].id
        for name in ("vehicle.tesla.model3", "vehicle.audi.tt", "walker.*")
    ]
    # a frame's poses are those at its end, and a replay begins at the first frame's start
    for poses in seen[1:20]:
        world.tick()
        for shown, was in zip(poses_of(world.get_snapshot(), ids), poses, strict=True):
            assert shown == pytest.approx(was, abs=2e-3)
    client.stop_replayer(True)
    assert len(world.get_actors().filter("vehicle.*")) == 2


def read_blocks(text: str, title: str) -> list[str]:
    """Return the lines below every title of that kind."""
    lines = text.splitlines()
    below_all: list[str] = []
    for at, line in enumerate(lines):
        if line.startswith(title):
            for below in lines[at + 1 :]:
                if not below.startswith("  "):
                    break
                below_all.append(below)
    return below_all


def test_additional_data_are_what_the_client_reads(target: Carlite, tmp_path: Path) -> None:
    """Physics, times of lights and trigger volumes, when actors come and when they change."""
    path = tmp_path / "settings.log"
    client = target.fresh_client()
    world = synchronous(client)
    hero = spawn_cast(world)[0]
    assert isinstance(hero, carla.Vehicle)
    light = world.get_actors().filter("traffic.traffic_light")[0]
    world.tick()
    client.start_recorder(str(path), True)
    world.tick()
    physics = hero.get_physics_control()
    world.tick()
    physics.mass = 1234.0
    hero.apply_physics_control(physics)
    light.set_green_time(17.5)
    for _ in range(3):
        world.tick()
    client.stop_recorder()
    text = client.show_recorder_file_info(str(path), True)
    # what is new is written once
    seen = [line for line in text.splitlines() if line.startswith("   mass = ")]
    cars = len(world.get_actors().filter("vehicle.*"))
    assert len(seen) == cars + 1
    assert seen[-1] == "   mass = 1234"
    block = read_blocks(text, " Physics Control events")
    of_hero = block[block.index(f"  Id: {hero.id}") :]
    assert f"   max_rpm = {physics.max_rpm:g}" in of_hero
    curve = " ".join(f"({point.x:g}, {point.y:g})" for point in physics.torque_curve)
    assert f"   torque_curve = {curve}" in of_hero
    wheels = [line for line in of_hero if line.startswith("    wheel ")][:4]
    for shown, wheel in zip(wheels, physics.wheels, strict=True):
        assert f" radius {wheel.radius:g} " in shown
        assert f" max_steer_angle {wheel.max_steer_angle:g} " in shown
    times = read_blocks(text, " Traffic Light time events")
    lights = world.get_actors().filter("traffic.traffic_light")
    assert len(times) > len(lights)
    assert f"  Id: {light.id} green_time: 17.5 yellow_time: 3 red_time: 2" in times
    # in the world, in centimetres
    volumes = read_blocks(text, " Actor trigger volumes")
    assert len(volumes) == len(world.get_actors().filter("traffic.*"))
    (shown,) = [line for line in volumes if line.startswith(f"  Id: {light.id} ")]
    numbers = [float(part) for part in re.findall(r"-?[\d.]+(?:e[+-]\d+)?", shown)[1:]]
    box = light.trigger_volume
    place = light.get_transform().transform(box.location)
    wanted = [place.x, place.y, place.z, box.extent.x, box.extent.y, box.extent.z]
    assert [part / 100.0 for part in numbers] == pytest.approx(wanted, abs=0.01)


def test_a_replay_sets_lights_and_leaves_heroes_and_the_spectator_alone(
    target: Carlite, tmp_path: Path
) -> None:
    path = tmp_path / "lights.log"
    client = target.fresh_client()
    world = synchronous(client)
    hero, other, *_ = spawn_cast(world)
    lights = sorted(world.get_actors().filter("traffic.traffic_light"), key=lambda one: one.id)
    assert isinstance(lights[0], carla.TrafficLight)
    spectator = world.get_spectator()
    spectator.set_transform(carla.Transform(carla.Location(1.0, 2.0, 30.0)))
    world.tick()
    client.start_recorder(str(path))
    states = []
    for tick in range(20):
        if tick == 8:
            for light in lights:
                light.set_state(carla.TrafficLightState.Yellow)
        world.tick()
        states.append([light.state for light in lights])
    client.stop_recorder()
    assert states[2] != states[12]
    for light in lights:
        light.set_state(carla.TrafficLightState.Off)
    aside = carla.Transform(carla.Location(500.0, 500.0, 20.0))
    for actor in (hero, other):
        actor.set_simulate_physics(False)
        actor.set_transform(aside)
        aside.location.x += 20.0
    spectator.set_transform(aside)
    world.tick()
    client.set_replayer_ignore_hero(True)
    client.set_replayer_ignore_spectator(True)
    client.set_replayer_time_factor(2.0)
    try:
        text = client.replay_file(str(path), 0.0, 0.0, 0, False)
        assert " at 2.0x\nIgnoring Hero vehicle\nIgnoring Spectator camera\n" in text
        # two frames of the log in one tick
        for step in range(1, 9):
            world.tick()
            assert [light.state for light in lights] == states[2 * step]
        assert hero.get_location().x == pytest.approx(500.0, abs=5.0)
        assert other.get_location().distance(carla.Location(520.0, 500.0, 20.0)) > 50.0
        assert spectator.get_location().distance(aside.location) < 0.01
        client.stop_replayer(True)
        # followed from behind: the spectator is where the followed one is
        client.set_replayer_ignore_spectator(False)
        client.set_replayer_time_factor(1.0)
        client.replay_file(str(path), 0.0, 0.0, other.id, False)
        for _ in range(4):
            world.tick()
        gap = spectator.get_location() - other.get_location()
        assert (math.hypot(gap.x, gap.y), gap.z) == pytest.approx((10.0, 5.0), abs=0.01)
    finally:
        client.stop_replayer(True)
        client.set_replayer_ignore_hero(False)
        client.set_replayer_ignore_spectator(False)
        client.set_replayer_time_factor(1.0)


def test_a_log_of_another_town_loads_that_town(
    drive: tuple[carla.Client, Path, list[list[list[float]]]], target: Carlite
) -> None:
    _, path, seen = drive
    home = target.fresh_client().get_world().get_map().name
    client = target.client()
    client.load_world("CrucibleRing")
    assert "Loading map" in client.replay_file(str(path), 0.0, 0.0, 0, False)
    world = client.get_world()
    assert world.get_map().name == home
    world = synchronous(client)
    world.tick()
    (car,) = world.get_actors().filter("vehicle.tesla.model3")
    places = [poses[0][:2] for poses in seen]
    here = car.get_location()
    assert min(math.dist(place, (here.x, here.y)) for place in places) < 0.3
    client.stop_replayer(True)


def test_a_mutated_log_gives_text_and_never_ends_the_server(
    drive: tuple[carla.Client, Path, list[list[list[float]]]], target: Carlite, tmp_path: Path
) -> None:
    _, path, _ = drive
    client, whole = target.fresh_client(), path.read_bytes()
    world = synchronous(client)
    shuffle = random.Random(5)
    for number in range(40):
        damaged = bytearray(whole)
        for _ in range(shuffle.choice((1, 3, 30))):
            damaged[shuffle.randrange(len(damaged))] = shuffle.randrange(256)
        if number % 4 == 0:
            del damaged[shuffle.randrange(len(damaged)) :]
        broken = tmp_path / "broken.log"
        broken.write_bytes(damaged)
        name = str(broken)
        for text in (
            client.show_recorder_file_info(name, True),
            client.show_recorder_collisions(name, "a", "a"),
            client.show_recorder_actors_blocked(name, 0.1, 1.0),
            client.replay_file(name, 0.0, 0.0, 0, False),
        ):
            assert text
            assert "Traceback" not in text
            assert text.count("The file is damaged") <= 1
        world.tick()
        client.stop_replayer(False)
        world = client.get_world()
    assert target.process.poll() is None
    assert "Traceback" not in target.log()


@pytest.mark.parametrize("content", [b"", b"nothing", b"\x01\x00\x0e\x00CARLA_RECORDER\x00"])
def test_what_is_no_log_is_refused_in_words(
    target: Carlite, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "other.log"
    path.write_bytes(content)
    client = target.client()
    assert client.show_recorder_file_info(str(path), True) == "File is not a CARLA recorder\n"
    assert "File is not a CARLA recorder" in client.replay_file(str(path), 0.0, 0.0, 0, False)
    missing = str(tmp_path / "missing.log")
    assert "not found on server" in client.show_recorder_collisions(missing, "a", "a")


def test_a_cut_log_is_described_as_far_as_it_goes(
    drive: tuple[carla.Client, Path, list[list[list[float]]]], tmp_path: Path
) -> None:
    _, path, _ = drive
    whole, cut = path.read_bytes(), tmp_path / "cut.log"
    for size in range(40, len(whole), len(whole) // 12):
        cut.write_bytes(whole[:size])
        assert "Frames: " in queries.describe_file(cut, show_all=True)
    assert "The file is damaged after frame" in queries.describe_file(cut, show_all=True)


def test_a_relative_name_never_leads_outside(target: Carlite) -> None:
    client = target.client()
    with pytest.raises(RuntimeError, match="outside of the server's folder"):
        client.start_recorder("../outside.log")
