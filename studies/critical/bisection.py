"""Which sizes are tried next, and between which the outcome flips: functions of what is known.

Sizes are numbers of a grid, 0 the smallest. Nothing is assumed of the order of outcomes: a system
that fails at one size may drive well at a larger one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

Outcomes: TypeAlias = Mapping[int, bool | None]
"""By the number of a size, whether there was a violation; nothing where there is no result."""


def choose_next_sizes(tried: Outcomes, coarse: Sequence[int]) -> list[int]:
    """Return the sizes to try next, none of which has been; an empty list ends the search.

    First all of the coarse grid. Then the middle of every interval between neighbours of different
    outcome, until such neighbours are next to each other on the grid.
    """
    if missing := sorted(set(coarse).difference(tried)):
        return missing
    middles = (choose_middle_size(tried, low, high) for low, high in find_flips(tried))
    return [size for size in middles if size is not None]


def find_flips(tried: Outcomes) -> list[tuple[int, int]]:
    """Return the neighbours of different outcome among the sizes with a result, in order."""
    known = sorted(size for size, violated in tried.items() if violated is not None)
    return [(low, high) for low, high in pairwise(known) if tried[low] != tried[high]]


def choose_middle_size(tried: Outcomes, low: int, high: int) -> int | None:
    """Return the size nearest to the middle that has not been tried; nothing if all have been."""
    inside = [size for size in range(low + 1, high) if size not in tried]
    return min(inside, key=lambda size: abs(2 * size - low - high), default=None)
