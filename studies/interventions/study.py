"""All that a campaign with interventions shows: effects, doses, shares, and the regression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.arms import format_short_arm_name
from analysis.collection import CampaignCollection
from harness.common.errors import UserError
from harness.records.arms import Arm, list_varying_factors
from studies.interventions.agreement import build_regression_table, compare_directions
from studies.interventions.arms import (
    INJECT,
    InterventionArm,
    add_goal_times,
    collect_intervention_arms,
    format_ground_truth,
    group_by_base_arm,
    leave_out_without_meeting,
    match_attempts,
)
from studies.interventions.doses import build_dose_curves, estimate_dose_slopes, group_arms_by_dose
from studies.interventions.drivers import OTHER, REFERENCE, compare_drivers
from studies.interventions.last import compare_last_repairs
from studies.interventions.on_time_shares import (
    ON_TIME_NEEDED,
    estimate_on_time_shares,
    select_on_time_arms,
)
from studies.interventions.paired import (
    OUTCOMES,
    add_family_p_values,
    estimate_effects,
    find_reference_arm,
)
from studies.interventions.shapley import NEEDED, estimate_shapley_shares, select_shapley_arms
from studies.interventions.windows import compare_windows


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EffectsStudy:
    """Tables, each with the arm, the intervention and the ground truth in its rows."""

    effects: pd.DataFrame
    last: pd.DataFrame
    doses: pd.DataFrame
    curves: pd.DataFrame
    shares: pd.DataFrame
    on_time: pd.DataFrame
    windows: pd.DataFrame
    drivers: pd.DataFrame
    regression: pd.DataFrame
    agreement: pd.DataFrame
    notes: tuple[str, ...]


def build_effects_study(collection: CampaignCollection) -> EffectsStudy:
    """Return the tables of a collection; tests of effects, doses and drivers are one family."""
    arms = collect_intervention_arms(collection)
    if not arms:
        raise UserError(
            f"{collection.folder}: no arm has an intervention; `crucible run study=effects`, or"
            " intervention=NAME, drives some"
        )
    # effects of arms
    attempts = add_goal_times(leave_out_without_meeting(collection.attempts, arms))
    effects = estimate_effects(collection, attempts, arms)
    if not effects:
        raise UserError(
            f"{collection.folder}: no arm with an intervention has a pair: the arm that it is"
            " compared with has no result on an equal route and seed"
        )
    # doses of arms
    groups = list(group_by_base_arm(arms))
    factors = [name for name in list_varying_factors(collection.arms) if name != "intervention"]
    labels = {
        base: {"arm": format_short_arm_name(base, factors), "truth": members[0].truth_filter}
        for base, members in groups
    }
    slopes = [
        (labels[base], effect)
        for base, members in groups
        for effect in estimate_dose_slopes(attempts, base, members)
    ]
    of_drivers = compare_drivers(attempts, arms, factors)
    # p of effects, doses and drivers are adjusted together, then the tables are taken apart
    ends = (len(effects), len(effects) + len(slopes))
    table = add_family_p_values([*effects, *(effect for _, effect in slopes), *of_drivers])
    paired = table.iloc[: ends[0]].drop(columns=[*OF_DOSES, *OF_DRIVERS], errors="ignore")
    paired = paired.astype({"unchanged attempts": int})
    drivers = table.iloc[ends[1] :].reset_index(drop=True)
    drivers = drivers.drop(columns=[*OF_EFFECTS, *OF_DOSES], errors="ignore")
    drivers = drivers.rename(columns={"without": REFERENCE, "with": OTHER})
    names = pd.DataFrame([of_base for of_base, _ in slopes])
    doses = table.iloc[ends[0] : ends[1]].reset_index(drop=True)
    doses = doses.drop(columns=[name for name in UNUSED if name in doses]).assign(**names)
    # tables of each base arm, described and not tested
    parts: dict[str, list[pd.DataFrame]] = {}
    notes = list_effects_notes(arms)
    for base, members in groups:
        of_base = paired[paired["arm"] == labels[base]["arm"]]
        regression = build_regression_table(collection, base, members, of_base)
        tables = {
            "last": compare_last_repairs(attempts, base, members),
            "curves": build_dose_curves(attempts, base, members),
            "shares": estimate_shapley_shares(attempts, base, members),
            "on_time": estimate_on_time_shares(attempts, base, members),
            "windows": compare_windows(attempts, base, members),
            "regression": regression,
            "agreement": pd.DataFrame([compare_directions(regression)] if len(regression) else []),
        }
        for name, part in tables.items():
            parts.setdefault(name, []).append(part.assign(**labels[base]))
        # what is missing
        if tables["shares"].empty and any(arm.repairs_to_truth for arm in members):
            notes.append(f"{labels[base]['arm']}: {NEEDED}")
        if tables["on_time"].empty and any(arm.repairs_to_on_time for arm in members):
            notes.append(f"{labels[base]['arm']}: {ON_TIME_NEEDED}")
        notes += describe_left_out_pairs(attempts, base, members)
        notes += list_missing_outcomes(of_base, labels[base]["arm"])
    return EffectsStudy(
        effects=paired,
        doses=doses,
        drivers=drivers,
        **{name: pd.concat(tables, ignore_index=True) for name, tables in parts.items()},
        notes=tuple(notes),
    )


OF_DOSES, OF_DRIVERS = ("injected", "doses"), ("reference driver", "other driver")
"""Columns that only slopes, and only comparisons of drivers, have."""
OF_EFFECTS = ("intervention", "compared with", "changes a step", "unchanged attempts")
"""Columns that only effects have."""
UNUSED = (*OF_EFFECTS, "effect of", "without", "with", *OF_DRIVERS)
"""Columns that slopes do not have."""


def list_effects_notes(arms: list[InterventionArm]) -> list[str]:
    """Return what to know of the arms: ground truth, and attempts in which nothing was changed."""
    truths = sorted({(arm.truth_filter, arm.rule) for arm in arms})
    notes = [
        f"{format_ground_truth([truth])}, patterns.truth_filter={truth}; rule {rule}"
        for truth, rule in truths
    ]
    notes += [
        f"{arm.arm}: nothing was changed in {arm.unchanged} of {arm.attempts} attempts"
        for arm in arms
        if arm.unchanged and not (arm.kind == INJECT and arm.times == 0)
    ]
    notes += [
        f"{arm.arm}: {len(arm.without_meeting)} of {arm.attempts} attempts are left out: no hazard"
        " with a meeting had a place"
        for arm in arms
        if arm.without_meeting
    ]
    notes += [
        f"{arm.arm}: at most 98 % of boxes can show an error, so its dose was cut for boxes"
        f" {', '.join(sorted(arm.capped))} m (L: detected by the ego alone, C: not)"
        for arm in arms
        if arm.capped
    ]
    return notes


def describe_left_out_pairs(
    attempts: pd.DataFrame, base: Arm, arms: list[InterventionArm]
) -> Iterator[str]:
    """Yield how many attempts each comparison leaves out for a hazard without a place."""
    compared = {str(arm.arm): {"a": find_reference_arm(arm, arms), "b": arm.arm} for arm in arms}
    doses = group_arms_by_dose(attempts, base, arms)
    groups: dict[str, Mapping[Any, Arm]] = {
        **compared,
        **{f"{base}, doses of {injected}": members for injected, members in doses.items()},
        f"{base}, Shapley shares": select_shapley_arms(base, arms),
        f"{base}, shares on time": select_on_time_arms(base, arms),
    }
    for name, members in groups.items():
        if members and (left := match_attempts(attempts, members, []).left_out):
            yield f"{name}: {left} pairs left out: a hazard had a place in some of the arms only"


def list_missing_outcomes(effects: pd.DataFrame, arm: str) -> Iterator[str]:
    """Yield the outcomes that no pair has, such as surrogates in records made before there were."""
    for outcome in OUTCOMES:
        if outcome.name not in set(effects["outcome"]):
            yield f"{arm}: {outcome.name}: missing, as no pair has it in both drives"
