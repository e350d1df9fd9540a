"""A world without weakness: every road user is lost with one probability, whatever the test is.

The synthetic judge answers with exact boxes. The ego alone detects what it detected in the study;
cooperation detects each judged road user, or loses it. No test is harder than another, so a guide
that shows a gain here shows how it selects, and not what it learned about a network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Boxes, Floats, Integers, Mask
from studies.metamorphic.judging.guidance import compute_shared_hull_volumes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HullPairs:
    """Pairs of road users of one test: which share of the first one's hull the second covers."""

    first: Integers  # (pairs,) rows of road users that the ego detects alone
    second: Integers  # (pairs,) rows of road users
    shares: Floats  # (pairs,) 1 for a road user and itself


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UsersAtRisk:
    """The road users that are judged in a set of tests; a row for each."""

    tests: int
    test: Integers  # (users,) the row of its test
    alone: Floats  # score with which the ego detects it alone, 0 for none
    exposed: Mapping[str, Mask]  # by check: who counts
    pairs: HullPairs
    fitness: Mapping[str, Floats]  # what it adds to a fitness if it is lost, by guide
    joint: frozenset[str]  # checks whose exposed users are known, and not only their number

    @property
    def scores(self) -> frozenset[str]:
        """Return the guides whose scores are known of this judge."""
        return frozenset({"vgt_published", "vgt", *self.fitness})

    def sum_by_test(self, values: Floats | Mask) -> Floats:
        """Return sums over the road users of each test."""
        return sum_by_group(self.test, values, self.tests)


@dataclass(frozen=True, eq=False, kw_only=True)
class NullOutcome:
    """What the synthetic judge made of all tests once."""

    users: UsersAtRisk
    lost: Mask  # (users,) those that cooperation does not detect

    @cached_property
    def scores(self) -> dict[str, Floats]:
        """Return the scores of guides: (tests,) of each."""
        return compute_null_scores(self.users, self.lost)

    def count_errors(self, check: str) -> Floats:
        """Return (tests,) numbers of exposed road users that were lost."""
        return self.users.sum_by_test(self.lost & self.users.exposed[check])


def sum_by_group(group: Integers, values: Floats | Mask, groups: int) -> Floats:
    """Return the sum of the values of each group.

    Args:
        group: (values,) numbers from 0 on.
        values: to be added up.
        groups: how many.
    """
    return np.bincount(group, values, minlength=groups).astype(np.float64)


def sample_null_worlds(
    users: UsersAtRisk, rate: float, *, worlds: int, seed: int
) -> Iterator[NullOutcome]:
    """Yield so many worlds in which every road user is lost with the same probability.

    Args:
        users: of all tests.
        rate: the probability, 0 to 1.
        worlds: how many.
        seed: of the losses.
    """
    random = make_named_stream(seed, "null worlds")
    for _ in range(worlds):
        yield NullOutcome(users=users, lost=random.random(len(users.test)) < rate)


def compute_null_scores(users: UsersAtRisk, lost: Mask) -> dict[str, Floats]:
    """Return the scores by which guides rank tests, as `judging.guidance` has them of boxes.

    Boxes are exact: a road user that is kept has an overlap ratio of 1 and one that is lost has
    none, so MultiTest's fitness has its missed part only.

    Args:
        users: of all tests.
        lost: (users,) those that cooperation does not detect.
    """
    kept, pairs = ~lost, users.pairs
    detected = users.alone > 0
    # numbers of boxes of the ego and of cooperation: (tests,)
    boxes_alone, boxes_together = users.sum_by_test(detected), users.sum_by_test(kept)
    covered = sum_by_group(
        users.test[pairs.first],
        users.alone[pairs.first] * pairs.shares * kept[pairs.second],
        users.tests,
    )
    boxes = boxes_alone * boxes_together
    weights = users.sum_by_test(users.alone)
    share_kept = users.sum_by_test(users.alone * kept) / np.where(weights > 0, weights, 1.0)
    return {
        "vgt_published": -covered / np.where(boxes > 0, boxes, 1.0),
        "vgt": np.where(weights > 0, -share_kept, -np.inf),
        **{name: users.sum_by_test(lost * parts) for name, parts in users.fitness.items()},
    }


def pair_hulls(boxes: Boxes, test: Integers, alone: Floats) -> HullPairs:
    """Return which hulls of a test's road users overlap those that the ego detects alone.

    Args:
        boxes: (users,) true boxes; those of a test stand together.
        test: (users,) the row of each one's test, ascending.
        alone: (users,) score of the ego's box, 0 for none.
    """
    rows: list[tuple[Integers, Integers, Floats]] = []
    for block in np.split(np.arange(len(test)), np.flatnonzero(np.diff(test)) + 1):
        first = block[alone[block] > 0]
        volumes = compute_shared_hull_volumes(boxes[first], boxes[block])
        # a hull has all of itself: its volume is the divisor
        places = np.searchsorted(block, first)
        shares = volumes / volumes[np.arange(len(first)), places][:, None]
        above, below = np.nonzero(shares)
        rows.append((first[above], block[below], shares[above, below]))
    of, by, parts = (np.concatenate(column) for column in zip(*rows, strict=True))
    return HullPairs(first=of, second=by, shares=parts)


def pair_with_itself(alone: Floats) -> HullPairs:
    """Return pairs where no place is known: a road user covers itself only."""
    rows = np.flatnonzero(alone > 0)
    return HullPairs(first=rows, second=rows, shares=np.ones(len(rows)))
