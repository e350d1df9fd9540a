"""Whose driver? The effects of errors under several drivers, and how far drivers differ in them.

An effect is a paired difference: with an intervention less without, on the same route with the same
seed. Two drivers are compared in it on the routes and seeds that all four arms have. The tests of
these differences join the one family of all tests of effects, so that asking about more drivers
costs power.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.arms import format_short_arm_name, list_arms
from analysis.tables.table import encode_names
from harness.records.arms import DEFAULT_DRIVER, DRIVER, Arm
from harness.types.vocabulary import Floats
from studies.interventions.arms import InterventionArm, group_by_base_arm, match_attempts
from studies.interventions.on_time_shares import select_on_time_arms, weigh_on_time_parts
from studies.interventions.paired import (
    TESTED_OUTCOMES,
    EffectOutcome,
    PairedEffect,
    estimate_value_difference,
    find_reference_arm,
)
from studies.interventions.shapley import (
    compute_shapley_weights,
    select_orders,
    select_shapley_arms,
)

REFERENCE, OTHER = "effect, reference driver", "effect, other driver"
"""Columns of the two effects that are compared."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ErrorCause:
    """An effect as a weighted sum of arms: of one intervention, or a Shapley share.

    Attributes:
        name: as tables show it.
        weights: of arms; they add up to 0.
    """

    name: str
    weights: Mapping[Arm, float]


def compare_drivers(
    attempts: pd.DataFrame, arms: Sequence[InterventionArm], factors: Sequence[str]
) -> list[PairedEffect]:
    """Return how effects differ between drivers, a row for each cause, pair of drivers and outcome.

    Args:
        attempts: a row for each.
        arms: with interventions.
        factors: that distinguish arms without interventions, for their names.
    """
    there = set(list_arms(attempts))
    compared = []
    for members in group_by_driver(arms).values():
        reference, *others = members
        causes = list_error_causes(*members[reference], there)
        for other in others:
            again = {cause.name: cause for cause in list_error_causes(*members[other], there)}
            names = {
                "arm": format_short_arm_name(
                    members[reference][0], [name for name in factors if name != DRIVER]
                ),
                "reference driver": reference,
                "other driver": other,
                "truth": members[reference][1][0].truth_filter,
            }
            compared += [
                effect
                for cause in causes
                if cause.name in again
                for effect in compare_cause(attempts, cause, again[cause.name], names)
            ]
    return compared


def group_by_driver(
    arms: Sequence[InterventionArm],
) -> dict[Arm, dict[str, tuple[Arm, list[InterventionArm]]]]:
    """Return the base arms that differ by the driver alone, each with its interventions.

    Returns:
        By the arm of the default driver: by driver, the reference first, which is the default
        driver where it was driven.
    """
    groups: dict[Arm, dict[str, tuple[Arm, list[InterventionArm]]]] = {}
    for base, members in group_by_base_arm(list(arms)):
        same = groups.setdefault(base.replace_factors(**{DRIVER: DEFAULT_DRIVER}), {})
        same[base[DRIVER]] = (base, members)
    return {
        plain: dict(sorted(same.items(), key=lambda item: (item[0] != DEFAULT_DRIVER, item[0])))
        for plain, same in groups.items()
    }


def list_error_causes(
    base: Arm, members: Sequence[InterventionArm], there: set[Arm]
) -> list[ErrorCause]:
    """Return the effects of one driver's arms: of each intervention, and Shapley shares.

    Args:
        base: the arm without an intervention.
        members: those that differ from it by one.
        there: arms that have attempts.
    """
    causes = [
        ErrorCause(name=arm.effect_of, weights={arm.arm: 1.0, reference: -1.0})
        for arm in members
        for reference in [find_reference_arm(arm, members)]
        if {arm.arm, reference} <= there
    ]
    if on_time := select_on_time_arms(base, members):
        causes += make_share_causes("on time, share of", weigh_on_time_parts().of, on_time)
    if repaired := select_shapley_arms(base, members):
        weights = compute_shapley_weights(select_orders(list(repaired))).of
        causes += make_share_causes("share of", weights, repaired)
    return [cause for cause in causes if set(cause.weights) <= there]


def make_share_causes(
    title: str,
    weights: Mapping[str, Mapping[frozenset[str], float]],
    arms: Mapping[frozenset[str], Arm],
) -> Iterator[ErrorCause]:
    """Yield the Shapley share of each part as a weighted sum of arms."""
    for part, of_subsets in weights.items():
        yield ErrorCause(
            name=f"{title} {part}",
            weights={arms[subset]: weight for subset, weight in of_subsets.items()},
        )


def compare_cause(
    attempts: pd.DataFrame, one: ErrorCause, other: ErrorCause, names: Mapping[str, object]
) -> Iterator[PairedEffect]:
    """Yield how a cause differs between two drivers, on each outcome.

    Args:
        attempts: a row for each.
        one: of the reference driver.
        other: of the other driver.
        names: further columns of the rows.
    """
    used = {str(arm): arm for arm in (*one.weights, *other.weights)}
    columns = [outcome.column for outcome in TESTED_OUTCOMES]
    matched = match_attempts(attempts, used, columns).rows
    clusters = encode_names(pd.Series(matched.index.get_level_values("cluster")))
    for outcome in TESTED_OUTCOMES if len(matched) else ():
        yield estimate_value_difference(
            compute_cause_values(matched, one, outcome),
            compute_cause_values(matched, other, outcome),
            clusters=clusters,
            outcome=outcome,
            names={**names, "effect of": one.name},
        )


def compute_cause_values(
    matched: pd.DataFrame, cause: ErrorCause, outcome: EffectOutcome
) -> Floats:
    """Return an effect on each route and seed: (pairs,)."""
    parts = [
        weight * matched[(outcome.column, str(arm))].to_numpy(np.float64)
        for arm, weight in cause.weights.items()
    ]
    return np.asarray(outcome.scale * np.sum(parts, axis=0))
