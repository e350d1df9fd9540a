"""Calibration of whole report pages: how often any sentence on a page is false."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.collection import Collection, nothing_yet
from analysis.contrasts import contrasts_of
from analysis.declaration import Declaration, declare
from analysis.regression.by_condition import Findings
from analysis.regression.estimators import Fit
from analysis.regression.sample import NoFitError
from analysis.simulation.calibration import ALPHA, HEADLINE, METHODS
from analysis.simulation.campaigns import Drives, Scene, drives
from analysis.statistics.intervals import clopper_pearson
from analysis.statistics.significance import Test, adjusted, attainable, sign_flip
from harness.randomness import stream
from harness.records.arms import NONE, Arm
from harness.vocabulary import Floats

PENALTY = 0.6
DISTURBANCE = "disturbed"
MEASURED = "driving_score", "violated"


@dataclass(frozen=True, slots=True)
class Page:
    """Campaigns of some systems, undisturbed and disturbed, before they are drawn."""

    scene: Scene
    harm: float = 0.0  # log-odds of violation that the disturbance adds to every system


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A campaign: drives of all arms, and what a report reads of them."""

    made: Drives
    attempts: pd.DataFrame
    systems: int

    def of(self, condition: int) -> Drives:
        """Return the drives under one condition."""
        own = np.flatnonzero(self.made.system // self.systems == condition)
        return Drives(
            route=self.made.route[own],
            system=self.made.system[own],
            seed=self.made.seed[own],
            violated=self.made.violated[own],
            completion=self.made.completion[own],
            tracks=tuple(self.made.tracks[each] for each in own),
        )


def pages(size: Scene) -> dict[str, Page]:
    """Return what is simulated, for campaigns of some size."""
    place = replace(size, route_sd=1.0, base=-0.5, spread=0.3, place=2.0, places=2)
    return {
        "nothing matters, routes differ": Page(replace(size, route_sd=1.0, base=-0.5)),
        "nothing matters, errors differ by place": Page(place),
        "the disturbance matters, nothing else, errors differ by place": Page(place, harm=2.5),
    }


def drawn(page: Page, random: np.random.Generator) -> Drawn:
    """Return a campaign; a system under a condition is an arm of its own."""
    size = page.scene.systems
    harder = np.where(np.arange(2 * size) < size, 0.0, page.harm)
    made = drives(replace(page.scene, systems=2 * size), random, harder)
    conditions = np.array([NONE, DISTURBANCE])[made.system // size]
    systems = [f"system {each}" for each in made.system % size]
    arms = [
        str(Arm.of({"system": system, "condition": condition}))
        for system, condition in zip(systems, conditions.tolist(), strict=True)
    ]
    attempts = pd.DataFrame(
        {
            "arm": arms,
            "system": systems,
            "condition": conditions,
            "route": [f"{each:04}" for each in made.route],
            "cluster": [f"{each:04}" for each in made.route],
            "seed": made.seed,
            "campaign": 0,
            "driving_score": 100 * made.completion * np.where(made.violated > 0, PENALTY, 1),
            "completion": made.completion,
            "violated": made.violated > 0,
            "collided": made.violated > 0,
        }
    )
    words = {str(name): "" for name in nothing_yet() if name not in attempts}
    return Drawn(made, attempts.assign(**words), size)


def regressions(made: Drawn) -> list[Findings]:
    """Return the headline of both conditions."""
    found = []
    for number, condition in enumerate((NONE, DISTURBANCE)):
        fits: tuple[Fit, ...] = ()
        refused = {}
        try:
            fits = (METHODS[HEADLINE](made.of(number)),)
        except NoFitError as problem:
            refused[HEADLINE] = str(problem)
        found.append(Findings(condition, pd.DataFrame(), fits, refused, {}))
    return found


def smallest(made: Drawn, found: list[Findings]) -> float:
    """Return the smallest p-value that a page's declaration will have: quick, without intervals."""
    shape = (page_routes(made), -1, 2 * made.systems)
    slots = [
        [Test(float(p))]
        for each in found
        if each.headline is not None
        for p in each.headline.terms["p"]
    ]
    sums = [
        made.attempts[name].to_numpy(np.float64).reshape(shape).sum(axis=1) for name in MEASURED
    ]
    for a, b in compared(made.systems):
        slots.append([of_pair(each[:, b] - each[:, a]) for each in sums])
    return min((p for slot in adjusted(slots) for p in slot if np.isfinite(p)), default=1.0)


def page_routes(made: Drawn) -> int:
    """Return how many routes a campaign has."""
    return int(made.made.route.max()) + 1


def of_pair(differences: Floats) -> Test:
    """Return the test of one pair of arms."""
    return Test(sign_flip(differences).p, attainable(differences))


def compared(systems: int) -> list[tuple[int, int]]:
    """Return the arms of every comparison: disturbed against not, systems under one condition."""
    disturbed = [(each, each + systems) for each in range(systems)]
    under = [list(combinations(range(begin, begin + systems), 2)) for begin in (0, systems)]
    return [*disturbed, *under[0], *under[1]]


def declaration(made: Drawn, found: list[Findings]) -> Declaration:
    """Return what the report declares of a campaign, by the report's own code."""
    return declare(contrasts_of(Collection((), made.attempts, made.attempts[:0], ())), found)


def false_sentences(page: Page, declared: Declaration) -> int:
    """Return how many sentences call significant what is not there."""
    table = declared.contrasts.table
    own = table[table["measure"].isin(["driving score", "violations, %"])]
    clear = own["clear"].to_numpy(bool)
    if page.harm:
        clear = clear & own["family"].str.startswith("systems").to_numpy(bool)
    odds = sum(int((terms["p page"] < ALPHA).sum()) for terms in declared.odds.values())
    return int(clear.sum()) + odds


def calibrate_pages(size: Scene, replicates: int, seed: int, only: str = "") -> pd.DataFrame:
    """Return for every kind of page how often it has any false sentence, and any true one."""
    rows = []
    for name, page in pages(size).items():
        if only not in name:
            continue
        false = true = 0
        for number in range(replicates):
            made = drawn(page, stream(seed, "calibrate pages", name, str(number)))
            found = regressions(made)
            if smallest(made, found) >= ALPHA:
                continue
            declared = declaration(made, found)
            wrong = false_sentences(page, declared)
            every = false_sentences(replace(page, harm=0.0), declared)
            false += wrong > 0
            true += every > wrong
        low, high = clopper_pearson(false, replicates)
        rows.append(
            {
                "scene": name,
                "pages": replicates,
                "with a false sentence": false / replicates,
                "low": low,
                "high": high,
                "with a true one": true / replicates if page.harm else np.nan,
            }
        )
    return pd.DataFrame(rows)
