"""Findings are repeated with other seeds, and shrunk up to the border of the failures."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from analysis.statistics import intervals
from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from studies.search.candidates import SearchCandidate, SearchEvaluation, SearchOutcome
from studies.search.confirm import (
    RepeatRule,
    compute_repeat_rate_interval,
    confirm_findings,
    make_repeats,
    select_failures,
    select_unconfirmed,
)
from studies.search.shrink import shrink_values
from studies.space import SpaceParameter, Values, get_numeric_value

SPACE = (
    SpaceParameter(name="delay", unit="s", high=1),
    SpaceParameter(name="shift", unit="m", low=-2, high=2),
    SpaceParameter(name="rain", unit="mm/h", low=0.1, high=100, kind="log"),
    SpaceParameter(name="count", unit="1", high=8, kind="whole"),
    SpaceParameter(name="body", unit="", kind="choice", choices=("car", "van")),
)
VALUES: Values = {"delay": 0.9, "shift": -1.5, "rain": 50.0, "count": 7.0, "body": "van"}
REPEATS = RepeatRule(count=5, least=3)


def outcome_of(failed: bool, kind: str = "collision") -> SearchOutcome:
    return SearchOutcome(
        outcome=kind if failed else "clean", failed=failed, objectives={"gap": 0.0}
    )


def region(candidate: SearchCandidate) -> SearchOutcome:
    """Fail from 0.3 s, shifted by 0.5 m to the right or more, with 3 vehicles or more."""
    delay, shift, count = (
        get_numeric_value(candidate.values, name) for name in ("delay", "shift", "count")
    )
    return outcome_of(delay >= 0.3 and shift <= -0.5 and count >= 3)


def finding_at(delay: float = 0.9, kind: str = "collision") -> SearchEvaluation:
    return SearchEvaluation(
        SearchCandidate(12, {**VALUES, "delay": delay}, 99), outcome_of(True, kind)
    )


def test_shrinking_ends_at_the_border() -> None:
    shrunk = shrink_values(finding_at(), region, SPACE, repeats=REPEATS, budget=500)
    assert shrunk.held
    assert shrunk.complete
    assert 0.3 <= get_numeric_value(shrunk.values, "delay") <= 0.3 + 0.02
    assert -0.5 - 0.08 <= get_numeric_value(shrunk.values, "shift") <= -0.5
    assert shrunk.values["rain"] == 0.1
    assert shrunk.values["count"] == 3
    assert shrunk.values["body"] == "van"
    assert region(SearchCandidate(0, shrunk.values, 0)).failed
    assert shrunk.evaluations < 150


def test_a_logarithmic_parameter_ends_at_its_border() -> None:
    shrunk = shrink_values(
        finding_at(),
        lambda candidate: outcome_of(get_numeric_value(candidate.values, "rain") >= 8),
        SPACE,
        repeats=REPEATS,
        budget=500,
    )
    assert 8 <= get_numeric_value(shrunk.values, "rain") <= 8 * 1000**0.02
    assert shrunk.values["delay"] == 0


def test_parameters_move_towards_the_given_source() -> None:
    source: Values = {"delay": 0.5, "body": "car"}
    shrunk = shrink_values(finding_at(), region, SPACE, repeats=REPEATS, budget=500, source=source)
    assert (shrunk.values["delay"], shrunk.values["body"]) == (0.5, "car")


def test_dependent_parameters_are_moved_in_rounds() -> None:
    """The delay can only reach 0 after the count has moved."""

    def evaluate(candidate: SearchCandidate) -> SearchOutcome:
        delay, count = (get_numeric_value(candidate.values, name) for name in ("delay", "count"))
        return outcome_of(delay >= 0.1 * count)

    shrunk = shrink_values(finding_at(), evaluate, SPACE, repeats=REPEATS, budget=900)
    assert (shrunk.values["delay"], shrunk.values["count"]) == (0, 0)


@pytest.mark.parametrize("budget", [0, 4, 5, 17, 60])
def test_a_budget_is_kept_and_the_last_failure_returned(budget: int) -> None:
    shrunk = shrink_values(finding_at(), region, SPACE, repeats=REPEATS, budget=budget)
    assert shrunk.evaluations <= budget
    assert not shrunk.complete
    assert shrunk.held == (budget >= 5)
    assert region(SearchCandidate(0, shrunk.values, 0)).failed


def test_a_failure_that_does_not_happen_again_is_not_moved() -> None:
    other_kind = shrink_values(
        finding_at(kind="blocked"), region, SPACE, repeats=REPEATS, budget=500
    )
    assert not other_kind.held
    assert other_kind.complete
    assert other_kind.values == VALUES
    assert other_kind.evaluations == 3  # decided: two are left, three are needed


def by_chance(candidate: SearchCandidate) -> SearchOutcome:
    """Fail more often the larger the delay."""
    return outcome_of(
        make_named_stream(candidate.seed, "test").random()
        < get_numeric_value(candidate.values, "delay"),
        "collision",
    )


def test_shrinking_is_deterministic_with_any_number_of_workers() -> None:
    shrunk = shrink_values(finding_at(), by_chance, SPACE, repeats=REPEATS, budget=500)
    assert shrunk.held
    assert 0 < get_numeric_value(shrunk.values, "delay") < 0.9
    with ThreadPoolExecutor(2) as threads:
        again = shrink_values(
            finding_at(), by_chance, SPACE, repeats=REPEATS, budget=500, mapper=threads.map
        )
    assert shrunk == again


def test_findings_are_confirmed_or_listed_as_unconfirmed() -> None:
    repeats = RepeatRule(count=20, least=10)
    findings = [finding_at(delay) for delay in (0.95, 0.05)]
    confirmations = confirm_findings(findings, by_chance, repeats)
    often, seldom = confirmations
    assert often.confirmed
    assert often.rate > 0.8
    assert often.low < 0.95 < often.high
    assert select_unconfirmed(confirmations) == [seldom]
    assert seldom.low < 0.05 < seldom.high
    assert confirmations == confirm_findings(findings, by_chance, repeats)


def test_only_the_same_kind_of_failure_and_results_count() -> None:
    def evaluate(candidate: SearchCandidate) -> SearchOutcome:
        kind = make_named_stream(candidate.seed, "test").integers(3)
        if kind == 0:
            return SearchOutcome(outcome="not_run", failed=False)
        return outcome_of(True, "collision" if kind == 1 else "blocked")

    (confirmation,) = confirm_findings([finding_at()], evaluate, RepeatRule(count=60, least=5))
    assert confirmation.repeats < 60
    assert 0 < confirmation.failures < confirmation.repeats


def test_seeds_of_the_search_are_not_used_again() -> None:
    candidates = make_repeats(12, VALUES, REPEATS, name="confirm")
    assert len({candidate.seed for candidate in candidates}) == REPEATS.count
    searched = [SearchEvaluation(candidates[2], outcome_of(False))]
    with pytest.raises(UserError, match="seed = 0: the search used its seeds; choose another"):
        confirm_findings([finding_at()], region, REPEATS, searched=searched)


def test_failures_and_intervals() -> None:
    evaluations = [
        SearchEvaluation(SearchCandidate(n, {}, n), outcome_of(n % 2 == 0)) for n in range(4)
    ]
    assert [one.candidate.number for one in select_failures(evaluations)] == [0, 2]
    for events, n in ((0, 20), (3, 20), (20, 20), (1, 1)):
        assert compute_repeat_rate_interval(events, n) == pytest.approx(
            intervals.compute_clopper_pearson_interval(events, n)
        )
    assert compute_repeat_rate_interval(0, 0) == (0.0, 1.0)
    assert compute_repeat_rate_interval(0, 20)[1] == pytest.approx(1 - 0.025 ** (1 / 20))
    assert np.isfinite(compute_repeat_rate_interval(10, 20)).all()


def test_repeats_must_be_possible() -> None:
    with pytest.raises(UserError, match="least = 6: must be from 1 up to count = 5"):
        RepeatRule(count=5, least=6)
