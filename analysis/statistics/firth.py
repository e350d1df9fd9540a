"""Logistic regression with Firth's penalty, many fits at a time.

A fit has weights, one for each row: leaving a route out is weighting it with nothing, resampling
it is weighting it with how often it was drawn. All fits of a jackknife or a bootstrap go through
the same few matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats, Mask

STEPS = 100
SCORING = 8
"""Cheap steps, with the information as curvature, before Newton's own."""
LONGEST = 3.0
"""How far a coefficient may move in one step."""
HALVINGS = 12
CLOSE = 1e-8
"""Steps shorter than this are the last."""
ROUNDING = 1e-11
HIGHER = 1e-6
"""By how much a maximum must be higher to be another one."""
STARTS = 12
"""How many further starts there are."""
FIRST = 6
"""How many of them are tried if they find nothing higher."""
REACHES = (0.5, 2.0, 5.0)
"""Distance from zero: standard deviations of the log-odds that each column adds."""
TINY = 1e-12
SINGULAR = 1e-10
"""Ratio of the information's smallest to largest eigenvalue below which a fit is not reported."""


@dataclass(frozen=True, slots=True, eq=False)
class FirthFits:
    """Some fits of one design."""

    coefficients: Floats  # (fits, columns); NaN where the weights leave the design singular
    converged: Mask  # (fits,)


def fit_firth(
    y: Floats,
    design: Floats,
    weights: Floats | None = None,
    close: float = CLOSE,
    starts: Sequence[Floats] | None = None,
) -> FirthFits:
    """Maximise sum(w * log-likelihood) + log det(information) / 2 (Firth 1993, Biometrika 80).

    `design` has the intercept as a column; `weights` is (fits, rows). The penalised likelihood may
    have several maxima: each fit is started at zero, from every one of `starts` (rows of
    coefficients; without them from some of `sample_starts`, and if any fit has several maxima,
    from all of them and from where other fits ended), and its highest end is kept.

    Args:
        y: (rows,) outcomes, 0 or 1.
        design: (rows, columns).
        weights: (fits, rows); None: one fit, once each.
        close: steps shorter than this are the last.
        starts: (columns,) each; None: some are sampled.

    Returns:
        (fits, columns).
    """
    weights = np.ones((1, len(y))) if weights is None else weights
    # (rows, columns * columns): the information of all fits is one product with it
    squares: Floats = np.einsum("ni,nj->nij", design, design).reshape(len(y), -1)
    best = _climb_fits(
        y, design, squares, weights, np.zeros((len(weights), design.shape[1])), close
    )
    several = 0
    # more starts only where a fit has turned out to have several maxima
    for number, start in enumerate(sample_starts(design) if starts is None else starts):
        if starts is None and number >= FIRST and not several:
            break
        several += _keep_higher(best, start, y, design, squares, weights, close)
    # where one fit ended may be the maximum of another
    for end in _list_climb_ends(best) if starts is None and several else ():
        _keep_higher(best, end, y, design, squares, weights, close)
    # a singular fit has no coefficients
    regular = np.isfinite(best.height)
    best.beta[~regular] = np.nan
    return FirthFits(best.beta, regular & best.ended)


def sample_starts(design: Floats) -> list[Floats]:
    """Return starts around zero in all directions, near and far, always the same."""
    wide = np.maximum(design.std(axis=0), np.abs(design.mean(axis=0)))
    random = make_named_stream(design.shape[1], "analysis", "firth starts")
    ways = random.normal(size=(STARTS, design.shape[1]))
    reach = np.resize(REACHES, STARTS)[:, None]
    return list(np.asarray(reach * ways / np.maximum(wide, TINY)))


@dataclass(slots=True, eq=False)
class _ClimbEnds:
    """Where fits ended."""

    beta: Floats
    height: Floats
    ended: Mask


def _keep_higher(
    best: _ClimbEnds,
    start: Floats,
    y: Floats,
    design: Floats,
    squares: Floats,
    weights: Floats,
    close: float,
) -> int:
    """Climb every fit from one start, keep those that end elsewhere and higher, and count them."""
    begin = np.tile(start, (len(weights), 1))
    other = _climb_fits(y, design, squares, weights, begin, close)
    higher = other.height > best.height + HIGHER
    best.beta[higher], best.height[higher] = other.beta[higher], other.height[higher]
    best.ended[higher] = other.ended[higher]
    return int(higher.sum())


