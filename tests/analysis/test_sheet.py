"""The sheet of a campaign's hazards: which ones it shows, and when."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from analysis.__main__ import main
from analysis.drive import read_recorded_drive
from analysis.replay.film import GAP, MARGIN, PANEL_PIXELS
from analysis.replay.sheet import (
    ACROSS,
    SHORT_OF,
    prepare_sheet_hazard,
    render_hazard_sheet,
    select_sheet_hazards,
)
from harness.records.reading import CampaignRecords
from tests.analysis.little import Drive, write_little
from tests.keys import arm_of, key_of

ARMS = [("early", "none"), ("late", "none")]
ROUTES = ["0", "1", "2", "3"]


def campaign(folder: Path, absent: str, arms: list[tuple[str, str]]) -> Path:
    """Write a campaign in which the hazard of one route of the first arm had no place."""
    drives = {key_of("early", "none", absent, 1): Drive(12, cause="no_place")}
    return write_little(folder / "campaign", arms, ROUTES, [1], drives=drives)


@pytest.mark.thorough
def test_two_hazards_of_a_kind_that_ran_in_the_first_arm_are_shown(tmp_path: Path) -> None:
    folder = campaign(tmp_path, absent="1", arms=ARMS)
    keys = [hazard.key for hazard in select_sheet_hazards(CampaignRecords(folder))]
    assert [(key.arm, key.route) for key in keys] == [
        (arm_of("early", "none"), "0"),
        (arm_of("early", "none"), "2"),
    ]
    file = tmp_path / "sheet.png"
    assert main(["replay", str(folder), "--sheet", str(file)]) == 0
    with Image.open(file) as image:
        side = PANEL_PIXELS // 2
        assert image.width == ACROSS * side + (ACROSS - 1) * GAP + 2 * MARGIN
        pixels = np.asarray(image.convert("L"), np.float64)
    left, right = (pixels[80:300, k * (side + GAP) + 40 : k * (side + GAP) + 300] for k in (0, 2))
    assert left.std() > 1.0
    assert right.std() == 0.0, "only two panels"


@pytest.mark.thorough
def test_a_hazard_is_shown_shortly_before_the_meeting(tmp_path: Path) -> None:
    records = CampaignRecords(campaign(tmp_path, absent="1", arms=ARMS))
    hazard = next(select_sheet_hazards(records))
    drive = read_recorded_drive(records, hazard.key)
    assert drive is not None
    stations = drive.frames["station"].to_numpy()
    shown = prepare_sheet_hazard(records, hazard)
    row = drive.find_step_row(shown.time)
    assert stations[row] >= hazard.meeting - SHORT_OF or row == len(stations) - 1
    assert row == 0 or stations[row - 1] < hazard.meeting - SHORT_OF
    assert "2.0 s" in shown.words


@pytest.mark.thorough
def test_a_sheet_without_partners_explains_none(tmp_path: Path) -> None:
    records = CampaignRecords(campaign(tmp_path, absent="1", arms=ARMS))
    shown = prepare_sheet_hazard(records, next(select_sheet_hazards(records)))
    assert shown.drive.reads_messages
    alone = replace(shown, drive=replace(shown.drive, reads_messages=False))
    together, single = (render_hazard_sheet([one], dark=False) for one in (shown, alone))
    # the same panels; the legend is shorter, without the note on roadside units
    assert single.height < together.height
    assert single.width == together.width


def test_without_a_hazard_there_is_no_sheet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drives = {key_of("early", "none", "0", 1): Drive(12, cause="no_place")}
    folder = write_little(tmp_path / "campaign", ARMS[:1], ["0"], [1], drives=drives)
    file = tmp_path / "sheet.png"
    assert main(["replay", str(folder), "--sheet", str(file)]) == 2
    assert "no hazard ran" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "hazards",
    [
        7,
        [7],
        [{"kind": "cut_in", "started_at": 1.0}],
        [{"kind": "cut_in", "started_at": 1.0, "station": "far"}],
        [{"kind": "cut_in", "started_at": 1.0, "station": 4.0, "encounter": [1]}],
    ],
)
def test_a_damaged_record_is_named_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hazards: object
) -> None:
    folder = campaign(tmp_path, absent="1", arms=ARMS[:1])
    record = next(folder.rglob("0-s1/try1/result.json"))
    content = json.loads(record.read_text())
    content["crucible"]["hazards"] = hazards
    record.write_text(json.dumps(content))
    file = tmp_path / "sheet.png"
    assert main(["replay", str(folder), "--sheet", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "0-s1/try1/result.json" in line
    assert not file.exists()
