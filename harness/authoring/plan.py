"""What a town's author writes down: crossings, streets, and who may go first."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import Enum


class JunctionControl(Enum):
    """How a junction decides who goes first."""

    LIGHTS = "lights"
    ALL_STOP = "all-way stop"
    STOP = "the lesser streets stop"
    YIELD = "the lesser streets yield"


@dataclass(frozen=True)
class Node:
    """A junction's centre, its height and its rule.

    Attributes:
        corner: radius of the kerb at its corners, metres.
        turns: every arm has a green of its own, so that left turns meet no traffic.
    """

    x: float
    y: float
    z: float = 0.0
    control: JunctionControl = JunctionControl.LIGHTS
    _: KW_ONLY
    corner: float = 6.5
    turns: bool = False


@dataclass(frozen=True, kw_only=True)
class StreetProfile:
    """A street's cross-section, the same on both sides of its centre line.

    Attributes:
        lanes: driving lanes in each direction.
        parking: width of the parking lane on the right and on the left, 0 for none.
        median: width of the strip between the directions.
        speed: limit in km/h.
        rank: streets of lower rank give way.
    """

    lanes: int
    lane_width: float = 3.5
    parking: tuple[float, float] = (0.0, 0.0)
    sidewalk: float = 2.5
    median: float = 0.0
    speed: int = 50
    rank: int = 1


@dataclass(frozen=True)
class Via:
    """A corner of a street's course, rounded by an arc; `z` fixes the height there.

    Attributes:
        x: metres in the plan.
        y: metres in the plan.
        radius: metres.
        z: metres.
    """

    x: float
    y: float
    radius: float
    z: float | None = None


@dataclass(frozen=True, kw_only=True)
class Hall:
    """A large building off the street: `along` it and `aside` to its left, lying parallel.

    Attributes:
        along: m along the road of the street, to the middle of the hall.
        aside: m to the left of that road.
        length: m along the street.
        width: m across.
        height: m.
    """

    along: float
    aside: float
    length: float
    width: float
    height: float


@dataclass(frozen=True)
class Street:
    """A street from node to node.

    Attributes:
        pockets: length of the left-turn lane before the start and before the end, 0 for none.
        halls: what stands in the yards behind the houses.
    """

    name: str
    start: str
    end: str
    profile: StreetProfile
    _: KW_ONLY
    via: tuple[Via, ...] = ()
    pockets: tuple[float, float] = (0.0, 0.0)
    halls: tuple[Hall, ...] = ()


@dataclass(frozen=True)
class TownSurroundings:
    """What a town's file says of the scenery along its streets.

    Attributes:
        setback: metres from the sidewalk's edge to the fronts of the nearest houses.
        parked: share of the places in parking lanes that are taken.
        storeys: of the highest houses.
    """

    setback: float
    parked: float
    storeys: int


@dataclass(frozen=True)
class TownPlan:
    """A town on paper.

    Attributes:
        name: of the town.
        nodes: junctions and ends of streets, by name.
        streets: between nodes.
        latitude: degrees, of the origin.
        longitude: degrees, of the origin.
        surroundings: houses, trees and the like.
    """

    name: str
    nodes: dict[str, Node]
    streets: tuple[Street, ...]
    _: KW_ONLY
    latitude: float = 0.0
    longitude: float = 0.0
    surroundings: TownSurroundings | None = None
