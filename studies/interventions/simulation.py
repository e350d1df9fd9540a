"""Simulated campaigns with interventions: how often `effects` finds what is not there, and what is.

A repair that is irrelevant still changes a drive's course now and then, and with it its end: with
the probability `other_course` a drive takes another course, with the route's chance of a violation.
All arms of all systems have the chances of their routes in common, and all arms of a system are
compared with the same drives. There are no injections, and so no slopes over doses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import expit

from analysis.statistics.intervals import compute_clopper_pearson_interval
from analysis.statistics.significance import (
    MOST_EXACT,
    HypothesisTest,
    adjust_p_values,
    list_attainable_p_values,
    run_sign_flip_test,
)
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats
from studies.interventions.paired import ALPHA, TESTED_OUTCOMES

ARMS = 13
"""Six patterns alone, all but one, all six."""
WITH_ONE_PATTERN = 7
"""Arms in which a pattern is repaired: alone, with four others five times, with all."""
CLEAN = {"violated": 0.0, "collided": 0.0, "driving_score": 100.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionScenario:
    """A campaign with interventions, before it is drawn."""

    routes: int = 55
    systems: int = 3
    seeds: int = 1
    route_sd: float = 1.5  # log-odds of violation from route to route
    never: float = 0.0  # share of routes on which no drive has a violation
    always: float = 0.0  # share of routes on which all drives have one
    other_course: float = 0.3  # probability that an irrelevant repair changes how a drive goes
    effective: int = 0  # repairs that prevent violations, the first ones of each system
    prevented: float = 0.6  # share of violations that they prevent


def list_intervention_scenarios(size: InterventionScenario) -> dict[str, InterventionScenario]:
    """Return what is simulated, for a campaign of some size."""
    study = replace(size, never=0.62, always=0.05, other_course=0.5)
    return {
        "nothing matters, 30 % of drives change course": size,
        "nothing matters, all drives change course": replace(size, other_course=1.0),
        "nothing matters, most routes never fail": study,
        "one repair prevents 60 % of violations, most routes never fail": replace(
            study, effective=1
        ),
        "seven repairs prevent 80 % of violations, most routes never fail": replace(
            study, effective=WITH_ONE_PATTERN, prevented=0.8
        ),
    }


def sample_route_chances(scene: InterventionScenario, random: np.random.Generator) -> Floats:
    """Return the probability of a violation on each route."""
    chance = expit(scene.route_sd * random.normal(size=scene.routes))
    kind = random.random(scene.routes)
    return np.select([kind < scene.never, kind >= 1 - scene.always], [0.0, 1.0], chance)


def simulate_system_arms(
    scene: InterventionScenario, chance: Floats, random: np.random.Generator
) -> list[dict[str, Floats]]:
    """Return the outcomes of the arm without a repair, and of all with one; `chance` by drive."""
    first = simulate_drive_outcomes(chance, random)
    arms = [first]
    for number in range(ARMS):
        other = simulate_drive_outcomes(chance, random)
        changed = random.random(len(chance)) < scene.other_course
        arm = {name: np.where(changed, other[name], first[name]) for name in first}
        if number < scene.effective:
            saved = random.random(len(chance)) < scene.prevented
            arm = {name: np.where(saved, CLEAN[name], arm[name]) for name in arm}
        arms.append(arm)
    return arms


def simulate_drive_outcomes(chance: Floats, random: np.random.Generator) -> dict[str, Floats]:
    """Return how drives end."""
    violated = (random.random(len(chance)) < chance).astype(np.float64)
    collided = violated * (random.random(len(chance)) < 0.8)
    score = np.where(violated > 0, random.uniform(10, 70, len(chance)), 100.0)
    return {"violated": violated, "collided": collided, "driving_score": score}


def simulate_route_differences(scene: InterventionScenario, random: np.random.Generator) -> Floats:
    """Return what repairs change, summed over seeds: (systems, arms, outcomes, routes)."""
    chance = sample_route_chances(scene, random).repeat(scene.seeds)
    changes = [
        arm[outcome.column] - first[outcome.column]
        for _ in range(scene.systems)
        for first, *arms in [simulate_system_arms(scene, chance, random)]
        for arm in arms
        for outcome in TESTED_OUTCOMES
    ]
    shape = (scene.systems, ARMS, len(TESTED_OUTCOMES), scene.routes, scene.seeds)
    return np.asarray(np.reshape(changes, shape).sum(axis=-1), np.float64)


def compute_effect_p_values(differences: Floats) -> Floats:
    """Return p as `effects` has them, plain and of one family: (two, systems, arms, outcomes)."""
    tests = [
        compute_paired_test(routes) for routes in differences.reshape(-1, differences.shape[-1])
    ]
    levels = [level for (level,) in adjust_p_values([[test] for test in tests])]
    return np.reshape([[test.p for test in tests], levels], (2, *differences.shape[:-1]))


def compute_paired_test(differences: Floats) -> HypothesisTest:
    """Return the test of one outcome; exact ones are the same in whatever order routes are."""
    moved = differences[differences != 0]
    if len(moved) <= MOST_EXACT:
        return compute_exact_test(tuple(np.sort(moved).tolist()))
    return HypothesisTest(run_sign_flip_test(moved).p)


@lru_cache(maxsize=1024)
def compute_exact_test(moved: tuple[float, ...]) -> HypothesisTest:
    """Return the test of routes that differ, of which all signs are tried."""
    differences = np.array(moved)
    return HypothesisTest(run_sign_flip_test(differences).p, list_attainable_p_values(differences))


def calibrate_effects(scene: InterventionScenario, campaigns: int, seed: int) -> dict[str, float]:
    """Return the share of campaigns with a false effect, and of systems with a true one found.

    Args:
        scene: of simulated campaigns.
        campaigns: that are simulated.
        seed: of the simulation.
    """
    # p of every simulated campaign, corrected in no way and as a family
    p = np.array(
        [
            compute_effect_p_values(
                simulate_route_differences(
                    scene, make_named_stream(seed, "calibrate effects", str(number))
                )
            )
            for number in range(campaigns)
        ]
    )
    # (campaigns, corrections, ...) and which of the arms work
    significant = np.asarray((p < ALPHA).any(axis=-1))
    works = np.arange(ARMS) < scene.effective
    # campaigns with any significant effect of an arm that does nothing
    false = np.asarray(significant[..., ~works].any(axis=(-2, -1)))
    low, high = compute_clopper_pearson_interval(int(false[:, 1].sum()), campaigns)
    return {
        "campaigns": float(campaigns),
        "false, any": float(false[:, 0].mean()),
        "false, any, family": float(false[:, 1].mean()),
        "low": low,
        "high": high,
        "power": float(significant[:, 1][..., works].mean()) if works.any() else float("nan"),
    }
