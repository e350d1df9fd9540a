"""What twins say: every answer from twins that were made to give it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

from analysis.__main__ import main
from analysis.cases import list_violation_cases
from analysis.collection import collect_campaigns
from harness.common.errors import UserError
from harness.records.critical import SearchedAttempt, write_critical
from harness.records.packing.pack import pack_campaigns
from harness.records.packing.unpack import unpack_campaigns
from harness.records.twins import TWINS, TwinChange, Window
from studies.attribution.tables import (
    ViolationAttribution,
    attribute_violations,
    build_attributions_frame,
)
from tests.analysis.little import Drive, write_little
from tests.keys import key_of
from tests.studies.critical.little import sizes_with

pytestmark = pytest.mark.thorough

OF = key_of("late", "latency", "4", 1)
HIT, CLEAN = Drive(12, "collision_vehicle"), Drive(20)
OTHER = Drive(9, "off_road")
A, B, C = (0, 40), (40, 80), (80, 120)
AGAIN, WITHOUT = TwinChange(), TwinChange(without=("latency",))
SAMPLES = [TwinChange(sample=number) for number in range(1, 6)]


def within(*windows: Window) -> TwinChange:
    return TwinChange(windows=windows)


def known(
    folder: Path, twins: dict[TwinChange, Drive], disturbances: int = 1
) -> ViolationAttribution:
    """Write a campaign of one violation and its twins; return what is made of them."""
    campaign = write_little(
        folder / "campaign", [("late", "latency")], ["4"], [1], drives={OF: HIT}
    )
    file = campaign / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    header["settings"] |= {
        "tick": 0.05,
        "interference": {"latency": [{} for _ in range(disturbances)]},
    }
    file.write_text(yaml.safe_dump(header))
    arms = {("late", change.format_condition("latency")): drive for change, drive in twins.items()}
    drives = {key_of(*arm, "4", 1): drive for arm, drive in arms.items()}
    write_little(campaign / TWINS, list(arms), ["4"], [1], drives=drives)
    ((attributions,), _) = attribute_violations(list_violation_cases(collect_campaigns([campaign])))
    return attributions


@pytest.mark.parametrize(
    ("twins", "conclusion"),
    [
        ({AGAIN: HIT}, "its twins are incomplete"),
        (
            {AGAIN: CLEAN, WITHOUT: CLEAN},
            "the attempt is not reproducible, so its twins show nothing",
        ),
        (
            {AGAIN: OTHER, WITHOUT: CLEAN},
            "the attempt is not reproducible, so its twins show nothing",
        ),
        ({AGAIN: HIT, WITHOUT: HIT}, "it happens without the disturbance too: not caused by it"),
        (
            {AGAIN: HIT, WITHOUT: OTHER, **dict.fromkeys(SAMPLES, HIT)},
            "the disturbance is necessary; it happens with every other sample too",
        ),
        (
            {AGAIN: HIT, WITHOUT: CLEAN, **dict.fromkeys(SAMPLES, CLEAN)},
            "the disturbance is necessary; it does not happen with any of 5 other samples",
        ),
        (
            {AGAIN: HIT, WITHOUT: CLEAN, **dict.fromkeys(SAMPLES, HIT), SAMPLES[1]: OTHER},
            "the disturbance is necessary; it happens with 4 of 5 other samples",
        ),
        (
            {AGAIN: HIT, WITHOUT: CLEAN, within(A, B): CLEAN, within(B, C): HIT, within(C): HIT},
            "the disturbance is necessary, at 4.0 to 6.0 s; no other sample has been run",
        ),
    ],
)
def test_conclusions(tmp_path: Path, twins: dict[TwinChange, Drive], conclusion: str) -> None:
    assert known(tmp_path, twins).conclusion == conclusion


def test_samples_that_change_no_message_are_no_placebos(tmp_path: Path) -> None:
    known(tmp_path, {AGAIN: HIT, WITHOUT: CLEAN, SAMPLES[0]: HIT})
    campaign = tmp_path / "campaign"
    part, resampled = (
        next(folder.glob(f"episodes/late/ahead/{condition}/4-s1/try1/messages.parquet"))
        for folder, condition in ((campaign, "latency"), (campaign / TWINS, "latency resampled 1"))
    )
    resampled.write_bytes(part.read_bytes())
    ((attributions,), _) = attribute_violations(list_violation_cases(collect_campaigns([campaign])))
    assert attributions.conclusion == "the disturbance is necessary; it is not random"


def test_twins_of_an_unpacked_study_are_not_broken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their messages are not packed: there is no attribution, and one note."""
    known(tmp_path, {AGAIN: HIT, WITHOUT: CLEAN})
    campaign = tmp_path / "campaign"
    write_critical(
        campaign, sizes_with(SearchedAttempt(of=OF, outcomes={0.0: HIT.violation}, flips=()))
    )
    pack_campaigns([campaign], tmp_path / "part.parquet")
    (unpacked,) = unpack_campaigns([tmp_path / "part.parquet"], tmp_path / "study")
    assert main(["report", str(unpacked), "--results-only"]) == 0
    note = f"{unpacked / TWINS}: unpacked, so that 1 violation with twins cannot be attributed"
    printed = capsys.readouterr().out
    assert printed.replace("\n", " ").count(note) == 1
    assert "broken" not in printed
    assert note in (unpacked / "report" / "report.html").read_text()
    assert main(["report", str(campaign), "--results-only"]) == 0
    assert "cannot be attributed" not in capsys.readouterr().out


