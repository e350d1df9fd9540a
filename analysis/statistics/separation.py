"""Whether predictors tell outcomes apart so well that maximum likelihood has no finite answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import linprog

from harness.vocabulary import Floats, Mask

TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """What the linear program found."""

    kind: Literal["none", "quasi", "complete"]
    infinite: Mask  # columns whose estimates run away


def separation(y: Floats, design: Floats) -> Separation:
    """Look for a direction that never speaks against an outcome (Konis 2007, Oxford thesis).

    Maximise sum(s x'b), s = 2y - 1, subject to s x'b >= 0 and -1 <= b <= 1: above zero, outcomes
    are separated (Albert and Anderson 1984, Biometrika 71), completely if a b has s x'b > 0 in all
    rows.
    """
    scale = np.maximum(np.abs(design).max(axis=0), 1e-300)
    signed = (2 * y - 1)[:, None] * design / scale
    bounds = [(-1.0, 1.0)] * design.shape[1]
    found = linprog(-signed.sum(axis=0), -signed, np.zeros(len(y)), bounds=bounds, method="highs")
    if -found.fun < TOLERANCE:
        return Separation("none", np.zeros(design.shape[1], np.bool_))
    infinite = np.abs(found.x) > TOLERANCE
    margin = linprog(
        np.append(np.zeros(design.shape[1]), -1.0),
        np.column_stack([-signed, np.ones(len(y))]),
        np.zeros(len(y)),
        bounds=[*bounds, (0.0, 1.0)],
        method="highs",
    )
    return Separation("complete" if -margin.fun > TOLERANCE else "quasi", infinite)
