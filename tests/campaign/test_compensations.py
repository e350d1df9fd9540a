"""Compensation is a factor of arms; without age, records are those without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from analysis.tables.compensation import measure_attempt_residuals
from harness.campaign.settings.config import hash_settings
from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.records.schema import TABLES
from tests.campaign.tiny import (
    assert_refused_in_one_line,
    composed,
    plan_arms,
    run,
    write_route,
)
from tests.once import once

BOXES = "harness.channel.compensation.boxes.BoxCompensation"


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "step")


def test_only_named_compensations_are_driven(routes: Path) -> None:
    chosen = ("system=[ideal_single,late,early]", "interference=none")
    plain = ["ideal_single/none/none", "late/ahead/none", "early/ahead/none"]
    assert sorted(plan_arms(routes, *chosen)) == sorted(plain)
    assert plan_arms(routes, *chosen, "compensate=none") == plan_arms(routes, *chosen)
    both = plan_arms(routes, *chosen, "compensate=[none,boxes]", "message_format=[native,cpm]")
    # points are not moved; without cooperation nothing is
    added = [
        f"late/ahead/none/{more}"
        for more in (
            "compensate=boxes",
            "message_format=cpm",
            "compensate=boxes/message_format=cpm",
        )
    ]
    assert sorted(both) == sorted([*plain, *added])


def test_an_arm_lacks_what_is_none() -> None:
    plain = Arm.from_factors(system="late")
    assert plain == plain.replace_factors(compensate="none")
    moved = plain.replace_factors(compensate="boxes")
    assert str(moved) == "late/none/none/compensate=boxes"
    assert Arm.from_path(moved.path.parts) == Arm.parse_name(str(moved)) == moved


def test_settings_without_it_do_not_name_the_group() -> None:
    plain, none, some = (
        composed(*words) for words in ((), ("compensate=none",), ("compensate=boxes",))
    )
    assert "compensate" not in plain
    assert hash_settings(plain) == hash_settings(none) != hash_settings(some)


@pytest.mark.parametrize(
    ("system", "words", "line"),
    [
        ("early", [], "partners share points, which do not say what they lie on"),
        ("fcooper", [], "box_compensation moves boxes, and partners share feature maps"),
        ("late", ["attack=ghost"], "the records of an attack look for lies where they were stated"),
    ],
)
def test_what_it_cannot_act_on_is_refused_at_planning(
    routes: Path, system: str, words: list[str], line: str
) -> None:
    with pytest.raises(UserError, match=line) as raised:
        plan_arms(routes, f"system=[{system}]", "interference=none", "compensate=boxes", *words)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([f"+compensate.none={{_target_: {BOXES}}}"], r"compensate\.none is the arm"),
        (
            ["+compensate.x._target_=harness.channel.channel.Channel"],
            r"only harness\.channel\.compensation\.\*",
        ),
        (
            ["+compensate.x._target_=harness.channel.compensation.motion.SenderMotion"],
            r"compensate\.x needs certainty",
        ),
        (["compensate=boxes", "compensate.boxes.longest=-1"], r"longest = -1 s: must be ≥ 0"),
        (["compensate=boxes", "compensate.boxes.motion=bicycle"], r"compensate\.boxes\.motion"),
    ],
)
def test_bad_settings_are_one_line(settings: list[str], words: str) -> None:
    assert_refused_in_one_line(settings, words)


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of a campaign on time and late, moved and not."""
    return once(tmp_path_factory, "compensations", drive)


def drive(folder: Path) -> Path:
    routes = write_route(folder, "hop")
    done = run(
        routes,
        "system=ideal_late",
        "routes.hazards=null",
        "interference=none",
        "sweep.latency=[0.4]",
        "compensate=[none,boxes]",
        "traffic=v2xverse_1",
        f"out={folder / 'both'}",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "both"


def attempts_of(out: Path) -> dict[tuple[str, str], tuple[AttemptKey, Path]]:
    """Return attempts and their folders, by condition and compensation."""
    attempts = CampaignRecords(out).find_attempts()
    return {(key.arm.condition, key.arm["compensate"]): (key, attempts[key]) for key in attempts}


def result_without_arm(place: Path) -> dict[str, Any]:
    """Return a result but for what names the arm, and what was moved."""
    result: dict[str, Any] = json.loads((place / "result.json").read_text())
    del result["crucible"]["attempt"]
    result["crucible"]["messages"].pop("compensation", None)
    return result


@pytest.mark.thorough
def test_without_age_the_records_are_those_without_it_byte_for_byte(driven: Path) -> None:
    attempts = attempts_of(driven)
    (_, plain), (_, null) = (attempts["none", name] for name in ("none", "boxes"))
    for table in TABLES:
        file = f"{table}.parquet"
        assert (plain / file).read_bytes() == (null / file).read_bytes(), file
    assert result_without_arm(plain) == result_without_arm(null)
    assert not (plain / "compensated.parquet").exists()
    assert pq.read_table(null / "compensated.parquet").num_rows == 0


@pytest.mark.thorough
def test_late_boxes_are_moved_as_recorded_and_nearer_to_the_truth(driven: Path) -> None:
    attempts = attempts_of(driven)
    assert not (attempts["latency=0.4", "none"][1] / "compensated.parquet").exists()
    key, place = attempts["latency=0.4", "boxes"]
    rows = pq.read_table(place / "compensated.parquet").to_pandas()
    messages = pq.read_table(place / "messages.parquet").to_pandas()
    # ages are those of the messages that were given
    seconds = (rows["frame"] - rows["capture_frame"]) * 0.05
    assert rows["age"].to_numpy() == pytest.approx(seconds.to_numpy(), abs=1e-6)
    given = set(zip(messages["sender"], messages["capture_frame"], strict=True))
    assert set(zip(rows["sender"], rows["capture_frame"], strict=True)) <= given
    metres = np.hypot(rows["moved_x"] - rows["stated_x"], rows["moved_y"] - rows["stated_y"])
    assert (metres[rows["velocity"] == "none"] == 0).all()
    record = json.loads((place / "result.json").read_text())["crucible"]["messages"]["compensation"]
    assert record["boxes"] == len(rows)
    assert record["metres"] == pytest.approx(metres.sum())
    # against the truth of the present
    errors = measure_attempt_residuals(CampaignRecords(driven), key)
    fast = errors[errors["stated_error"] > 1.0]
    assert len(fast) > 10
    assert fast["left_error"].mean() < 0.5 * fast["stated_error"].mean()
