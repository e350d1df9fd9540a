"""Campaigns of ours and results of several egos: forms of files, names of routes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.records.reading import CampaignRecords
from studies.outside_results.interdrive import count_successes, group_scenes
from studies.outside_results.reading import parse_route_folder, read_result_sets
from studies.outside_results.scoring_rules import SCORING_RULES
from studies.outside_results.totals import compute_set_totals, list_stated_differences
from studies.outside_results.writing import WRITTEN_FORMS, list_ego_files, write_outside_results
from tests.studies.outside_results.made_up import (
    OURS,
    make_first_file,
    make_record,
    write_json,
    write_our_campaign,
)

FIRST = SCORING_RULES["leaderboard-1.0"]
COLMDRIVER = os.environ.get("COLMDRIVER_ROOT", "")


def test_folders_of_v2xverse_name_routes(tmp_path: Path) -> None:
    for folder, completion in (("r3_repeat0", 50.0), ("r3_repeat1", 70.0), ("town05_ins_c", 100.0)):
        content = make_first_file([make_record("RouteScenario_0", completion=completion)], 1)
        write_json(tmp_path / "x" / folder / "ego_vehicle_0" / "results.json", content)
        # the one above it is empty, and is not read
        write_json(tmp_path / "x" / folder / "results.json", make_first_file([], 1))
    (results,) = read_result_sets(tmp_path / "x")
    assert results.form == "v2xverse"
    assert [(drive.route, drive.repetition) for drive in results.drives] == [
        ("3", 0),
        ("3", 1),
        ("town05_ins_c", 0),
    ]
    # two egos are two routes
    content = make_first_file([make_record("RouteScenario_0")], 1)
    write_json(tmp_path / "x" / "r3_repeat0" / "ego_vehicle_1" / "results.json", content)
    (results,) = read_result_sets(tmp_path / "x")
    assert {drive.route for drive in results.drives} == {
        *("3/ego_vehicle_0", "3/ego_vehicle_1", "3", "town05_ins_c")
    }
    assert parse_route_folder("routes_repeat2") == ("routes", 2)
    # InterDrive's names begin with an r and a number
    assert parse_route_folder("r1_town05_ins_c_repeat1") == ("r1_town05_ins_c", 1)
    assert parse_route_folder("r1_town05_ins_c") == ("r1_town05_ins_c", 0)


@pytest.mark.parametrize("route", ["12", "r1_town05_ins_c"])
def test_routes_of_any_name_have_a_folder(route: str) -> None:
    records = [[make_record(f"RouteScenario_{route}_rep{seed}")] for seed in (1, 2)]
    of_v2xverse, of_colmdriver = (
        list_ego_files(records, form) for form in ("v2xverse", "colmdriver")
    )
    folders = [file.parent.parent for file in of_v2xverse]
    assert [parse_route_folder(one.name) for one in folders] == [
        (route, 1),
        (route, 2),
    ]
    ((file, both),) = of_colmdriver.items()
    assert file.parent.parent.name == route
    assert len(both) == 2


def test_records_of_one_route_in_one_file_are_repetitions(tmp_path: Path) -> None:
    records = [
        make_record(f"RouteScenario_r1_town05_ins_c_rep{seed}", completion=50.0 * seed)
        for seed in (1, 2)
    ]
    place = tmp_path / "v2x_final" / "r1_town05_ins_c" / "ego_vehicle_0"
    write_json(place / "results.json", make_first_file(records, 2))
    (results,) = read_result_sets(tmp_path)
    assert [(drive.route, drive.repetition, drive.completion) for drive in results.drives] == [
        ("r1_town05_ins_c", 1, 0.5),
        ("r1_town05_ins_c", 2, 1.0),
    ]


@pytest.mark.parametrize("form", WRITTEN_FORMS)
def test_our_campaigns_are_written_and_read_in_every_form(tmp_path: Path, form: str) -> None:
    campaign = write_our_campaign(tmp_path / "ours")
    (ours,) = read_result_sets(campaign)
    expected = {route: 100 * parts[0] * parts[1] for route, parts in OURS.items()}
    for drive in ours.drives:
        assert FIRST.compute_score(drive) == pytest.approx(expected[drive.route])
        assert drive.score == pytest.approx(expected[drive.route])
    files = write_outside_results(CampaignRecords(campaign), form, tmp_path / "written")
    of_egos = form in ("v2xverse", "colmdriver")
    assert len(files) == (len(OURS) if of_egos else 1)
    place = next((tmp_path / "written").iterdir())
    (again,) = read_result_sets(place)
    assert again.form == ("v2xverse" if of_egos else form)
    assert {drive.route: drive.score for drive in again.drives} == pytest.approx(expected)
    assert compute_set_totals(again, FIRST).rescored == 0
    assert list_stated_differences(again) == []


def test_egos_of_our_campaigns_are_read_and_written_as_those_of_others(tmp_path: Path) -> None:
    campaign = write_our_campaign(tmp_path / "ours")
    records = CampaignRecords(campaign)
    # on every route a second ego does what the first one does on the next route
    keys = sorted(records.find_attempts())
    results = [records.read_result(key) for key in keys]
    for key, result in zip(keys, [*results[1:], results[0]], strict=True):
        place = records.get_result_path(key).parent / "egos" / "1"
        place.mkdir(parents=True)
        write_json(place / "result.json", result)
    (ours,) = read_result_sets(campaign)
    scores = {route: 100 * parts[0] * parts[1] for route, parts in OURS.items()}
    routes = [key.route for key in keys]
    expected = {f"{route}/ego_vehicle_0": scores[route] for route in routes} | {
        f"{route}/ego_vehicle_1": scores[following]
        for route, following in zip(routes, [*routes[1:], routes[0]], strict=True)
    }
    assert {drive.route: drive.score for drive in ours.drives} == pytest.approx(expected)
    # a scene is that of all its egos
    successes = count_successes(group_scenes(ours.drives))
    assert successes["all"][1] == len(routes)
    for form in ("v2xverse", "colmdriver"):
        files = write_outside_results(CampaignRecords(campaign), form, tmp_path / form)
        assert len(files) == len(expected)
        (again,) = read_result_sets(next((tmp_path / form).iterdir()))
        assert {drive.route: drive.score for drive in again.drives} == pytest.approx(expected)
        assert count_successes(group_scenes(again.drives)) == successes


@pytest.mark.thorough
@pytest.mark.skipif(not COLMDRIVER, reason="COLMDRIVER_ROOT names no checkout of CoLMDriver")
def test_their_script_reads_what_is_written_in_their_form(tmp_path: Path) -> None:
    """Unmodified, it finds both egos of a scene and both seeds, and counts them as we do."""
    completions = {"r1_town05_ins_c": (100.0, 40.0), "r7_town05_ins_ss": (100.0, 100.0)}
    attempts = [
        [
            make_record(f"RouteScenario_{route}_rep{seed}", completion=completion)
            for completion in completions[route]
        ]
        for route in completions
        for seed in (1, 2)
    ]
    for records in attempts:
        for record in records:
            record["meta"].setdefault("duration_system", 1.0)
    for name, records in list_ego_files(attempts, "colmdriver").items():
        write_json(tmp_path / "arm" / name, make_first_file(records, 2))
    script = Path(COLMDRIVER) / "visualization" / "result_analysis.py"
    words = [sys.executable, str(script), str(tmp_path / "a"), "rm"]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t")[:2] for line in said.splitlines() if line.startswith("r")]
    assert rows == 2 * [["r1_town05_ins_c", "70.000"]] + 2 * [["r7_town05_ins_ss", "100.000"]]
    # successes, of all and of three groups of kinds, stand in the last column but one
    (total,) = [line for line in said.splitlines() if line.startswith("85.00")]
    assert total.split()[3] == "0.500"
    (ours,) = read_result_sets(tmp_path / "arm")
    assert count_successes(group_scenes(ours.drives))["all"] == (2, 4)
