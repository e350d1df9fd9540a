"""How different towns are built up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

Range = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class SceneryStyle:
    """What stands along the streets of a town.

    Attributes:
        built: share of the frontage's plots with a building on it.
        width, depth: of buildings, metres along and away from the street.
        storeys: how many, from a skewed distribution: most are nearer the lower figure.
        setback: from the sidewalk's edge to the facade.
        gap: between neighbours.
        green: share of open frontage with a hedge, the rest gets walls and fences.
        trees: metres from tree to tree behind the sidewalk.
        lamps: metres from lamp to lamp.
        parked: share of taken places in parking lanes.
        bays: chance, every few metres of frontage, of a row of parking bays.
    """

    built: float
    width: Range
    depth: Range
    storeys: Range
    setback: Range
    gap: Range
    green: float
    trees: float
    lamps: float
    parked: float
    bays: float


DOWNTOWN = SceneryStyle(
    built=0.86,
    width=(12, 26),
    depth=(11, 18),
    storeys=(3, 12),
    setback=(0.3, 1.5),
    gap=(0.0, 6.0),
    green=0.4,
    trees=24.0,
    lamps=27.0,
    parked=0.75,
    bays=0.05,
)
OLD_TOWN = SceneryStyle(
    built=0.9,
    width=(6.5, 13),
    depth=(8, 12),
    storeys=(2, 5),
    setback=(0.2, 0.8),
    gap=(0.0, 2.0),
    green=0.3,
    trees=35.0,
    lamps=24.0,
    parked=0.85,
    bays=0.03,
)
SUBURB = SceneryStyle(
    built=0.72,
    width=(9, 14),
    depth=(8, 12),
    storeys=(1, 3),
    setback=(3.0, 8.0),
    gap=(4.0, 10.0),
    green=0.75,
    trees=22.0,
    lamps=32.0,
    parked=0.6,
    bays=0.05,
)
ROUND = SceneryStyle(
    built=0.78,
    width=(10, 22),
    depth=(10, 16),
    storeys=(2, 8),
    setback=(0.5, 4.0),
    gap=(1.0, 8.0),
    green=0.55,
    trees=22.0,
    lamps=30.0,
    parked=0.75,
    bays=0.05,
)

STYLES = {"CrucibleOld": OLD_TOWN, "CrucibleHill": SUBURB, "CrucibleRing": ROUND}


BY_SETBACK = (DOWNTOWN, ROUND, SUBURB)
"""Styles of towns whose file says how far the houses stand back."""
LIMITS: dict[str, Range] = {"setback": (0.0, 20.0), "parked": (0.0, 1.0), "storeys": (1.0, 30.0)}
"""What a file may say: m, share of the places, storeys of the highest houses."""
FARTHEST = 1.5
"""The houses that stand furthest back do so by this many times the nearest ones' setback."""


def choose_scenery_style(town: str, wanted: Mapping[str, float]) -> SceneryStyle:
    """Return a town's style, as its file wants it; any other town is a downtown."""
    for name, value in wanted.items():
        low, high = LIMITS.get(name, (0.0, -1.0))
        if not low <= value <= high:
            raise ValueError(f"userData scenery.{name}={value:g}: unknown, or out of range")
    style = STYLES.get(town, DOWNTOWN)
    if "setback" in wanted:
        near = wanted["setback"]
        style = [kind for kind in BY_SETBACK if kind.setback[0] <= max(near, 0.3)][-1]
        style = replace(style, setback=(near, FARTHEST * near + 1.0))
    storeys = wanted.get("storeys", style.storeys[1])
    return replace(
        style,
        parked=wanted.get("parked", style.parked),
        storeys=(min(style.storeys[0], storeys), storeys),
    )
