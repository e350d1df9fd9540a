"""How often each regression finds what is not there, and what is, by simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.regression.design import design_of
from analysis.regression.estimators import firth_jackknife, gee_bias_reduced, paper_logit
from analysis.regression.fit import Fit
from analysis.regression.sample import NoFitError, Sample
from analysis.simulation import Scene, draw
from harness.randomness import stream
from harness.vocabulary import PATTERNS

ALPHA = 0.05
METHODS: Mapping[str, Callable[[Sample], Fit]] = {
    "paper": paper_logit,
    "primary": lambda sample: firth_jackknife(design_of(sample)),
    "companion": lambda sample: gee_bias_reduced(design_of(sample)),
}


def scenes(size: Scene) -> dict[str, Scene]:
    """Return what is simulated, for a campaign of some size."""
    return {
        "nothing matters, routes alike": replace(size, route_sd=0.0),
        "nothing matters, routes differ (SD 1.5)": replace(size, route_sd=1.5),
        "nothing matters, few violations": replace(size, route_sd=1.0, base=-2.0),
        "one pattern matters (1.0 per SD), SD 1.5": replace(size, route_sd=1.5, effect=1.0),
    }


def calibrate(size: Scene, replicates: int, seed: int) -> pd.DataFrame:
    """Return for every scene and method how often p < 0.05."""
    rows = [
        {"scene": name, "method": method, **rejections(found, scene)}
        for name, scene in scenes(size).items()
        for method, found in p_values(name, scene, replicates, seed).items()
    ]
    return pd.DataFrame(rows)


def p_values(name: str, scene: Scene, replicates: int, seed: int) -> dict[str, np.ndarray]:
    """Return (replicates, two, six) p-values of each method, plain and Holm's; NaN: no fit."""
    found = {method: np.full((replicates, 2, len(PATTERNS)), np.nan) for method in METHODS}
    for number in range(replicates):
        sample = draw(scene, stream(seed, "calibrate", name, str(number)))
        for method, fit in METHODS.items():
            try:
                terms = fit(sample).terms
            except NoFitError:
                continue
            columns = [PATTERNS.index(term) for term in terms["term"]]
            found[method][number][:, columns] = terms[["p", "p_holm"]].to_numpy().T
    return found


def rejections(p: np.ndarray, scene: Scene) -> dict[str, float]:
    """Return shares of campaigns: without a fit, with any false alarm, with the true one found.

    A campaign without a fit raises no alarm. `each` is the mean over patterns that do not matter.
    """
    with np.errstate(invalid="ignore"):
        small = p < ALPHA
    idle = slice(0 if scene.effect == 0 else 1, None)
    return {
        "no fit": float(np.isnan(p[:, 0]).all(axis=1).mean()),
        "false, each": float(small[:, 0, idle].mean()),
        "false, any": float(small[:, 0, idle].any(axis=1).mean()),
        "false, any, Holm": float(small[:, 1, idle].any(axis=1).mean()),
        "found": float(small[:, 0, 0].mean()) if scene.effect else float("nan"),
        "found, Holm": float(small[:, 1, 0].mean()) if scene.effect else float("nan"),
        "campaigns": float(len(p)),
    }
