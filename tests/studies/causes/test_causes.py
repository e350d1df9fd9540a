"""`crucible causes`: shares against another formula, causes read from arms, tables and refusals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from crucible.subcommands import dispatch_subcommand
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.ledger import append_try
from harness.records.schema import VERSION
from studies.causes.shares import ALL_CAUSES, SHARE, count_routes_needed, list_contrasts
from studies.causes.shares import weigh_subsets as weigh
from studies.causes.subsets import CauseArms, CauseSet, group_switches, iterate_cause_arms
from tests.analysis.little import Drive, write_attempt, write_route
from tests.keys import arm_of

ON = {"with_loss": True, "with_airtime": True, "with_queue": True}
RADIO = {"_target_": "harness.channel.links.cellular.NrLink", "stations": 50}
LINKS: dict[str, Any] = {
    "ideal": None,
    "nr_radio": {**RADIO, **ON, "with_queue": False},
    "nr_queue": {**RADIO, "with_loss": False, "with_airtime": False, "with_queue": True},
    "nr": {**RADIO, **ON},
}
RADIO_NAME = "radio: loss and airtime"


def subsets_of(names: Iterable[str]) -> list[CauseSet]:
    names = tuple(names)
    return [frozenset(s) for n in range(len(names) + 1) for s in combinations(names, n)]


def shapley(values: dict[CauseSet, float], causes: tuple[str, ...], cause: str) -> float:
    """Return a share by Shapley's formula over subsets, which the code under test does not use."""
    count = len(causes)
    return sum(
        math.factorial(len(rest)) * math.factorial(count - len(rest) - 1) / math.factorial(count)
        * (values[rest | {cause}] - values[rest])
        for rest in subsets_of(causes)
        if cause not in rest
    )  # fmt: skip


@given(st.integers(2, 5), st.randoms(use_true_random=False))
def test_shares_are_shapleys_and_add_up(count: int, random: Any) -> None:
    causes = tuple("abcde"[:count])
    arms = {
        subset: arm_of("late", "".join(sorted(subset)) or "none") for subset in subsets_of(causes)
    }
    drives = {subset: np.array([random.uniform(-100, 100) for _ in range(3)]) for subset in arms}
    contrasts = list_contrasts(CauseArms(name="", causes=causes, arms=arms))
    shares = {cause: weigh(drives, of) for cause, kind, of in contrasts if kind == SHARE}
    (total,) = (weigh(drives, of) for cause, _, of in contrasts if cause == ALL_CAUSES)
    assert set(shares) == set(causes)
    for cause, share in shares.items():
        slow = [shapley({s: v[n] for s, v in drives.items()}, causes, cause) for n in range(3)]
        assert share == pytest.approx(slow, abs=1e-9)
    assert sum(shares.values()) == pytest.approx(total, abs=1e-9)


def test_causes_are_read_from_switches_and_factors() -> None:
    arms = [
        arm_of("late", condition, link=link, compute=compute, message_format=written)
        for link in LINKS
        for compute in ("none", "declared")
        for written in ("native", "cpm")
        for condition in ("none", "gnss")
    ]
    (made,) = iterate_cause_arms(arms, LINKS)
    assert made.causes == (RADIO_NAME, "queue", "computing", "message format", "gnss")
    assert made.missing == 0
    whole = arm_of("late", "gnss", link="nr", compute="declared", message_format="cpm")
    assert made.name == str(whole)
    assert made.arms[frozenset()] == arm_of("late", "none")
    assert made.arms[frozenset({"queue", "gnss"})] == arm_of("late", "gnss", link="nr_queue")
    # without the links of one cause, all that the radio does is one cause
    (fewer,) = iterate_cause_arms([arm for arm in arms if arm["link"] in ("ideal", "nr")], LINKS)
    assert fewer.causes == ("link", "computing", "message format", "gnss")


