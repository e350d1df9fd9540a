"""Drives a study's pairs in batches until each comparison is decided or the budget is spent.

What a batch drives follows from the declaration and from the outcomes of earlier batches. So the
same command resumes: batches that are driven are gone through again by their records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from harness.campaign.folder.assignments import write_assignments
from harness.campaign.folder.campaign_folder import make_header, save_header
from harness.campaign.planning.limits import refuse_unnameable
from harness.campaign.planning.plan import get_maps_folder
from harness.campaign.running.executors.interface import Executor, TaskSettings
from harness.campaign.running.kept_slots import KeptSlots
from harness.campaign.running.runner import ProgressListener
from harness.campaign.running.work_queue import WorkQueue
from harness.campaign.settings.config import build_part
from harness.campaign.settings.repeatable import make_attempt_environment
from harness.common.randomness import make_named_stream
from harness.records.arms import Arm
from harness.records.decided import DECIDE_VERSION, DECIDED_BY, LOOK, PAIR, PLAN
from harness.records.keys import AttemptKey
from harness.records.ledger import iter_ledger_lines, rebuild_ledger
from harness.records.reading import CampaignRecords
from harness.types.vocabulary import Floats
from harness.world.routes.placements import Check
from studies.decide.declaration import GeneratedRoutes, StudyDeclaration
from studies.decide.generated import RouteTurns, open_generator_check, open_route_turns
from studies.decide.log import DecideLog
from studies.decide.monitor import RouteBatch
from studies.decide.outcomes import Outcomes, read_outcomes
from studies.decide.planning import DecidePlan, make_study_record
from studies.decide.population import StratifiedRoutes, divide_by_ideal
from studies.decide.progress import (
    ComparisonProgress,
    choose_chances,
    decide_study,
    start_comparisons,
)

ROUNDED = 6
"""Digits behind the point of estimates in the record."""


class SampledStudy(Protocol):
    """What the sampling of pairs and the decisions need of a study."""

    @property
    def declaration(self) -> StudyDeclaration:
        """What is decided, and by which drives."""

    @property
    def arms(self) -> Mapping[str, tuple[Arm, Arm]]:
        """Arms a and b of each comparison, by its name."""


class MissingResultError(Exception):
    """An attempt of a batch has no result: a study without it would be biased."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairBatch:
    """Pairs that are driven together.

    Attributes:
        number: from 1 on.
        seeds: (n,) of the pairs.
        batch: their routes, and the chances of the strata.
        arms: that are driven on all of them.
        made: names of routes that a generator made for them; empty where there is none.
    """

    number: int
    seeds: tuple[int, ...]
    batch: RouteBatch
    arms: tuple[Arm, ...]
    made: tuple[str, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class StudyState:
    """How far a study is.

    Attributes:
        stratified: the population.
        comparisons: in the order of the declaration.
        drives: attempts of compared arms so far.
        spent: of the budget: arms of each pair, of one that was sampled again as well.
        batches: that were driven.
        visits: of each route.
        turns: which of a generator's routes is next; None where there is no generator.
    """

    stratified: StratifiedRoutes
    comparisons: list[ComparisonProgress]
    drives: set[AttemptKey] = field(default_factory=set)
    spent: int = 0
    batches: int = 0
    pairs: int = 0
    visits: dict[int, int] = field(default_factory=dict)
    turns: RouteTurns | None = None

    @property
    def open_comparisons(self) -> list[ComparisonProgress]:
        """Those that are not decided."""
        return [one for one in self.comparisons if one.is_open]


class StudyDriver:
    """Drives a study in its campaign folder, which the caller has locked.

    Args:
        plan: of the study.
        folder: of the campaign.
        listener: is called as attempts begin, drive and end.
        known: outcomes of attempts that were driven elsewhere.
    """

    def __init__(
        self, plan: DecidePlan, folder: Path, listener: ProgressListener, known: Outcomes
    ) -> None:
        self.plan, self.folder = plan, folder
        self._listener, self._known = listener, known
        executor: Executor = build_part(plan.campaign["executor"], "executor")
        self._memory_limit = executor.memory_limit
        self._slots = KeptSlots(executor)
        self._stack, self._check = ExitStack(), list[Check]()

    def close(self) -> None:
        """Close the slots: simulators end."""
        self._slots.close()
        self._stack.close()

    def get_placement_check(self) -> Check:
        """Return what a generator checks hazards with: a simulator, started by the first call."""
        asked = self.plan.declaration.routes
        assert isinstance(asked, GeneratedRoutes)
        if not self._check:
            maps = get_maps_folder(self.plan.campaign)
            self._check.append(open_generator_check(self._stack, asked, maps))
        return self._check[0]

    def drive_attempts(self, keys: Sequence[AttemptKey]) -> Outcomes:
        """Drive all that have no result, here or elsewhere; return the outcomes of all.

        Raises:
            MissingResultError: an attempt failed as often as it may be tried.
        """
        known = {key: self._known[key] for key in keys if key in self._known}
        keys = [key for key in dict.fromkeys(keys) if key not in known]
        if not keys:
            return known
        refuse_unnameable(keys)
        rebuild_ledger(self.folder)
        campaign = self.plan.campaign
        tries, again = campaign["attempts_per_route"], campaign["retry_failed"]
        queue = WorkQueue(keys, self.folder, tries, retry_failed=again)
        self._slots.run_queue(queue, self.folder, self._make_task_settings(), self._listener)
        records = CampaignRecords(self.folder)
        there = records.find_attempts()
        missing = [key for key in keys if key not in there]
        if missing:
            last = {AttemptKey.from_record(line): line for line in iter_ledger_lines(self.folder)}
            failure = last[missing[0]]["failure"] if missing[0] in last else "not tried yet"
            raise MissingResultError(
                f"{len(missing)} of {len(keys)} attempts of a batch have no result, the first is"
                f" {missing[0]} ({failure}): a study without them would be biased;"
                " retry_failed=true tries them again"
            )
        return {**known, **{key: read_outcomes(records, key) for key in keys}}

    def _make_task_settings(self) -> TaskSettings:
        campaign = self.plan.campaign
        return TaskSettings(
            folder=self.folder.resolve(),
            town=self.plan.planned.town,
            simulator=campaign["simulator"],
            attempt_timeout=campaign["attempt_timeout"],
            memory_limit=self._memory_limit,
            environment=make_attempt_environment(campaign),
            directory=Path.cwd(),
        )


@contextmanager
def open_study_driver(
    plan: DecidePlan, folder: Path, listener: ProgressListener, known: Outcomes
) -> Iterator[StudyDriver]:
    """Return a driver whose simulators end with the block."""
    driver = StudyDriver(plan, folder, listener, known)
    try:
        yield driver
    finally:
        driver.close()


def prepare_study_folder(plan: DecidePlan, folder: Path) -> None:
    """Write settings and routes into the campaign folder, unless they are there."""
    file = folder / "campaign.yaml"
    if not file.exists():
        save_header(file, make_study_header(plan))
    write_assignments(folder, plan.planned.assignments)


def make_study_header(plan: DecidePlan) -> dict[str, object]:
    """Return what `campaign.yaml` of a study holds that is driven here."""
    simulator = build_part(plan.campaign["simulator"], "simulator")
    return make_header(plan.campaign, simulator.name, **{DECIDED_BY: plan.declaration.name})


def drive_study(plan: DecidePlan, driver: StudyDriver, log: DecideLog) -> Iterator[StudyState]:
    """Drive a study batch by batch; yield how far it is after each, and at first before any.

    Args:
        plan: of the study.
        driver: of its campaign folder.
        log: its record.
    """
    stratified = plan.stratified
    if plan.ideal:
        stratified = stratify_by_ideal(plan, driver)
    log.write_line(
        {
            "is": PLAN,
            "version": DECIDE_VERSION,
            "study": make_study_record(plan),
            "strata": stratified.list_strata(),
        }
    )
    declaration = plan.declaration
    state = StudyState(
        stratified=stratified,
        comparisons=start_comparisons(
            declaration.comparisons, declaration.floor, len(stratified.strata)
        ),
        turns=open_route_turns(plan, driver.folder, driver.get_placement_check)
        if declaration.is_of_generator
        else None,
    )
    yield state
    while (batch := sample_batch(plan, state)) is not None:
        for line in make_pair_lines(state, batch):
            log.write_line(line)
        keys = list_batch_attempts(state, batch)
        outcomes = driver.drive_attempts(keys)
        take_in_batch(plan, state, batch, outcomes)
        log.write_line(make_look_line(plan, state))
        yield state


def stratify_by_ideal(plan: DecidePlan, driver: StudyDriver) -> StratifiedRoutes:
    """Drive the ideal systems on every route; return strata with what they show.

    They have a seed that no pair has: what they show says nothing of a pair's seed in particular.
    """
    seed = choose_ideal_seed(plan.declaration.seeds)
    keys = [AttemptKey(arm, route, seed) for route in plan.stratified.routes for arm in plan.ideal]
    return divide_by_outcomes(plan.stratified, plan.ideal, seed, driver.drive_attempts(keys))


def choose_ideal_seed(seeds: Sequence[int]) -> int:
    """Return the seed of the ideal systems' drives."""
    return seeds[0] - 1 if len(seeds) == 1 else seeds[0]


def divide_by_outcomes(
    stratified: StratifiedRoutes,
    ideal: Sequence[Arm],
    seed: int,
    outcomes: Outcomes,
) -> StratifiedRoutes:
    """Return strata with what the ideal systems show.

    Args:
        stratified: routes by the map alone.
        ideal: alone, and with partners if that is driven.
        seed: of their drives.
        outcomes: of these drives.
    """
    by_arm = [
        np.array(
            [outcomes[AttemptKey(arm, route, seed)]["violation"] for route in stratified.routes]
        )
        for arm in ideal
    ]
    together = by_arm[1] if len(by_arm) > 1 else None
    return divide_by_ideal(stratified, f"{ideal[0].system} fails", by_arm[0], together)


def count_next_pairs(plan: SampledStudy, state: StudyState, arms: int) -> int:
    """Return how many pairs the budget allows in the next batch.

    It depends on earlier batches alone, and not on what is sampled next.
    """
    left = plan.declaration.most - state.spent
    return min(plan.declaration.batch, left // max(arms, 1))


def sample_batch(plan: SampledStudy, state: StudyState) -> PairBatch | None:
    """Return the next pairs, None if all is decided or the budget is spent."""
    undecided = state.open_comparisons
    arms = tuple(dict.fromkeys(arm for one in undecided for arm in plan.arms[one.declared.name]))
    count = count_next_pairs(plan, state, len(arms))
    if not undecided or count < 1:
        return None
    number = state.batches + 1
    random = make_named_stream(plan.declaration.seed, "decide", "pairs", str(number))
    chances = choose_chances(state.stratified.population, state.comparisons)
    # (1, n, 3) from 0 to 1: the stratum, the route in it, the seed
    uniform = random.random((1, count, 3))
    routes = state.stratified.population.sample_routes(chances, uniform[..., :2])
    places, visits, made = routes[0].tolist(), state.visits, tuple[str, ...]()
    if state.turns is not None:
        # each pair has a new route: its first visit
        made = tuple(state.turns.take_route(stratum) for stratum in places)
        places, visits = list(range(count)), {}
    seeds = choose_seeds(plan.declaration.seeds, visits, places, uniform[0, :, 2])
    return PairBatch(
        number=number,
        seeds=seeds,
        batch=RouteBatch(routes, chances),
        arms=arms,
        made=made,
    )


def choose_seeds(
    declared: Sequence[int], visits: dict[int, int], routes: Sequence[int], uniform: Floats
) -> tuple[int, ...]:
    """Return the seeds of pairs, and count visits of routes.

    Args:
        declared: the first seed, of which each visit of a route takes the next; or several.
        visits: of routes so far.
        routes: of the pairs.
        uniform: (n,) from 0 to 1, for a choice among several.
    """
    seeds = []
    for route, share in zip(routes, uniform.tolist(), strict=True):
        visits[route] = visits.get(route, 0) + 1
        visit = declared[0] + visits[route] - 1
        seeds.append(visit if len(declared) == 1 else declared[int(share * len(declared))])
    return tuple(seeds)


def list_batch_routes(state: StudyState, batch: PairBatch) -> list[str]:
    """Return the name of each pair's route."""
    places = batch.batch.routes[0].tolist()
    return list(batch.made) or [state.stratified.routes[place] for place in places]


def list_batch_attempts(state: StudyState, batch: PairBatch) -> list[AttemptKey]:
    """Return the attempts of a batch, pairs together."""
    return [
        AttemptKey(arm, route, seed)
        for route, seed in zip(list_batch_routes(state, batch), batch.seeds, strict=True)
        for arm in batch.arms
    ]


def take_in_batch(
    plan: SampledStudy,
    state: StudyState,
    batch: PairBatch,
    outcomes: Outcomes,
) -> None:
    """Bet on the differences of a batch, and decide what can be decided."""
    keys = list_batch_attempts(state, batch)
    population = state.stratified.population
    pairs = list(zip(list_batch_routes(state, batch), batch.seeds, strict=True))
    for one in state.open_comparisons:
        a, b = plan.arms[one.declared.name]
        # (1, n) differences b less a
        differences = [
            outcomes[AttemptKey(b, route, seed)][one.declared.outcome]
            - outcomes[AttemptKey(a, route, seed)][one.declared.outcome]
            for route, seed in pairs
        ]
        one.learn(population, batch.batch, np.array([differences]))
    state.drives.update(keys)
    state.spent += len(keys)
    state.batches, state.pairs = batch.number, state.pairs + len(pairs)
    decide_study(state.comparisons, plan.declaration.level, state.pairs)


def make_pair_lines(state: StudyState, batch: PairBatch) -> Iterator[dict[str, object]]:
    """Yield a line for each pair: which it is, and why it was taken."""
    population = state.stratified.population
    shares, chances = population.shares.tolist(), batch.batch.chances[0].tolist()
    wanted = [one.declared.name for one in state.open_comparisons]
    places = batch.batch.routes[0].tolist()
    names = list_batch_routes(state, batch)
    for place, route, seed in zip(places, names, batch.seeds, strict=True):
        stratum = int(population.strata[place])
        yield {
            "is": PAIR,
            "batch": batch.number,
            "route": route,
            "seed": seed,
            "stratum": state.stratified.strata[stratum],
            "share": shares[stratum],
            "chance": chances[stratum],
            "for": wanted,
            "arms": [str(arm) for arm in batch.arms],
        }


def make_look_line(plan: SampledStudy, state: StudyState) -> dict[str, object]:
    """Return the line about what is known after a batch."""
    ended = is_budget_spent(plan, state)
    comparisons = []
    for one in state.comparisons:
        low, high = one.compute_interval(plan.declaration.level)
        comparisons.append(
            {
                "name": one.declared.name,
                "pairs": one.pairs,
                "estimate": round(one.estimate, ROUNDED),
                "low": low,
                "high": high,
                "state": one.describe_state(ended),
            }
        )
    return {
        "is": LOOK,
        "batch": state.batches,
        "pairs": state.pairs,
        "drives": len(state.drives),
        "comparisons": comparisons,
    }


def is_budget_spent(plan: SampledStudy, state: StudyState) -> bool:
    """Return whether no further pair can be driven for the comparisons that are open."""
    arms = {arm for one in state.open_comparisons for arm in plan.arms[one.declared.name]}
    return bool(arms) and count_next_pairs(plan, state, len(arms)) < 1
