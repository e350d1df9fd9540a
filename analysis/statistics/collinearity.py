"""How far predictors repeat each other."""

from __future__ import annotations

import numpy as np

from harness.vocabulary import Floats


def inflation(predictors: Floats) -> Floats:
    """Return the variance inflation factors: the diagonal of the inverse correlation matrix.

    NaN for a column that does not vary, infinite for one that the others give.
    """
    factors = np.full(predictors.shape[1], np.nan)
    varied = np.flatnonzero(np.ptp(predictors, axis=0) > 0)
    centred = predictors[:, varied] - predictors[:, varied].mean(axis=0)
    centred /= np.linalg.norm(centred, axis=0)
    for own, column in enumerate(varied):
        others = np.delete(centred, own, axis=1)
        rest = centred[:, own] - others @ np.linalg.lstsq(others, centred[:, own], rcond=None)[0]
        left = float(rest @ rest)
        factors[column] = 1 / left if left > 1e-12 else np.inf
    return factors


def condition_number(predictors: Floats) -> float:
    """Return the ratio of largest to smallest singular value of the standardised predictors."""
    varied = predictors[:, np.ptp(predictors, axis=0) > 0]
    if not varied.shape[1]:
        return float("nan")
    values = np.linalg.svd((varied - varied.mean(axis=0)) / varied.std(axis=0), compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 1e-12 * values[0] else float("inf")
