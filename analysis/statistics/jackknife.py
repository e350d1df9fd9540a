"""Leaving out one route at a time."""

from __future__ import annotations

import numpy as np

from harness.vocabulary import Floats, Integers


def left_out(clusters: Integers) -> Floats:
    """Return a row of weights for each cluster, nothing for its own rows and one for the others."""
    return np.asarray(np.unique(clusters)[:, None] != clusters, np.float64)


def jackknife_errors(estimate: Floats, left: Floats) -> Floats:
    """Return standard errors of estimates from those with each of G clusters left out.

    Covariance (G - 1) / G sum((b_g - b)(b_g - b)'), centred on the full estimate: CV3 of MacKinnon,
    Nielsen and Webb (2023, Journal of Applied Econometrics 38), for logit in arXiv 2406.00650.
    """
    groups = len(left)
    return np.asarray(np.sqrt((groups - 1) / groups * ((left - estimate) ** 2).sum(axis=0)))
