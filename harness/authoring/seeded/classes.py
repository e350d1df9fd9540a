"""Which lines of the grid are avenues, and what a street of each class looks like."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from harness.authoring.plan import StreetProfile
from harness.authoring.seeded.grid import Cell, Edge, StreetChain
from harness.authoring.seeded.parameters import TownParameters

Line = tuple[str, int]
"""A row or a column of the grid with its number; the rim of the town is one line."""
RIM: Line = ("rim", 0)
PARKING = 2.6
"""Metres, the width of a parking lane."""
LONG_ENOUGH = 92.0
"""Metres from middle to middle of two junctions between which there is room to park."""
AVENUE_LANES = 2
"""In each direction."""
AVENUE_RANK = 100
"""Above the ranks of all other streets."""


@dataclass(frozen=True)
class GridLines:
    """The lines of the grid: the avenues among them, and the order in which they go first."""

    columns: int
    rows: int
    avenues: frozenset[Line]
    order: tuple[Line, ...]

    def get_line(self, stretch: Edge) -> Line:
        """Return the line that a stretch lies on."""
        (i, j), (k, _) = stretch
        along_row = i != k
        outer = j in {0, self.rows} if along_row else i in {0, self.columns}
        return RIM if outer else ("row", j) if along_row else ("column", i)

    def is_avenue(self, stretch: Edge) -> bool:
        """Return whether a stretch is one of an avenue."""
        return self.get_line(stretch) in self.avenues

    def find_leading_line(self, chain: StreetChain) -> Line:
        """Return the line whose profile and rank a street takes: the highest of its stretches."""
        return max((self.get_line(stretch) for stretch in chain.edges), key=self.get_rank)

    def get_rank(self, line: Line) -> int:
        """Return who goes first: avenues before streets, and no two lines alike."""
        return (AVENUE_RANK if line in self.avenues else 0) + self.order.index(line)


def choose_grid_lines(parameters: TownParameters, rng: np.random.Generator) -> GridLines:
    """Choose the avenues: one row and one column at least."""
    columns = [("column", i) for i in range(1, parameters.columns)]
    rows = [("row", j) for j in range(1, parameters.rows)]
    every = [*columns, *rows, RIM]
    order = tuple(every[k] for k in rng.permutation(len(every)))
    first = [next(line for line in order if line in side) for side in (columns, rows)]
    wanted = max(round(parameters.avenues * len(every)), len(first))
    others = [line for line in order if line not in first]
    return GridLines(
        columns=parameters.columns,
        rows=parameters.rows,
        avenues=frozenset([*first, *others[: wanted - len(first)]]),
        order=order,
    )


def select_kept_stretches(lines: GridLines, edges: Iterable[Edge]) -> set[Edge]:
    """Return the stretches that are always built: those of avenues inside the rim."""
    return {
        stretch for stretch in edges if lines.is_avenue(stretch) and lines.get_line(stretch) != RIM
    }


def make_street_profile(
    chain: StreetChain,
    lines: GridLines,
    parameters: TownParameters,
    *,
    length: float,
    rng: np.random.Generator,
) -> StreetProfile:
    """Return a street's cross-section; every kerb has its own chance of a parking lane."""
    line = lines.find_leading_line(chain)
    avenue = line in lines.avenues
    share = parameters.parking if length >= LONG_ENOUGH else 0.0
    right, left = (PARKING if u < share else 0.0 for u in rng.random(2).tolist())
    walk = float(rng.random())
    return StreetProfile(
        lanes=AVENUE_LANES if avenue else parameters.street_lanes,
        lane_width=3.5 if avenue else 3.25,
        parking=(right, left),
        sidewalk=round((2.5 if avenue else 2.1) + 0.6 * walk, 1),
        speed=(60 if line == RIM else 50) if avenue else 30,
        rank=lines.get_rank(line),
    )


def make_street_name(chain: StreetChain, lines: GridLines, number: int) -> str:
    """Return a street's name: its line, and its place among all streets."""
    kind, line = lines.find_leading_line(chain)
    if (kind, line) == RIM:
        return f"Ring Road {number}"
    word = "Avenue" if (kind, line) in lines.avenues else "Street"
    return f"{chr(ord('A') + line)} {word} {number}" if kind == "row" else f"{word} {line} {number}"


def make_crossing_name(cell: Cell) -> str:
    """Return a crossing's name."""
    return f"{chr(ord('A') + cell[1])}{cell[0]}"
