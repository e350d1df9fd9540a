"""What a town is: lanes, ground, signals, scenery. Plain arrays, in CARLA's left-handed frame.

Metres, radians, yaw clockwise from above. A town is a place, not an episode: the same file gives
the same town whatever the seed of the server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import wraps
from typing import TypeVar

from harness.carlite.arrays import Bools, Bytes, Float32s, Floats, Int32s

Whole = TypeVar("Whole")
Part = TypeVar("Part")


class LaneKind(IntEnum):
    """OpenDRIVE lane types, as far as they matter here."""

    OTHER = 0
    DRIVING = 1
    SIDEWALK = 2
    SHOULDER = 3
    PARKING = 4
    BIKING = 5


@dataclass(frozen=True, kw_only=True)
class TownLanes:
    """Every lane of every lane section, sampled along its centre in its direction of travel.

    Lane `i` owns points `first[i] : first[i] + count[i]`, at most 1 m apart, both ends included.

    Attributes:
        key: (L, 3) road id, lane section index, OpenDRIVE lane id.
        kind: (L,) `LaneKind`.
        junction: (L,) junction id, -1 outside junctions.
        first, count: (L,) the lane's slice of the points.
        length: (L,) metres along the centre line.
        speed_limit: (L,) metres per second.
        left, right: (L,) the neighbouring lane of the same kind and direction, -1 where none.
        next_first, next_count, next: successors of lane i are next[next_first[i]:][:next_count[i]].
        previous_first, previous_count, previous: predecessors, likewise.
        points: (P, 3) centre line.
        yaw: (P,) direction of travel.
        station: (P,) metres from the lane's start.
        width: (P,) metres.
        change: (P,) what the markings allow: bit 1 to the left, bit 2 to the right.
        road_s: (P,) the road's own station in the OpenDRIVE file.
    """

    key: Int32s
    kind: Bytes
    junction: Int32s
    first: Int32s
    count: Int32s
    length: Floats
    speed_limit: Floats
    left: Int32s
    right: Int32s
    next_first: Int32s
    next_count: Int32s
    next: Int32s
    previous_first: Int32s
    previous_count: Int32s
    previous: Int32s
    points: Floats
    yaw: Floats
    station: Floats
    width: Floats
    change: Bytes
    road_s: Floats


@dataclass(frozen=True, kw_only=True)
class TownGround:
    """Height of the ground on a regular grid, in two layers so that roads can cross over roads.

    Attributes:
        x, y: world position of cell corner [0, 0]; rows run along y, columns along x.
        cell: metres between grid points.
        lower: (rows, columns) the ground everywhere, float32.
        upper: (rows, columns) the deck above it; NaN where there is none.
        label: (rows, columns) semantic label of the lower layer at that grid point.
    """

    x: float
    y: float
    cell: float
    lower: Float32s
    upper: Float32s
    label: Bytes


@dataclass(frozen=True)
class LaneStopLine:
    """Where one lane stops for a signal: the end of the lane before the junction."""

    lane: int
    position: tuple[float, float, float]
    yaw: float
    width: float


@dataclass(frozen=True, kw_only=True)
class TownSignal:
    """A traffic light or sign, as the OpenDRIVE file places it.

    Attributes:
        id: the OpenDRIVE signal id.
        type_id: CARLA's actor type: `traffic.traffic_light`, `traffic.stop`, ...
        position, yaw: the actor's pose; a light's forward axis runs across the lanes it holds.
        group: lights that cycle together share a group; -1 for signs.
        phase: lights of one group and phase are green together.
        stop_lines: the lanes it governs.
        trigger_centre, trigger_extent: trigger volume in the actor's frame, half sizes.
    """

    id: str
    type_id: str
    position: tuple[float, float, float]
    yaw: float
    group: int
    phase: int
    stop_lines: tuple[LaneStopLine, ...]
    trigger_centre: tuple[float, float, float]
    trigger_extent: tuple[float, float, float]


class SceneryShape(IntEnum):
    """How a piece of scenery looks to a ray."""

    BOX = 0
    CYLINDER = 1
    BODY = 2


@dataclass(frozen=True, kw_only=True)
class TownScenery:
    """What stands along the road and never moves: buildings, walls, poles, trees, parked cars.

    Attributes:
        centre, extent: (N, 3) centre of the box and its half sizes; a cylinder's radius is
            extent[:, 0].
        yaw: (N,).
        shape: (N,) `SceneryShape`.
        body: (N,) index into `bodies.build_body_library()` for Shape.BODY, -1 otherwise.
        label: (N,) semantic label.
        solid: (N,) whether vehicles collide with it (tree crowns do not).
    """

    centre: Floats
    extent: Floats
    yaw: Floats
    shape: Bytes
    body: Int32s
    label: Bytes
    solid: Bools


@dataclass(frozen=True, kw_only=True)
class Town:
    """A town as the server needs it.

    Attributes:
        name: as a client asks for it, e.g. `Crucible05`.
        opendrive: the file's text, which clients parse for themselves.
        spawn_points: (S, 6) x, y, z, pitch, yaw, roll, yaw in (-pi, pi].
        crosswalks: closed polygons, each (C, 3).
    """

    name: str
    opendrive: str
    lanes: TownLanes
    ground: TownGround
    signals: tuple[TownSignal, ...]
    scenery: TownScenery
    spawn_points: Floats
    crosswalks: tuple[Floats, ...]


def cache_latest_town(build: Callable[[Whole], Part]) -> Callable[[Whole], Part]:
    """Keep what was built of a town, or of a part of it, until it is asked of another one.

    All episodes of a town share the result, so it must not be written to. Towns are compared by
    identity: they consist of arrays, which are slow to compare.
    """
    kept: list[tuple[Whole, Part]] = []

    @wraps(build)
    def built(whole: Whole) -> Part:
        if not kept or kept[0][0] is not whole:
            kept[:] = [(whole, build(whole))]
        return kept[0][1]

    return built
