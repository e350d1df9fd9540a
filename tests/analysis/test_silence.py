"""Attempts without messages are counted; arms that show nothing are named, and are no rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.collection import collect_campaigns
from analysis.regression.sample import ALONE, SILENT, UNMOVED, build_regression_sample
from analysis.tables.from_results import build_result_tables
from harness.records.reading import CampaignRecords
from tests.analysis.little import write_little

pytestmark = pytest.mark.thorough

NOTHING = dict.fromkeys(("used", "uses", "late"), 0)


def rewrite(folder: Path, system: str, condition: str, **changes: Any) -> Path:
    """Let the attempts of an arm say something else of their messages."""
    campaign = CampaignRecords(folder)
    for key in campaign.find_attempts():
        if (key.arm.system, key.arm.condition) == (system, condition):
            result = campaign.read_result(key)
            result["crucible"]["messages"].update(changes)
            campaign.get_result_path(key).write_text(json.dumps(result))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_little(tmp_path / "little", routes=("0", "1", "3"), seeds=(1, 2))


def test_attempts_without_messages_stand_next_to_n(folder: Path) -> None:
    collection = collect_campaigns([folder])
    driving = build_result_tables(collection)[0]
    row = dict(driving.list_rows())["late", "latency", "late"]
    assert [(item.value, item.n) for name, item in row.items() if name == "without messages"] == [
        (2.0, 6)
    ]
    (note,) = [note for note in collection.notes if "without messages" in note]
    assert "2 of 6 in late/latency" in note
    assert collection.exit_code == 0
    assert collection.attempts.groupby("route")["without_messages"].sum().to_dict()["3"] == 6


def test_where_all_had_messages_nothing_is_said(tmp_path: Path) -> None:
    collection = collect_campaigns([write_little(tmp_path / "little", routes=("0", "1"))])
    assert "without messages" not in build_result_tables(collection)[0].measures
    assert not any("without messages" in note for note in collection.notes)


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "silent": ({**NOTHING, "missing": 9}, "the system was given no message in all of its 6"),
    "inert": ({"late": 0, "disturbances": {"latency": 0}}, "latency made no difference"),
    "undone": ({"late": 0}, "nothing that the system was given was different"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_arm_that_shows_nothing_is_an_error_by_name(
    folder: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, fault = FAULTS[name]
    rewrite(folder, "late", "latency", **changes)
    out = tmp_path / "out"
    assert main(["tables", str(folder), "--results-only", "--out", str(out)]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"arm without effect: late/latency: {fault}")
    for file in out.glob("*.csv"):
        table = pd.read_csv(file)
        assert not len(table) or "condition" not in table or set(table["condition"]) == {"none"}
    assert main(["regress", str(folder), "--out", str(out)]) == 1
    assert "Condition latency" not in capsys.readouterr().out
    assert main(["compare", str(folder), "late/none", "late/latency", "--out", str(out)]) == 2


def test_silence_that_was_asked_for_is_an_arm(folder: Path) -> None:
    silence: dict[str, Any] = {**NOTHING, "missing": 9, "silence_asked": True}
    rewrite(folder, "late", "latency", **silence, disturbances={"loss": 9})
    collection = collect_campaigns([folder])
    assert not collection.faults
    (note,) = [note for note in collection.notes if "without messages" in note]
    assert "6 of 6 in late/latency" in note


def test_folders_that_are_compared_are_judged_separately(folder: Path, tmp_path: Path) -> None:
    rewrite(folder, "late", "none", **NOTHING)
    other = write_little(tmp_path / "other", routes=("0", "1"))
    collection = collect_campaigns([folder, other], pooled=False)
    assert [(str(fault.arm), set(fault.campaigns)) for fault in collection.faults] == [
        ("late/ahead/none", {0})
    ]
    undisturbed = collection.attempts[collection.attempts["condition"] == "none"]
    assert set(undisturbed[undisturbed["system"] == "late"]["source"]) == {1}
    assert set(undisturbed[undisturbed["system"] == "early"]["source"]) == {0, 1}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"messages_used": 0, "reads_messages": True}, SILENT),
        ({"messages_used": 7, "reads_messages": True}, UNMOVED),
        ({"messages_used": 0, "reads_messages": False}, ALONE),
    ],
)
def test_regress_says_why_a_system_is_left_out(
    folder: Path, changes: dict[str, Any], reason: str
) -> None:
    attempts = collect_campaigns([folder]).attempts
    undisturbed = attempts[attempts["condition"] == "none"].assign(**changes)
    assert build_regression_sample(undisturbed).left_out == {"alone": reason}
    stranger = undisturbed.drop(columns=["reads_messages", "messages_used"])
    assert build_regression_sample(stranger).left_out == {"alone": UNMOVED}


@pytest.mark.parametrize("changes", [{"used": -1}, {"disturbances": [1]}, {"late": None}])
def test_what_is_no_record_of_messages_is_named(folder: Path, changes: dict[str, Any]) -> None:
    rewrite(folder, "late", "none", **changes)
    left_out = collect_campaigns([folder]).left_out
    assert (left_out["left out as"] == "broken record").sum() > 0
    reasons = left_out.loc[left_out["left out as"] == "broken record", "reason"]
    assert reasons.str.contains(r"late/ahead/none.*result\.json: incomplete result").all()
