"""Sums over many finished attempts are those of the records, read one by one and slowly."""

from __future__ import annotations

import shutil
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from harness.campaign.folder.summary import summarise_campaign
from harness.campaign.planning.plan import plan_campaign, read_clean_routes
from harness.campaign.planning.survey import survey_campaign
from harness.campaign.printing.tables import DRIVING, build_summary_table
from harness.common.console import PIPE_COLUMNS
from harness.common.errors import UserError
from harness.records.ledger import iter_ledger_lines, list_finished_attempts, rebuild_ledger
from harness.records.reading import CampaignRecords
from harness.types.record_names import PATTERNS
from tests.campaign.many import finish
from tests.campaign.tiny import composed
from tests.keys import arm_of, key_of
from tests.once import once

ALL = (*DRIVING, *PATTERNS)
CHOICES = (
    "routes=crucible05",
    "system=[oracle,ideal_late]",
    "interference=[none,latency]",
    "seeds=[1,2,3]",
)
ORACLE = ("routes=crucible05", "system=oracle", "seeds=[1,2]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of 270 attempts."""
    return once(tmp_path_factory, "scale", lambda parent: finished_of(parent / "out", CHOICES))


@pytest.fixture(scope="module")
def of_the_oracle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of one system, two drives for each of 30 routes."""
    return once(tmp_path_factory, "oracle", lambda parent: finished_of(parent / "out", ORACLE))


def finished_of(folder: Path, settings: tuple[str, ...]) -> Path:
    finish(folder, composed(*settings))
    return folder


@pytest.mark.thorough
def test_sums_are_those_of_the_records(folder: Path) -> None:
    campaign = CampaignRecords(folder)
    keys = sorted(campaign.find_attempts())
    assert len(keys) == 270
    ours = {key: campaign.read_result(key)["crucible"] for key in keys}
    rows = {(row.arm.system, row.arm.condition): row for row in summarise_campaign(folder, keys)[0]}
    assert len(rows) == 3
    for arm, row in rows.items():
        results = [our for key, our in ours.items() if (key.arm.system, key.arm.condition) == arm]
        assert row.attempts == len(results) == 90
        assert row.driving_score == pytest.approx(
            np.mean([attempt["driving_score"] for attempt in results])
        )
        assert row.collision_rate == pytest.approx(100 * np.mean([e["collided"] for e in results]))
        assert row.route_completion == pytest.approx(
            100 * np.mean([e["completion"] for e in results])
        )
        assert row.violations == sum(attempt["violation"] is not None for attempt in results)
        clean = [our["surrogates"] for our in results if our["violation"] is None]
        times = [record["measures"]["time_to_goal"]["value"] for record in clean]
        assert 0 < len(times) < 90
        assert row.time_to_goal == pytest.approx(np.mean(times))
        assert row.patterns == {
            name: sum(attempt["patterns"]["total"][name] for attempt in results)
            for name in PATTERNS
        }
    scores = {arm: row.driving_score for arm, row in rows.items()}
    assert len(set(scores.values())) == 3


def test_without_a_time_to_the_goal_there_is_a_dash(folder: Path) -> None:
    """The first attempt ends in a violation, and has no surrogates, as older records."""
    campaign = CampaignRecords(folder)
    keys = campaign.find_attempts()
    (first,) = [key for key in keys if "surrogates" not in campaign.read_result(key)["crucible"]]
    others = [key for key in keys if key.arm != first.arm]
    rows, _ = summarise_campaign(folder, [first, *others])
    out = StringIO()
    Console(file=out, width=PIPE_COLUMNS).print(build_summary_table("", rows, ("n", "time s")))
    cells = [line.strip("│").split("│") for line in out.getvalue().splitlines() if "│" in line]
    shown = {int(row[-2]): row[-1].strip() for row in cells}
    assert shown[1] == "-"
    assert float(shown[90]) == pytest.approx(rows[-1].time_to_goal, abs=0.06)


@pytest.mark.parametrize(("width", "columns"), [(80, DRIVING), (80, PATTERNS), (PIPE_COLUMNS, ALL)])
def test_tables_fit(folder: Path, width: int, columns: tuple[str, ...]) -> None:
    rows, _ = summarise_campaign(folder, sorted(CampaignRecords(folder).find_attempts()))
    long = [replace(row, arm=arm_of("ideal_intermediate", "pose_error")) for row in rows]
    out = StringIO()
    Console(file=out, width=width).print(build_summary_table("", long, columns))
    assert "…" not in out.getvalue()
    assert all(name in out.getvalue() for name in columns)


@pytest.mark.thorough
def test_all_results_are_read_and_the_ledger_needs_no_rebuilding(
    folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(folder, tmp_path / "out")
    before = list(iter_ledger_lines(folder))
    rebuild_ledger(folder)
    assert list(iter_ledger_lines(folder)) == before
    assert (
        len(list_finished_attempts(folder))
        == len(before)
        == survey_campaign(folder).done
        == survey_campaign(folder).planned
    )


@pytest.mark.thorough
def test_clean_routes_are_those_without_violation(of_the_oracle: Path) -> None:
    campaign = CampaignRecords(of_the_oracle)
    clean = set()
    for route in {key.route for key in campaign.find_attempts()}:
        keys = [key for key in campaign.find_attempts() if key.route == route]
        if all(campaign.read_result(key)["crucible"]["violation"] is None for key in keys):
            clean.add(route)
    assert 0 < len(clean) < 30
    assert read_clean_routes(of_the_oracle) == clean


@pytest.mark.thorough
def test_clean_under_wants_a_campaign_that_is_finished(tmp_path: Path) -> None:
    first = [key_of("oracle", "none", str(route), 1) for route in range(30)]
    finish(tmp_path / "out", composed(*ORACLE), first)
    with pytest.raises(UserError, match=r"not finished: 30 of 60 .*oracle/none/none/0-s2"):
        read_clean_routes(tmp_path / "out")


@pytest.mark.thorough
def test_clean_under_wants_a_campaign_of_the_same_town(of_the_oracle: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(of_the_oracle, tmp_path / "out"))
    settings = composed("routes=crucible05", f"routes.clean_under={folder}")
    assert 0 < len(plan_campaign(settings).assignments) < 30
    for file in (folder / "routes").iterdir():
        file.write_text(file.read_text().replace('"Crucible05"', '"Town05"'))
    with pytest.raises(UserError, match="was driven in Town05; these routes lie in Crucible05"):
        plan_campaign(settings)


def test_clean_under_wants_one_system(folder: Path) -> None:
    with pytest.raises(UserError, match="holds ideal_late, oracle; a campaign of one system"):
        read_clean_routes(folder)
