"""What an OpenDRIVE file says, as plain records; `opendrive.parse_opendrive` fills them.

OpenDRIVE's own frame: right-handed, headings counter-clockwise, lane ids negative on the right of
the reference line. Metres, radians, metres per second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from harness.carlite.arrays import Floats

Contact = Literal["start", "end"]


@dataclass(frozen=True, kw_only=True)
class GeometryRecord:
    """One piece of a reference line; `parameters` are the attributes its `kind` asks for."""

    kind: str
    s: float
    x: float
    y: float
    heading: float
    length: float
    parameters: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RoadMark:
    """A marking from station `s` on, and how it may be crossed: bit 1 up in id, bit 2 down."""

    s: float
    change: int
    kind: str = "none"
    colour: str = "standard"
    width: float = 0.0
    bold: bool = False


@dataclass(frozen=True, kw_only=True)
class LaneRecord:
    """One lane of one section; `width` rows are (s, a, b, c, d) with s along the road."""

    id: int
    type: str
    width: Floats
    marks: tuple[RoadMark, ...]
    speeds: tuple[tuple[float, float], ...]
    predecessor: int | None
    successor: int | None


@dataclass(frozen=True)
class SectionRecord:
    """The lanes between stations `s` and `end`, from the rightmost (lowest id) to the leftmost."""

    s: float
    end: float
    lanes: dict[int, LaneRecord]


@dataclass(frozen=True)
class RoadLink:
    """What a road continues into: a junction, or a road at its `contact` end."""

    junction: bool
    id: int
    contact: Contact


@dataclass(frozen=True, kw_only=True)
class SignalRecord:
    """A signal as it stands at a road."""

    id: str
    type: str
    subtype: str
    name: str
    road: int
    s: float
    t: float
    z_offset: float
    h_offset: float
    orientation: str
    value: float


@dataclass(frozen=True, kw_only=True)
class SignalReference:
    """A signal that counts for lanes of a road; empty `lanes` means every lane it faces."""

    id: str
    road: int
    s: float
    orientation: str
    validity: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class OutlineRecord:
    """An object drawn on the road: corners in its own frame, (u, v, z) each."""

    name: str
    road: int
    s: float
    t: float
    z_offset: float
    heading: float
    corners: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, kw_only=True)
class StructureRecord:
    """Something that stands at a road: a box, or a cylinder where it has a radius."""

    type: str
    s: float
    t: float
    heading: float
    length: float
    width: float
    height: float
    radius: float


@dataclass(frozen=True, kw_only=True)
class RoadRecord:
    """A road: reference line, profiles as rows of (s, a, b, c, d), lane sections, furniture."""

    id: int
    length: float
    junction: int
    predecessor: RoadLink | None
    successor: RoadLink | None
    plan: tuple[GeometryRecord, ...]
    elevation: Floats
    lane_offset: Floats
    sections: tuple[SectionRecord, ...]
    speeds: tuple[tuple[float, float], ...]
    signals: tuple[SignalRecord, ...] = ()
    references: tuple[SignalReference, ...] = ()
    crosswalks: tuple[OutlineRecord, ...] = ()
    structures: tuple[StructureRecord, ...] = ()


@dataclass(frozen=True)
class ConnectionRecord:
    """A way through a junction: lanes of the incoming road, each with its connecting lane."""

    incoming: int
    connecting: int
    contact: Contact
    links: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class JunctionRecord:
    """A junction: its connections, and the controllers that run its signals."""

    id: int
    connections: tuple[ConnectionRecord, ...]
    controllers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class OpendriveNetwork:
    """A whole file: roads and junctions by id, controllers with the signals they switch.

    `scenery` is what the header says of it, by name: the keys of `scenery_styles.LIMITS`.
    """

    roads: dict[int, RoadRecord]
    junctions: dict[int, JunctionRecord] = field(default_factory=dict)
    controllers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    vendor: str = ""
    scenery: dict[str, float] = field(default_factory=dict)
