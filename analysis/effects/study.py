"""All that a campaign with interventions shows: effects, doses, shares, and the regression."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from analysis.arms import short_name
from analysis.collection import Collection
from analysis.effects.agreement import regression_table
from analysis.effects.arms import (
    INJECT,
    REPAIR,
    InterventionArm,
    bases,
    intervention_arms,
    with_times,
)
from analysis.effects.doses import slopes_of
from analysis.effects.paired import effects_of, in_one_family
from analysis.effects.shapley import NEEDED, shares_of
from harness.errors import UserError
from harness.records.arms import varying
from harness.vocabulary import GROUND_TRUTHS


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EffectsStudy:
    """Tables, each with the arm, the intervention and the ground truth in its rows."""

    effects: pd.DataFrame
    doses: pd.DataFrame
    shares: pd.DataFrame
    regression: pd.DataFrame
    notes: tuple[str, ...]


def effects_study(collection: Collection) -> EffectsStudy:
    """Return the tables of a collection; all tests of effects and doses are one family."""
    arms = intervention_arms(collection)
    if not arms:
        raise UserError(
            f"{collection.folder}: no arm has an intervention; `crucible run study=effects`, or"
            " intervention=NAME, drives some"
        )
    attempts = with_times(collection.attempts)
    effects = effects_of(collection, attempts, arms)
    if not effects:
        raise UserError(
            f"{collection.folder}: no arm with an intervention has a pair: the arm that it is"
            " compared with has no result on an equal route and seed"
        )
    groups = list(bases(arms))
    factors = [name for name in varying(collection.arms) if name != "intervention"]
    slopes = [
        ({"arm": short_name(base, factors), "truth": members[0].truth_filter}, effect)
        for base, members in groups
        for effect in slopes_of(attempts, base, members)
    ]
    table = in_one_family([*effects, *(effect for _, effect in slopes)])
    paired = table.iloc[: len(effects)].drop(columns=["doses"], errors="ignore")
    paired = paired.astype({"unchanged attempts": int})
    names = pd.DataFrame([labels for labels, _ in slopes])
    doses = table.iloc[len(effects) :].reset_index(drop=True)
    doses = doses.drop(columns=[name for name in UNUSED if name in doses]).assign(**names)
    shares, fits, notes = [], [], notes_on(arms)
    for base, members in groups:
        labels = {"arm": short_name(base, factors), "truth": members[0].truth_filter}
        of_base = paired[paired["arm"] == labels["arm"]]
        parts = shares_of(attempts, base, members)
        if parts.empty and any(arm.kind == REPAIR for arm in members):
            notes.append(f"{labels['arm']}: {NEEDED}")
        shares.append(parts.assign(**labels))
        fits.append(regression_table(collection, base, members, of_base).assign(**labels))
    return EffectsStudy(
        effects=paired,
        doses=doses,
        shares=pd.concat(shares, ignore_index=True),
        regression=pd.concat(fits, ignore_index=True),
        notes=tuple(notes),
    )


UNUSED = (
    *("intervention", "effect of", "compared with", "changes a step", "unchanged attempts"),
    *("without", "with"),
)
"""Columns of effects that slopes do not have."""


def notes_on(arms: list[InterventionArm]) -> list[str]:
    """Return what to know of the arms: ground truth, and attempts in which nothing was changed."""
    truths = sorted({(arm.truth_filter, arm.rule) for arm in arms})
    notes = [
        f"ground truth {GROUND_TRUTHS.get(truth, truth)} (patterns.truth_filter={truth});"
        f" rule {rule}"
        for truth, rule in truths
    ]
    notes += [
        f"{arm.arm}: nothing was changed in {arm.unchanged} of {arm.attempts} attempts"
        for arm in arms
        if arm.unchanged and not (arm.kind == INJECT and arm.times == 0)
    ]
    notes += [
        f"{arm.arm}: at most 98 % of boxes can show an error, so its dose was cut for boxes"
        f" {', '.join(sorted(arm.capped))} m (L: detected by the ego alone, C: not)"
        for arm in arms
        if arm.capped
    ]
    return notes
