"""Calibration of whole report pages: how often any sentence on a page is false."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype

from analysis.campaign_labels import CAMPAIGN
from analysis.collection import CampaignCollection, make_empty_attempts
from analysis.contrasts import DISTURBED, compute_contrasts
from analysis.declaration import FamilyDeclaration, declare_tests
from analysis.regression.by_condition import ConditionFits
from analysis.regression.estimators import RegressionFit
from analysis.regression.sample import NoFitError
from analysis.simulation.calibration import ALPHA, HEADLINE, METHODS
from analysis.simulation.campaigns import CampaignScenario, SimulatedDrives, simulate_drives
from analysis.statistics.intervals import compute_clopper_pearson_interval
from analysis.statistics.significance import (
    HypothesisTest,
    adjust_p_values,
    list_attainable_p_values,
    run_sign_flip_test,
)
from analysis.tables.campaigns import FAMILY
from harness.common.randomness import make_named_stream
from harness.records.arms import NONE, Arm
from harness.types.vocabulary import Floats

PENALTY = 0.6
DISTURBANCE = "disturbed"
MEASURED = "driving_score", "violated"


@dataclass(frozen=True, slots=True)
class PageScenario:
    """Campaigns of some systems, undisturbed and disturbed, before they are drawn."""

    scene: CampaignScenario
    harm: float = 0.0  # log-odds of violation that the disturbance adds to every system
    campaigns: int = 1  # that are compared on one page
    worse: float = 0.0  # log-odds of violation that all arms of the second campaign have more

    @property
    def true_families(self) -> set[str]:
        """The families of comparisons in which there is a difference."""
        harmed, worse = bool(self.harm), bool(self.worse)
        return {*([DISTURBED] if harmed else []), *([FAMILY] if worse else [])}


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedCampaign:
    """A campaign, or several: drives of all arms, and what a report reads of them."""

    made: SimulatedDrives
    attempts: pd.DataFrame
    systems: int
    campaigns: int

    def select_drives(self, setting: int) -> SimulatedDrives:
        """Return the drives under one condition of one campaign."""
        rows = np.flatnonzero(self.made.system // self.systems == setting)
        return SimulatedDrives(
            route=self.made.route[rows],
            system=self.made.system[rows],
            seed=self.made.seed[rows],
            violated=self.made.violated[rows],
            completion=self.made.completion[rows],
            tracks=tuple(self.made.tracks[row] for row in rows),
        )


def list_page_scenarios(size: CampaignScenario) -> dict[str, PageScenario]:
    """Return what is simulated, for campaigns of some size."""
    place = replace(size, route_sd=1.0, base=-0.5, spread=0.3, place=2.0, places=2)
    return {
        "nothing matters, routes differ": PageScenario(replace(size, route_sd=1.0, base=-0.5)),
        "nothing matters, errors differ by place": PageScenario(place),
        "the disturbance matters, nothing else, errors differ by place": PageScenario(
            place, harm=2.5
        ),
        "two campaigns, nothing matters, errors differ by place": PageScenario(place, campaigns=2),
        "two campaigns, the second is worse, nothing else, errors differ by place": PageScenario(
            place, campaigns=2, worse=2.5
        ),
    }


def simulate_page(page: PageScenario, random: np.random.Generator) -> SimulatedCampaign:
    """Return a campaign; a system under a condition, in a campaign, is an arm of its own."""
    # every system under every condition in every campaign is simulated as a system
    size = page.scene.systems
    number = np.arange(2 * size * page.campaigns)
    harder = page.harm * (number // size % 2) + page.worse * (number // (2 * size))
    made = simulate_drives(replace(page.scene, systems=len(number)), random, harder)
    # then named as arms
    conditions = np.array([NONE, DISTURBANCE])[made.system // size % 2]
    systems = [f"system {system}" for system in made.system % size]
    sources = made.system // (2 * size)
    labels = [f"{source + 1} campaign" if page.campaigns > 1 else NONE for source in sources]
    columns = {"system": systems, "condition": conditions.tolist(), CAMPAIGN: labels}
    arms = [
        str(Arm.from_factors(dict(zip(columns, names, strict=True))))
        for names in zip(*columns.values(), strict=True)
    ]
    # columns that the page reads; others are unknown
    attempts = pd.DataFrame(
        {
            "arm": arms,
            "system": systems,
            "condition": conditions,
            "route": [f"{route:04}" for route in made.route],
            "cluster": [f"{route:04}" for route in made.route],
            "seed": made.seed,
            "source": sources,
            CAMPAIGN: labels,
            "driving_score": 100 * made.completion * np.where(made.violated > 0, PENALTY, 1),
            "completion": made.completion,
            "violated": made.violated > 0,
            "collided": made.violated > 0,
        }
    )
    unknown = {
        str(name): np.nan if is_float_dtype(column) else ""
        for name, column in make_empty_attempts().items()
        if name not in attempts
    }
    return SimulatedCampaign(made, attempts.assign(**unknown), size, page.campaigns)


def fit_simulated_regressions(made: SimulatedCampaign) -> list[ConditionFits]:
    """Return the headline of both conditions, for each campaign."""
    regressions_ = []
    campaigns = range(made.campaigns)
    names = [f"{name} {number}" for number in campaigns for name in (NONE, DISTURBANCE)]
    for number, condition in enumerate(names):
        fits: tuple[RegressionFit, ...] = ()
        refused = {}
        try:
            fits = (METHODS[HEADLINE](made.select_drives(number)),)
        except NoFitError as problem:
            refused[HEADLINE] = str(problem)
        regressions_.append(
            ConditionFits(
                condition=condition, checks=pd.DataFrame(), fits=fits, refused=refused, events={}
            )
        )
    return regressions_


def find_smallest_p_value(made: SimulatedCampaign, regressions: list[ConditionFits]) -> float:
    """Return the smallest p-value that a page's declaration will have: quick, without intervals."""
    shape = (count_page_routes(made), -1, 2 * made.systems * made.campaigns)
    slots = [
        [HypothesisTest(float(p))]
        for fits in regressions
        if fits.headline is not None
        for p in fits.headline.terms["p"]
    ]
    sums = [
        made.attempts[name].to_numpy(np.float64).reshape(shape).sum(axis=1) for name in MEASURED
    ]
    for a, b in list_compared_arms(made.systems, made.campaigns):
        slots.append(
            [compute_pair_test(sums_by_route[:, b] - sums_by_route[:, a]) for sums_by_route in sums]
        )
    return min((p for slot in adjust_p_values(slots) for p in slot if np.isfinite(p)), default=1.0)


