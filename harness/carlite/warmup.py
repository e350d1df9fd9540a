"""Everything once, before the first client comes, so that no client waits for a compiler.

The first warm-up on a machine compiles what moves, senses and builds towns. Later starts leave it
out (`warm_start`). A function that is compiled once clients are served is reported by the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count

from harness.carlite.actors import ActorKind
from harness.carlite.blueprints import build_blueprint_library
from harness.carlite.compiled import needed_entries
from harness.carlite.errors import CallError
from harness.carlite.inbox import check_value_count
from harness.carlite.sensors import KINDS
from harness.carlite.sensors.lamps import LOW
from harness.carlite.towns import from_opendrive
from harness.carlite.towns.model import Town
from harness.carlite.warm_start import read_list, write_list
from harness.carlite.wire.codec import LEVEL, Rotation
from harness.carlite.wire.records import (
    ActorDescription,
    AttributeValue,
    Transform,
    WeatherParameters,
)
from harness.carlite.world.arrival import FRICTION
from harness.carlite.world.episode import WorldEpisode

CAST = ("vehicle.tesla.model3", "vehicle.carlamotors.firetruck", "walker.pedestrian.0001")
SMALL = {"image_size_x": "32", "image_size_y": "24", "points_per_second": "1000"}
ON_TOP = Transform((0.0, 0.0, 2.0), LEVEL)
STEP = 0.05
ROAD = """<OpenDRIVE><header revMajor="1" revMinor="4"/>
<road name="" length="{length}" id="1" junction="-1"><planView>
<geometry s="0" x="0" y="0" hdg="0" length="{length}"><line/></geometry></planView>
<lanes><laneSection s="0"><center><lane id="0" type="none"/></center><right>
<lane id="-1" type="driving"><width sOffset="0" a="3.5" b="0" c="0" d="0"/></lane></right>
</laneSection></lanes></road></OpenDRIVE>"""


def ensure_compiled(town: Town) -> frozenset[str]:
    """Run the warm-up, unless all that it needs is on disk; return what is loaded later."""
    if later := read_list():
        return later
    run_warmup(town)
    write_list(needed_entries)
    return frozenset()


def run_warmup(town: Town) -> None:
    """Build a small town, and run a few actors in the present one, which no client sees."""
    check_value_count(b"")
    build_road(30.0)
    _run_small_episode(town, ())


def run_warmup_from(stages: Sequence[str]) -> None:
    """Do the same on a road, some of `WARMUP_STAGES` first: another process begins elsewhere."""
    _run_small_episode(build_road(200.0), stages)


def build_road(length: float) -> Town:
    """Return a town of one straight road; the length is in metres."""
    return from_opendrive("Rehearsal", ROAD.format(length=length))


def _run_small_episode(town: Town, first: Sequence[str]) -> None:
    """Let a cast drive, collide, slide and be sensed; begin with some of `WARMUP_STAGES`."""
    episode = WorldEpisode(0, town, 0, count(1))
    stages = [
        Transform((x, y, z), Rotation((pitch, yaw, roll)))
        for x, y, z, pitch, yaw, roll in town.spawn_points.tolist()
    ]
    cast = [actor for name in CAST if (actor := _spawn_anywhere(episode, name, stages)) is not None]
    if not cast:
        episode.traffic.fleet.compile_drivers()
        return
    for type_id in KINDS:
        known = {
            attribute.id: attribute.type
            for attribute in build_blueprint_library()[type_id].attributes
        }
        values = [AttributeValue(k, known[k], v) for k, v in SMALL.items() if k in known]
        episode.spawn_resident(ActorDescription(0, type_id, tuple(values)), ON_TOP, cast[0])
    episode.spawn_resident(ActorDescription(0, FRICTION, ()), stages[0])
    episode.traffic.register_vehicle(cast[:2])
    for actor in cast:
        episode.table.position[episode.table.find_slot(actor), :2] = stages[0].location[:2]
    for stage in first:
        WARMUP_STAGES[stage](episode)
    for frame in range(3):
        episode.advance(STEP)
        _capture_frames(episode, frame)


def _capture_frames(episode: WorldEpisode, frame: int = 0) -> None:
    """Let all sensors sense."""
    # rain is drawn by code of its own, and so are head lamps at night
    weather = WeatherParameters(
        precipitation=50.0 if frame == 1 else 0.0, sun_altitude_angle=-30.0 if frame == 2 else 45.0
    )
    if frame == 2:
        episode.table.lamps[:] = LOW
    episode.capture_sensor_frames(
        episode.pack_records(), frame=frame, dt=STEP, gravity=9.81, has_listener=lambda _: True,
        weather=weather,
    )  # fmt: skip


def _move_actors(episode: WorldEpisode) -> None:
    """Move vehicles and walkers, without the traffic's drivers."""
    slots = episode.population.list_slots
    episode.motion.step(slots(ActorKind.VEHICLE), slots(ActorKind.WALKER), STEP)
    episode.population.move_attached()


WARMUP_STAGES: Mapping[str, Callable[[WorldEpisode], None]] = {
    "sensors": _capture_frames,
    "motion": _move_actors,
}
"""Parts of a tick that need not wait for its others, by the time that compiling them takes.

What they leave out is about a third: the traffic's drivers.
"""


def _spawn_anywhere(episode: WorldEpisode, name: str, stages: list[Transform]) -> int | None:
    """Spawn an actor at the first place with room for it."""
    for stage in stages:
        with suppress(CallError):
            return episode.spawn_resident(ActorDescription(0, name, ()), stage).id
    return None
