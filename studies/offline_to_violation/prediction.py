"""Logistic regressions that predict violations on routes that they have not seen, and their scores.

Each model has a constant, offsets for each cell (system and condition) and each town, and its
columns. The
penalty is a ridge: half the sum of squared coefficients, but for the constant. On standardised
columns it is the normal distribution with standard deviation 1 as a prior. It keeps probabilities
away from 0 and 1, so that the log loss stays finite. It is not tuned (decision 0092).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from analysis.statistics.intervals import IntervalEstimate, estimate_mean
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats, Integers

RIDGE_PENALTY = 1.0
MOST_FOLDS = 10
"""Most folds; with fewer routes each is held out by itself."""
STEPS, CLOSE = 50, 1e-8
"""Newton's steps at most, and the change of a coefficient at which they end."""
BASE_RATE = "base rate"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OutcomeRows:
    """One row for each route, system and condition; all arrays are (rows,)."""

    violated: Floats  # 1 or 0
    routes: Integers  # number of the route
    systems: Integers  # number of the system
    cells: Integers  # number of the system and condition
    towns: Integers  # number of the group of routes

    @property
    def count_routes(self) -> int:
        """The number of routes, those without a row too."""
        return int(self.routes.max()) + 1 if len(self.routes) else 0

    @property
    def count_systems(self) -> int:
        """The number of systems."""
        return int(self.systems.max()) + 1 if len(self.systems) else 0

    def pick_values(self, values: Floats) -> Floats:
        """Return for each row its number of (routes, systems)."""
        return np.asarray(values[self.routes, self.systems], np.float64)


def fit_ridge_logistic(y: Floats, design: Floats, penalties: Floats) -> Floats:
    """Return the coefficients that maximise the penalised likelihood.

    The function is concave. Newton's steps are halved where they would lower it.

    Args:
        y: (rows,) 0 or 1.
        design: (rows, columns).
        penalties: (columns,) factor of half the squared coefficient; 0 for none.

    Returns:
        (columns,)
    """
    at = np.zeros(design.shape[1])
    value = compute_ridge_likelihood(y, design, penalties, at)
    for _ in range(STEPS):
        p = expit(design @ at)
        gradient = design.T @ (y - p) - penalties * at
        curvature = (design * (p * (1 - p))[:, None]).T @ design + np.diag(penalties)
        # a constant without a penalty has no maximum where all outcomes are equal
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(at)), gradient)
        while True:
            tried = compute_ridge_likelihood(y, design, penalties, at + step)
            if tried >= value - 1e-12 or np.abs(step).max() < CLOSE:
                break
            step = step / 2
        at, value = at + step, max(tried, value)
        if np.abs(step).max() < CLOSE:
            break
    return at


def compute_ridge_likelihood(y: Floats, design: Floats, penalties: Floats, at: Floats) -> float:
    """Return the log likelihood of coefficients less their penalty."""
    line = design @ at
    likelihood = float((y * line - np.logaddexp(0.0, line)).sum())
    return likelihood - float((penalties * at**2).sum()) / 2


def split_routes_into_folds(routes: int) -> Integers:
    """Return the fold of each route, shuffled always the same."""
    order = make_named_stream(routes, "offline_to_violation", "folds").permutation(routes)
    return np.asarray(order % max(min(routes, MOST_FOLDS), 1), np.int64)


def predict_held_out_routes(rows: OutcomeRows, findings: Floats) -> Floats:
    """Return each row's probability by a model that has seen none of its route.

    Args:
        rows: outcomes.
        findings: (routes, systems, columns); NaN is the mean of the other routes.

    Returns:
        (rows,)
    """
    folds = split_routes_into_folds(rows.count_routes)
    p = np.full(len(rows.violated), np.nan)
    for fold in np.unique(folds):
        others = folds != fold
        rest = others[rows.routes]
        columns = standardise_findings(findings, others)[rows.routes, rows.systems]
        design = build_offset_design(rows, columns)
        y = rows.violated[rest]
        if not len(y) or y.min() == y.max():  # one outcome only: Jeffreys' estimate of its rate
            p[~rest] = (y.sum() + 0.5) / (len(y) + 1)
            continue
        penalties = np.full(design.shape[1], RIDGE_PENALTY)
        penalties[0] = 0.0
        p[~rest] = expit(design[~rest] @ fit_ridge_logistic(y, design[rest], penalties))
    return p