@pytest.mark.parametrize("lost", ["tick", "interference"])
def test_settings_that_lack_what_twins_need_are_named(tmp_path: Path, lost: str) -> None:
    known(tmp_path, {AGAIN: HIT})
    file = tmp_path / "campaign" / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    del header["settings"][lost]
    file.write_text(yaml.safe_dump(header))
    with pytest.raises(UserError, match=f"campaign.yaml: .*{lost}"):
        attribute_violations(list_violation_cases(collect_campaigns([tmp_path / "campaign"])))


@pytest.mark.parametrize(
    ("tried", "windows"),
    [
        ({within(A, B): HIT, within(A): CLEAN, within(B): CLEAN}, (A, B)),
        ({within(A, B): HIT, within(A): CLEAN}, None),
        ({within(A, B): HIT, within(A): CLEAN, within(B): HIT}, (B,)),
        ({within(A, B, C): HIT, within(A, B): CLEAN, within(A, C): CLEAN}, None),
        ({within(A, B): CLEAN}, None),
        ({within(A, B): OTHER}, None),
    ],
)
def test_windows_count_only_if_none_can_be_spared(
    tmp_path: Path, tried: dict[TwinChange, Drive], windows: tuple[Window, ...] | None
) -> None:
    assert known(tmp_path, {AGAIN: HIT, WITHOUT: CLEAN, **tried}).windows == windows


def test_of_several_disturbances_all_are_listed(tmp_path: Path) -> None:
    both = TwinChange(without=("latency", "pose_error"))
    one, other = (TwinChange(without=(name,)) for name in ("latency", "pose_error"))
    result = known(tmp_path, {AGAIN: HIT, both: CLEAN, one: CLEAN, other: HIT}, disturbances=2)
    assert result.without is False
    assert result.without_one == {"latency": False, "pose_error": True}


def test_every_twin_has_the_age_of_its_messages(tmp_path: Path) -> None:
    """Counted again from the twins' files, one by one."""
    result = known(tmp_path, {AGAIN: HIT, WITHOUT: CLEAN, SAMPLES[0]: OTHER, within(A, C): HIT})
    folder = result.case.folder
    assert main(["report", str(folder), "--results-only"]) == 0
    table = pd.read_csv(folder / "report" / "twins.csv", keep_default_na=False)
    page = (folder / "report" / "report.html").read_text()
    assert len(table) == 4
    for change, name in {
        AGAIN: "unchanged",
        WITHOUT: "without latency",
        SAMPLES[0]: "resampled 1",
        within(A, C): "within 0-40+80-120",
    }.items():
        key = key_of("late", change.format_condition("latency"), "4", 1)
        messages = pd.read_parquet(
            folder / TWINS / "episodes" / key.path / "try1" / "messages.parquet"
        )
        ages = sorted(age for age in messages["age_measured"] if not math.isnan(age))
        middle = (ages[(len(ages) - 1) // 2] + ages[len(ages) // 2]) / 2
        (row,) = table[table["twin"] == name].to_dict("records")
        assert (row["messages"], row["delivered"]) == (len(messages), len(ages))
        assert 0 < len(ages) < len(messages)
        assert float(row["median age, s"]) == pytest.approx(middle)
        assert float(row["greatest age, s"]) == pytest.approx(ages[-1])
        cells = re.findall(rf"{re.escape(name)}</th>(.*?)</tr>", page)
        assert any(f">{middle:.2f}<" in cell and f">{ages[-1]:.2f}<" in cell for cell in cells)
    kinds = dict(zip(table["twin"], table["violation"], strict=True))
    assert kinds["without latency"] == ""
    assert kinds["resampled 1"] == "off_road"


def test_the_page_and_its_table(tmp_path: Path) -> None:
    twins = {AGAIN: HIT, WITHOUT: CLEAN, **dict.fromkeys(SAMPLES, HIT), within(C): HIT}
    result = known(tmp_path, twins)
    (row,) = build_attributions_frame([result]).to_dict("records")
    assert (row["other samples with violation"], row["other samples"], row["windows, s"]) == (
        5,
        5,
        "4.0 to 6.0",
    )
    assert row["low, %"] == pytest.approx(56.6, abs=0.05)
    folder = result.case.folder
    assert main(["report", str(folder), "--results-only"]) == 0
    page = (folder / "report" / "report.html").read_text()
    assert result.conclusion in page
    assert "5 of 5" in page
    assert "collision_vehicle" in (folder / "report" / "attribution.csv").read_text()
