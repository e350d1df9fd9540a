"""Conditional logistic regression with Firth's penalty: one event within each set at risk.

The likelihood of an event is that it met this member of its set and not another one, which is
Cox's partial likelihood of sets at risk. What is common to a whole set cancels. The penalty is half
the log determinant of the information (Firth 1993, Biometrika 80; for this likelihood Heinze and
Schemper 2001, Biometrics 57).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.firth import FirthFits
from harness.types.vocabulary import Floats, Integers, Mask

STEPS = 200
LONGEST = 2.0
"""How far a coefficient may move in one step."""
HALVINGS = 12
CLOSE = 1e-6
"""Steps shorter than this are the last."""
ROUNDING = 1e-11
HIGHER = 1e-6
"""By how much a maximum must be higher to be another one."""
SINGULAR = 1e-10
SPREAD = 2.0
"""Distance of further starts from zero, in standard errors at zero."""


@dataclass(frozen=True, slots=True, eq=False)
class PaddedSets:
    """Sets at risk, padded to the largest."""

    rows: Floats  # (sets, members, columns); 0 where there is no member
    member: Mask  # (sets, members)
    events: Floats  # (sets, columns): the row of the member that the event met
    clusters: Integers  # (sets,)

    @property
    def squares(self) -> Floats:
        """Products of all pairs of columns, (sets * members, columns * columns)."""
        flat = self.rows.reshape(-1, self.rows.shape[2])
        return np.asarray((flat[:, :, None] * flat[:, None, :]).reshape(len(flat), -1))


@dataclass(slots=True, eq=False)
class _ConditionalEvaluation:
    """The likelihood and its parts at some coefficients, all (fits, ...)."""

    p: Floats  # (sets, fits, members)
    mean: Floats  # (sets, fits, columns)
    information: Floats
    height: Floats


def fit_firth_conditional(
    sets: PaddedSets, weights: Floats | None = None, start: Floats | None = None
) -> FirthFits:
    """Maximise the penalised likelihood; `weights` is (fits, sets).

    Each fit is started at zero and from `start`, or without it from `SPREAD` standard errors on
    either side of zero; the highest end is kept.

    Args:
        sets: one event in each.
        weights: how often each set counts in each fit; None: one fit, once each.
        start: (columns,) where to begin, such as the fit of all sets.

    Returns:
        (fits, columns).
    """
    weights = np.ones((1, len(sets.rows))) if weights is None else weights
    zeros = np.zeros((len(weights), sets.rows.shape[2]))
    # from zero first; another start wins only where it ends clearly higher
    best = _climb_all(sets, weights, zeros)
    for begin in _list_conditional_starts(sets, weights, start):
        other = _climb_all(sets, weights, begin)
        higher = other[1] > best[1] + HIGHER
        for kept, new in zip(best, other, strict=True):
            kept[higher] = new[higher]
    beta, height, converged = best
    # a singular fit has no coefficients
    beta[~np.isfinite(height)] = np.nan
    return FirthFits(beta, converged & np.isfinite(height))


def _list_conditional_starts(
    sets: PaddedSets, weights: Floats, start: Floats | None
) -> list[Floats]:
    """Return where else to begin."""
    if start is not None:
        return [np.tile(start, (len(weights), 1))]
    first = _evaluate_conditional(
        sets, sets.squares, weights, np.zeros((len(weights), sets.rows.shape[2]))
    )
    errors = 1 / np.sqrt(np.maximum(np.einsum("fii->fi", first.information), SINGULAR))
    return [side * errors for side in (-SPREAD, SPREAD)]


def _climb_all(sets: PaddedSets, weights: Floats, start: Floats) -> tuple[Floats, Floats, Mask]:
    """Return where fits end that begin at `start`: coefficients, height, whether they ended."""
    # (sets * members, columns * columns), the same for all fits and steps
    squares = sets.squares
    beta = start.copy()
    height = np.full(len(beta), -np.inf)
    active = np.ones(len(beta), np.bool_)
    at = np.arange(len(beta))
    here = _evaluate_conditional(sets, squares, weights, beta)
    # only fits that still move are evaluated
    for _ in range(STEPS):
        w, now = weights[at], beta[at]
        # the scoring step, no longer than LONGEST in any coefficient, halved until it climbs
        step = _compute_scoring_step(sets, squares, w, here)
        step *= np.minimum(1, LONGEST / np.maximum(np.abs(step).max(axis=1), CLOSE))[:, None]
        there, here = _halve_steps(sets, squares, w, now, step, here)
        beta[at], height[at] = there, here.height
        # (active,) fits that have not arrived
        going = np.abs(there - now).max(axis=1) > CLOSE
        going &= np.isfinite(here.height)
        active[at] = going
        at = at[going]
        if not len(at):
            break
        here = _select_fits(here, going)
    return beta, height, ~active


def _select_fits(look: _ConditionalEvaluation, rows: Mask) -> _ConditionalEvaluation:
    """Return the parts of some fits."""
    return _ConditionalEvaluation(
        look.p[:, rows], look.mean[:, rows], look.information[rows], look.height[rows]
    )


def _compute_scoring_step(
    sets: PaddedSets, squares: Floats, weights: Floats, here: _ConditionalEvaluation
) -> Floats:
    """Return the scoring step: inverse information times the penalised score.

    The penalty's part of the score is sum(w p q (x - mean)) / 2 with q the squared distance of a
    row from its set's mean in the metric of the inverse information: its third central moments.
    """
    fits, k = len(weights), sets.rows.shape[2]
    # (fits, columns, columns), and (fits, sets, members): x' I^-1 x of every row
    inverse = np.linalg.inv(here.information)
    length = (inverse.reshape(fits, -1) @ squares.T).reshape(fits, *sets.member.shape)
    # q = (x - mean)' I^-1 (x - mean), from its three terms
    turned = (here.mean.transpose(1, 0, 2) @ inverse).transpose(1, 0, 2)  # (sets, fits, columns)
    across = turned @ sets.rows.transpose(0, 2, 1)
    mean_term = (turned * here.mean).sum(axis=2)
    pull = here.p * (length.transpose(1, 0, 2) - 2 * across + mean_term[:, :, None])
    # the penalty's part of the score: (sets, fits, columns)
    third = pull @ sets.rows - pull.sum(axis=2)[:, :, None] * here.mean
    score = sets.events[:, None, :] - here.mean + third / 2
    total = (weights.T[:, :, None] * score).sum(axis=0)
    return np.asarray((inverse @ total[:, :, None]).reshape(fits, k))


def _halve_steps(
    sets: PaddedSets,
    squares: Floats,
    weights: Floats,
    start: Floats,
    step: Floats,
    here: _ConditionalEvaluation,
) -> tuple[Floats, _ConditionalEvaluation]:
    """Return where steps lead that were halved until none goes down."""
    # (fits, columns)
    there = start + step
    look = _evaluate_conditional(sets, squares, weights, there)
    level = here.height - ROUNDING * (1 + np.abs(here.height))
    # only those fits that went down are evaluated again; in the last round they stay
    for halving in range(1, HALVINGS + 1):
        down = np.flatnonzero(~(look.height >= level) & np.isfinite(here.height))
        if not len(down):
            break
        there[down] = start[down] + step[down] * (0.5**halving if halving < HALVINGS else 0.0)
        again = _evaluate_conditional(sets, squares, weights[down], there[down])
        look.p[:, down], look.mean[:, down] = again.p, again.mean
        look.information[down], look.height[down] = again.information, again.height
    return there, look


def _evaluate_conditional(
    sets: PaddedSets, squares: Floats, weights: Floats, beta: Floats
) -> _ConditionalEvaluation:
    """Return probabilities, means, information and penalised height; -inf where singular."""
    fits, k = beta.shape
    # (sets, fits, members); the largest is taken off, so that nothing overflows
    eta = np.where(sets.member[:, None, :], beta @ sets.rows.transpose(0, 2, 1), -np.inf)
    top = eta.max(axis=2, keepdims=True)
    p = np.exp(eta - top)
    total = p.sum(axis=2, keepdims=True)
    p /= total
    # (sets, fits, columns), then information (fits, columns, columns): E[xx'] - E[x]E[x]'
    mean = p @ sets.rows
    flat = (weights.T[:, :, None] * p).transpose(1, 0, 2).reshape(fits, -1)
    weighted = (weights.T[:, :, None] * mean).transpose(1, 2, 0)
    information = (flat @ squares).reshape(fits, k, k) - weighted @ mean.transpose(1, 0, 2)
    # (sets, fits) log-likelihood of what was met
    met = np.einsum("sk,fk->sf", sets.events, beta) - (top + np.log(total))[:, :, 0]
    # the penalty is half the log determinant; singular fits are marked and kept invertible
    values = np.linalg.eigvalsh(information)
    whole = values[:, 0] > SINGULAR * np.maximum(values[:, -1], SINGULAR)
    penalty = np.log(np.where(whole[:, None], values, 1.0)).sum(axis=1) / 2
    information[~whole] = np.eye(k)
    height = (weights.T * met).sum(axis=0) + penalty
    return _ConditionalEvaluation(p, mean, information, np.where(whole, height, -np.inf))
