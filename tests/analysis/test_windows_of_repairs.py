"""When errors matter: planted effects of late and early repairs, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.collection import collect_campaigns
from studies.interventions.arms import InterventionArm
from studies.interventions.shapley import NOTHING, select_shapley_arms
from studies.interventions.study import build_effects_study
from studies.interventions.windows import compare_windows
from tests.analysis.effect_frames import CLEAN, CRASH, Row, attempts_of, repair_arm
from tests.analysis.interventions import BASE, repair, write_interventions
from tests.analysis.little import Drive


def windowed(part: str, last: float = 2.0) -> InterventionArm:
    """Return an arm that repairs CCME in one part of the drive."""
    arm = BASE.replace_factors(intervention=f"repair_CCME_{part}_{last:g}")
    return replace(repair_arm("CCME"), arm=arm, window=(part,), last=last)


ARMS: Sequence[InterventionArm] = (repair_arm("CCME"), windowed("late"), windowed("early"))


def row_of(intervention: str, route: int) -> Row:
    """A late repair prevents four of six crashes, an early one two, the whole five."""
    if "late" in intervention:
        return CLEAN if route < 4 else CRASH
    if "early" in intervention:
        return CLEAN if route < 2 else CRASH
    return CLEAN if intervention != "none" and route < 5 else CRASH


def get_differences(rows: pd.DataFrame) -> dict[str, float]:
    of = rows[rows["outcome"] == "violations, %"]
    return dict(zip(of["when"], of["difference"], strict=True))


def test_planted_effects_by_when_they_act() -> None:
    """By hand: late -4/6, early -2/6, whole -5/6; what is left is +1/6."""
    rows = compare_windows(attempts_of(ARMS, row_of), BASE, ARMS)
    expected = {
        "late": -400 / 6,
        "early": -200 / 6,
        "late less early": -200 / 6,
        "whole drive": -500 / 6,
        "whole drive less late and early": 100 / 6,
    }
    assert get_differences(rows) == pytest.approx(expected)
    assert set(rows["last, s"]) == {2.0}
    late = rows[(rows["outcome"] == "violations, %") & (rows["when"] == "late")].iloc[0]
    assert late["low"] < late["difference"] < late["high"]
    assert (late["pairs"], late["routes"]) == (6, 6)


def test_only_windows_of_equal_seconds_and_equal_repairs_are_compared() -> None:
    frame = attempts_of(ARMS, row_of)
    assert compare_windows(frame, BASE, ARMS[:2]).empty
    assert compare_windows(frame, BASE, [ARMS[1], replace(ARMS[2], last=3.0)]).empty
    other = replace(ARMS[2], patterns=frozenset({"LADE"}))
    assert compare_windows(frame, BASE, [ARMS[1], other]).empty
    # without the whole repair two rows are left out
    assert set(get_differences(compare_windows(frame, BASE, ARMS[1:]))) == {
        "late",
        "early",
        "late less early",
    }


def test_a_window_is_no_arm_of_whole_drives() -> None:
    """Shapley shares take the repair of the whole drive, never one of its windows."""
    assert select_shapley_arms(BASE, ARMS[1:]).get(frozenset({"CCME"})) is None
    assert not ARMS[1].repairs_to_truth
    assert ARMS[1].effect_of == "repair CCME, last 2 s"
    assert ARMS[2].effect_of == "repair CCME, until 2 s before"
    assert NOTHING not in {arm.patterns for arm in ARMS}


def record(part: str, *, steps: int = 10) -> dict[str, Any]:
    counts = {"early": steps, "late": steps, "after": steps}
    return {**repair("CCME"), "window": {"parts": [part], "last": 2.0, "steps": counts}}


@pytest.mark.thorough
def test_attempts_without_a_meeting_are_left_out_and_counted(tmp_path: Path) -> None:
    records = {"late": record("late"), "early": record("early", steps=0)}
    folder = write_interventions(tmp_path / "c", records, lambda *_: Drive(8), routes=2)
    study = build_effects_study(collect_campaigns([folder]))
    assert set(study.effects["intervention"]) == {"late"}
    (note,) = (note for note in study.notes if "meeting" in note)
    assert note.endswith(
        "intervention=early: 2 of 2 attempts are left out: no hazard with a meeting had a place"
    )
    assert study.windows.empty
