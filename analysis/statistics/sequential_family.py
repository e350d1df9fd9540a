"""One error rate over several comparisons that are decided at different times.

Each comparison has up to four one-sided null hypotheses: not more, not fewer, at or above the
margin, at or below minus the margin. `count_possible_errors` says how many of them can be true at
once, given what was decided. All nulls are tested at level / (sum of these numbers): Holm's
procedure (1979, Scandinavian Journal of Statistics 6) over the nulls that can still be true. Levels
only grow, and if all that is rejected is false, the sum of the levels of true nulls is at most
`level`: the two conditions of sequential rejection (Goeman and Solari 2010, Annals of Statistics
38). Wealth that once reached 1 / level counts as a rejection at any later time, so that it does not
matter when one looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Literal, TypeAlias

import numpy as np

from harness.types.vocabulary import Floats, Integers, Mask

Question: TypeAlias = Literal["superiority", "equivalence", "either"]
Claim: TypeAlias = Literal["mean", "somewhere"]


class Decision(IntEnum):
    """How a comparison was decided."""

    FEWER = -1
    UNDECIDED = 0
    MORE = 1
    EQUIVALENT = 2


def count_possible_errors(question: Question, claim: Claim, decision: Integers) -> Integers:
    """Return how many nulls of a comparison can be true at once, given its decision.

    Undecided: `not more` and `not fewer` together (no difference), or one of them and one of the
    margin's; of the margin's two alone, one. Decided `more`, that null is false, and one is left;
    two where `somewhere` leaves the mean open to be beyond the margin. Decided equivalent, the
    margin's are false, and nothing is known of the other two.

    Args:
        question: what may be decided.
        claim: of the mean, or of a stratum.
        decision: (samples,) a `Decision`.
    """
    undecided = 1 if question == "equivalence" else 2
    equivalent = 0 if question == "equivalence" else 2
    one_sided = 2 if question == "either" and claim == "somewhere" else 1
    counts = np.full(len(decision), one_sided)
    counts[decision == Decision.UNDECIDED] = undecided
    counts[decision == Decision.EQUIVALENT] = equivalent
    return counts


def decide_from_wealth(
    superior: Floats, within: Floats, needed: Floats, asked: tuple[Question, Claim]
) -> Integers:
    """Return what the wealth against the four nulls decides.

    Where the mean may also be equivalent, a claim that it is above 0 asks for above minus the
    margin as well, and one that it is below 0 for below the margin: so each side costs one level.

    Args:
        superior: (samples, 2) logarithm of the largest wealth on `more`, and on `fewer`.
        within: (samples, 2) the same on above minus the margin, and on below the margin.
        needed: (samples,) the logarithm that rejects.
        asked: what may be decided, and of what.

    Returns:
        (samples,) a `Decision`; the larger wealth where `more` and `fewer` both hold.
    """
    question = asked[0]
    rejected, bounded = superior >= needed[:, None], within >= needed[:, None]
    decision = np.full(len(needed), int(Decision.UNDECIDED))
    if question != "superiority":
        decision[bounded.all(axis=1)] = Decision.EQUIVALENT
    if question != "equivalence":
        one_sided = rejected & (bounded if asked == ("either", "mean") else True)
        larger = superior[:, 0] >= superior[:, 1]
        decision[one_sided[:, 1] & ~(one_sided[:, 0] & larger)] = Decision.FEWER
        decision[one_sided[:, 0] & ~(one_sided[:, 1] & ~larger)] = Decision.MORE
    return decision


def compute_needed_wealth(level: float, possible: Sequence[Integers]) -> Floats:
    """Return the logarithm of the wealth that rejects, with what is decided so far.

    Args:
        level: family-wise error rate.
        possible: for each comparison, (samples,) how many of its nulls can be true.
    """
    total = np.sum(possible, axis=0)
    return np.asarray(np.log(np.maximum(total, 1) / level))


def is_decided(decision: Integers) -> Mask:
    """Return which samples have a decision."""
    return np.asarray(decision != Decision.UNDECIDED)
