"""What is displayed of a search while it is driven: one number for an evaluation, and no other."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
from rich.console import Console

from harness.campaign.attempt.tasks import AttemptOutcome
from harness.campaign.planning.estimate import ExpectedAttempts
from harness.common.piece_rates import WorkPiece
from harness.records.keys import AttemptKey
from studies.search.candidates import SearchCandidate, SearchEvaluation, SearchOutcome
from studies.search.configuration import compose_search_config, plan_search
from studies.search.following import DrivenEvaluations, EvaluationsTable, expect_evaluations
from studies.search.search import SETTLED, SHORTER, describe_search
from tests.keys import key_of

EXPECTED = ExpectedAttempts(waiting=(WorkPiece(expected=10.0),) * 4, in_seconds=True)


def key_number(number: int) -> AttemptKey:
    return key_of("late", f"e{number:04}", "7", 1)


def evaluation(number: int) -> SearchEvaluation:
    outcome = SearchOutcome(outcome="clean", failed=False, objectives={"gap": 1.0})
    return SearchEvaluation(SearchCandidate(number, {"delay": 0.25}, 1), outcome)


def render_last_line(table: EvaluationsTable, console: Console, out: io.StringIO) -> str:
    out.seek(0)
    out.truncate()
    console.print(table)
    return " ".join(out.getvalue().splitlines()[-1].split()[1:])


def test_a_bar_moves_as_attempts_end_and_counts_none_twice() -> None:
    out = io.StringIO()
    console = Console(file=out, width=120)
    driven = DrivenEvaluations(plan="", total=6, done=2)
    table = EvaluationsTable(driven, 2, console, expected=EXPECTED)
    assert render_last_line(table, console, out) == "2 of 6 done about 0:20 left (rough)"
    # two end while their batch is not in the ledger yet
    for number in (2, 3):
        table.begins(1, key_number(number), 1)
        table.ends(1, AttemptOutcome(key=key_number(number), number=1), again=False)
    assert render_last_line(table, console, out).startswith("4 of 6 done")
    # the ledger has them, and one that an earlier run had driven
    for number in (2, 3, 4):
        table.note_evaluation(evaluation(number))
    assert [line.split(":")[0].strip() for line in out.getvalue().splitlines()[-3:]] == [
        "evaluation 2",
        "evaluation 3",
        "evaluation 4",
    ]
    assert render_last_line(table, console, out).startswith("5 of 6 done")


def test_drives_of_a_confirmation_are_counted_from_one() -> None:
    driven = DrivenEvaluations(plan="", total=6, done=0, word="drive")
    assert driven.format_line(evaluation(0)).startswith("  drive 1 of 6: clean")
    searched = DrivenEvaluations(plan="", total=6, done=0)
    assert searched.format_line(evaluation(0)).startswith("  evaluation 0: clean")


def test_what_may_end_early_says_so() -> None:
    out = io.StringIO()
    console = Console(file=out, width=120)
    driven = DrivenEvaluations(plan="", total=4, done=0, at_most=True)
    table = EvaluationsTable(driven, 1, console, expected=EXPECTED)
    line = render_last_line(table, console, out)
    assert line.endswith("of 4 done at most about 0:40 left (rough)")


def test_driven_evaluations_predict_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRUCIBLE_CACHE", str(tmp_path / "cache"))
    plan = plan_search(compose_search_config("latency_cut_in", ["system=ideal_late"]))
    plan = replace(plan, folder=tmp_path / "search")
    by_rule = expect_evaluations(plan, [1.0, 1.0, 0.5])
    assert not by_rule.in_seconds
    # two evaluations that ended early: 4 and 8 s
    for number, seconds in enumerate((4.0, 8.0)):
        place = plan.folder / "episodes" / key_number(number).path / "try1"
        place.mkdir(parents=True)
        (place / "timing.json").write_text(json.dumps({"seconds": {"total": seconds}}))
    known = expect_evaluations(plan, [1.0, 1.0, 0.5])
    assert known.in_seconds
    assert [piece.expected for piece in known.waiting] == [7.5, 7.5, 3.75]


def test_guided_evaluations_are_expected_to_become_shorter() -> None:
    small = ["system=ideal_late", "search.budget=24", "search.startup=4"]

    def describe(sampler: str) -> DrivenEvaluations:
        settings = compose_search_config("latency_cut_in", [*small, f"search.sampler={sampler}"])
        return describe_search(plan_search(settings))

    assert describe("random").shares_left == [1.0] * 24
    shares = describe("tpe").shares_left
    assert shares[:4] == [1.0] * 4
    assert shares[4] == 1 - SHORTER * 4 / SETTLED
    assert shares[SETTLED:] == [1 - SHORTER] * (24 - SETTLED)
    # a resumed search has measured short evaluations: the others are not much shorter
    resumed = replace(describe("tpe"), done=20).shares_left
    assert len(resumed) == 4
    assert resumed == [pytest.approx((1 - SHORTER) / fmean(shares[:20]))] * 4
    assert describe("random").left == len(describe("random").shares_left)
