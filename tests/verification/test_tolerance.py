"""Verdicts on attempts that were driven again: identical, within tolerance, differs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crucible.verification.comparing import RedrivenAttempt
from crucible.verification.printing import describe_verdict
from crucible.verification.tolerance import (
    ANOTHER_PROCESSOR,
    DIFFERS,
    IDENTICAL,
    WITHIN,
    list_intolerable_differences,
)
from harness.common.errors import UserError

Result = dict[str, Any]
COUNTS = {"LCME": 11, "LCLE": 32, "LADE": 134, "CCME": 192, "CCLE": 34, "CADE": 201}
OLDER_KERNELS = {"LCME": 10, "LCLE": 38, "LADE": 113, "CCME": 211, "CCLE": 36, "CADE": 165}
"""Route 3 of `study=demo` with `fcooper`, with AVX2 and with SSE4.1 (how-to/verify)."""


def make_result(kind: str | None = None) -> Result:
    violation = None if kind is None else {"kind": kind, "time": 24.1, "frame": 482}
    return {
        "meta": {"duration_game": 38.5},
        "crucible": {
            "infractions": [] if kind is None else [kind],
            "violation": violation,
            "driving_score": 100.0 if kind is None else 31.2,
            "completion": 1.0 if kind is None else 0.62,
            "patterns": {"total": dict(COUNTS)},
        },
    }


def change(result: Result, how: Callable[[Result], object]) -> list[str]:
    """Change a copy, and return what differs by too much."""
    other = copy.deepcopy(result)
    how(other)
    both = list_intolerable_differences(result, other), list_intolerable_differences(other, result)
    assert len(both[0]) == len(both[1])
    return both[0]


def test_what_another_instruction_set_changed_is_within_the_tolerance() -> None:
    def change_counts(result: Result) -> None:
        result["crucible"]["patterns"]["total"] = dict(OLDER_KERNELS)
        result["meta"]["duration_game"] = 38.6

    assert not change(make_result(), change_counts)
    assert not change(make_result(), lambda result: None)


@pytest.mark.parametrize(
    ("name", "may", "must"),
    [("LADE", 178, 179), ("LCME", 16, 17), ("LCME", 6, 5), ("CADE", 151, 150)],
)
def test_counts_have_a_share_and_a_floor(name: str, may: int, must: int) -> None:
    def count(number: int) -> list[str]:
        return change(
            make_result(),
            lambda result: result["crucible"]["patterns"]["total"].update({name: number}),
        )

    assert not count(may)
    (line,) = count(must)
    assert line.startswith(f"count of {name} {COUNTS[name]} -> {must}, more than ")


@pytest.mark.parametrize(
    ("entry", "inside", "beyond"),
    [("driving_score", 31.9, 32.3), ("completion", 0.629, 0.64)],
)
def test_scores_and_completion(entry: str, inside: float, beyond: float) -> None:
    put: dict[str, float] = {}
    for value, lines in ((inside, 0), (beyond, 1)):
        put[entry] = value
        differing = change(
            make_result("collision_pedestrian"),
            lambda result: result["crucible"].update(put),
        )
        assert len(differing) == lines


def test_a_violation_may_come_a_planning_step_later_and_no_more() -> None:
    put: dict[str, float] = {}
    for seconds, lines in ((ANOTHER_PROCESSOR.seconds, 0), (0.25, 1)):
        put["time"] = 24.1 + seconds
        differing = change(
            make_result("collision_pedestrian"),
            lambda result: result["crucible"]["violation"].update(put),
        )
        assert len(differing) == lines


def test_another_ending_is_no_rounding() -> None:
    clean, collided = make_result(), make_result("collision_pedestrian")
    lines = list_intolerable_differences(clean, collided)
    assert lines[0] == "infractions [] -> ['collision_pedestrian']"
    assert lines[1] == "violation none -> collision_pedestrian"
    other = make_result("collision_vehicle")
    assert "violation collision_pedestrian -> collision_vehicle" in list_intolerable_differences(
        collided, other
    )


def test_a_longer_drive_to_the_goal_differs() -> None:
    put: dict[str, float] = {}
    for seconds, lines in ((39.2, 0), (39.4, 1)):
        put["duration_game"] = seconds
        differing = change(make_result(), lambda result: result["meta"].update(put))
        assert len(differing) == lines


def test_no_number_is_within_no_tolerance() -> None:
    assert change(make_result(), lambda result: result["crucible"].update(completion=float("nan")))


def test_a_broken_result_is_one_line() -> None:
    with pytest.raises(UserError, match="not a whole result"):
        list_intolerable_differences(make_result(), {"meta": {}})


@pytest.mark.parametrize(
    ("same", "beyond", "verdict", "line"),
    [
        (True, (), IDENTICAL, "identical: a"),
        (False, (), WITHIN, "within tolerance: a: in the result"),
        (False, ("x", "y"), DIFFERS, "differs: a: in the result: x; y"),
    ],
)
def test_verdicts(same: bool, beyond: tuple[str, ...], verdict: str, line: str) -> None:
    original: Any = None
    one = RedrivenAttempt(
        name="a",
        network=True,
        elsewhere=False,
        same_bytes=same,
        difference="" if same else "in the result",
        original=original,
        place=Path(),
        wrong=(),
        beyond=beyond,
    )
    assert one.verdict == verdict
    assert describe_verdict(one) == line
