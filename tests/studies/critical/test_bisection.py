"""Which sizes a search tries: every outcome on small grids, from every coarse grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise, product

import pytest

from studies.critical.bisection import choose_next_sizes, find_flips

Outcome = Callable[[int], bool | None]


def searched(outcome: Outcome, coarse: Sequence[int], grid: int) -> dict[int, bool | None]:
    """Return all that a search tries; it never tries a size twice or beyond the grid."""
    tried: dict[int, bool | None] = {}
    while asked := choose_next_sizes(tried, coarse):
        assert len(set(asked)) == len(asked)
        assert not set(asked) & tried.keys()
        assert all(0 <= size < grid for size in asked)
        tried |= {size: outcome(size) for size in asked}
    return tried


def coarse_grids(grid: int) -> Iterator[tuple[int, ...]]:
    """Yield every coarse grid with both ends."""
    inner = range(1, grid - 1)
    for count in range(len(inner) + 1):
        for chosen in combinations(inner, count):
            yield (0, *chosen, grid - 1)


@pytest.mark.thorough
@pytest.mark.parametrize("grid", range(2, 9))
def test_every_flip_that_the_coarse_grid_brackets_is_located(grid: int) -> None:
    for coarse in coarse_grids(grid):
        for outcomes in product((False, True), repeat=grid):
            tried = searched(outcomes.__getitem__, coarse, grid)
            between = find_flips(tried)
            assert all(high == low + 1 and outcomes[low] != outcomes[high] for low, high in between)
            for low, high in pairwise(coarse):
                inside = [flip for flip in between if low <= flip[0] and flip[1] <= high]
                assert len(inside) % 2 == (outcomes[low] != outcomes[high])
            assert set(coarse) <= tried.keys()


@pytest.mark.parametrize("grid", range(2, 9))
def test_only_the_coarse_grid_is_tried_where_nothing_flips(grid: int) -> None:
    for coarse in coarse_grids(grid):
        for outcome in (False, True):
            assert set(searched(lambda _, kind=outcome: kind, coarse, grid)) == set(coarse)  # type: ignore[misc]


def test_one_flip_takes_a_logarithm_of_the_interval() -> None:
    for flip in range(1, 65):
        tried = searched(lambda size, at=flip: size >= at, (0, 64), 65)  # type: ignore[misc]
        assert find_flips(tried) == [(flip - 1, flip)]
        assert len(tried) == 2 + 6


@pytest.mark.parametrize("grid", range(3, 7))
def test_sizes_without_a_result_are_passed_over(grid: int) -> None:
    """The interval is then wider than a step, and nothing between it is left untried."""
    for outcomes in product((False, True, None), repeat=grid):
        tried = searched(outcomes.__getitem__, (0, grid - 1), grid)
        for low, high in find_flips(tried):
            assert outcomes[low] != outcomes[high]
            assert all(size in tried and outcomes[size] is None for size in range(low + 1, high))
