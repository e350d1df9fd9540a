"""Campaigns next to each other: folders with the same attempts are compared, others are pooled."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from analysis.__main__ import main
from analysis.cases import list_violation_cases
from analysis.collection import CampaignCollection, collect_campaigns
from analysis.contrasts import DISTURBED, compute_contrasts
from analysis.declaration import declare_tests
from analysis.report.page import format_route_count
from analysis.tables.campaigns import (
    FAMILY,
    PRECISION,
    build_campaigns_table,
    compute_campaign_differences,
)
from harness.common.errors import UserError
from harness.records.keys import AttemptKey
from tests.analysis.little import Drive, write_little, write_route
from tests.analysis.page import Page
from tests.keys import key_of

pytestmark = pytest.mark.thorough

ROUTES = tuple(map(str, range(8)))
ARMS = [("late", "none"), ("late", "latency")]
CLEAN, STRUCK = Drive(16), Drive(16, "collision_vehicle")
SHORTER = Drive(14)


def driven(drive: Drive, condition: str, routes: tuple[str, ...]) -> dict[AttemptKey, Drive]:
    return {key_of("late", condition, route, 1): drive for route in routes}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two versions: in the second, late messages do no harm; route 7 has another way there."""
    place = tmp_path_factory.mktemp("versions")
    quiet = driven(CLEAN, "none", ROUTES)
    old = write_little(
        place / "old", ARMS, ROUTES, [1], drives={**quiet, **driven(STRUCK, "latency", ROUTES)}
    )
    new = write_little(
        place / "new",
        [*ARMS, ("early", "none")],
        ROUTES,
        [1],
        drives={**driven(SHORTER, "none", ROUTES), **driven(SHORTER, "latency", ROUTES)},
    )
    write_route(new, "7", "Crucible05", 999.0)
    header = yaml.safe_load((new / "campaign.yaml").read_text())
    header["settings"]["driver"] = {"speed": {"limit": 9}}
    (new / "campaign.yaml").write_text(yaml.safe_dump({**header, "git": "abc<b>"}))
    return [old, new]


@pytest.fixture(scope="module")
def collection(folders: list[Path]) -> CampaignCollection:
    return collect_campaigns(folders)


def test_the_campaign_is_a_factor(collection: CampaignCollection) -> None:
    assert collection.labels == ("1 old", "2 new")
    assert collection.factors == ("system", "condition", "campaign")
    assert collection.attempts["campaign"].value_counts().to_dict() == {"2 new": 24, "1 old": 16}
    assert len(collection.attempts) == 40
    paths = [campaign.get_result_path(key) for _, campaign, key in collection.iterate_attempts()]
    assert all(path.is_file() for path in paths)
    assert len(set(paths)) == 40


def test_differences_are_of_pairs_on_one_way_and_one_family(collection: CampaignCollection) -> None:
    """Second minus first; route 7, another way under the same name, is in no pair."""
    contrasts = compute_contrasts(collection)
    between = contrasts.select_measure("driving score", FAMILY).set_index("arm_b")
    assert between.index.tolist() == ["late/latency/2 new", "late/none/2 new"]
    row = between.loc["late/latency/2 new"]
    assert (row["arm_a"], row["pairs"], row["routes"]) == ("late/latency/1 old", 7, 7)
    rows = collection.attempts[collection.attempts["route"] != "7"]
    score = rows[rows["condition"] == "latency"].groupby("campaign")["driving_score"].mean()
    assert row["difference"] == pytest.approx(score["2 new"] - score["1 old"])
    assert between.loc["late/none/2 new", "difference"] == 0
    families = contrasts.table.groupby("family")["arm_a"].nunique().to_dict()
    assert families[DISTURBED] == 2
    assert families["systems under none / 2 new"] == 1
    declared = declare_tests(contrasts, [])
    tested = declared.tests[declared.tests["measure"] == "driving score"]
    assert len(tested) == len(contrasts.select_measure("driving score")) == 5
    assert "5 comparisons of two arms (2 of them between campaigns)" in declared.describe_tests()
    significant = declared.contrasts.select_measure("driving score", FAMILY).set_index("arm_b")[
        "clear"
    ]
    assert significant.to_dict() == {"late/latency/2 new": True, "late/none/2 new": False}


def test_the_table_has_a_column_for_every_campaign(collection: CampaignCollection) -> None:
    table = build_campaigns_table(collection)
    assert table.measures == ["1 old", "2 new"]
    rows = dict(table.list_rows())
    assert {names[:2] for names in rows} == {("late", "none"), ("late", "latency")}
    struck = rows["late", "latency", "collisions, %"]
    assert [struck[name].value for name in table.measures] == [100.0, 0.0]
    assert [struck[name].n for name in table.measures] == [8, 8]
    times = rows["late", "latency", "time to goal, s"]
    assert [times[name].n for name in table.measures] == [0, 8]
    assert times["2 new"].value == 13.0
    of_arm = collection.attempts[collection.attempts["arm"] == "late/ahead/none/campaign=1 old"]
    precision = rows["late", "none", PRECISION]["1 old"]
    assert precision.value == pytest.approx(100 * of_arm["ap"].mean())
    assert precision.low < precision.value < precision.high


