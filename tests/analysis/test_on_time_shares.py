"""What messages on time change: exact shares of planted effects, and arms that are missing."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from analysis.collection import collect_campaigns
from harness.common.installation import CONF
from harness.types.record_names import DIFFERENCES
from studies.interventions.arms import ON_TIME, InterventionArm
from studies.interventions.on_time_shares import (
    ON_TIME_NEEDED,
    PARTS,
    estimate_on_time_shares,
    select_on_time_arms,
)
from studies.interventions.shapley import estimate_shapley_shares
from studies.interventions.study import build_effects_study
from tests.analysis.effect_frames import CLEAN, CRASH, Row, attempts_of, on_time_arm, repair_arm
from tests.analysis.interventions import BASE, repair, write_interventions
from tests.analysis.little import Drive
from tests.campaign.tiny import composed

COMBINATIONS = [chosen for n in range(1, 5) for chosen in combinations(PARTS, n)]


def arms_of_parts() -> list[InterventionArm]:
    """Return the 15 arms."""
    labels = [frozenset().union(*(PARTS[part] for part in chosen)) for chosen in COMBINATIONS]
    return [on_time_arm(*sorted(some, key=DIFFERENCES.index)) for some in labels]


def row_of(intervention: str, route: int) -> Row:
    """Return a crash that missed *or* mislocalised detections on time prevent; route 0 stays."""
    cured = {"CCME", "CCLE"} & set(intervention.split("_"))
    return CLEAN if cured and route > 0 else CRASH


def test_two_parts_that_both_prevent_a_crash_share_it() -> None:
    """By hand: in half of the orders one of the two comes first, and has the whole effect."""
    arms = arms_of_parts()
    rows = estimate_on_time_shares(attempts_of(arms, row_of), BASE, arms)
    of = rows[rows["outcome"] == "violations, %"].set_index("part")["share"]
    whole = -500 / 6
    assert of["missed"] == of["mislocalised"] == pytest.approx(whole / 2)
    assert of["additional"] == of["rest"] == pytest.approx(0)
    assert set(rows["total"][rows["outcome"] == "violations, %"]) == {whole}


def test_a_missing_arm_gives_no_share() -> None:
    arms = arms_of_parts()
    for left_out in range(len(arms)):
        some = arms[:left_out] + arms[left_out + 1 :]
        assert select_on_time_arms(BASE, some) == {}
        assert estimate_on_time_shares(attempts_of(some, row_of), BASE, some).empty


def test_repairs_to_the_truth_are_not_taken_for_those_on_time() -> None:
    """Equal patterns, another repair: neither table uses the arms of the other."""
    truth = [repair_arm(*arm.patterns) for arm in arms_of_parts() if "rest" not in arm.patterns]
    assert select_on_time_arms(BASE, truth) == {}
    assert estimate_shapley_shares(
        attempts_of(arms_of_parts(), row_of), BASE, arms_of_parts()
    ).empty


def test_shipped_arms_are_the_combinations() -> None:
    parts = composed("intervention=on_time_shares")["intervention"]
    shipped = {frozenset(part["patterns"]) for part in parts.values()}
    assert shipped == {arm.patterns for arm in arms_of_parts()}
    assert {part["repair_to"] for part in parts.values()} == {ON_TIME}
    singles = composed("intervention=on_time_each")["intervention"].values()
    assert [part["patterns"] for part in singles] == [[name] for name in DIFFERENCES]
    (whole,) = composed("intervention=on_time_all")["intervention"].values()
    assert whole["patterns"] == list(DIFFERENCES)
    for name in ("on_time_all", "on_time_each", "on_time_shares"):
        assert (CONF / "intervention" / f"{name}.yaml").is_file()


@pytest.mark.thorough
def test_a_campaign_without_all_arms_says_what_is_missing(tmp_path: Path) -> None:
    record = {**repair("CCME"), "repair_to": ON_TIME}
    folder = write_interventions(
        tmp_path / "c", {"on_time_CCME": record}, lambda *_: Drive(8), routes=1
    )
    study = build_effects_study(collect_campaigns([folder]))
    assert study.on_time.empty
    assert f"late/latency: {ON_TIME_NEEDED}" in study.notes
    assert set(study.effects["effect of"]) == {"on time: CCME"}
