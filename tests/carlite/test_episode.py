"""What an episode keeps to, seen without a client."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import cast

import pytest

from harness.carlite import calls, towns
from harness.carlite.errors import CallError
from harness.carlite.labels import SemanticLabel
from harness.carlite.rpc import ClientSession
from harness.carlite.streams import StreamHub
from harness.carlite.wire.codec import LEVEL, Rotation
from harness.carlite.wire.records import (
    AckermannControl,
    ActorDescription,
    EpisodeSettings,
    Transform,
)
from harness.carlite.world import ServerWorld
from harness.carlite.world.deaths import AFTERLIFE
from harness.carlite.world.episode import WorldEpisode

TOWN = "CrucibleRing"
STEP = 0.05
MODEL3, WALKER = "vehicle.tesla.model3", "walker.pedestrian.0001"


class Witness:
    """Hears every snapshot."""

    def __init__(self) -> None:
        self.snapshots: list[bytes] = []

    def has_listener(self, stream_id: int) -> bool:
        return stream_id == 1

    def publish(self, stream_id: int, payload: bytes) -> None:
        self.snapshots.append(payload)


def episode_in(name: str) -> WorldEpisode:
    return WorldEpisode(1, replace(towns.load_town(TOWN, None), name=name), 0, count(2))


def spawn_pose(episode: WorldEpisode, index: int) -> Transform:
    x, y, z, pitch, yaw, roll = episode.town.spawn_points[index].tolist()
    return Transform((x, y, z), Rotation((pitch, yaw, roll)))


def enter(episode: WorldEpisode, name: str, where: int | Transform, parent: int = 0) -> int:
    place = spawn_pose(episode, where) if isinstance(where, int) else where
    return episode.spawn_resident(ActorDescription(0, name, ()), place, parent).id


def house(episode: WorldEpisode) -> Transform:
    """Return a place within a building."""
    building = episode.scenery_state.list_objects(SemanticLabel.BUILDING)[0]
    return Transform(building.transform.location, building.transform.rotation)


def snapshots(idle: int) -> list[bytes]:
    """Let a world run idle, then take hold of it and return its snapshots of a car moved about."""
    witness = Witness()
    world = ServerWorld(TOWN, None, 0, witness)
    for _ in range(idle):
        world.tick()
    world.apply_episode_settings(EpisodeSettings(synchronous_mode=True, fixed_delta_seconds=STEP))
    witness.snapshots.clear()
    car = enter(world.episode, MODEL3, 0)
    limits = world.town.lanes.speed_limit
    lanes = world.town.lanes
    for lane in (limits.argmin(), limits.argmax(), limits.argmin()):
        slot = world.episode.table.find_slot(car)
        world.episode.table.position[slot] = lanes.points[lanes.first[lane]]
        for _ in range(7):
            world.tick()
    return witness.snapshots


def test_what_follows_does_not_depend_on_the_idle_time() -> None:
    assert snapshots(idle=0) == snapshots(idle=3)


def test_the_dead_may_leave_together() -> None:
    """A walker and one attached to it are gone after the same tick."""
    episode = episode_in(TOWN)
    walker = enter(episode, WALKER, 0)
    other = enter(episode, WALKER, Transform((0.0, 0.0, 3.0), LEVEL), walker)
    episode.set_walker_dead(walker)
    episode.set_walker_dead(other)
    episode.elapsed += AFTERLIFE
    episode.advance(STEP)
    assert walker not in episode.table
    assert other not in episode.table


def test_only_made_up_scenery_gives_way() -> None:
    for name in (TOWN, f"{TOWN}_Opt"):
        ours = episode_in(name)
        with pytest.raises(CallError, match="collision"):
            enter(ours, MODEL3, house(ours))
    theirs = episode_in("Elsewhere")
    assert enter(theirs, MODEL3, house(theirs)) in theirs.table


def test_scenery_comes_back_when_all_it_gave_way_to_are_gone() -> None:
    episode = episode_in("Elsewhere")
    place = house(episode)
    above = Transform((*place.location[:2], place.location[2] + 4.0), place.rotation)
    whole = pieces(episode)
    low, high = (enter(episode, MODEL3, where) for where in (place, above))
    fewer = pieces(episode)
    episode.destroy_resident(low)
    assert pieces(episode) == fewer < whole
    episode.destroy_resident(high)
    assert pieces(episode) == whole
    assert enter(episode, MODEL3, place) in episode.table


def pieces(episode: WorldEpisode) -> int:
    return len(episode.scenery_state.scenery.label)


def test_scenery_that_a_file_describes_does_not_give_way() -> None:
    header = '<header><userData code="scenery.parked" value="0.5" /></header>'
    town = replace(towns.load_town(TOWN, None), name="Elsewhere", opendrive=header)
    episode = WorldEpisode(1, town, 0, count(2))
    with pytest.raises(CallError, match="collision"):
        enter(episode, MODEL3, house(episode))


def test_who_finds_no_room_changes_nothing() -> None:
    episode = episode_in("Elsewhere")
    enter(episode, MODEL3, 0)
    episode.touched = False
    scene = episode.scenery_state.scene
    with pytest.raises(CallError, match="collision"):
        enter(episode, MODEL3, 0)
    assert episode.scenery_state.scene is scene
    assert not episode.touched


@pytest.mark.parametrize(("address", "expected"), [(("127.0.0.1", 8000), 1), (None, 0)])
def test_the_server_drives_only_where_clients_bring_no_manager(
    address: tuple[str, int] | None, expected: int
) -> None:
    """A batch that switches the autopilot on reaches the server, too."""
    world = ServerWorld(TOWN, None, 0, Witness())
    car = enter(world.episode, MODEL3, 0)
    session = ClientSession(
        peer="", host="127.0.0.1", streams=cast(StreamHub, None), traffic=address
    )
    batch = calls.build_call_table()["apply_batch"]
    answers = batch.run(world, session, [[[16, [car, True]]]], False)
    assert answers == [[[1, car]]]
    assert len(world.traffic.vehicles) == expected


def test_the_autopilot_takes_over_from_ackermann_for_good() -> None:
    episode = episode_in(TOWN)
    car = enter(episode, MODEL3, 0)
    episode.ackermann.take_over_vehicle(car, AckermannControl(speed=0.0))
    episode.advance(STEP)
    assert episode.table.brake[episode.table.find_slot(car)] == 1.0
    episode.traffic.register_vehicle([car])
    for _ in range(60):
        episode.advance(STEP)
    slot = episode.table.find_slot(car)
    assert abs(episode.table.velocity[slot, :2]).max() > 1.0
    episode.traffic.unregister_vehicle([car])
    episode.advance(STEP)
    assert episode.table.brake[slot] < 1.0


def test_ackermann_starts_again_after_pedals() -> None:
    """Of what it did before, only the gains are left."""
    episode = episode_in(TOWN)
    car = enter(episode, MODEL3, 0)
    driver = episode.ackermann.get_driver(car)
    driver.settings = replace(driver.settings, speed_kp=0.5)
    episode.ackermann.take_over_vehicle(car, AckermannControl(steer=0.4, speed=5.0))
    for _ in range(20):
        episode.advance(STEP)
    episode.ackermann.release_vehicle(car)
    episode.ackermann.take_over_vehicle(
        car, AckermannControl(steer=0.4, steer_speed=0.1, speed=5.0)
    )
    after = episode.ackermann.get_driver(car)
    assert (after.steer, after.trim, after.settings.speed_kp) == (0.0, 0.0, 0.5)


def drive_past_lights(world: ServerWorld) -> list[float]:
    """Start again and let cars drive that ignore about every second light and vehicle."""
    world.load_town("", False)
    episode = world.episode
    cars = [enter(episode, MODEL3, index) for index in range(0, 24, 2)]
    episode.traffic.register_vehicle(cars)
    for car in cars:
        episode.traffic.set_percentage_running_light(car, 50.0)
        episode.traffic.set_percentage_ignore_vehicles(car, 50.0)
    for _ in range(300):
        episode.advance(STEP)
    return [float(x) for car in cars for x in episode.table.position[episode.table.find_slot(car)]]


def test_a_second_episode_repeats_the_first_also_with_ignored_actors() -> None:
    world = ServerWorld(TOWN, None, 0, Witness())
    assert drive_past_lights(world) == drive_past_lights(world)
