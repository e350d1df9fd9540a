"""Episodes come and go, time runs by the clock or by the client, and several clients share it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import carla
import pytest

from harness.carlite import towns
from tests.carlite.test_replies_actors import MODEL3, spawn
from tests.conftest import PATIENCE, Carlite

SYNCHRONOUS = carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05)


@pytest.fixture
def asynchronous(client: carla.Client) -> Iterator[carla.World]:
    world = client.get_world()
    yield world
    world.apply_settings(carla.WorldSettings())


def alive(world: carla.World, actor: carla.Actor) -> bool:
    """Return whether an actor is alive, once a snapshot has it: before, the client does not know.

    LibCarla's `ActorSnapshot` leaves the state of an actor that no snapshot has uninitialised.
    """
    for _ in range(100):
        if world.wait_for_tick().find(actor.id) is not None:
            return bool(actor.is_alive)
    return False


def test_reloading_empties_the_world(client: carla.Client) -> None:
    world = client.get_world()
    car = spawn(world, MODEL3)
    before = world.wait_for_tick()
    again = client.reload_world()
    after = again.wait_for_tick()
    assert again.id != world.id
    assert after.frame > before.frame
    assert after.elapsed_seconds < before.elapsed_seconds + 1
    assert not [one for one in after if one.id == car.id]
    assert not again.get_actors().filter("vehicle.*")
    assert spawn(again, MODEL3).id > car.id


@pytest.mark.thorough
def test_loading_another_town(client: carla.Client) -> None:
    first = client.get_world().get_map()
    others = [
        name for name in towns.list_available_towns(None) if name != first.name.rsplit("/", 1)[1]
    ]
    for name in (others[0], f"/Game/Carla/Maps/{others[1]}"):
        world = client.load_world(name)
        short = name.rsplit("/", 1)[-1]
        town = towns.load_town(short, None)
        assert world.get_map().name == f"Carla/Maps/{short}"
        assert world.get_map().to_opendrive() == town.opendrive
        assert len(world.get_map().get_spawn_points()) == len(town.spawn_points)
        assert not world.get_settings().synchronous_mode
    with pytest.raises(RuntimeError, match="Atlantis"):
        client.load_world("Atlantis")
    assert client.get_world().get_map().name == f"Carla/Maps/{others[1]}"
    client.load_world(first.name)


@pytest.mark.thorough
def test_a_world_from_opendrive(client: carla.Client, carlite: Carlite) -> None:
    text = towns.load_town("CrucibleRing", None).opendrive
    world = client.generate_opendrive_world(text)
    assert world.get_map().name == "Carla/Maps/OpenDriveMap"
    assert world.get_map().to_opendrive() == text
    car = spawn(world, MODEL3)
    assert alive(world, car)
    building = world.get_environment_objects(carla.CityObjectLabel.Buildings)[0]
    inside = carla.Transform(building.transform.location, building.transform.rotation)
    assert alive(world, spawn(world, MODEL3, inside)), "made-up scenery gives way"
    with pytest.raises(RuntimeError, match="OpenDriveMap"):
        client.generate_opendrive_world("this is no road")
    client.load_world(carlite.town)


def test_settings_may_outlive_the_episode(client: carla.Client) -> None:
    world = client.get_world()
    world.apply_settings(SYNCHRONOUS)
    kept = client.reload_world(reset_settings=False)
    assert kept.get_settings() == SYNCHRONOUS
    reset = client.reload_world()
    assert not reset.get_settings().synchronous_mode
    assert reset.get_settings().fixed_delta_seconds is None


@pytest.mark.thorough
def test_an_asynchronous_world_runs_by_itself(asynchronous: carla.World) -> None:
    """In steps of 0.05 s; `test_free_running.py` has how they follow the clock."""
    start = asynchronous.wait_for_tick().timestamp
    for _ in range(20):
        end = asynchronous.wait_for_tick().timestamp
    assert end.frame >= start.frame + 20
    simulated = end.elapsed_seconds - start.elapsed_seconds
    assert simulated == pytest.approx(0.05 * (end.frame - start.frame))


def test_an_asynchronous_world_reports_its_fixed_step(asynchronous: carla.World) -> None:
    asynchronous.apply_settings(carla.WorldSettings(fixed_delta_seconds=0.02))
    assert asynchronous.wait_for_tick().delta_seconds == pytest.approx(0.02)


def test_a_synchronous_world_waits(world: carla.World) -> None:
    frame = world.tick()
    time.sleep(0.3)
    assert world.get_snapshot().frame == frame
    assert world.tick() == frame + 1


def test_switching_back_and_forth(client: carla.Client) -> None:
    world = client.get_world()
    car = spawn(world, MODEL3)
    for _ in range(3):
        world.apply_settings(SYNCHRONOUS)
        frame = world.tick()
        assert world.tick() == frame + 1
        world.apply_settings(carla.WorldSettings())
        assert world.wait_for_tick().frame > frame + 1
    assert car.is_alive


def test_listening_on_ticks(world: carla.World) -> None:
    heard: list[int] = []
    number = world.on_tick(lambda snapshot: heard.append(snapshot.frame))
    frames = [world.tick() for _ in range(5)]
    deadline = time.monotonic() + PATIENCE
    while len(heard) < len(frames) and time.monotonic() < deadline:
        time.sleep(0.001)
    world.remove_on_tick(number)
    assert heard == frames


def test_several_clients_share_the_world(world: carla.World, carlite: Carlite) -> None:
    others = [carlite.client().get_world() for _ in range(3)]
    car = spawn(others[0], MODEL3)
    assert isinstance(car, carla.Vehicle)
    frame = world.tick()
    for other in others:
        deadline = time.monotonic() + PATIENCE
        while other.get_snapshot().frame < frame and time.monotonic() < deadline:
            time.sleep(0.001)
        seen = other.get_actor(car.id)
        assert seen.type_id == MODEL3
        assert seen.get_transform() == world.get_actor(car.id).get_transform()
    assert others[1].get_actor(car.id).destroy()
    frame = world.tick()
    assert others[2].tick() == frame + 1
    assert world.get_snapshot().frame in (frame, frame + 1)


@pytest.mark.thorough
def test_another_client_notices_a_new_episode(client: carla.Client, carlite: Carlite) -> None:
    watching = carlite.client()
    before = watching.get_world()
    old = before.get_map().name
    other = next(name for name in towns.list_available_towns(None) if not old.endswith(name))
    client.load_world(other)
    deadline = time.monotonic() + PATIENCE
    while watching.get_world().id == before.id and time.monotonic() < deadline:
        time.sleep(0.01)
    assert watching.get_world().get_map().name.endswith(other)
    client.load_world(carlite.town)
