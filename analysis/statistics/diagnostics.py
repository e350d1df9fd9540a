"""Diagnostics of a design matrix: separation of the outcomes, collinearity of the predictors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import linprog

from harness.types.vocabulary import Floats, Mask

TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeSeparation:
    """What the linear program found."""

    kind: Literal["none", "quasi", "complete"]
    infinite: Mask  # columns whose estimates run away


def detect_separation(y: Floats, design: Floats) -> OutcomeSeparation:
    """Look for a direction that never speaks against an outcome (Konis 2007, Oxford thesis).

    Maximise sum(s x'b), s = 2y - 1, subject to s x'b >= 0 and -1 <= b <= 1: above zero, outcomes
    are separated (Albert and Anderson 1984, Biometrika 71), completely if a b has s x'b > 0 in all
    rows.

    Args:
        y: (n,) outcomes, 0 or 1.
        design: (n, columns), the intercept among them.

    Returns:
        Whether and how outcomes are separated, and (columns,) which estimates run away.
    """
    # columns of one size, so that the tolerance means the same for all
    scale = np.maximum(np.abs(design).max(axis=0), 1e-300)
    signed = (2 * y - 1)[:, None] * design / scale
    bounds = [(-1.0, 1.0)] * design.shape[1]
    direction = linprog(
        -signed.sum(axis=0), -signed, np.zeros(len(y)), bounds=bounds, method="highs"
    )
    if -direction.fun < TOLERANCE:
        return OutcomeSeparation("none", np.zeros(design.shape[1], np.bool_))
    infinite = np.abs(direction.x) > TOLERANCE
    # complete: one direction has a positive margin in every row
    margin = linprog(
        np.append(np.zeros(design.shape[1]), -1.0),
        np.column_stack([-signed, np.ones(len(y))]),
        np.zeros(len(y)),
        bounds=[*bounds, (0.0, 1.0)],
        method="highs",
    )
    if -margin.fun > TOLERANCE:
        # directions near that one separate too, so that no estimate has a limit
        return OutcomeSeparation("complete", np.ones(design.shape[1], np.bool_))
    return OutcomeSeparation("quasi", infinite)


def compute_variance_inflation(predictors: Floats) -> Floats:
    """Return the variance inflation factors: the diagonal of the inverse correlation matrix.

    NaN for a column that does not vary, infinite for one that the others give.

    Args:
        predictors: (n, columns), without an intercept.

    Returns:
        (columns,)
    """
    factors = np.full(predictors.shape[1], np.nan)
    varied = np.flatnonzero(np.ptp(predictors, axis=0) > 0)
    centred = predictors[:, varied] - predictors[:, varied].mean(axis=0)
    centred /= np.linalg.norm(centred, axis=0)
    # the share of a column that the others do not explain
    for position, column in enumerate(varied):
        others = np.delete(centred, position, axis=1)
        rest = (
            centred[:, position]
            - others @ np.linalg.lstsq(others, centred[:, position], rcond=None)[0]
        )
        left = float(rest @ rest)
        factors[column] = 1 / left if left > 1e-12 else np.inf
    return factors


def compute_condition_number(predictors: Floats) -> float:
    """Return the ratio of largest to smallest singular value of the standardised predictors."""
    varied = predictors[:, np.ptp(predictors, axis=0) > 0]
    if not varied.shape[1]:
        return float("nan")
    values = np.linalg.svd((varied - varied.mean(axis=0)) / varied.std(axis=0), compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 1e-12 * values[0] else float("inf")
