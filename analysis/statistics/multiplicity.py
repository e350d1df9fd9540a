"""Several tests at once."""

from __future__ import annotations

import numpy as np

from harness.vocabulary import Floats


def holm(p: Floats) -> Floats:
    """Return p-values that hold for the whole family (Holm 1979); NaN is no test."""
    adjusted = np.full(len(p), np.nan)
    tested = np.flatnonzero(np.isfinite(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
