"""A try is whole or not there: when killed, when the disk is full, when something is forgotten."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from harness.common.errors import AttemptError
from harness.records.ledger import list_finished_attempts
from harness.records.schema import TABLES
from harness.records.writing import EPISODES, FILES, EpisodeWriter
from tests.records.samples import KEY, columns, contents, write_try

ROOT = Path(__file__).parents[2]


def write_apart(what: str, folder: Path, hash_seed: int = 0) -> None:
    command = [sys.executable, "-m", "tests.records.writers", what, str(folder)]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


@contextmanager
def full_at(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    writes_none = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = writes_none


def test_a_try_holds_its_files_and_nothing_lies_next_to_it(tmp_path: Path) -> None:
    place = write_try(tmp_path)
    assert place == tmp_path / EPISODES / KEY.path / "try1"
    assert {file.name for file in place.iterdir()} == {*FILES, "timing.json"}
    assert list(place.parent.iterdir()) == [place]
    assert list_finished_attempts(tmp_path) == {KEY}


@pytest.mark.thorough
def test_equal_tries_are_equal_byte_for_byte(tmp_path: Path) -> None:
    for hash_seed in (1, 2):
        write_apart("once", tmp_path / str(hash_seed), hash_seed)
    first = contents(tmp_path / "1")
    assert len(first) == len(FILES) + 1
    assert first == contents(tmp_path / "2")


def test_other_numbers_are_other_bytes(tmp_path: Path) -> None:
    one = contents(write_try(tmp_path / "1", seed=1))
    two = contents(write_try(tmp_path / "2", seed=2))
    assert {name for name in one if one[name] == two[name]} == {"result.json", "timing.json"}


@pytest.mark.thorough
def test_a_writer_killed_at_any_step_leaves_a_whole_try_or_none(tmp_path: Path) -> None:
    whole = contents(write_try(tmp_path / "unharmed"))
    write_apart("kill", tmp_path / "killed")
    outcomes = []
    for folder in sorted((tmp_path / "killed").iterdir()):
        done = list_finished_attempts(folder) == {KEY}
        outcomes.append(done)
        if not done:
            assert not list(folder.rglob("try1"))
            write_try(folder)
        place = folder / EPISODES / KEY.path / "try1"
        assert contents(place) == whole
        assert list(place.parent.iterdir()) == [place]
    assert outcomes == sorted(outcomes), "once committed, always committed"
    assert outcomes.count(False) > len(FILES)
    assert outcomes.count(True) > 1, "one came to its end, others died behind the rename"


@pytest.mark.parametrize("size", [0, 1000, 20000])
def test_a_full_disk_fails_the_attempt_and_leaves_nothing(tmp_path: Path, size: int) -> None:
    with full_at(size), pytest.raises(AttemptError, match=r"\.parquet: File too large") as caught:
        write_try(tmp_path, rows=400)
    assert caught.value.failure == "disk"
    assert not contents(tmp_path)
    assert not list_finished_attempts(tmp_path)
    write_try(tmp_path)
    assert list_finished_attempts(tmp_path) == {KEY}


def test_the_next_try_clears_away_what_was_left_of_the_last(tmp_path: Path) -> None:
    left = tmp_path / EPISODES / KEY.path / ".try1.4711"
    left.mkdir(parents=True)
    (left / "frames.parquet").write_bytes(b"half")
    place = write_try(tmp_path, number=2)
    assert list(place.parent.iterdir()) == [place]


def test_a_try_is_not_written_twice(tmp_path: Path) -> None:
    before = contents(write_try(tmp_path, seed=1))
    with pytest.raises(AttemptError, match="try1"):
        write_try(tmp_path, seed=2)
    assert contents(tmp_path / EPISODES / KEY.path / "try1") == before


def test_a_file_where_a_folder_belongs_is_a_problem_of_the_disk(tmp_path: Path) -> None:
    (tmp_path / EPISODES).write_text("")
    with pytest.raises(AttemptError, match=EPISODES) as caught:
        write_try(tmp_path)
    assert caught.value.failure == "disk"


@pytest.mark.parametrize("forgotten", sorted(FILES))
def test_a_try_with_a_file_missing_is_not_committed(tmp_path: Path, forgotten: str) -> None:
    with EpisodeWriter(tmp_path, KEY, 1) as writer:
        for name in {*TABLES} - {forgotten.removesuffix(".parquet")}:
            writer.write_table(name, columns(name, 3))
        if forgotten != "result.json":
            writer.write_json("result", {})
        with pytest.raises(ValueError, match=forgotten):
            writer.commit_records()
    assert not contents(tmp_path)


def test_columns_are_all_given_or_the_missing_one_is_named(tmp_path: Path) -> None:
    given = columns("map", 3)
    with EpisodeWriter(tmp_path, KEY, 1) as writer:
        with pytest.raises(ValueError, match="kind"):
            writer.write_table("map", {name: given[name] for name in given if name != "kind"})
        with pytest.raises(ValueError, match="lane"):
            writer.write_table("map", {**given, "lane": np.zeros(3)})
        with pytest.raises(ValueError, match="x: a value is missing"):
            writer.write_table("map", {**given, "x": [1.0, None, 2.0]})


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_result_holds_finite_numbers_only(tmp_path: Path, number: float) -> None:
    with (
        EpisodeWriter(tmp_path, KEY, 1) as writer,
        pytest.raises(ValueError, match="not JSON compliant"),
    ):
        writer.write_json("result", {"scores": {"score_route": number}})
