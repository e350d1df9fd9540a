"""Simulated campaigns with interventions: how often `effects` finds what is not there, and what is.

A repair that is irrelevant still changes a drive's course now and then, and with it its end: with
the probability `other_course` a drive takes another course, with the route's chance of a violation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from analysis.effects.paired import ALPHA, TESTED, PairedEffect, effect_of, in_one_family
from analysis.statistics.intervals import clopper_pearson
from harness.randomness import stream
from harness.vocabulary import Floats

ARMS = 13
"""Six patterns alone, all but one, all six."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionScenario:
    """A campaign with interventions, before it is drawn."""

    routes: int = 12
    seeds: int = 3
    route_sd: float = 1.5  # log-odds of violation from route to route
    other_course: float = 0.3  # probability that an irrelevant repair changes how a drive goes
    prevented: float = 0.0  # share of violations that the first arm's repair prevents


def outcomes(
    scene: InterventionScenario, random: np.random.Generator
) -> tuple[Floats, list[dict[str, Floats]]]:
    """Return the routes of drives, and the outcomes of the arm without and of all with a repair."""
    clusters = np.arange(scene.routes).repeat(scene.seeds).astype(np.float64)
    chance = expit(scene.route_sd * random.normal(size=scene.routes))[clusters.astype(int)]
    first = drive(chance, random)
    arms = [first]
    for number in range(ARMS):
        other = drive(chance, random)
        changed = random.random(len(clusters)) < scene.other_course
        arm = {name: np.where(changed, other[name], first[name]) for name in first}
        if number == 0:
            saved = random.random(len(clusters)) < scene.prevented
            clean = {"violated": 0.0, "collided": 0.0, "driving_score": 100.0}
            arm = {name: np.where(saved, clean[name], arm[name]) for name in arm}
        arms.append(arm)
    return clusters, arms


def drive(chance: Floats, random: np.random.Generator) -> dict[str, Floats]:
    """Return how drives end."""
    violated = (random.random(len(chance)) < chance).astype(np.float64)
    collided = violated * (random.random(len(chance)) < 0.8)
    score = np.where(violated > 0, random.uniform(10, 70, len(chance)), 100.0)
    return {"violated": violated, "collided": collided, "driving_score": score}


def family_of(scene: InterventionScenario, random: np.random.Generator) -> pd.DataFrame:
    """Return the tests of one campaign, as `effects` makes them."""
    clusters, (first, *arms) = outcomes(scene, random)
    effects: list[PairedEffect] = [
        effect_of(
            first[outcome.column] * outcome.scale,
            arm[outcome.column] * outcome.scale,
            clusters=clusters,
            outcome=outcome,
            names={"arm": number},
        )
        for number, arm in enumerate(arms)
        for outcome in TESTED
    ]
    return in_one_family(effects)


def calibrate_effects(scene: InterventionScenario, campaigns: int, seed: int) -> dict[str, float]:
    """Return the shares of campaigns with a false effect, and with the planted one."""
    false = planted = plain = 0
    for number in range(campaigns):
        table = family_of(scene, stream(seed, "calibrate effects", str(number)))
        significant = table["p family"] < ALPHA
        null = table["arm"] > 0 if scene.prevented else table["arm"] >= 0
        false += bool((significant & null).any())
        plain += bool(((table["p"] < ALPHA) & null).any())
        planted += bool((significant & (table["arm"] == 0)).any())
    low, high = clopper_pearson(false, campaigns)
    return {
        "campaigns": float(campaigns),
        "false, any": plain / campaigns,
        "false, any, family": false / campaigns,
        "low": low,
        "high": high,
        "power": planted / campaigns if scene.prevented else float("nan"),
    }
