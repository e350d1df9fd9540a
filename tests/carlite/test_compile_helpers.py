"""Processes that compile next to a server: started once, and gone when it is."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from harness.carlite import compile_helpers
from harness.carlite.compile_helpers import HELPER_STAGES, CompileHelpers, start_helper
from harness.carlite.warmup import WARMUP_STAGES


@pytest.fixture(autouse=True)
def no_other_helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_helpers, "HELPERS_LOCK", tmp_path / "helpers.lock")


def test_helpers_begin_with_stages_of_the_warm_up() -> None:
    assert set(itertools.chain(*HELPER_STAGES)) == set(WARMUP_STAGES)
    assert all(len(set(stages)) == len(stages) for stages in HELPER_STAGES)


def test_helpers_start_with_what_is_missing_and_end_with_the_block() -> None:
    with CompileHelpers(1) as helpers:
        helpers.hear_of("lookup.nearest", True)
        assert helpers.processes == []
        helpers.hear_of("lookup.height", False)
        (process,) = helpers.processes
        helpers.hear_of("lookup.height", False)
        assert helpers.processes == [process]
        with CompileHelpers(1) as others:
            others.hear_of("lookup.height", False)
            assert others.processes == []
        assert process.returncode is None
    assert process.returncode is not None
    helpers.hear_of("lookup.height", False)
    assert helpers.processes == [process]


def test_no_core_to_spare_no_helper() -> None:
    with CompileHelpers(0) as helpers:
        helpers.hear_of("lookup.height", False)
        assert helpers.processes == []


@pytest.mark.thorough
@pytest.mark.parametrize("stages", HELPER_STAGES, ids=" first, then ".join)
def test_a_helper_has_code_for_all_that_it_begins_with(stages: tuple[str, ...]) -> None:
    with start_helper(stages) as process:
        assert process.wait(timeout=300) == 0
        assert process.stdin is not None


@pytest.mark.thorough
def test_a_helper_exits_when_its_parent_is_gone() -> None:
    process = start_helper(HELPER_STAGES[0])
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=300) == 1
