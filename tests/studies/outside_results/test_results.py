"""Results of others: scores by each rule, crashed drives, forms of files, pairs, refusals."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.terminal import console
from crucible.subcommands import dispatch_subcommand
from harness.common.errors import UserError
from harness.records.reading import CampaignRecords
from studies.outside_results.bench2drive import compute_abilities, compute_efficiency, is_success
from studies.outside_results.driven_route import parse_driven_route
from studies.outside_results.paired_routes import compare_routes, measure_routes
from studies.outside_results.reading import (
    ResultSet,
    parse_result_set,
    read_result_sets,
)
from studies.outside_results.scoring_rules import SCORING_RULES
from studies.outside_results.totals import compute_set_totals, list_stated_differences
from studies.outside_results.writing import write_outside_results
from tests.analysis.little import write_little
from tests.studies.outside_results.made_up import (
    SECOND_KINDS,
    make_first_file,
    make_merged_file,
    make_record,
    write_json,
    write_our_campaign,
)

FIRST, LONGEST, SECOND, BENCH = (
    SCORING_RULES[name]
    for name in ("leaderboard-1.0", "longest6", "leaderboard-2.0", "bench2drive")
)


@given(st.lists(st.sampled_from(("p", "v", "l", "r", "s")), max_size=8), st.floats(0, 100))
def test_scores_are_those_of_a_loop(events: list[str], completion: float) -> None:
    kinds = {
        "p": ("collisions_pedestrian", 0.5),
        "v": ("collisions_vehicle", 0.6),
        "l": ("collisions_layout", 0.65),
        "r": ("red_light", 0.7),
        "s": ("stop_infraction", 0.8),
    }
    slow, infractions = completion, dict[str, list[str]]()
    for event in events:
        kind, factor = kinds[event]
        infractions.setdefault(kind, []).append("Agent did")
        slow *= factor
    drive = parse_driven_route(
        make_record("RouteScenario_1", completion=completion, infractions=infractions)
    )
    assert FIRST.compute_score(drive) == pytest.approx(slow, abs=1e-9)


def test_shares_in_messages_cost_as_their_rule_says() -> None:
    outside = (
        "Agent went outside its route lanes for about 4.0 meters (6.12% of the completed route)"
    )
    slow, fast = (f"Average speed is {n}% of the surrounding traffic's one" for n in (50.0, 180.25))
    drive = parse_driven_route(
        make_record(
            "RouteScenario_24759_rep0",
            kinds=SECOND_KINDS,
            infractions={
                "collisions_vehicle": ["Agent collided"],
                "outside_route_lanes": [outside],
                "min_speed_infractions": [slow, fast],
                "scenario_timeouts": ["a scenario timed out"],
            },
        )
    )
    lanes = 0.6 * (1 - 0.0612)
    assert FIRST.compute_penalty(drive) == pytest.approx(lanes)
    assert BENCH.compute_penalty(drive) == pytest.approx(lanes * 0.7)
    # at half of the traffic's speed half of 0.3 is lost; faster than traffic costs nothing
    assert SECOND.compute_penalty(drive) == pytest.approx(lanes * 0.7 * 0.85)
    assert compute_efficiency([drive]) == pytest.approx((50.0 + 180.25) / 2)
    assert (drive.route, drive.repetition) == ("24759", 0)


def test_published_forms_have_their_factors() -> None:
    """Infractions of three published results files, and the penalties that they have."""
    layout = ["Agent collided against object with type=traffic.stop and id=1"]
    slow = ["Average speed is 96.06% of the surrounding traffic's one"]
    drive = parse_driven_route(
        make_record(
            "RouteScenario_4_rep0",
            kinds=SECOND_KINDS,
            infractions={"collisions_layout": layout, "min_speed_infractions": slow},
        )
    )
    assert SECOND.compute_penalty(drive) == pytest.approx(0.642317)
    # the first release of 2.0: "vehicles"
    spelled = {"yield_emergency_vehicles_infractions": ["Agent failed to yield"]}
    drive = parse_driven_route(
        make_record("RouteScenario_4", kinds=[*spelled], infractions=spelled)
    )
    assert SECOND.compute_penalty(drive) == BENCH.compute_penalty(drive) == pytest.approx(0.7)
    # TransFuser's benchmark: stop signs cost nothing, everything else as in 1.0
    stops = {"stop_infraction": ["Agent ran a stop"] * 2, "red_light": ["Agent ran a red light"]}
    drive = parse_driven_route(make_record("RouteScenario_5", infractions=stops))
    assert LONGEST.compute_penalty(drive) == pytest.approx(0.7)
    assert FIRST.compute_penalty(drive) == pytest.approx(0.7 * 0.8**2)


def test_ends_have_their_kind() -> None:
    for status, end in (
        ("Completed", "completed"),
        ("Perfect", "completed"),
        ("Failed", "failed"),
        ("Failed - Agent got blocked", "failed"),
        ("Failed - Agent deviated from the route", "failed"),
        ("Failed - Agent timed out", "timed out"),
        ("Failed - TickRuntime", "timed out"),
        ("Failed - Simulation crashed", "crashed"),
        ("Failed - Agent crashed", "crashed"),
        ("Failed - Agent couldn't be set up", "crashed"),
        ("Failed - Agent's sensors were invalid", "crashed"),
        ("Started", "crashed"),
    ):
        assert parse_driven_route(make_record("RouteScenario_0", status=status)).end == end


def make_set(*records: dict[str, Any], planned: int = 0, name: str = "a") -> ResultSet:
    drives = tuple(map(parse_driven_route, records))
    return ResultSet(name=name, form="leaderboard-1.0", drives=drives, planned=planned)


def test_crashed_drives_are_left_out_zero_or_repeated() -> None:
    crash = "Failed - Simulation crashed"
    results = make_set(
        make_record("RouteScenario_1"),
        make_record("RouteScenario_2", completion=20.0, status=crash),
        make_record("RouteScenario_2", completion=60.0, status="Failed"),
        make_record("RouteScenario_3", completion=20.0, status=crash),
        planned=5,
    )
    totals = compute_set_totals(results, FIRST)
    assert (totals.routes, totals.missing, totals.crashed, totals.repeated) == (3, 2, 2, 1)
    assert totals.scores["skip"] == pytest.approx(100.0)
    assert totals.scores["zero"] == pytest.approx(100.0 / 5)
    assert totals.scores["repeat"] == pytest.approx((100.0 + 60.0) / 2)
    assert totals.written == pytest.approx((100.0 + 20.0 + 20.0) / 3)


def test_a_total_that_the_records_do_not_give_is_said() -> None:
    records = [make_record(f"RouteScenario_{n}_rep0", kinds=SECOND_KINDS) for n in range(4)]
    good = parse_result_set(make_merged_file(records, 4), "a")
    assert good.form == "bench2drive"
    assert list_stated_differences(good) == []
    assert compute_set_totals(good, BENCH).scores["zero"] == pytest.approx(400 / 220)
    (note,) = list_stated_differences(parse_result_set(make_merged_file(records, 5), "a"))
    assert "says 5 drives, and has 4" in note
    content = make_first_file([make_record("RouteScenario_0", completion=50.0)], 1)
    content["_checkpoint"]["global_record"]["scores"]["score_composed"] = 75.5
    (note,) = list_stated_differences(parse_result_set(content, "b"))
    assert "says a score of 75.500" in note


def test_success_and_abilities_are_bench2drives() -> None:
    slow = {"min_speed_infractions": ["Average speed is 3.5% of the surrounding traffic's one"]}
    hit = {"collisions_layout": ["Agent collided"]}
    records = [
        {**make_record("RouteScenario_1_rep0", infractions=slow, kinds=SECOND_KINDS)},
        {**make_record("RouteScenario_2_rep0", infractions=hit, kinds=SECOND_KINDS)},
        {**make_record("RouteScenario_3_rep0", status="Failed", kinds=SECOND_KINDS)},
    ]
    for record in records:
        record["scenario_name"] = "ParkingCutIn_1"
    drives = [parse_driven_route(record) for record in records]
    assert [is_success(drive) for drive in drives] == [True, False, False]
    assert compute_abilities(drives)["emergency braking"] == (1, 3)
    assert compute_abilities(drives)["overtaking"] == (0, 0)


def test_pairs_take_equal_routes_and_means_of_repetitions() -> None:
    first = make_set(
        make_record("RouteScenario_1_rep0", completion=40.0),
        make_record("RouteScenario_1_rep1", completion=60.0),
        make_record("RouteScenario_2_rep0", completion=10.0),
        make_record("RouteScenario_9_rep0"),
    )
    second = make_set(
        make_record("RouteScenario_1_rep0", completion=80.0),
        make_record("RouteScenario_2_rep0", completion=10.0),
        make_record("RouteScenario_7_rep0"),
    )
    score, completion, success = compare_routes(
        *(measure_routes(one, FIRST, "zero") for one in (first, second))
    )
    assert [score.first, score.second] == pytest.approx([30.0, 45.0])
    assert score.difference.value == completion.difference.value == pytest.approx(15.0)
    assert score.difference.routes == 2
    assert success.difference.value == 0.0


@pytest.mark.usefixtures("prints_fit")
def test_the_command_prints_pairs_and_writes_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = write_our_campaign(tmp_path / "ours")
    records = [make_record(f"RouteScenario_{n}", completion=50.0) for n in (1, 2, 8)]
    other = write_json(tmp_path / "other.json", make_first_file(records, 4))
    words = ["compare-results", str(campaign), str(other), "--by", "route"]
    assert dispatch_subcommand([*words, "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "routes that only other has: 1 (8)" in out
    assert "2 equal routes: intervals cover less than 95 %" in out
    files = [f"results_{name}.csv" for name in ("sets", "bench2drive", "scenes", "pairs", "routes")]
    assert f"{', '.join(files)} are in {tmp_path / 'out'}" in " ".join(out.split())
    assert {file.name for file in (tmp_path / "out").iterdir()} == {*files}
    written = [str(campaign), "--write", "v2xverse", str(tmp_path / "w")]
    assert dispatch_subcommand(["compare-results", *written]) == 0
    assert "v2xverse: 3 files" in capsys.readouterr().out


def test_all_parts_of_a_wide_table_of_pairs_name_the_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = write_our_campaign(tmp_path / "ours")
    records = [make_record(f"RouteScenario_{n}", completion=50.0) for n in (1, 2, 8)]
    other = write_json(tmp_path / "other.json", make_first_file(records, 4))
    monkeypatch.setattr(console, "width", 60)
    assert dispatch_subcommand(["compare-results", str(campaign), str(other)]) == 0
    pairs = capsys.readouterr().out.partition("Pairs: each result set")[2]
    parts = [line for line in pairs.splitlines() if line.split()[:1] == ["results"]]
    assert len(parts) > 1
    assert all(line.split()[1] == "measure" for line in parts)


def test_a_written_file_is_read_under_the_name_of_its_arm(tmp_path: Path) -> None:
    campaign = write_our_campaign(tmp_path / "ours")
    (file,) = write_outside_results(CampaignRecords(campaign), "leaderboard-1.0", tmp_path / "w")
    (ours,), (again,) = read_result_sets(campaign), read_result_sets(file)
    assert ours.name == f"ours:{again.name}"


def test_routes_of_one_name_and_other_lengths_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Route 0 of one benchmark is not route 0 of another; one route has no interval."""
    records = [make_record("RouteScenario_0") for _ in range(3)]
    records[1]["meta"]["route_length"] = 972.5
    # a drive that crashed while it was set up has no length
    records[2]["meta"]["route_length"] = 0
    files = [
        str(write_json(tmp_path / f"{name}.json", make_first_file([record], 1)))
        for name, record in zip("abc", records, strict=True)
    ]
    assert dispatch_subcommand(["compare-results", *files]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "a and b: routes of one name with different lengths, so different routes: 1 (0)" in (
        printed
    )
    assert "a and c: routes of one name" not in printed
    assert "nan" not in printed
    assert "+0.0 (-)" in printed


@pytest.mark.parametrize(
    ("part", "wrong", "why"),
    [
        ("meta", {"route_length": -5}, "record 2: meta.route_length = -5: is below 0"),
        ("infractions", {"red_light": "abc"}, "record 2: infractions.red_light is no list"),
        ("infractions", [], "record 2: infractions is no table"),
    ],
)
def test_a_record_with_a_wrong_value_is_named(
    tmp_path: Path, part: str, wrong: Any, why: str
) -> None:
    records = [make_record("1"), {**make_record("2"), part: wrong}]
    with pytest.raises(UserError, match=re.escape(why)):
        read_result_sets(write_json(tmp_path / "r.json", make_first_file(records, 2)))


def test_files_next_to_folders_of_egos_are_said_to_be_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = make_first_file([make_record("RouteScenario_0")], 1)
    write_json(tmp_path / "r1" / "ego_vehicle_0" / "results.json", content)
    write_json(tmp_path / "other.json", content)
    (tmp_path / "results.json").touch()  # V2Xverse's own empty file
    assert dispatch_subcommand(["compare-results", str(tmp_path)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.endswith("not read next to V2Xverse's folders of routes: other.json")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "not a results file"),
        ("[]", "not a results file"),
        ('{"_checkpoint": {}}', "no records"),
        ('{"_checkpoint": {"records": [{"route_id": "1"}]}}', "no scores"),
        ('{"_checkpoint": {"records": [7]}}', "record 1: is no table"),
        ("[1]", "_checkpoint with a list of records is needed"),
        ("5", "_checkpoint with a list of records is needed"),
        ('{"_checkpoint": 5}', "_checkpoint with a list of records is needed"),
        ('{"_checkpoint": {"records": {}}}', "_checkpoint with a list of records is needed"),
        ("  ", "the file is empty"),
        ("{", "line 1: not JSON"),
        ('{"_checkpoint": {"records": [], "progress": [5]}}', "progress is no list of two"),
        ('{"_checkpoint": {"records": [], "progress": "x"}}', "progress is no list of two"),
        ('{"_checkpoint": {"records": [], "global_record": 7}}', "global_record is no table"),
        ('{"_checkpoint": {"records": [null]}}', "record 1: is no table"),
        (json.dumps(make_first_file([make_record("a", completion=170.0)], 1)), "170"),
        (json.dumps(make_first_file([make_record("")], 1)), "route_id is empty"),
    ],
)
def test_other_files_are_refused_in_one_line(
    tmp_path: Path, content: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "r.json"
    file.write_text(content)
    with pytest.raises(UserError, match=why):
        read_result_sets(file)
    assert dispatch_subcommand(["compare-results", str(file)]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_messages_without_a_share_and_wrong_words_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = make_record("1", infractions={"outside_route_lanes": ["Agent left"]})
    file = write_json(tmp_path / "r.json", make_first_file([record], 1))
    for words, why in (
        ([str(file)], "no percentage in 'Agent left'"),
        ([str(tmp_path / "no.json")], "no.json"),
        ([str(tmp_path)], ""),
        ([str(write_json(tmp_path / "e.json", make_first_file([], 0)))], "no record of a drive"),
        ([str(file), "--comfort", str(tmp_path / "no")], "no: folder not found"),
        ([str(file), "--comfort", str(file)], "r.json: is a file; a folder is needed"),
        ([str(file), "--comfort"], "needs Bench2Drive's step logs: --comfort DIR"),
        ([str(file), "--comfort", str(tmp_path)], "no folder in it has a metric_info.json"),
        ([str(file), "--write", "v3", "x"], "unknown form v3"),
        ([str(file), "--write", "v2xverse", "x"], "none of the results is a campaign"),
        (["no", "--write", "v2xverse", "x"], "no: file or folder not found"),
        ([str(file), "--write", "v2xverse", str(file)], "r.json: is a file; a folder is needed"),
        ([str(file), "--out", str(file)], f"--out {file}: is a file; a folder is needed"),
        ([str(file), "--out", str(file / "a")], f"{file} is a file; a folder is needed"),
        ([str(file), str(tmp_path / "." / "r.json")], "given twice"),
        ([str(file), "--against", "R"], "unknown result set R; did you mean r?"),
    ):
        assert dispatch_subcommand(["compare-results", *words]) == 2
        assert why in capsys.readouterr().err.splitlines()[-1]


def test_no_drive_has_no_mean() -> None:
    totals = compute_set_totals(make_set(planned=0), FIRST)
    assert all(math.isnan(score) for score in totals.scores.values())
    assert np.isnan(totals.written)


def test_a_file_that_is_not_there_is_named_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "nowhere.json"
    assert dispatch_subcommand(["compare-results", str(missing), str(missing)]) == 2
    assert capsys.readouterr().err == f"{missing}: file or folder not found\n"


def test_a_campaign_without_whole_results_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = write_little(tmp_path / "runs", [("late", "none")], ["0"], [1])
    with pytest.raises(UserError, match=r"none/0-s1: result\.json is not whole: no infr"):
        read_result_sets(folder)