def build_offset_design(rows: OutcomeRows, columns: Floats) -> Floats:
    """Return a constant, offsets and the columns: (rows, 1 + cells + towns + columns)."""
    offsets = [
        (numbers[:, None] == np.arange(numbers.max() + 1)).astype(np.float64)
        for numbers in (rows.cells, rows.towns)
    ]
    return np.column_stack([np.ones(len(rows.cells)), *offsets, columns])


def standardise_findings(findings: Floats, known: Floats | np.ndarray) -> Floats:
    """Return findings by the mean and standard deviation of known routes, within each system.

    Args:
        findings: (routes, systems, columns), NaN where nothing was asked.
        known: (routes,) routes that mean and deviation may be taken from.

    Returns:
        The same shape; 0 where nothing is known, and in columns that do not vary.
    """
    seen = findings[np.asarray(known, np.bool_)]
    there = np.isfinite(seen)
    count = np.maximum(there.sum(axis=0), 1)
    middle = np.where(there, seen, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(there, seen - middle, 0.0) ** 2).sum(axis=0) / count)
    varied = spread > 1e-12
    scaled = (findings - middle) / np.where(varied, spread, 1.0)
    return np.asarray(np.where(np.isfinite(scaled) & varied, scaled, 0.0))


def compute_log_losses(y: Floats, p: Floats) -> Floats:
    """Return each row's log loss, natural logarithm."""
    return np.asarray(-(y * np.log(p) + (1 - y) * np.log1p(-p)))


def compute_brier_losses(y: Floats, p: Floats) -> Floats:
    """Return each row's squared error."""
    return np.asarray((p - y) ** 2)


def estimate_lower_loss(
    rows: OutcomeRows, with_it: Floats, without: Floats, *, brier: bool = False
) -> IntervalEstimate:
    """Return how much lower the loss is with a finding: above 0 where it helps; routes resampled.

    Args:
        rows: outcomes.
        with_it: (rows,) held-out probabilities of the model with the finding.
        without: (rows,) those of the reference.
        brier: Brier's score instead of the log loss.
    """
    loss = compute_brier_losses if brier else compute_log_losses
    gain = loss(rows.violated, without) - loss(rows.violated, with_it)
    return estimate_mean(gain, rows.routes.astype(np.float64))


def score_models(rows: OutcomeRows, models: Mapping[str, Floats]) -> pd.DataFrame:
    """Return a row for each model: losses, and how much lower than the base rate's they are.

    Args:
        rows: outcomes.
        models: (rows,) held-out probabilities by name, the base rate's among them.
    """
    clusters, base = rows.routes.astype(np.float64), models[BASE_RATE]
    table = []
    for name, p in models.items():
        estimates = {
            "log loss": estimate_mean(compute_log_losses(rows.violated, p), clusters),
            "Brier": estimate_mean(compute_brier_losses(rows.violated, p), clusters),
            "lower log loss": estimate_lower_loss(rows, p, base),
            "lower Brier": estimate_lower_loss(rows, p, base, brier=True),
            "too high": estimate_mean(p - rows.violated, clusters),
        }
        row: dict[str, object] = {"model": name}
        for measure, estimate in estimates.items():
            row |= {
                measure: estimate.value,
                f"{measure} low": estimate.low,
                f"{measure} high": estimate.high,
            }
        table.append(row | {"rows": len(p), "routes": len(np.unique(rows.routes))})
    return pd.DataFrame(table)
