"""What an estimator says, one row for each predictor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from analysis.statistics.intervals import LEVEL
from analysis.statistics.multiplicity import holm
from harness.vocabulary import Floats

LARGEST = 600.0
"""A log odds ratio beyond which none is told: it ran away."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """One method's answer."""

    method: str
    terms: pd.DataFrame  # term, unit, coefficient, error, odds_ratio, low, high, p, p_holm, ...
    note: str = ""


def terms_of(
    names: Sequence[str], units: Floats, coefficients: Floats, errors: Floats, freedom: float
) -> pd.DataFrame:
    """Return odds ratios for one unit more, with t intervals (infinite freedom: normal ones)."""
    reach = stats.t.ppf((1 + LEVEL) / 2, freedom) * errors
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stats.t.sf(np.abs(coefficients / errors), freedom)
    return pd.DataFrame(
        {
            "term": list(names),
            "unit": units,
            "coefficient": coefficients,
            "error": errors,
            "odds_ratio": odds(coefficients),
            "low": odds(coefficients - reach),
            "high": odds(coefficients + reach),
            "p": p,
            "p_holm": holm(np.asarray(p)),
        }
    )


def odds(logarithm: Floats) -> Floats:
    """Return the exponential, without overflow."""
    return np.asarray(np.exp(np.clip(logarithm, -LARGEST, LARGEST)))


def brief(value: float) -> str:
    """Return a ratio in three digits, or in powers of ten where it is beyond use."""
    if not math.isfinite(value):
        return "-"
    return f"{value:.3g}" if 1e-3 <= value < 1e4 else f"{value:.0e}"
