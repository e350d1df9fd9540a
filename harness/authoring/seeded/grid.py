"""The street grid of a town from a seed: which stretches are built, and what streets they make."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

Cell = tuple[int, int]
"""A crossing of the grid: column and row, from the south-west."""
Edge = tuple[Cell, Cell]
"""A stretch between two neighbouring crossings, the lower first."""
LONGEST_CHAIN = 3
"""Stretches that may follow each other without a junction."""
FEWEST_JUNCTIONS = 10
FEWEST_ARMS = 3
"""Where fewer streets meet there is a bend and no junction."""


@dataclass(frozen=True)
class StreetChain:
    """A street from junction to junction: the crossings it passes, ends included."""

    cells: tuple[Cell, ...]

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Its stretches."""
        return tuple(make_edge(a, b) for a, b in zip(self.cells, self.cells[1:], strict=False))


def make_edge(a: Cell, b: Cell) -> Edge:
    """Return the stretch between two crossings."""
    return (a, b) if a < b else (b, a)


def list_grid_edges(columns: int, rows: int) -> set[Edge]:
    """Return all stretches of a grid of so many blocks."""
    across = {((i, j), (i + 1, j)) for i in range(columns) for j in range(rows + 1)}
    up = {((i, j), (i, j + 1)) for i in range(columns + 1) for j in range(rows)}
    return across | up


def remove_grid_edges(
    edges: set[Edge], kept: set[Edge], share: float, rng: np.random.Generator
) -> set[Edge]:
    """Leave out a share of the stretches, except those to keep, while the grid stays sound."""
    wanted = round(share * len(edges))
    order = [sorted(edges - kept)[k] for k in rng.permutation(len(edges - kept))]
    built = set(edges)
    for candidate in order:
        fewer = _remove_stubs(built - {candidate})
        if len(edges) - len(fewer) <= wanted and not kept - fewer and is_sound_grid(fewer):
            built = fewer
    return built


def _remove_stubs(edges: set[Edge]) -> set[Edge]:
    """Take away what has become a dead end, such as the rest of a corner."""
    while True:
        stubs = {cell for cell, near in list_cell_neighbours(edges).items() if len(near) == 1}
        if not stubs:
            return edges
        edges = {pair for pair in edges if not stubs.intersection(pair)}


def list_cell_neighbours(edges: Iterable[Edge]) -> dict[Cell, list[Cell]]:
    """Return the crossings next to each crossing."""
    near: dict[Cell, list[Cell]] = defaultdict(list)
    for a, b in sorted(edges):
        near[a].append(b)
        near[b].append(a)
    return dict(near)


def is_sound_grid(edges: set[Edge]) -> bool:
    """Return whether a grid has junctions enough, no long chain, and no crossing all must pass."""
    streets = list_street_chains(edges)
    ends = {cell for street in streets for cell in (street.cells[0], street.cells[-1])}
    pairs = [frozenset((street.cells[0], street.cells[-1])) for street in streets]
    return (
        len(ends) >= FEWEST_JUNCTIONS
        and max(len(street.edges) for street in streets) <= LONGEST_CHAIN
        and len(set(pairs)) == len(pairs)
        and is_two_connected(edges)
    )


def is_two_connected(edges: set[Edge]) -> bool:
    """Return whether the grid hangs together whichever crossing is closed."""
    near = list_cell_neighbours(edges)
    return all(_count_reached_cells(near, closed) == len(near) - 1 for closed in near)


def _count_reached_cells(near: dict[Cell, list[Cell]], closed: Cell) -> int:
    """Count the crossings that can be reached from the first open one."""
    start = next(cell for cell in sorted(near) if cell != closed)
    reached, ahead = {start}, [start]
    while ahead:
        for cell in near[ahead.pop()]:
            if cell != closed and cell not in reached:
                reached.add(cell)
                ahead.append(cell)
    return len(reached)


def list_street_chains(edges: set[Edge]) -> list[StreetChain]:
    """Return the streets from junction to junction."""
    near = list_cell_neighbours(edges)
    junctions = sorted(cell for cell, others in near.items() if len(others) >= FEWEST_ARMS)
    result = []
    for start in junctions:
        for first in near[start]:
            cells = [start, first]
            while len(near[cells[-1]]) < FEWEST_ARMS:
                here, before = cells[-1], cells[-2]
                cells.append(next(cell for cell in near[here] if cell != before))
            if (cells[0], cells[1]) <= (cells[-1], cells[-2]):
                result.append(StreetChain(tuple(cells)))
    return result
