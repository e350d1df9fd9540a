"""The ledger: a line for every try, torn or not; what is done is what lies in the folders."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.common.errors import AttemptError, UserError
from harness.records.ledger import (
    LEDGER,
    append_try,
    find_finished_tries,
    iter_ledger_lines,
    list_finished_attempts,
    rebuild_ledger,
)
from harness.records.ledger import get_line_key as ledger_key
from harness.records.writing import EPISODES
from tests.keys import key_of
from tests.records.samples import KEY, write_try
from tests.records.test_writing import full_at

ONE_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def outcomes(campaign: Path) -> list[tuple[int, str | None, str]]:
    return [(line["try"], line["failure"], line["message"]) for line in iter_ledger_lines(campaign)]


def test_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    append_try(
        tmp_path,
        KEY,
        number=1,
        failure="server_crash",
        message="the server ended",
        server_tail="last words\n\u2028\x85 of it",
    )
    append_try(tmp_path, KEY, number=2, failure=None, message="DS 100.0", server_tail="")
    first, second = iter_ledger_lines(tmp_path)
    assert first == {
        "arm": dict(KEY.arm.factors),
        "route": KEY.route,
        "seed": KEY.seed,
        "try": 1,
        "outcome": "failed",
        "failure": "server_crash",
        "message": "the server ended",
        "server": "last words\n\u2028\x85 of it",
    }
    assert (second["outcome"], second["failure"]) == ("done", None)
    assert (tmp_path / LEDGER).read_bytes().count(b"\n") == 2


@ONE_FOLDER
@given(st.text(), st.text())
def test_whatever_a_server_says_is_one_line(tmp_path: Path, message: str, tail: str) -> None:
    (tmp_path / LEDGER).unlink(missing_ok=True)
    append_try(
        tmp_path, KEY, number=1, failure="server_hang", message=message, server_tail=tail + "\ud800"
    )
    (line,) = iter_ledger_lines(tmp_path)
    assert (line["message"], line["server"]) == (message, tail + "\ud800")


def test_a_line_torn_anywhere_costs_that_line_only(tmp_path: Path) -> None:
    append_try(tmp_path, KEY, number=1, failure="disk", message="first", server_tail="")
    append_try(tmp_path, KEY, number=2, failure="disk", message="second", server_tail="")
    file = tmp_path / LEDGER
    both = file.read_bytes()
    whole = both.index(b"\n") + 1
    for end in range(whole, len(both) - 1):
        file.write_bytes(both[:end])
        assert [number for number, _, _ in outcomes(tmp_path)] == [1]
        append_try(tmp_path, KEY, number=3, failure=None, message="third", server_tail="")
        assert [number for number, _, _ in outcomes(tmp_path)] == [1, 3]


def test_a_disk_that_fills_up_within_a_line_is_said(tmp_path: Path) -> None:
    append_try(tmp_path, KEY, number=1, failure=None, message="first", server_tail="")
    size = (tmp_path / LEDGER).stat().st_size
    with full_at(size + 10), pytest.raises(AttemptError) as caught:
        append_try(tmp_path, KEY, number=2, failure=None, message="second", server_tail="")
    assert caught.value.failure == "disk"
    append_try(tmp_path, KEY, number=3, failure=None, message="third", server_tail="")
    assert [number for number, _, _ in outcomes(tmp_path)] == [1, 3]


@ONE_FOLDER
@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from([b"{}", b"[1]", b"[" * 9999]))))
def test_garbage_in_the_ledger_is_passed_over(tmp_path: Path, garbage: list[bytes]) -> None:
    (tmp_path / LEDGER).write_bytes(b"\n".join(garbage))
    append_try(tmp_path, KEY, number=1, failure=None, message="", server_tail="")
    assert [line["route"] for line in iter_ledger_lines(tmp_path)] == [KEY.route]


def test_no_campaign_has_nothing_finished(tmp_path: Path) -> None:
    assert list(iter_ledger_lines(tmp_path)) == []
    assert list_finished_attempts(tmp_path / "nowhere") == set()


def test_of_several_tries_the_last_counts(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        write_try(tmp_path, number=number)
    assert find_finished_tries(tmp_path) == {KEY: tmp_path / EPISODES / KEY.path / "try10"}


def test_what_is_no_try_is_not_taken_for_one(tmp_path: Path) -> None:
    attempt = tmp_path / EPISODES / KEY.path
    for name in ("try", "try0", "try01", ".try1.77", "tryx", "retry1"):
        (attempt / name).mkdir(parents=True)
    (attempt / "try1").write_text("a file")
    (attempt.parent / "no seed" / "try1").mkdir(parents=True)
    (tmp_path / EPISODES / "stray").write_text("")
    assert list_finished_attempts(tmp_path) == set()


def test_a_place_that_cannot_be_listed_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / EPISODES).write_text("a file")
    with pytest.raises(UserError, match="episodes: Not a directory"):
        list_finished_attempts(tmp_path)


def test_a_lost_ledger_is_rebuilt_from_the_folders(tmp_path: Path) -> None:
    keys = [KEY, key_of("../x", "none", "", 0), replace(KEY, seed=4)]
    for key in keys:
        write_try(tmp_path, key, number=2)
    append_try(tmp_path, keys[0], number=2, failure=None, message="DS 90.0", server_tail="")
    rebuild_ledger(tmp_path)
    rebuilt = (tmp_path / LEDGER).read_bytes()
    keys_read = [ledger_key(e) for e in iter_ledger_lines(tmp_path)]
    assert sorted(keys_read) == sorted(keys)
    assert {(line["try"], line["outcome"]) for line in iter_ledger_lines(tmp_path)} == {(2, "done")}
    assert json.loads(rebuilt.split(b"\n")[0])["message"] == "DS 90.0"
    rebuild_ledger(tmp_path)
    assert (tmp_path / LEDGER).read_bytes() == rebuilt
