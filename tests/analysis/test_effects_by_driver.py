"""Effects of errors by driver: planted ones differ, equal ones do not, all tests are one family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.collection import collect_campaigns
from harness.records.arms import Arm
from studies.interventions.arms import InterventionArm, add_goal_times
from studies.interventions.drivers import OTHER, REFERENCE, compare_drivers, group_by_driver
from studies.interventions.study import build_effects_study
from tests.analysis.effect_frames import CLEAN, CRASH, attempt, repair_arm
from tests.analysis.interventions import BASE, repair, write_interventions
from tests.analysis.little import Drive
from tests.analysis.test_on_time_shares import arms_of_parts

DRIVERS = ("default", "bold", "cautious")
ROUTES = 8
SAVED: Mapping[str, int] = {"default": 6, "bold": 2, "cautious": 6}
"""Routes on which repairing CCME prevents a crash, by driver; LADE never does."""


def of_driver(arm: InterventionArm, driver: str) -> InterventionArm:
    return replace(arm, arm=arm.arm.replace_factors(driver=driver))


def crashes(arm: Arm, route: int) -> bool:
    return "CCME" not in arm["intervention"] or route >= SAVED[arm["driver"]]


def make_attempts(arms: list[InterventionArm]) -> pd.DataFrame:
    bases = {arm.base for arm in arms}
    every = [*sorted(bases), *(arm.arm for arm in arms)]
    rows = [
        {**attempt(arm, route), **(CRASH if crashes(arm, route) else CLEAN)}
        for arm in every
        for route in range(ROUTES)
    ]
    return add_goal_times(pd.DataFrame(rows))


def compared(arms: list[InterventionArm]) -> Iterator[tuple[str, str, float, float, float]]:
    """Yield cause, driver, its effect, that of the reference and the difference: violations."""
    for effect in compare_drivers(make_attempts(arms), arms, ["system", "condition", "driver"]):
        row = effect.row
        if row["outcome"] == "violations, %":
            assert row["reference driver"] == "default"
            assert row["arm"] == "late/latency"
            one, other, difference = (
                float(str(row[name])) for name in ("with", "without", "difference")
            )
            yield str(row["effect of"]), str(row["other driver"]), one, other, difference


def test_a_driver_that_cannot_use_a_repair_has_another_effect() -> None:
    """By hand: -75 points with the default and the cautious driver, -25 with the bold one."""
    arms = [of_driver(repair_arm(name), driver) for name in ("CCME", "LADE") for driver in DRIVERS]
    rows = {(cause, driver): values for cause, driver, *values in compared(arms)}
    assert rows == {
        ("repair CCME", "bold"): [-25.0, -75.0, 50.0],
        ("repair CCME", "cautious"): [-75.0, -75.0, 0.0],
        ("repair LADE", "bold"): [0.0, 0.0, 0.0],
        ("repair LADE", "cautious"): [0.0, 0.0, 0.0],
    }


@pytest.mark.thorough
def test_shares_of_a_disturbance_are_compared_too() -> None:
    """Missed detections have the whole effect: their share differs as the effect does."""
    arms = [of_driver(arm, driver) for arm in arms_of_parts() for driver in ("default", "bold")]
    shares = {cause: values for cause, _, *values in compared(arms) if "share" in cause}
    assert set(shares) == {
        f"on time, share of {part}" for part in ("missed", "mislocalised", "additional", "rest")
    }
    assert shares["on time, share of missed"] == pytest.approx([-25.0, -75.0, 50.0])
    assert shares["on time, share of rest"] == pytest.approx([0.0, 0.0, 0.0])


def test_without_a_second_driver_there_is_no_comparison() -> None:
    arms = [of_driver(repair_arm("CCME"), "bold")]
    assert not list(compare_drivers(make_attempts(arms), arms, ["driver"]))
    # without the default driver, the first by name is the reference
    two = [of_driver(repair_arm("CCME"), driver) for driver in ("idm", "bold")]
    (group,) = group_by_driver(two).values()
    assert list(group) == ["bold", "idm"]


@pytest.mark.thorough
def test_tests_of_drivers_join_the_family(tmp_path: Path) -> None:
    """Two folders, one for each driver, read together."""

    def ending(arm: Arm, route: str, seed: int) -> Drive:
        saved = arm["intervention"] != "none" and (arm["driver"] != "bold" or int(route) < 2)
        return Drive(20) if saved else Drive(12, "collision_pedestrian")

    arms = {"repair_pair": repair("CCME", "LADE")}
    folders = [
        write_interventions(
            tmp_path / driver, arms, ending, routes=7, base=BASE.replace_factors(driver=driver)
        )
        for driver in ("default", "bold")
    ]
    study = build_effects_study(collect_campaigns(folders))
    rows = study.drivers.set_index("outcome")
    assert list(rows["effect of"]) == ["repair LADE CCME"] * 3
    row = rows.loc["violations, %"]
    assert row[REFERENCE] == -100.0
    assert row[OTHER] == pytest.approx(-200 / 7)
    assert row["low"] < row["difference"] < row["high"]
    # nine tests in all: three outcomes, two drivers and their difference
    assert row["p family"] > row["p"]
    alone = build_effects_study(collect_campaigns(folders[:1]))
    assert alone.drivers.empty
    together = study.effects[study.effects["p"].notna()]
    assert together["arm"].nunique() == 2
    assert len(together) == 6
