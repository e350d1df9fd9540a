"""What each cause does to violations and driving score: by subset, and as Shapley shares.

A share is what a cause adds to the causes before it, averaged over all orders (Shapley 1953, A
value for n-person games). It is a weighted sum over the subsets, so that it has a value for each
route and seed, and an interval over routes. The shares add up to the effect of all causes together.

The family of tests: each cause's share of violations, and the effect of all causes. The signs of
routes are flipped, and Holm's correction holds over the family.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from analysis.collection import CampaignCollection
from analysis.statistics.intervals import IntervalEstimate, estimate_mean, estimate_share
from analysis.statistics.significance import compute_holm_p_values, run_sign_flip_test
from analysis.tables.table import encode_names, scale_estimate
from harness.types.vocabulary import Floats
from studies.causes.subsets import CauseArms, CauseSet, find_cause_arms
from studies.interventions.arms import match_attempts
from studies.interventions.paired import EffectOutcome
from studies.interventions.shapley import compute_shapley_weights

VIOLATIONS = EffectOutcome("violations, points", "violated", 100.0)
DRIVING_SCORE = EffectOutcome("driving score", "driving_score", tested=False)
CAUSE_OUTCOMES = (VIOLATIONS, DRIVING_SCORE)
ALL_CAUSES = "all causes"
SHARE, ALONE, LAST = "share", "alone", "as the last"
"""What is estimated of a cause."""
NOTHING: CauseSet = frozenset()
LEVEL = 0.05
"""Of the family of tests, above which an effect is undecided."""


@dataclass(frozen=True, slots=True, eq=False)
class CausesStudy:
    """Tables of all groups of arms.

    Attributes:
        subsets: a row for each arm.
        effects: a row for each cause, outcome and kind of effect.
        notes: what to know of them.
    """

    subsets: pd.DataFrame
    effects: pd.DataFrame
    notes: tuple[str, ...]


def build_causes_study(collection: CampaignCollection) -> CausesStudy:
    """Return the tables of a collection; tests of all groups are one family."""
    subsets, effects, notes = [], [], []
    for group in find_cause_arms(collection):
        matched = match_attempts(
            collection.attempts, group.arms, [outcome.column for outcome in CAUSE_OUTCOMES]
        )
        if group.missing:
            notes.append(
                f"{group.name}: {group.missing} of {2 ** len(group.causes)} subsets of causes have"
                " no arm, so there are no shares; effects alone and as the last one need fewer"
            )
        if matched.left_out:
            notes.append(
                f"{group.name}: {matched.left_out} routes and seeds are left out: a hazard had a"
                " place in some of the arms only"
            )
        if matched.rows.empty:
            notes.append(f"{group.name}: no route and seed has a result in all arms")
            continue
        subsets.append(describe_subsets(matched.rows, group))
        effects.append(estimate_cause_effects(matched.rows, group))
    table = pd.concat(effects, ignore_index=True) if effects else pd.DataFrame()
    return CausesStudy(
        subsets=pd.concat(subsets, ignore_index=True) if subsets else pd.DataFrame(),
        effects=judge_causes(table) if len(table) else table,
        notes=tuple(notes),
    )


def describe_subsets(wide: pd.DataFrame, group: CauseArms) -> pd.DataFrame:
    """Return violations and driving score of each arm, from no cause to all.

    Args:
        wide: a row for each route and seed that all arms have, columns (name, subset).
        group: the arms.
    """
    clusters = encode_names(pd.Series(wide.index.get_level_values("cluster")))
    rows = []
    for subset in sorted(group.arms, key=lambda one: (len(one), list_causes(one, group))):
        violated = wide[(VIOLATIONS.column, subset)].to_numpy(np.float64)
        score = wide[(DRIVING_SCORE.column, subset)].to_numpy(np.float64)
        share = scale_estimate(estimate_share(violated, clusters), 100.0)
        rows.append(
            {
                "of": group.name,
                "causes": " + ".join(list_causes(subset, group)) or "none",
                "arm": str(group.arms[subset]),
                **name_estimate("violations, %", share),
                **name_estimate("driving score", estimate_mean(score, clusters)),
                "drives": share.n,
                "routes": share.routes,
            }
        )
    return pd.DataFrame(rows)


def list_causes(subset: CauseSet, group: CauseArms) -> list[str]:
    """Return the causes of a subset, in the order of tables."""
    return [cause for cause in group.causes if cause in subset]


def name_estimate(name: str, estimate: IntervalEstimate) -> dict[str, float]:
    """Return an estimate and its interval as columns."""
    return {name: estimate.value, f"{name}: low": estimate.low, f"{name}: high": estimate.high}


def estimate_cause_effects(wide: pd.DataFrame, group: CauseArms) -> pd.DataFrame:
    """Return each cause's share, its effect alone and as the last one, and that of all causes."""
    clusters = encode_names(pd.Series(wide.index.get_level_values("cluster")))
    rows = []
    for outcome in CAUSE_OUTCOMES:
        values = {
            subset: wide[(outcome.column, subset)].to_numpy(np.float64) * outcome.scale
            for subset in group.arms
        }
        for cause, kind, weights in list_contrasts(group):
            effect = weigh_subsets(values, weights)
            estimate = estimate_mean(effect, clusters)
            tested = outcome.tested and (kind == SHARE or cause == ALL_CAUSES)
            rows.append(
                {
                    "of": group.name,
                    "outcome": outcome.name,
                    "cause": cause,
                    "effect": kind,
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "p": compute_route_p(effect, clusters) if tested else np.nan,
                    "pairs": estimate.n,
                    "routes": estimate.routes,
                }
            )
    return pd.DataFrame(rows)


