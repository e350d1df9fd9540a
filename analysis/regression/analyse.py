"""All regressions of one condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.collection import Collection
from analysis.regression.checks import checks, events_per_predictor
from analysis.regression.design import Design, design_of
from analysis.regression.estimators import (
    COMPANION,
    HAZARD,
    PAPER,
    PRIMARY,
    firth_jackknife,
    gee_bias_reduced,
    paper_logit,
)
from analysis.regression.fit import Fit
from analysis.regression.hazard import hazard_design, hazard_sample
from analysis.regression.sample import NoFitError, Sample, sample_of

RESAMPLES = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What the regressions of one condition say, or why they say nothing."""

    condition: str
    checks: pd.DataFrame
    fits: tuple[Fit, ...]
    refused: dict[str, str]  # method -> why
    events: dict[str, float]  # method -> events of the rarer outcome for each predictor
    hazard_checks: pd.DataFrame | None = None


def analyse(
    attempts: pd.DataFrame,
    condition: str,
    systems: Sequence[str] | None = None,
    found: Collection | None = None,
) -> Findings:
    """Fit everything to one condition; the hazard model needs the folders themselves."""
    own = attempts["condition"] == condition
    sample = sample_of(attempts[own], systems)
    fits: list[Fit] = []
    refused: dict[str, str] = {}
    attempt(fits, refused, PAPER, lambda: paper_logit(sample))
    design = designed(sample, refused, (PRIMARY, COMPANION))
    if design is not None:
        attempt(fits, refused, PRIMARY, lambda: firth_jackknife(design, RESAMPLES))
        attempt(fits, refused, COMPANION, lambda: gee_bias_reduced(design))
    events = dict.fromkeys((PAPER, PRIMARY, COMPANION), events_per_predictor(sample))
    told = None
    if found is not None:
        rows = np.flatnonzero(own & (attempts["system"].isin(systems) if systems else True))
        moments, times = hazard_sample(found, rows, sample.left_out)
        at_risk = designed(moments, refused, (HAZARD,), times)
        told = checks(moments, at_risk)
        events[HAZARD] = events_per_predictor(moments)
        if at_risk is not None:
            attempt(fits, refused, HAZARD, lambda: firth_jackknife(at_risk, method=HAZARD))
    return Findings(condition, checks(sample, design), tuple(fits), refused, events, told)


def designed(
    sample: Sample,
    refused: dict[str, str],
    methods: tuple[str, ...],
    times: np.ndarray[tuple[int], np.dtype[np.float64]] | None = None,
) -> Design | None:
    """Return the design, or nothing and why for every method that needs it."""
    try:
        return design_of(sample) if times is None else hazard_design(sample, times)
    except NoFitError as problem:
        refused.update(dict.fromkeys(methods, str(problem)))
        return None


def attempt(fits: list[Fit], refused: dict[str, str], method: str, fit: Callable[[], Fit]) -> None:
    """Keep a fit, or why there is none."""
    try:
        fits.append(fit())
    except NoFitError as problem:
        refused[method] = str(problem)