def count_page_routes(made: SimulatedCampaign) -> int:
    """Return how many routes a campaign has."""
    return int(made.made.route.max()) + 1


def compute_pair_test(differences: Floats) -> HypothesisTest:
    """Return the test of one pair of arms."""
    return HypothesisTest(run_sign_flip_test(differences).p, list_attainable_p_values(differences))


def list_compared_arms(systems: int, campaigns: int) -> list[tuple[int, int]]:
    """Return the arms of every comparison: disturbed or not, systems, campaigns."""
    arms = 2 * systems
    pairs = []
    for first in range(0, arms * campaigns, arms):
        pairs += [(first + system, first + system + systems) for system in range(systems)]
        for begin in (first, first + systems):
            pairs += combinations(range(begin, begin + systems), 2)
    firsts = combinations(range(0, arms * campaigns, arms), 2)
    return [*pairs, *((a + arm, b + arm) for a, b in firsts for arm in range(arms))]


def declare_simulated_page(
    made: SimulatedCampaign, regressions: list[ConditionFits]
) -> FamilyDeclaration:
    """Return what the report declares of a campaign, by the report's own code."""
    return declare_tests(
        compute_contrasts(
            CampaignCollection(
                campaigns=(), attempts=made.attempts, missing=made.attempts[:0], notes=()
            )
        ),
        regressions,
    )


def count_false_sentences(page: PageScenario, declared: FamilyDeclaration) -> int:
    """Return how many sentences call significant what is not there."""
    table = declared.contrasts.table
    rows = table[table["measure"].isin(["driving score", "violations, %"])]
    clear = rows["clear"].to_numpy(bool) & ~rows["family"].isin(page.true_families).to_numpy(bool)
    odds = sum(int((terms["p page"] < ALPHA).sum()) for terms in declared.odds.values())
    return int(clear.sum()) + odds


def calibrate_pages(
    size: CampaignScenario, replicates: int, seed: int, only: str = ""
) -> pd.DataFrame:
    """Return for every kind of page how often it has any false sentence, and any true one.

    Args:
        size: routes, seeds and arms of a simulated campaign.
        replicates: pages for each scene.
        seed: of the simulation.
        only: part of a scene's name.
    """
    rows = []
    for name, page in list_page_scenarios(size).items():
        if only not in name:
            continue
        false = true = 0
        for number in range(replicates):
            made = simulate_page(
                page, make_named_stream(seed, "calibrate pages", name, str(number))
            )
            fits = fit_simulated_regressions(made)
            # a page without any small p-value has no sentence: that is known early
            if find_smallest_p_value(made, fits) >= ALPHA:
                continue
            declared = declare_simulated_page(made, fits)
            # a sentence is true if the effect was simulated
            wrong = count_false_sentences(page, declared)
            every = count_false_sentences(replace(page, harm=0.0, worse=0.0), declared)
            false += wrong > 0
            true += every > wrong
        low, high = compute_clopper_pearson_interval(false, replicates)
        rows.append(
            {
                "scenario": name,
                "pages": replicates,
                "with a false sentence": false / replicates,
                "low": low,
                "high": high,
                "with a true sentence": true / replicates if page.true_families else np.nan,
            }
        )
    return pd.DataFrame(rows)