def test_two_radios_make_two_groups() -> None:
    links = {**LINKS, "other": {**RADIO, **ON, "stations": 90}}
    arms = [
        arm_of("late", condition, link=link) for link in links for condition in ("none", "gnss")
    ]
    first, second = iterate_cause_arms(arms, links)
    assert {first.causes, second.causes} == {(RADIO_NAME, "queue", "gnss"), ("link", "gnss")}
    assert group_switches({frozenset({"queue"}): arms[0], frozenset({"loss"}): arms[1]}) is None


def write_causes(folder: Path, arms: Iterable[Arm], routes: int) -> Path:
    """Write drives: the radio ends every one, computing those of even routes, waiting none."""
    folder.mkdir(parents=True)
    settings = {"seeds": [1], "system": {"late": None}, "link": LINKS}
    header = {"schema": VERSION, "digest": "0" * 8, "simulator": "carlite", "settings": settings}
    (folder / "campaign.yaml").write_text(yaml.safe_dump(header))
    for number in range(routes):
        write_route(folder, str(number), "Crucible05", 10.0 * number)
        for arm in arms:
            hit = arm["link"] in ("nr", "nr_radio")
            hit |= arm["compute"] == "declared" and number % 2 == 0
            key = AttemptKey(arm, str(number), 1)
            drive = Drive(10, "collision_vehicle" if hit else "")
            write_attempt(folder, key, drive, "carlite 0.9.16")
            with patch("os.fsync"):
                append_try(folder, key, number=1, failure=None, message="", server_tail="")
    return folder


ARMS = [
    arm_of("late", "none", link=link, compute=compute)
    for link in LINKS
    for compute in ("none", "declared")
]


def test_the_command_prints_shares_that_add_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_causes(tmp_path / "runs", ARMS, routes=2)
    out = tmp_path / "out"
    assert dispatch_subcommand(["causes", str(folder), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "undecided at n = 2" in printed
    # violations are tested, driving scores are not, and have no column of a test
    assert printed.count("Holm") == 1
    assert "tests of violations in this family: 4; one of them can be decided from 8" in printed
    effects = pd.read_csv(out / "causes.csv").set_index(["outcome", "cause", "effect"])["value"]
    points = effects["violations, points"]
    # by hand: on the even route each of radio and computing is enough, so they share it
    assert points[RADIO_NAME, SHARE] == pytest.approx(75)
    assert points["computing", SHARE] == pytest.approx(25)
    assert points["queue", SHARE] == pytest.approx(0, abs=1e-9)
    assert points[ALL_CAUSES, "together"] == 100
    assert points["computing", "alone"] == 50
    assert points["computing", "as the last"] == 0
    subsets = pd.read_csv(out / "causes_subsets.csv").set_index("causes")["violations, %"]
    assert len(subsets) == 8
    assert subsets["none"] == subsets["queue"] == 0
    assert subsets["queue + computing"] == 50


def test_without_all_subsets_there_are_no_shares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = [arm for arm in ARMS if arm["compute"] == "none" or arm["link"] == "ideal"]
    folder = write_causes(tmp_path / "runs", few, routes=1)
    assert dispatch_subcommand(["causes", str(folder), "--out", str(tmp_path / "out")]) == 0
    assert "3 of 8 subsets of causes have no arm" in capsys.readouterr().out
    effects = pd.read_csv(tmp_path / "out" / "causes.csv")
    assert SHARE not in set(effects["effect"])
    assert "alone" in set(effects["effect"])


def test_a_campaign_without_causes_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_causes(tmp_path / "runs", ARMS[:2], routes=1)
    assert dispatch_subcommand(["causes", str(folder)]) == 2
    shown = capsys.readouterr().err.strip()
    assert "no arms that differ in two causes" in shown
    assert "\n" not in shown


def test_routes_needed_for_one_of_six_tests() -> None:
    """2 of 2^8 signs is 0.0078, and six times that is below 0.05; of 2^7 it is not."""
    assert count_routes_needed(6) == 8
    assert 6 * 2 / 2**8 <= 0.05 < 6 * 2 / 2**7
