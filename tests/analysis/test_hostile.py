"""Records that no campaign writes: one line that names the file, and exit code 2."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from analysis.__main__ import main
from harness.records.ledger import append_try
from harness.records.reading import CampaignRecords
from harness.records.writing import EpisodeWriter
from tests.analysis.little import Drive, write_little
from tests.keys import key_of

pytestmark = pytest.mark.thorough

KEY = key_of("late", "none", "0", 1)
HUGE = 10**400
NAN, INF = float("nan"), float("inf")


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    drives = {KEY: Drive(12, "collision_vehicle")}
    return write_little(tmp_path / "c", [("late", "none")], ["0"], [1], drives=drives)


def put(file: Path, place: Sequence[str], value: object) -> None:
    """Change one value of a JSON or YAML file; what is JSON is YAML too."""
    settings = yaml.safe_load(file.read_text())
    part: Any = settings
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    file.write_text(json.dumps(settings))


def refused(capsys: pytest.CaptureFixture[str], file: Path, *words: object) -> None:
    """See that a command names the file in one line."""
    assert main([str(word) for word in words]) == 2
    output = capsys.readouterr().err
    assert str(file) in output
    assert output.count("\n") == 1


def left_out(capsys: pytest.CaptureFixture[str], file: Path, *words: object) -> None:
    """See that a command names the broken file, does without it, and exits with 1."""
    assert main([str(word) for word in words]) == 1
    output = capsys.readouterr()
    assert f"{file}: " in output.out
    assert not output.err


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("crucible", "driving_score"), HUGE),
        (("crucible", "driving_score"), NAN),
        (("crucible", "completion"), INF),
        (("crucible", "patterns", "total", "LCME"), HUGE),
        (("crucible", "violation", "time"), 1e12),
        (("crucible", "violation", "time"), -1),
        (("meta", "duration_game"), INF),
        (("meta", "route_length"), "far"),
    ],
)
def test_results(
    campaign: Path, capsys: pytest.CaptureFixture[str], place: Sequence[str], value: object
) -> None:
    file = next(campaign.glob("episodes/**/result.json"))
    put(file, place, value)
    left_out(capsys, file, "tables", campaign, "--results-only")
    refused(capsys, file, "replay", campaign, "--attempt", KEY, "--png", campaign / "a.png")


def test_messages_of_bytes_that_are_no_text(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name of a file may be any bytes, and an exception names it."""
    append_try(
        campaign,
        replace(KEY, seed=2),
        number=1,
        failure="agent_exception",
        message="no file \udcff",
        server_tail="",
    )
    assert main(["report", str(campaign), "--results-only"]) == 0
    table = pd.read_csv(campaign / "report" / "missing.csv")
    assert table["message"].tolist() == ["no file \\udcff"]
    file = next(campaign.glob("episodes/**/result.json"))
    put(file, ("crucible", "violation", "with_type"), "\udcff")
    left_out(capsys, file, "tables", campaign, "--results-only")


@pytest.mark.parametrize("lost", ["x", "with_actor"])
def test_violations_without_a_place(
    campaign: Path, capsys: pytest.CaptureFixture[str], lost: str
) -> None:
    file = next(campaign.glob("episodes/**/result.json"))
    result = json.loads(file.read_text())
    del result["crucible"]["violation"][lost]
    file.write_text(json.dumps(result))
    refused(capsys, file, "replay", campaign, "--case", 1, "--png", campaign / "a.png")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("settings", "seeds"), "ab"),
        (("settings", "seeds"), None),
        (("settings", "seeds"), [1, "a"]),
        (("settings", "system"), 3),
        (("settings", "system"), [["late"]]),
        (("settings",), [1]),
    ],
)
def test_headers(
    campaign: Path, capsys: pytest.CaptureFixture[str], place: Sequence[str], value: object
) -> None:
    put(campaign / "campaign.yaml", place, value)
    refused(capsys, campaign / "campaign.yaml", "tables", campaign, "--results-only")


def test_headers_whose_words_are_something_else_are_shown_as_they_are(campaign: Path) -> None:
    for place in (("settings", "study"), ("versions",), ("digest",), ("python",)):
        put(campaign / "campaign.yaml", place, ["odd"])
    assert main(["report", str(campaign), "--results-only"]) == 0


@pytest.mark.parametrize("value", [[[HUGE, 0, 0]], [[NAN, 0, 0]] * 2, [[0, 0]], []])
def test_routes(campaign: Path, capsys: pytest.CaptureFixture[str], value: object) -> None:
    put(campaign / "routes" / "0.json", ("way", "xyz"), value)
    refused(capsys, campaign / "routes" / "0.json", "tables", campaign, "--results-only")


def spoil(campaign: Path, table: str, changed: Mapping[str, object]) -> Path:
    """Write a table of the attempt again, with some columns changed."""
    columns = CampaignRecords(campaign).read_attempt_table(table, KEY)
    result = {str(name): columns[name].tolist() for name in columns}
    result |= {name: [value] * len(columns) for name, value in changed.items()}
    file = next(campaign.glob(f"episodes/**/{table}.parquet"))
    writer = EpisodeWriter(campaign, KEY, 2)
    writer.folder = file.parent
    writer.write_table(table, result)
    return file


@pytest.mark.parametrize(
    ("table", "changed"),
    [
        ("boxes", {"class": "truck"}),
        ("boxes", {"source": "other"}),
        ("boxes", {"pattern": "LCXX"}),
        ("boxes", {"x": NAN}),
        ("boxes", {"length": -1.0}),
        ("frames", {"ego_yaw": INF}),
        ("frames", {"time": 3.0}),
        ("frames", {"frame": 0}),
        ("frames", {"oldest_age": INF}),
        ("messages", {"measured_x": NAN}),
        ("messages", {"age_measured": INF}),
        ("poses", {"true_x": NAN}),
        ("map", {"y": NAN}),
    ],
)
def test_tables(
    campaign: Path, capsys: pytest.CaptureFixture[str], table: str, changed: Mapping[str, object]
) -> None:
    file = spoil(campaign, table, changed)
    refused(capsys, file, "replay", campaign, "--case", 1, "--png", campaign / "a.png")
    assert not (campaign / "a.png").exists()
    left_out(capsys, file, "tables", campaign)


def test_what_is_not_known_is_no_fault(campaign: Path) -> None:
    spoil(campaign, "frames", {"oldest_age": NAN})
    spoil(campaign, "messages", {"delivered_time": NAN, "age_asked": NAN, "age_measured": NAN})
    assert main(["tables", str(campaign)]) == 0
