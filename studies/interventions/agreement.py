"""What the regression says of the same drives, next to what the interventions say.

The regression looks at the drives of the arm without interventions. An odds ratio above 1 goes with
a repair that lowers the rate of violations, if the association is a cause.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.arms import group_arms_by_setting, list_arms
from analysis.collection import CampaignCollection
from analysis.regression.by_condition import ConditionFits, fit_condition
from analysis.regression.estimators import TIMING_FAIR, WINDOW_METHOD
from harness.records.arms import Arm
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats
from studies.interventions.arms import InterventionArm
from studies.interventions.paired import ALPHA, OUTCOMES

VIOLATIONS_NAME = OUTCOMES[0].name
FEWEST = 3
"""Patterns that a rank correlation needs."""


def build_regression_table(
    collection: CampaignCollection,
    base: Arm,
    arms: Sequence[InterventionArm],
    effects: pd.DataFrame,
) -> pd.DataFrame:
    """Return a row for each pattern that was repaired alone."""
    singles = {
        next(iter(arm.patterns)): arm.name
        for arm in arms
        if arm.repairs_to_truth and len(arm.patterns) == 1 and arm.base == base
    }
    if not singles or base not in list_arms(collection.attempts):
        return pd.DataFrame()
    fits = fit_base_arm(collection, base)
    return pd.DataFrame(
        [
            {"pattern": name, **get_regression_odds(fits, name), **get_intervention_effect(rows)}
            for name in PATTERNS
            if name in singles
            for rows in [effects[effects["intervention"] == singles[name]]]
        ]
    ).pipe(add_agreement)


def fit_base_arm(collection: CampaignCollection, base: Arm) -> ConditionFits:
    """Return the regressions of the drives without interventions, of one system."""
    attempts = collection.attempts
    settings = group_arms_by_setting(list_arms(attempts))
    condition = next(name for name, members in settings.items() if base in members)
    return fit_condition(attempts, condition, [base.system], collection)


def get_regression_odds(fits: ConditionFits, pattern: str) -> dict[str, object]:
    """Return the odds ratio of a pattern: timing-fair, else of the last ten seconds."""
    for method, name in ((TIMING_FAIR, "timing-fair"), (WINDOW_METHOD, "last 10 s")):
        for fit in fits.fits:
            rows = fit.terms[fit.terms["term"] == pattern]
            if fit.method == method and len(rows):
                row = rows.iloc[0]
                return {
                    "regression": name,
                    "odds ratio": row["odds_ratio"],
                    "odds low": row["low"],
                    "odds high": row["high"],
                    "p Holm": row["p_holm"],
                }
    return {
        "regression": "not fitted",
        **dict.fromkeys(("odds ratio", "odds low", "odds high", "p Holm"), np.nan),
    }


def get_intervention_effect(rows: pd.DataFrame) -> dict[str, object]:
    """Return what repairing a pattern does to violations."""
    of_violations = rows[rows["outcome"] == VIOLATIONS_NAME]
    names = ("difference", "low", "high", "p family", "pairs")
    if of_violations.empty:
        return dict.fromkeys(names, np.nan)
    return {name: of_violations.iloc[0][name] for name in names}


def add_agreement(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a word for which of the two is significant, and whether they agree."""
    words = [
        classify_agreement(float(odds), float(p), float(difference), float(p_family))
        for odds, p, difference, p_family in table[
            ["odds ratio", "p Holm", "difference", "p family"]
        ].itertuples(index=False)
    ]
    return table.assign(agreement=words)


def classify_agreement(odds: float, p: float, difference: float, p_family: float) -> str:
    """Return which of regression and intervention is significant, and whether they agree."""
    associated, caused = p < ALPHA, p_family < ALPHA
    if associated and caused:
        return "both" if (odds > 1) == (difference < 0) else "opposite"
    if associated or caused:
        return "regression only" if associated else "intervention only"
    return "neither"


def compare_directions(table: pd.DataFrame) -> dict[str, object]:
    """Return how far directions and ranks of the two agree, whether significant or not.

    Spearman's rank correlation (1904) is of log odds ratios and of the violations prevented; as
    many points as there are patterns allow no interval. NaN below three or without any spread.
    """
    known = table[np.isfinite(table["odds ratio"]) & np.isfinite(table["difference"])]
    log_odds = np.log(known["odds ratio"].to_numpy(np.float64))
    prevented = -known["difference"].to_numpy(np.float64)
    signs = np.sign(log_odds) * np.sign(prevented)
    spread = len(known) >= FEWEST and min(np.ptp(log_odds), np.ptp(prevented)) > 0
    return {
        "patterns": len(table),
        "same direction": int((signs > 0).sum()),
        "opposite": int((signs < 0).sum()),
        "no direction": int((signs == 0).sum()),
        "not estimated": len(table) - len(known),
        "rank correlation": compute_rank_correlation(log_odds, prevented) if spread else np.nan,
    }


def compute_rank_correlation(a: Floats, b: Floats) -> float:
    """Return Spearman's rank correlation, equal values at the mean of their ranks."""
    ranks_a, ranks_b = (pd.Series(values).rank().to_numpy(np.float64) for values in (a, b))
    return float(np.corrcoef(ranks_a, ranks_b)[0, 1])
