"""How different towns are built up."""

from __future__ import annotations

from dataclasses import dataclass

Range = tuple[float, float]


@dataclass(frozen=True)
class Style:
    """What stands beside the streets of a town.

    Attributes:
        built: share of the frontage's plots with a building on it.
        width, depth: of buildings, metres along and away from the street.
        storeys: how many, from a skewed draw: most are nearer the lower figure.
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


DOWNTOWN = Style(
    0.86, (12, 26), (11, 18), (3, 12), (0.3, 1.5), (0.0, 6.0), 0.4, 24.0, 27.0, 0.75, 0.05
)
OLD_TOWN = Style(
    0.9, (6.5, 13), (8, 12), (2, 5), (0.2, 0.8), (0.0, 2.0), 0.3, 35.0, 24.0, 0.85, 0.03
)
SUBURB = Style(0.72, (9, 14), (8, 12), (1, 3), (3.0, 8.0), (4.0, 10.0), 0.75, 22.0, 32.0, 0.6, 0.05)
ROUND = Style(
    0.78, (10, 22), (10, 16), (2, 8), (0.5, 4.0), (1.0, 8.0), 0.55, 22.0, 30.0, 0.75, 0.05
)

STYLES = {"CrucibleOld": OLD_TOWN, "CrucibleHill": SUBURB, "CrucibleRing": ROUND}


def style_of(town: str) -> Style:
    """Return a town's style; any other town is a downtown."""
    return STYLES.get(town, DOWNTOWN)
