"""CARLA's recorder and replayer through the real client, and its packets by themselves."""

from __future__ import annotations

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
