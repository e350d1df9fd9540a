"""All regressions of one condition, and the diagnostics to read before their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.arms import group_arms_by_setting, list_arms, match_arms
from analysis.collection import CampaignCollection
from analysis.regression.design import RegressionDesign, build_regression_design
from analysis.regression.estimators import (
    COMPANION_METHOD,
    PAPER_METHOD,
    TIMING_FAIR,
    WINDOW_METHOD,
    RegressionFit,
    fit_bias_reduced_gee,
    fit_firth_jackknife,
    fit_paper_logit,
)
from analysis.regression.matched import (
    MatchedDesign,
    build_matched_design,
    describe_separation,
    fit_matched_jackknife,
)
from analysis.regression.risk_sets import RiskSets, build_risk_sets, iterate_tracks
from analysis.regression.sample import (
    NoFitError,
    RegressionSample,
    build_regression_sample,
    format_noun_count,
)
from analysis.statistics.diagnostics import (
    compute_condition_number,
    compute_variance_inflation,
    detect_separation,
)
from harness.types.record_names import PATTERNS

FEW_ROUTES = 15
"""Below this, jackknife and GEE rest on little."""


def build_sample_checks(sample: RegressionSample, design: RegressionDesign | None) -> pd.DataFrame:
    """Return one line for each thing to know: `check`, `result`.

    Args:
        sample: of one condition.
        design: None where there is none.
    """
    events = int(sample.y.sum())
    rarer = min(events, len(sample.y) - events)
    lines = [
        ("rows", f"{len(sample.y)}, of which {events} with violation"),
        ("systems", ", ".join(sorted(set(sample.systems.tolist()))) or "none"),
        *(("left out", f"{name}: {reason}") for name, reason in sample.left_out.items()),
        *(("rows dropped", f"{count}: {reason}") for reason, count in sample.dropped.items()),
    ]
    # how much there is to estimate from
    if len(sample.y):
        routes = len(np.unique(sample.clusters))
        few = "" if routes >= FEW_ROUTES else "; few: intervals and p-values rest on little"
        lines.append(("clusters", f"{format_noun_count(routes, 'route')}{few}"))
        per_predictor = count_events_per_predictor(sample)
        lines.append(
            ("events per predictor", f"{per_predictor:.1f} ({rarer} of the rarer outcome / 6)")
        )
    # what cannot be estimated, and how well the rest can
    if design is not None:
        lines += [("not estimated", f"{name}: {why}") for name, why in design.refused.items()]
        lines += describe_design(design)
    return pd.DataFrame(lines, columns=["check", "result"])


def build_risk_set_checks(passed: RiskSets, design: MatchedDesign | None) -> pd.DataFrame:
    """Return one line for each thing to know of the risk sets: `check`, `result`."""
    sample = passed.sample
    # what is in the sample
    lines = [
        ("drives", passed.describe_drives() if passed.drives else "none"),
        ("systems", ", ".join(passed.systems) or "none"),
        *(("left out", f"{name}: {reason}") for name, reason in sample.left_out.items()),
        *(("dropped", f"{count}: {reason}") for reason, count in sample.dropped.items()),
    ]
    if len(sample.y):
        events, routes = int(sample.y.sum()), len(np.unique(sample.clusters))
        few = "" if routes >= FEW_ROUTES else "; few: intervals and p-values rest on little"
        per_predictor = count_events_per_predictor(sample)
        lines += [
            (
                "risk sets",
                f"{format_noun_count(events, 'violation')}, each with"
                f" {len(sample.y) / events:.1f} drives",
            ),
            ("clusters", f"{format_noun_count(routes, 'route')}{few}"),
            (
                "events per predictor",
                f"{per_predictor:.1f} ({events} violations / {len(PATTERNS)})",
            ),
        ]
    # what the fit rests on
    if design is not None:
        factors = zip(design.predictors, compute_variance_inflation(design.tested), strict=True)
        lines += [("not estimated", f"{name}: {why}") for name, why in design.refused.items()]
        lines += [
            ("separation", describe_separation(design)),
            ("VIF", ", ".join(f"{name} {factor:.1f}" for name, factor in factors)),
            ("condition number", f"{compute_condition_number(design.tested):.1f}"),
        ]
    return pd.DataFrame(lines, columns=["check", "result"])


def count_events_per_predictor(sample: RegressionSample) -> float:
    """Return how many of the rarer outcome there are for each of the six patterns."""
    events = int(sample.y.sum())
    return min(events, len(sample.y) - events) / len(PATTERNS)


def describe_design(design: RegressionDesign) -> list[tuple[str, str]]:
    """Return what to know of the matrix."""
    apart = detect_separation(design.y, design.matrix)
    runaway = [
        name
        for name, infinite in zip(design.names[1:], apart.infinite[1:], strict=True)
        if infinite
    ]
    note = (
        f" ({', '.join(runaway)}); only Firth's penalty keeps estimates finite" if runaway else ""
    )
    factors = zip(design.predictors, compute_variance_inflation(design.tested), strict=True)
    return [
        ("separation", f"{apart.kind}{note}"),
        ("VIF", ", ".join(f"{name} {factor:.1f}" for name, factor in factors)),
        ("condition number", f"{compute_condition_number(design.tested):.1f}"),
    ]


RESAMPLES = 2000


NO_FRAMES = "needs planning steps, and only results were read"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ConditionFits:
    """What the regressions of one condition say, or why they say nothing."""

    condition: str
    checks: pd.DataFrame  # of the last ten seconds
    fits: tuple[RegressionFit, ...]  # the headline first, if it could be fitted
    refused: dict[str, str]  # method -> why
    events: dict[str, float]  # method -> events of the rarer outcome for each predictor
    set_checks: pd.DataFrame | None = None  # of the risk sets

    @property
    def headline(self) -> RegressionFit | None:
        """The timing-fair fit."""
        return next((fit for fit in self.fits if fit.method == TIMING_FAIR), None)


def fit_condition(
    attempts: pd.DataFrame,
    condition: str,
    systems: Sequence[str] | None = None,
    collection: CampaignCollection | None = None,
) -> ConditionFits:
    """Fit everything to one condition, as `group_arms_by_setting` calls it.

    The headline needs the folders themselves.

    Args:
        attempts: a table with a row for each attempt.
        condition: the setting's label.
        systems: which of them; None for all.
        collection: the campaigns; None where only results were read.

    Returns:
        Every fit that could be made, and why others could not.
    """
    # (attempts,) those of the condition
    of_condition = match_arms(
        attempts, group_arms_by_setting(list_arms(attempts)).get(condition, [])
    )
    sample = build_regression_sample(attempts[of_condition], systems)
    fits: list[RegressionFit] = []
    refused: dict[str, str] = {}
    events = dict.fromkeys(
        (PAPER_METHOD, WINDOW_METHOD, COMPANION_METHOD), count_events_per_predictor(sample)
    )
    set_checks = None
    # the headline needs every planning step
    if collection is None:
        refused[TIMING_FAIR] = NO_FRAMES
    else:
        rows = np.flatnonzero(
            of_condition & (attempts["system"].isin(systems) if systems else True)
        )
        set_checks = fit_headline(
            build_risk_sets(
                list(iterate_tracks(collection, rows, sample.left_out)), sample.left_out
            ),
            fits,
            refused,
            events,
        )
    # what looks at the last ten seconds needs results only
    store_fit(fits, refused, PAPER_METHOD, lambda: fit_paper_logit(sample))
    known = build_sample_checks(sample, fit_companions(sample, fits, refused))
    return ConditionFits(
        condition=condition,
        checks=known,
        fits=tuple(fits),
        refused=refused,
        events=events,
        set_checks=set_checks,
    )


def fit_companions(
    sample: RegressionSample, fits: list[RegressionFit], refused: dict[str, str]
) -> RegressionDesign | None:
    """Fit what looks at the last ten seconds, and return its design if there is one."""
    try:
        design = build_regression_design(sample)
    except NoFitError as problem:
        refused.update(dict.fromkeys((WINDOW_METHOD, COMPANION_METHOD), str(problem)))
        return None
    store_fit(fits, refused, WINDOW_METHOD, lambda: fit_firth_jackknife(design, RESAMPLES))
    store_fit(fits, refused, COMPANION_METHOD, lambda: fit_bias_reduced_gee(design))
    return design


def fit_headline(
    passed: RiskSets, fits: list[RegressionFit], refused: dict[str, str], events: dict[str, float]
) -> pd.DataFrame:
    """Fit the headline to some risk sets, and return what to know of them.

    Args:
        passed: the risk sets.
        fits: the fit is added here.
        refused: or the reason here.
        events: events for each predictor are noted here.
    """
    events[TIMING_FAIR] = count_events_per_predictor(passed.sample)
    try:
        design = build_matched_design(passed)
    except NoFitError as problem:
        refused[TIMING_FAIR] = str(problem)
        return build_risk_set_checks(passed, None)
    store_fit(fits, refused, TIMING_FAIR, lambda: fit_matched_jackknife(design))
    return build_risk_set_checks(passed, design)


def store_fit(
    fits: list[RegressionFit],
    refused: dict[str, str],
    method: str,
    fit: Callable[[], RegressionFit],
) -> None:
    """Keep a fit, or why there is none."""
    try:
        fits.append(fit())
    except NoFitError as problem:
        refused[method] = str(problem)
