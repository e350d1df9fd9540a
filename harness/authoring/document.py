"""An OpenDRIVE 1.4 document as plain records."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.authoring.geometry import PlanePath
from harness.authoring.plan import Hall, TownSurroundings

Cubic = tuple[float, float, float, float, float]
"""Station, then a + b ds + c ds^2 + d ds^3."""


@dataclass(frozen=True)
class LaneMark:
    """The line along a lane's outer edge, from a station of its section on."""

    station: float
    type: str
    color: str = "white"
    change: bool = False


@dataclass(frozen=True, kw_only=True)
class RoadLane:
    """One lane of one lane section."""

    id: int
    type: str
    widths: tuple[Cubic, ...]
    marks: tuple[LaneMark, ...]
    predecessor: int | None = None
    successor: int | None = None


@dataclass(frozen=True)
class LaneSection:
    """A lane section; lanes from the leftmost to the rightmost, the centre lane included."""

    station: float
    lanes: tuple[RoadLane, ...]


@dataclass(frozen=True)
class LinkRecord:
    """What a road's end touches; `contact` is the end of a road, None for a junction."""

    element: int
    contact: str | None = None


@dataclass(frozen=True, kw_only=True)
class RoadSign:
    """A light or a sign at the road, valid for a range of lanes."""

    id: int
    name: str
    station: float
    lateral: float
    against: bool
    type: str
    lanes: tuple[int, int]
    value: float = -1.0
    subtype: str = "-1"
    dynamic: bool = False
    height: float = 2.2


@dataclass(frozen=True, kw_only=True)
class CrosswalkRectangle:
    """A rectangle across the road: from `right` to `left` of the reference line, `depth` along."""

    id: int
    station: float
    right: float
    left: float
    depth: float


@dataclass(frozen=True)
class StopLine:
    """Where incoming lanes wait: a line of `width` across them, centred on `lateral`."""

    id: int
    station: float
    lateral: float
    width: float


@dataclass(kw_only=True)
class PlannedRoad:
    """A road with everything on it."""

    id: int
    name: str
    junction: int
    path: PlanePath
    elevation: tuple[Cubic, ...]
    offset: tuple[Cubic, ...]
    sections: tuple[LaneSection, ...]
    predecessor: LinkRecord
    successor: LinkRecord
    speed: int
    signs: list[RoadSign] = field(default_factory=list)
    crosswalks: list[CrosswalkRectangle] = field(default_factory=list)
    stop_lines: list[StopLine] = field(default_factory=list)
    halls: tuple[Hall, ...] = ()


@dataclass(frozen=True)
class JunctionConnection:
    """One way through a junction, and how its lanes connect."""

    id: int
    incoming: int
    connecting: int
    links: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class LightController:
    """Lights that are green together; `sequence` orders a junction's phases."""

    id: int
    sequence: int
    signs: tuple[int, ...]


@dataclass(frozen=True)
class PlannedJunction:
    """A junction with its connections and its light phases."""

    id: int
    name: str
    connections: tuple[JunctionConnection, ...]
    controllers: tuple[LightController, ...]


@dataclass(frozen=True, kw_only=True)
class OpenDriveDocument:
    """A whole town."""

    name: str
    latitude: float
    longitude: float
    roads: tuple[PlannedRoad, ...]
    junctions: tuple[PlannedJunction, ...]
    surroundings: TownSurroundings | None = None
