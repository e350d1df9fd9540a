"""The ledger of a search: torn lines are dropped, changed ones and other settings are refused."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.common.errors import UserError
from studies.search.candidates import SearchCandidate, SearchEvaluation, SearchOutcome
from studies.search.ledger import make_search_header, open_ledger, read_ledger
from studies.search.search import run_search_loop
from tests.studies.search.basins import MIXED, SETTINGS, evaluate


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return run_search_loop(SETTINGS, evaluate, tmp_path)


def test_a_ledger_gives_back_what_was_evaluated(ledger: Path) -> None:
    header, evaluations = read_ledger(ledger)
    assert header["settings"] == SETTINGS.to_record()
    assert list(header["versions"]) == ["numpy"]
    assert len(evaluations) == SETTINGS.budget
    for evaluation in evaluations:
        assert evaluation.outcome == evaluate(evaluation.candidate)


def test_numbers_of_numpy_are_written_as_numbers(tmp_path: Path) -> None:
    outcome = SearchOutcome(
        outcome="collision",
        failed=bool(np.bool_(True)),
        objectives={"gap": np.float32(0.1)},  # type: ignore[dict-item]
        measures={"x": np.int64(1)},  # type: ignore[dict-item]
    )
    with open_ledger(tmp_path, make_search_header(SETTINGS, {})) as opened:
        opened.append_evaluation(
            SearchEvaluation(SearchCandidate(0, {"delay": 0.1 + 0.2}, 7), outcome)
        )
    (evaluation,) = read_ledger(opened.file)[1]
    assert evaluation.candidate == SearchCandidate(0, {"delay": 0.1 + 0.2}, 7)
    assert evaluation.outcome.objectives == {"gap": float(np.float32(0.1))}


@pytest.mark.parametrize("kept", [1, 40, -1])
def test_a_torn_last_line_is_dropped(ledger: Path, kept: int) -> None:
    whole = ledger.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    ledger.write_bytes(whole[: -len(last)] + last[:kept])
    assert len(read_ledger(ledger)[1]) == SETTINGS.budget - 1
    run_search_loop(SETTINGS, evaluate, ledger.parent)
    assert ledger.read_bytes() == whole


def test_a_torn_header_is_written_again(ledger: Path) -> None:
    whole = ledger.read_bytes()
    ledger.write_bytes(whole[:30])
    with pytest.raises(UserError, match="line 1: no header"):
        read_ledger(ledger)
    run_search_loop(SETTINGS, evaluate, ledger.parent)
    assert ledger.read_bytes() == whole


def refusal(ledger: Path, **changes: Any) -> str:
    before = ledger.read_bytes()
    with pytest.raises(UserError) as raised:
        run_search_loop(replace(SETTINGS, **changes), evaluate, ledger.parent)
    assert ledger.read_bytes() == before
    assert "\n" not in str(raised.value)
    return str(raised.value).removeprefix(f"{ledger}: ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": 60}, "budget is 30 in the ledger, 60 now; search in another folder"),
        ({"evaluation": {"route": 3}}, "evaluation.route is null in the ledger, 3 now; "),
        (
            {"space": (replace(SETTINGS.space[0], high=2.0), *SETTINGS.space[1:])},
            "space[0].high is 1 in the ledger, 2.0 now; ",
        ),
        ({"space": MIXED.space[:1]}, "space is ["),
    ],
)
def test_other_settings_are_refused_by_name(
    ledger: Path, changes: dict[str, Any], message: str
) -> None:
    assert refusal(ledger, **changes).startswith(message)


def test_other_versions_are_refused_by_name(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = read_ledger(ledger)[0]["versions"]["numpy"]
    monkeypatch.setattr("studies.search.making.version", lambda _: "0.0.1")
    assert refusal(ledger) == (
        f'version of numpy is "{earlier}" in the ledger, "0.0.1" now; '
        "install that version, or search in another folder"
    )


@pytest.mark.parametrize(
    ("line", "old", "new", "message"),
    [
        (1, '"budget": 30', '"budget": 35', "line 1: was changed"),
        (4, '"clean"', '"crash"', "line 4: was changed"),
        (4, '"failed": false', '"failed": true', "line 4: was changed"),
        (5, "{", "[", "line 5: not a JSON object"),
        (5, '{"number"', "[" * 100_000, "line 5: not a JSON object"),
    ],
)
def test_a_changed_line_is_refused(
    ledger: Path, line: int, old: str, new: str, message: str
) -> None:
    lines = ledger.read_text().splitlines(keepends=True)
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    ledger.write_text("".join(lines))
    assert refusal(ledger).startswith(message)


def test_a_line_left_out_is_refused(ledger: Path) -> None:
    lines = ledger.read_text().splitlines(keepends=True)
    ledger.write_text("".join(lines[:5] + lines[6:]))
    assert refusal(ledger).startswith("line 6: was changed")


def test_values_that_the_sampler_does_not_ask_for_are_refused(tmp_path: Path) -> None:
    """Also where all digests match."""
    with open_ledger(tmp_path, make_search_header(SETTINGS, {"numpy": np.__version__})) as opened:
        candidate = SearchCandidate(
            0, dict.fromkeys(["delay", "shift", "speed", "station"], 0.5), 7
        )
        opened.append_evaluation(SearchEvaluation(candidate, evaluate(candidate)))
    assert refusal(opened.file).startswith("line 2: delay = 0.5, but the sampler asks for ")


def test_two_searches_do_not_write_one_ledger(ledger: Path) -> None:
    header = json.loads(ledger.read_text().splitlines()[0])
    with open_ledger(ledger.parent, header):
        assert refusal(ledger) == "another search is writing it"


def test_a_full_disk_is_one_line_and_the_search_can_be_resumed(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, write = ledger.read_bytes(), os.write
    ledger.write_bytes(b"".join(whole.splitlines(keepends=True)[:9]))
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda handle, data: write(handle, data[:20]))
        with pytest.raises(UserError, match=r"cannot be written \(No space left on device\)"):
            run_search_loop(SETTINGS, evaluate, ledger.parent)
    run_search_loop(SETTINGS, evaluate, ledger.parent)
    assert ledger.read_bytes() == whole


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_objectives_must_be_finite(value: float) -> None:
    with pytest.raises(ValueError, match=r"gap = .*: must be finite"):
        SearchOutcome(outcome="clean", failed=False, objectives={"gap": value})