def list_contrasts(group: CauseArms) -> list[tuple[str, str, Mapping[CauseSet, float]]]:
    """Return what is estimated: cause, kind of effect, and the weights of subsets that make it."""
    everything = frozenset(group.causes)
    contrasts: list[tuple[str, str, Mapping[CauseSet, float]]] = []
    if not group.missing:
        shares = compute_shapley_weights(tuple(permutations(group.causes)))
        contrasts += [(cause, SHARE, shares.of[cause]) for cause in group.causes]
    pairs = [
        *((cause, ALONE, frozenset({cause}), NOTHING) for cause in group.causes),
        *((cause, LAST, everything, everything - {cause}) for cause in group.causes),
        (ALL_CAUSES, "together", everything, NOTHING),
    ]
    contrasts += [
        (cause, kind, {with_it: 1.0, without: -1.0})
        for cause, kind, with_it, without in pairs
        if with_it in group.arms and without in group.arms
    ]
    return contrasts


def weigh_subsets(values: Mapping[CauseSet, Floats], weights: Mapping[CauseSet, float]) -> Floats:
    """Return the weighted sum over subsets, for each route and seed."""
    parts = [weight * values[subset] for subset, weight in weights.items()]
    return np.asarray(np.sum(parts, axis=0), np.float64)


def compute_route_p(effect: Floats, clusters: Floats) -> float:
    """Return the p-value of a mean effect, by flipping the signs of routes."""
    _, members = np.unique(clusters, return_inverse=True)
    return run_sign_flip_test(np.bincount(members, effect).astype(np.float64)).p


def judge_causes(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the effects with p-values of the family, and what is undecided by them."""
    judged = effects.copy()
    judged["p, Holm"] = compute_holm_p_values(effects["p"].to_numpy(np.float64))
    judged["verdict"] = [
        f"undecided at n = {pairs}" if p > LEVEL else ""
        for p, pairs in zip(judged["p, Holm"], judged["pairs"], strict=True)
    ]
    return judged


def count_routes_needed(tests: int) -> int:
    """Return how many routes must change, all in one direction, for one effect to be decided."""
    return math.ceil(1 + math.log2(max(tests, 1) / LEVEL))
