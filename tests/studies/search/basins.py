"""An analytic evaluation with two small regions of failures, for the tests of the search."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace
from pathlib import Path

from studies.search.candidates import SearchCandidate, SearchEvaluation, SearchOutcome
from studies.search.making import make_sampler
from studies.search.search import run_search_loop
from studies.search.settings import BehaviourAxis, SearchSettings
from studies.space import SpaceParameter, get_numeric_value

ROOT = Path(__file__).parent.parent.parent.parent
NAMES = ("delay", "shift", "speed", "station")
CENTRES = ((-0.6, 0.4, 0.3, 0.1), (0.5, -0.5, -0.2, 0.1))
RADIUS = 0.25

SETTINGS = SearchSettings(
    sampler="random",
    seed=0,
    budget=30,
    batch=5,
    space=tuple(SpaceParameter(name=name, unit="m", low=-1, high=1) for name in NAMES),
    objectives=("gap",),
    behaviour=(
        BehaviourAxis(name="x", unit="m", low=-1, high=1),
        BehaviourAxis(name="y", unit="m", low=-1, high=1),
    ),
)
MIXED = replace(
    SETTINGS,
    space=(
        SpaceParameter(name="delay", unit="s", high=1),
        SpaceParameter(name="rain", unit="mm/h", low=0.1, high=100, kind="log"),
        SpaceParameter(name="count", unit="1", low=1, high=4, kind="whole"),
        SpaceParameter(name="body", unit="", kind="choice", choices=("car", "van", "bus")),
    ),
)


def evaluate(candidate: SearchCandidate) -> SearchOutcome:
    """Return a failure near one of the two centres."""
    point = [get_numeric_value(candidate.values, name) for name in NAMES]
    first, second = (math.dist(point, centre) - RADIUS for centre in CENTRES)
    failed = min(first, second) < 0
    return SearchOutcome(
        outcome="clean" if not failed else "collision" if first < second else "blocked",
        failed=failed,
        objectives={"gap": min(first, second), "first": first, "second": second},
        measures={"x": point[0], "y": point[1]},
    )


def evaluate_slowly(candidate: SearchCandidate) -> SearchOutcome:
    """Return the same, in another order than candidates were asked for."""
    time.sleep(0.01 + 0.02 * (candidate.number % 3 == 0))
    return evaluate(candidate)


def evaluate_mixed(candidate: SearchCandidate) -> SearchOutcome:
    """Return an outcome of all kinds of parameters; every seventh evaluation has no result."""
    if candidate.number % 7 == 6:
        return SearchOutcome(outcome="not_run", failed=False)
    values = candidate.values
    gap = (
        get_numeric_value(values, "delay")
        - 0.1 * (values["body"] == "bus")
        - get_numeric_value(values, "count") / 10
    )
    return SearchOutcome(
        outcome="collision",
        failed=gap < 0,
        objectives={"gap": gap, "rain": get_numeric_value(values, "rain")},
        measures={"x": gap, "y": math.log10(get_numeric_value(values, "rain"))},
    )


def evaluations_of(settings: SearchSettings) -> list[SearchEvaluation]:
    """Return what a search evaluates, without a ledger."""
    sampler, evaluations = make_sampler(settings), list[SearchEvaluation]()
    for _ in range(settings.budget // settings.batch):
        candidates = sampler.ask(settings.batch)
        outcomes = [evaluate(candidate) for candidate in candidates]
        sampler.report(outcomes)
        evaluations += map(SearchEvaluation, candidates, outcomes)
    return evaluations


def budget_for_both(evaluations: list[SearchEvaluation]) -> int:
    """Return the number of evaluations until both regions were met; one more than all if never."""
    needed = [
        next(
            (n for n, one in enumerate(evaluations, 1) if one.outcome.outcome == kind),
            len(evaluations) + 1,
        )
        for kind in ("collision", "blocked")
    ]
    return max(needed)


if __name__ == "__main__":
    run_search_loop(replace(SETTINGS, sampler=sys.argv[1]), evaluate_slowly, Path(sys.argv[2]))
