"""Calibration: how often a regression finds an effect that is absent, and one that is present."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.regression.design import build_regression_design
from analysis.regression.estimators import (
    RegressionFit,
    fit_bias_reduced_gee,
    fit_firth_jackknife,
    fit_paper_logit,
)
from analysis.regression.matched import build_matched_design, fit_matched_jackknife
from analysis.regression.risk_sets import build_risk_sets
from analysis.regression.sample import NoFitError
from analysis.simulation.campaigns import (
    CampaignScenario,
    SimulatedDrives,
    select_last_window,
    simulate_drives,
)
from analysis.statistics.intervals import compute_clopper_pearson_interval
from harness.common.randomness import make_named_stream
from harness.types.record_names import PATTERNS

ALPHA = 0.05
HEADLINE = "timing-fair"
METHODS: Mapping[str, Callable[[SimulatedDrives], RegressionFit]] = {
    HEADLINE: lambda made: fit_matched_jackknife(
        build_matched_design(build_risk_sets(made.tracks, {}))
    ),
    "window": lambda made: fit_firth_jackknife(build_regression_design(select_last_window(made))),
    "companion": lambda made: fit_bias_reduced_gee(
        build_regression_design(select_last_window(made))
    ),
    "paper": lambda made: fit_paper_logit(select_last_window(made)),
}


def list_regression_scenarios(size: CampaignScenario) -> dict[str, CampaignScenario]:
    """Return what is simulated, for a campaign of some size."""
    place = replace(size, route_sd=1.0, spread=0.3)
    return {
        "nothing matters, routes alike": replace(size, route_sd=0.0),
        "nothing matters, routes differ (SD 1.5)": replace(size, route_sd=1.5),
        "nothing matters, few violations": replace(size, route_sd=1.0, base=-2.0),
        "nothing matters, one rate 1.5 times as high at the place": replace(
            place, place=1.5, places=1
        ),
        "nothing matters, one rate 2 times as high at the place": replace(
            place, place=2.0, places=1
        ),
        "nothing matters, three rates 2 times as high at the place": replace(
            place, place=2.0, places=3
        ),
        "one pattern matters (1.0 per SD), SD 1.5": replace(size, route_sd=1.5, effect=1.0),
    }


def measure_rejection_rates(
    size: CampaignScenario, replicates: int, *, seed: int, methods: Sequence[str], only: str = ""
) -> pd.DataFrame:
    """Return for every scene and method how often p < 0.05; `only` scenes with these words.

    Args:
        size: routes, seeds and arms of a simulated campaign.
        replicates: campaigns for each scene.
        seed: of the simulation.
        methods: names of the regressions.
        only: part of a scene's name.
    """
    rows = [
        {"scenario": name, "method": method, **compute_rejection_shares(p, scene)}
        for name, scene in list_regression_scenarios(size).items()
        if only in name
        for method, p in compute_simulated_p_values(
            name, scene, replicates=replicates, seed=seed, methods=methods
        ).items()
    ]
    return pd.DataFrame(rows)


def compute_simulated_p_values(
    name: str,
    scene: CampaignScenario,
    *,
    replicates: int,
    seed: int,
    methods: Sequence[str] = tuple(METHODS),
) -> dict[str, np.ndarray]:
    """Return (replicates, two, six) p-values of each method, plain and Holm's; NaN: no fit."""
    p = {method: np.full((replicates, 2, len(PATTERNS)), np.nan) for method in methods}
    for number in range(replicates):
        made = simulate_drives(scene, make_named_stream(seed, "calibrate", name, str(number)))
        for method in methods:
            try:
                terms = METHODS[method](made).terms
            except NoFitError:
                continue
            columns = [PATTERNS.index(term) for term in terms["term"]]
            p[method][number][:, columns] = terms[["p", "p_holm"]].to_numpy().T
    return p


def compute_rejection_shares(p: np.ndarray, scene: CampaignScenario) -> dict[str, float]:
    """Return shares of campaigns: without a fit, with a false positive, with the true effect found.

    A campaign without a fit has no false positive. `per pattern` is the mean
    over patterns without effect; `low` and `high` are Clopper and Pearson's
    interval of any false positive after Holm.
    """
    with np.errstate(invalid="ignore"):
        small = p < ALPHA
    idle = slice(0 if scene.effect == 0 else 1, None)
    false = small[:, 1, idle].any(axis=1)
    low, high = compute_clopper_pearson_interval(int(false.sum()), len(p))
    return {
        "no fit": float(np.isnan(p[:, 0]).all(axis=1).mean()),
        "false, per pattern": float(small[:, 0, idle].mean()),
        "false, any": float(small[:, 0, idle].any(axis=1).mean()),
        "false, any, Holm": float(false.mean()),
        "low": low,
        "high": high,
        "power": float(small[:, 0, 0].mean()) if scene.effect else float("nan"),
        "power, Holm": float(small[:, 1, 0].mean()) if scene.effect else float("nan"),
        "campaigns": float(len(p)),
    }
