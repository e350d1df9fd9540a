"""All regressions of one condition, and the diagnostics to read before their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.arms import arms_in, of_arms, settings_in
from analysis.collection import Collection
from analysis.regression.design import Design, design_of
from analysis.regression.estimators import (
    COMPANION,
    PAPER,
    TIMING_FAIR,
    WINDOW,
    Fit,
    firth_jackknife,
    gee_bias_reduced,
    paper_logit,
)
from analysis.regression.matched import MatchedDesign, matched_design, matched_jackknife, separated
from analysis.regression.risk_sets import RiskSets, risk_sets, tracks_of
from analysis.regression.sample import NoFitError, Sample, sample_of
from analysis.statistics.diagnostics import condition_number, inflation, separation
from harness.vocabulary import PATTERNS

FEW_ROUTES = 15
"""Below this, jackknife and GEE rest on little."""


def checks(sample: Sample, design: Design | None) -> pd.DataFrame:
    """Return one line for each thing to know: `check`, `result`."""
    events = int(sample.y.sum())
    rarer = min(events, len(sample.y) - events)
    lines = [
        ("rows", f"{len(sample.y)}, of which {events} with violation"),
        ("systems", ", ".join(sorted(set(sample.systems.tolist()))) or "none"),
        *(("left out", f"{name}: {reason}") for name, reason in sample.left_out.items()),
        *(("rows dropped", f"{count}: {reason}") for reason, count in sample.dropped.items()),
    ]
    if len(sample.y):
        routes = len(np.unique(sample.clusters))
        few = "" if routes >= FEW_ROUTES else "; few: intervals and p-values rest on little"
        lines.append(("clusters", f"{routes} routes{few}"))
        per_predictor = events_per_predictor(sample)
        lines.append(
            ("events per predictor", f"{per_predictor:.1f} ({rarer} of the rarer outcome / 6)")
        )
    if design is not None:
        lines += [("not estimated", f"{name}: {why}") for name, why in design.refused.items()]
        lines += on_design(design)
    return pd.DataFrame(lines, columns=["check", "result"])


def checks_of_sets(passed: RiskSets, design: MatchedDesign | None) -> pd.DataFrame:
    """Return one line for each thing to know of the risk sets: `check`, `result`."""
    sample = passed.sample
    lines = [
        ("systems", ", ".join(sorted(set(sample.systems.tolist()))) or "none"),
        *(("left out", f"{name}: {reason}") for name, reason in sample.left_out.items()),
        *(("dropped", f"{count}: {reason}") for reason, count in sample.dropped.items()),
    ]
    if len(sample.y):
        events, routes = int(sample.y.sum()), len(np.unique(sample.clusters))
        few = "" if routes >= FEW_ROUTES else "; few: intervals and p-values rest on little"
        per_predictor = events_per_predictor(sample)
        lines += [
            ("risk sets", f"{events} violations, each with {len(sample.y) / events:.1f} drives"),
            ("clusters", f"{routes} routes{few}"),
            (
                "events per predictor",
                f"{per_predictor:.1f} ({events} violations / {len(PATTERNS)})",
            ),
        ]
    if design is not None:
        factors = zip(design.predictors, inflation(design.tested), strict=True)
        lines += [("not estimated", f"{name}: {why}") for name, why in design.refused.items()]
        lines += [
            ("separation", separated(design)),
            ("VIF", ", ".join(f"{name} {factor:.1f}" for name, factor in factors)),
            ("condition number", f"{condition_number(design.tested):.1f}"),
        ]
    return pd.DataFrame(lines, columns=["check", "result"])


def events_per_predictor(sample: Sample) -> float:
    """Return how many of the rarer outcome there are for each of the six patterns."""
    events = int(sample.y.sum())
    return min(events, len(sample.y) - events) / len(PATTERNS)


def on_design(design: Design) -> list[tuple[str, str]]:
    """Return what to know of the matrix."""
    apart = separation(design.y, design.matrix)
    runaway = [
        name
        for name, infinite in zip(design.names[1:], apart.infinite[1:], strict=True)
        if infinite
    ]
    note = (
        f" ({', '.join(runaway)}); only Firth's penalty keeps estimates finite" if runaway else ""
    )
    factors = zip(design.predictors, inflation(design.tested), strict=True)
    return [
        ("separation", f"{apart.kind}{note}"),
        ("VIF", ", ".join(f"{name} {factor:.1f}" for name, factor in factors)),
        ("condition number", f"{condition_number(design.tested):.1f}"),
    ]


RESAMPLES = 2000


NO_FRAMES = "needs planning steps, and only results were read"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ConditionFits:
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


def fit_condition(
    attempts: pd.DataFrame,
    condition: str,
    systems: Sequence[str] | None = None,
    collection: Collection | None = None,
) -> ConditionFits:
    """Fit everything to one condition, as `settings_in` calls it.

    The headline needs the folders themselves.
    """
    of_condition = of_arms(attempts, settings_in(arms_in(attempts)).get(condition, []))
    sample = sample_of(attempts[of_condition], systems)
    fits: list[Fit] = []
    refused: dict[str, str] = {}
    events = dict.fromkeys((PAPER, WINDOW, COMPANION), events_per_predictor(sample))
    set_checks = None
    if collection is None:
        refused[TIMING_FAIR] = NO_FRAMES
    else:
        rows = np.flatnonzero(
            of_condition & (attempts["system"].isin(systems) if systems else True)
        )
        set_checks = fit_headline(
            risk_sets(list(tracks_of(collection, rows, sample.left_out)), sample.left_out),
            fits,
            refused,
            events,
        )
    keep_fit(fits, refused, PAPER, lambda: paper_logit(sample))
    known = checks(sample, fit_companions(sample, fits, refused))
    return ConditionFits(
        condition=condition,
        checks=known,
        fits=tuple(fits),
        refused=refused,
        events=events,
        set_checks=set_checks,
    )


def fit_companions(sample: Sample, fits: list[Fit], refused: dict[str, str]) -> Design | None:
    """Fit what looks at the last ten seconds, and return its design if there is one."""
    try:
        design = design_of(sample)
    except NoFitError as problem:
        refused.update(dict.fromkeys((WINDOW, COMPANION), str(problem)))
        return None
    keep_fit(fits, refused, WINDOW, lambda: firth_jackknife(design, RESAMPLES))
    keep_fit(fits, refused, COMPANION, lambda: gee_bias_reduced(design))
    return design


def fit_headline(
    passed: RiskSets, fits: list[Fit], refused: dict[str, str], events: dict[str, float]
) -> pd.DataFrame:
    """Fit the headline to some risk sets, and return what to know of them."""
    events[TIMING_FAIR] = events_per_predictor(passed.sample)
    try:
        design = matched_design(passed)
    except NoFitError as problem:
        refused[TIMING_FAIR] = str(problem)
        return checks_of_sets(passed, None)
    keep_fit(fits, refused, TIMING_FAIR, lambda: matched_jackknife(design))
    return checks_of_sets(passed, design)


def keep_fit(fits: list[Fit], refused: dict[str, str], method: str, fit: Callable[[], Fit]) -> None:
    """Keep a fit, or why there is none."""
    try:
        fits.append(fit())
    except NoFitError as problem:
        refused[method] = str(problem)
