"""All regressions of one condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.arms import arms_in, of_arms, settings_in
from analysis.collection import Collection
from analysis.regression.checks import checks, checks_of_sets, events_per_predictor
from analysis.regression.design import Design, design_of
from analysis.regression.estimators import (
    COMPANION,
    PAPER,
    TIMING_FAIR,
    WINDOW,
    firth_jackknife,
    gee_bias_reduced,
    paper_logit,
)
from analysis.regression.fit import Fit
from analysis.regression.matched import matched_design, matched_jackknife
from analysis.regression.sample import NoFitError, Sample, sample_of
from analysis.regression.stretches import Passages, passages, tracks_of

RESAMPLES = 2000


NO_FRAMES = "needs planning steps, and only results were read"


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What the regressions of one condition say, or why they say nothing."""

    condition: str
    checks: pd.DataFrame  # of the last ten seconds
    fits: tuple[Fit, ...]  # the headline first, if it could be fitted
    refused: dict[str, str]  # method -> why
    events: dict[str, float]  # method -> events of the rarer outcome for each predictor
    set_checks: pd.DataFrame | None = None  # of the risk sets

    @property
    def headline(self) -> Fit | None:
        """The timing-fair fit."""
        return next((fit for fit in self.fits if fit.method == TIMING_FAIR), None)


def analyse(
    attempts: pd.DataFrame,
    condition: str,
    systems: Sequence[str] | None = None,
    found: Collection | None = None,
) -> Findings:
    """Fit everything to one condition, as `settings_in` calls it.

    The headline needs the folders themselves.
    """
    own = of_arms(attempts, settings_in(arms_in(attempts)).get(condition, []))
    sample = sample_of(attempts[own], systems)
    fits: list[Fit] = []
    refused: dict[str, str] = {}
    events = dict.fromkeys((PAPER, WINDOW, COMPANION), events_per_predictor(sample))
    told = None
    if found is None:
        refused[TIMING_FAIR] = NO_FRAMES
    else:
        rows = np.flatnonzero(own & (attempts["system"].isin(systems) if systems else True))
        told = headline(
            passages(list(tracks_of(found, rows, sample.left_out)), sample.left_out),
            fits,
            refused,
            events,
        )
    attempt(fits, refused, PAPER, lambda: paper_logit(sample))
    known = checks(sample, companions(sample, fits, refused))
    return Findings(condition, known, tuple(fits), refused, events, told)


def companions(sample: Sample, fits: list[Fit], refused: dict[str, str]) -> Design | None:
    """Fit what looks at the last ten seconds, and return its design if there is one."""
    try:
        design = design_of(sample)
    except NoFitError as problem:
        refused.update(dict.fromkeys((WINDOW, COMPANION), str(problem)))
        return None
    attempt(fits, refused, WINDOW, lambda: firth_jackknife(design, RESAMPLES))
    attempt(fits, refused, COMPANION, lambda: gee_bias_reduced(design))
    return design


def headline(
    passed: Passages, fits: list[Fit], refused: dict[str, str], events: dict[str, float]
) -> pd.DataFrame:
    """Fit the headline to some risk sets, and return what to know of them."""
    events[TIMING_FAIR] = events_per_predictor(passed.sample)
    try:
        design = matched_design(passed)
    except NoFitError as problem:
        refused[TIMING_FAIR] = str(problem)
        return checks_of_sets(passed, None)
    attempt(fits, refused, TIMING_FAIR, lambda: matched_jackknife(design))
    return checks_of_sets(passed, design)


def attempt(fits: list[Fit], refused: dict[str, str], method: str, fit: Callable[[], Fit]) -> None:
    """Keep a fit, or why there is none."""
    try:
        fits.append(fit())
    except NoFitError as problem:
        refused[method] = str(problem)
