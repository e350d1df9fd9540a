"""Names of attempts become folders and come back, whatever they are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.common.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.names import LONGEST, escape_file_name, unescape_file_name
from tests.keys import key_of

NASTY = ("..", ".", "", "%", "%2E", "../../etc", "a/b", "a\0b", ".hidden", "a-s7", " ", "x\n", "=")
NAMES = st.one_of(st.text(max_size=20), st.sampled_from(NASTY))


@given(NAMES)
def test_a_safe_name_stays_in_its_folder_and_reads_back(name: str) -> None:
    safe = escape_file_name(name)
    assert safe
    assert not set(safe) & {"/", "\\", "\0", "\n"}
    assert not safe.startswith(".")
    assert safe.isascii()
    assert unescape_file_name(safe) == name


@given(NAMES, NAMES, NAMES, st.integers(0, 2**31))
def test_a_key_is_read_from_its_folders(system: str, condition: str, route: str, seed: int) -> None:
    key = key_of(system, condition, route, seed)
    assert len(key.path.parts) == 4
    assert AttemptKey.from_path(key.path.parts) == key
    assert AttemptKey.from_record(json.loads(json.dumps(key.to_record()))) == key


def test_names_differ_where_attempts_differ() -> None:
    assert len({escape_file_name(name) for name in NASTY}) == len(NASTY)


def test_plain_names_stay_readable() -> None:
    key = key_of("ideal_late", "latency 600 ms", "town05_short_r12", 2)
    assert str(key.path) == "ideal_late/ahead/latency 600 ms/town05_short_r12-s2"


@pytest.mark.parametrize("folder", ["7", "7-s", "7-sx", "7-s-1", "7-s01", "-s1", "7-s٣"])
def test_what_is_no_attempt_is_not_taken_for_one(folder: str) -> None:
    with pytest.raises(ValueError, match="not an attempt"):
        AttemptKey.from_path(("a", "b", "c", folder))


def test_a_name_too_long_for_a_file_is_refused() -> None:
    assert len(escape_file_name("x" * LONGEST)) == LONGEST
    with pytest.raises(UserError, match="choose a shorter one"):
        escape_file_name("ü" * (LONGEST // 6 + 1))