def test_a_campaign_that_lacks_an_arm_has_no_estimate_in_its_row(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first of three lacks late messages: its cells are empty, and the others stay in place."""
    fewer = write_little(tmp_path / "fewer", ARMS[:1], ROUTES, [1])
    three = [fewer, *folders]
    table = build_campaigns_table(collect_campaigns(three))
    assert table.measures == ["1 fewer", "2 old", "3 new"]
    struck = dict(table.list_rows())["late", "latency", "collisions, %"]
    assert list(struck) == table.measures
    assert [cell.n for cell in struck.values()] == [0, 8, 8]
    assert np.isnan(struck["1 fewer"].value)
    out = tmp_path / "out"
    assert main(["report", *map(str, three), "--results-only", "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["tables", *map(str, three), "--results-only", "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if "latency" in line and "collisions, %" in line]
    assert line.split()[-5:] == ["-", "100.0", "0.0", "0-8", "8"]


def test_precision_is_compared_and_not_tested(collection: CampaignCollection) -> None:
    contrasts = declare_tests(compute_contrasts(collection), []).contrasts
    rows = compute_campaign_differences(contrasts)
    precision = rows[rows["measure"] == PRECISION]
    assert len(precision) == 2
    assert precision["p"].isna().all()
    assert not precision["clear"].any()
    pairs = collection.attempts[collection.attempts["route"] != "7"].pivot_table(
        index=["condition", "route"], columns="campaign", values="ap", aggfunc="first"
    )
    wanted = 100 * (pairs["2 new"] - pairs["1 old"]).groupby("condition").mean()
    result = precision.set_index("arm_b")["difference"]
    assert result["late/latency/2 new"] == pytest.approx(wanted["latency"])
    assert np.isfinite(precision["low"]).all()


def test_the_page_and_its_files(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *map(str, folders), "--out", str(tmp_path)]) == 0
    text = (tmp_path / "report.html").read_text()
    page = Page(text)
    assert "Campaign report: 1 old, 2 new" in page.words
    assert "Do the campaigns differ?" in page.words
    assert "late/latency/2 new against late/latency/1 old" in page.words
    for name in ("Campaigns next to each other: mean or share over all drives of an arm",):
        assert page.tables[name][0][-4:] == ["1 old ", "2 new ", "n ", "routes "]
    assert "driver.speed.limit" in page.words
    assert "abc<b>" in page.words
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)
    assert "#campaigns" in page.links
    written = pd.read_csv(tmp_path / "campaigns.csv")
    assert set(written["measure"]) == {"1 old", "2 new"}
    assert pd.read_csv(tmp_path / "attempts.csv")["source"].value_counts().to_dict() == {
        1: 24,
        0: 16,
    }
    cases = pd.read_csv(tmp_path / "violations.csv")
    numbers = {folder: rows["case"].tolist() for folder, rows in cases.groupby("folder")}
    for folder in folders:
        counted = [case.number for case in list_violation_cases(collect_campaigns([folder]))]
        assert numbers.get(str(folder), []) == counted
    capsys.readouterr()
    assert main(["tables", *map(str, folders), "--results-only", "--out", str(tmp_path)]) == 0
    assert "Campaigns next to each other" in capsys.readouterr().out
    assert main(["regress", *map(str, folders), "--out", str(tmp_path)]) == 0
    assert "Condition latency / 2 new" in capsys.readouterr().out


def test_failed_tries_are_those_of_their_campaign(folders: list[Path], tmp_path: Path) -> None:
    copies = [Path(shutil.copytree(folder, tmp_path / folder.name)) for folder in folders]
    ledger = copies[1] / "ledger.jsonl"
    line = json.loads(ledger.read_text().splitlines()[0])
    with ledger.open("a") as file:
        file.write(json.dumps({**line, "outcome": "failed", "failure": "disk"}) + "\n")
    command = ["report", *map(str, copies), "--results-only", "--out", str(tmp_path / "out")]
    assert main(command) == 0
    failed = pd.read_csv(tmp_path / "out" / "failures.csv")
    assert failed.iloc[0].to_dict() == {
        "failure": "disk",
        "tries": 1,
        "attempts": 1,
        "done later": 1,
    }


def test_a_broken_record_leaves_its_partners_in_both_campaigns_out(
    folders: list[Path], tmp_path: Path
) -> None:
    copies = [Path(shutil.copytree(folder, tmp_path / folder.name)) for folder in folders]
    (copies[1] / "episodes/late/ahead/latency/3-s1/try1/result.json").unlink()
    collection = collect_campaigns(copies)
    assert collection.left_out["source"].tolist() == [1, 0, 0, 1, 1]
    assert set(collection.left_out["route"]) == {"3"}
    rows = compute_contrasts(collection).select_measure("driving score", FAMILY)
    assert rows["pairs"].tolist() == [6, 6]


def test_folders_without_a_common_attempt_are_pooled(folders: list[Path], tmp_path: Path) -> None:
    other = write_little(tmp_path / "more", ARMS, ROUTES, [2])
    pooled = collect_campaigns([folders[0], other])
    assert pooled.labels == ()
    assert "campaign" not in pooled.attempts
    assert len(pooled.attempts) == 32
    assert pooled.factors == ("system", "condition")


def test_the_same_folder_twice_is_refused(folders: list[Path]) -> None:
    with pytest.raises(UserError, match="the same folder twice"):
        collect_campaigns([folders[0], folders[0].parent / "new" / ".." / "old"])


@pytest.mark.parametrize(
    ("routes", "geometries", "text"),
    [(13, 13, "13"), (32, 27, "32 on 27 geometries"), (2, 1, "2 on 1 geometry")],
)
def test_geometries_are_named_only_where_routes_share_one(
    routes: int, geometries: int, text: str
) -> None:
    assert format_route_count(routes, geometries) == text