def _list_climb_ends(best: _ClimbEnds) -> Floats:
    """Return where fits ended, some of them if there are many; none if there is one fit."""
    known = best.beta[np.isfinite(best.height)]
    every = np.unique(known.round(3), axis=0)
    return every[:: max(1, len(every) // STARTS)] if len(best.beta) > 1 else every[:0]


def _climb_fits(
    y: Floats, design: Floats, squares: Floats, weights: Floats, beta: Floats, close: float
) -> _ClimbEnds:
    """Climb every fit from its start.

    The score of a fit is sum(w x (y - p + q (1/2 - p))), q = p (1 - p) x' I^-1 x (Heinze and
    Schemper 2002, Statistics in Medicine 21). Steps that do not climb are halved.
    """
    information, climbed = _evaluate_penalised(y, design, squares, weights, beta)
    regular = np.isfinite(climbed)
    active = regular.copy()
    # only fits that still move
    for number in range(STEPS):
        at = np.flatnonzero(active)
        if not len(at):
            break
        w, now = weights[at], beta[at]
        p = expit(now @ design.T)
        inverse = np.asarray(np.linalg.inv(information[at]), np.float64)
        # (fits, rows), and the score (fits, columns)
        spread = np.asarray(inverse.reshape(len(at), -1) @ squares.T, np.float64)  # x' I^-1 x
        score = (w * (y - p + p * (1 - p) * spread * (0.5 - p))) @ design
        curvature = information[at]
        # Newton's curvature where it is a bowl: near the maximum it converges faster
        if number >= SCORING:
            bent = curvature - _compute_penalty_curvature(design, squares, w, p, inverse, spread)
            bowl = np.linalg.eigvalsh(bent)[:, 0] > 0
            curvature = np.where(bowl[:, None, None], bent, curvature)
        # no longer than LONGEST in any coefficient, halved until it climbs
        step = np.linalg.solve(curvature, score[:, :, None])[:, :, 0]
        step *= np.minimum(1, LONGEST / np.maximum(np.abs(step).max(axis=1), close))[:, None]
        better, there, best = _halve_climb_steps(y, design, squares, w, now, step, climbed[at])
        beta[at], information[at], climbed[at] = better, there, best
        active[at] = np.abs(better - now).max(axis=1) > close
    return _ClimbEnds(beta, climbed, ~active)


def _compute_penalty_curvature(
    design: Floats, squares: Floats, weights: Floats, p: Floats, inverse: Floats, spread: Floats
) -> Floats:
    """Return the second derivatives of log det(information) / 2, so that steps can be Newton's.

    tr(I^-1 I_jk) / 2 - tr(I^-1 I_j I^-1 I_k) / 2, with I_j the information's derivative.
    """
    k = design.shape[1]
    v = p * (1 - p)
    second = ((weights * v * (1 - 6 * v) * spread) @ squares).reshape(-1, k, k)
    slopes = [
        inverse @ ((weights * v * (1 - 2 * p) * column) @ squares).reshape(-1, k, k)
        for column in design.T
    ]
    first = np.array([[np.einsum("bij,bji->b", a, b) for b in slopes] for a in slopes])
    return np.asarray((second - first.transpose(2, 0, 1)) / 2)


def _halve_climb_steps(
    y: Floats,
    design: Floats,
    squares: Floats,
    weights: Floats,
    start: Floats,
    step: Floats,
    height: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Return where steps lead that were halved until none goes down."""
    there = start + step
    information, reached = _evaluate_penalised(y, design, squares, weights, there)
    level = height - ROUNDING * (1 + np.abs(height))
    for halving in range(1, HALVINGS + 1):
        down = np.flatnonzero(~(reached >= level))
        if not len(down):
            break
        there[down] = start[down] + step[down] * (0.5**halving if halving < HALVINGS else 0.0)
        information[down], reached[down] = _evaluate_penalised(
            y, design, squares, weights[down], there[down]
        )
    return there, information, reached


def _evaluate_penalised(
    y: Floats, design: Floats, squares: Floats, weights: Floats, beta: Floats
) -> tuple[Floats, Floats]:
    """Return the information and the penalised log-likelihood, -inf where it is singular."""
    k = design.shape[1]
    eta = beta @ design.T
    p = expit(eta)
    information = ((weights * p * (1 - p)) @ squares).reshape(-1, k, k)
    eigenvalues = np.linalg.eigvalsh(information)
    whole = eigenvalues[:, 0] > SINGULAR * eigenvalues[:, -1]
    likelihood = (weights * (y * eta - np.logaddexp(0, eta))).sum(axis=1)
    penalty = np.log(np.where(whole[:, None], eigenvalues, 1.0)).sum(axis=1) / 2
    information[~whole] = np.eye(k)
    return information, np.where(whole, likelihood + penalty, -np.inf)


def correct_intercept(
    y: Floats, design: Floats, coefficients: Floats, weights: Floats | None = None
) -> Floats:
    """Return coefficients whose mean prediction is the mean outcome, fit by fit.

    Firth's penalty pulls predictions towards one half. FLIC moves the first coefficient, the
    intercept, and leaves the others (Puhr et al. 2017, Statistics in Medicine 36).

    Args:
        y: (rows,) outcomes, 0 or 1.
        design: (rows, columns), the intercept first.
        coefficients: (fits, columns).
        weights: (fits, rows); None: one fit, once each.

    Returns:
        (fits, columns)
    """
    weights = np.ones((1, len(y))) if weights is None else weights
    moved = coefficients.copy()
    # Newton's method in the intercept alone
    for _ in range(STEPS):
        p = expit(moved @ design.T)
        slope = np.maximum((weights * p * (1 - p)).sum(axis=1), 1e-12)
        step = (weights * (y - p)).sum(axis=1) / slope
        moved[:, 0] += np.clip(step, -1, 1)
        if not np.nanmax(np.abs(step)) > CLOSE:
            break
    return moved
