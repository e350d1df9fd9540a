"""Campaigns that are compared, next to each other: the estimates of arms that two of them have.

A column is a campaign; a row is an arm and what is estimated. All drives of a campaign count here,
also those without a counterpart in the other: the paired differences are those of `contrasts`.
"""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pandas as pd

from analysis.campaign_labels import CAMPAIGN
from analysis.collection import CampaignCollection
from analysis.comparison import ArmComparison, estimate_difference
from analysis.contrasts import BY, ArmContrasts
from analysis.statistics.intervals import NO_ESTIMATE
from analysis.surrogates import GOAL, GOAL_TIME
from analysis.tables.table import (
    ESTIMATE,
    EstimatesTable,
    Measure,
    make_mean_measure,
    make_rate_measure,
)
from harness.records.arms import NONE, Arm

FAMILY = f"{BY}{CAMPAIGN}"
PRECISION = "average precision, %"
CAMPAIGN_MEASURES: dict[str, Measure] = {
    "driving score": make_mean_measure("driving_score"),
    "collisions, %": make_rate_measure("collided"),
    GOAL_TIME: make_mean_measure(GOAL),
    "route completion, %": make_mean_measure("completion", 100),
    PRECISION: make_mean_measure("ap", 100),
}
ESTIMATED = "estimate"


def build_campaigns_table(collection: CampaignCollection) -> EstimatesTable:
    """Return the estimates of arms that several campaigns have, a column for each campaign.

    A campaign that lacks an arm has no estimate in its row.
    """
    # arms that several campaigns have, without the campaign
    factors = tuple(name for name in collection.factors if name != CAMPAIGN)
    groups = dict(list(collection.attempts.groupby([*factors, CAMPAIGN], sort=False)))
    records = [
        {
            **dict(zip(factors, names, strict=True)),
            ESTIMATED: what,
            "measure": label,
            **asdict(estimate(groups[key]) if (key := (*names, label)) in groups else NO_ESTIMATE),
        }
        for names in dict.fromkeys(arm.get_values(factors) for arm in find_common_arms(collection))
        for what, estimate in CAMPAIGN_MEASURES.items()
        for label in collection.labels
    ]
    by = (*factors, ESTIMATED)
    return EstimatesTable(
        name="campaigns",
        title="Campaigns next to each other: mean or share over all drives of an arm",
        by=by,
        cells=pd.DataFrame(records, columns=[*by, "measure", *ESTIMATE]),
        arm=len(factors),
    )


def find_common_arms(collection: CampaignCollection) -> list[Arm]:
    """Return the arms that more than one campaign has results of."""
    factors = tuple(name for name in collection.factors if name != CAMPAIGN)
    seen = collection.attempts.groupby(list(factors))[CAMPAIGN].nunique()
    shared = {name if isinstance(name, tuple) else (name,) for name in seen[seen > 1].index}
    arms = {arm.replace_factors(**{CAMPAIGN: NONE}) for arm in collection.arms}
    return sorted(arm for arm in arms if arm.get_values(factors) in shared)


def compute_campaign_differences(contrasts: ArmContrasts) -> pd.DataFrame:
    """Return the paired differences between campaigns, with one in average precision for each.

    Average precision is estimated, and not tested: it is none of the page's tests.

    Args:
        contrasts: all comparisons of the page.
    """
    table = contrasts.table[contrasts.table["family"] == FAMILY]
    pairs = {(pair.a.name, pair.b.name): pair for pair in contrasts.pairs}
    parts = []
    for (a, b), rows in table.groupby(["arm_a", "arm_b"], sort=False):
        more = compute_precision_difference(pairs[(str(a), str(b))])
        parts += [rows, more.assign(arm_a=str(a), arm_b=str(b), family=FAMILY, clear=False)]
    return pd.concat(parts, ignore_index=True) if parts else table


def compute_precision_difference(pair: ArmComparison) -> pd.DataFrame:
    """Return the difference in average precision over the pairs that have one."""
    known = pair.pairs[pair.pairs[["ap_a", "ap_b"]].notna().all(axis=1)]
    if known.empty:
        return pd.DataFrame()
    row = estimate_difference(known, PRECISION, "ap", 100.0)
    return pd.DataFrame([{**row, "p": np.nan, "p page": np.nan}])
