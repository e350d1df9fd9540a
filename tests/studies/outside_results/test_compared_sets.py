"""`crucible compare-results`: baselines, names of sets, numbers in files, what is not counted."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from crucible.subcommands import dispatch_subcommand
from harness.records.ledger import append_try
from studies.outside_results.reading import read_all_sets
from tests.keys import key_of
from tests.studies.outside_results.made_up import (
    make_first_file,
    make_record,
    write_json,
    write_our_campaign,
)


def read_pairs(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "results_pairs.csv")


def test_numbers_in_files_are_numbers(tmp_path: Path) -> None:
    """Each in a column of its own, with all digits: against means of the routes by hand."""
    campaign = write_our_campaign(tmp_path / "ours")
    records = [make_record(f"RouteScenario_{n}", completion=100 / 3) for n in (1, 2, 8)]
    other = write_json(tmp_path / "other.json", make_first_file(records, 4))
    words = ["compare-results", str(campaign), str(other), "--out", str(tmp_path / "o")]
    assert dispatch_subcommand(words) == 0
    pairs = read_pairs(tmp_path / "o")
    score = pairs.set_index("measure").loc["driving score"]
    assert (score["results"], score["baseline"]) == ("other", "ours:late/ahead/none")
    assert score["baseline mean"] == pytest.approx((100 + 63) / 2)
    assert score["difference"] == pytest.approx(100 / 3 - 81.5)
    assert (score["low"], score["high"]) == pytest.approx((100 / 3 - 100, 100 / 3 - 63))
    # of two routes that both got worse, one of two signs is as extreme
    assert (score["p"], score["p Holm"]) == (0.5, 1.0)
    numbers = ["routes", "mean", "baseline mean", "difference", "low", "high", "p", "p Holm"]
    assert all(pd.api.types.is_numeric_dtype(pairs[name]) for name in numbers)
    totals = pd.read_csv(tmp_path / "o" / "results_sets.csv").set_index("results")
    assert totals["zero"]["other"] == pytest.approx(3 * 100 / 3 / 4)
    assert math.isnan(totals["stated"]["ours:late/ahead/none"])
    scenes = pd.read_csv(tmp_path / "o" / "results_scenes.csv").set_index("results")
    assert scenes["success, all, successes"].to_dict() == {"ours:late/ahead/none": 1, "other": 0}
    assert (scenes["success, all, of"] == 3).all()


def test_the_baseline_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = write_our_campaign(tmp_path / "ours")
    files = [
        write_json(
            tmp_path / f"{name}.json",
            make_first_file([make_record("RouteScenario_1", completion=done)], 1),
        )
        for name, done in (("a", 40.0), ("b", 70.0))
    ]
    for named, baseline, differences in (
        (None, "a", {"b": 30.0, "ours:late/ahead/none": 60.0}),
        ("b", "b", {"a": -30.0, "ours:late/ahead/none": 30.0}),
        ("late/none", "ours:late/ahead/none", {"a": -60.0, "b": -30.0}),
        ("ours:late", "ours:late/ahead/none", {"a": -60.0, "b": -30.0}),
    ):
        words = ["compare-results", *map(str, files), str(campaign), "--out", str(tmp_path / "o")]
        assert dispatch_subcommand([*words, *(["--against", named] if named else [])]) == 0
        assert f"minus the baseline {baseline}, on equal routes" in " ".join(
            capsys.readouterr().out.split()
        )
        pairs = read_pairs(tmp_path / "o")
        scores = pairs[pairs["measure"] == "driving score"].set_index("results")["difference"]
        assert scores.to_dict() == pytest.approx(differences)
        assert set(pairs["baseline"]) == {baseline}
    # an arm of several campaigns is several result sets
    again = write_our_campaign(tmp_path / "again")
    words = ["compare-results", str(campaign), str(again), "--against", "late"]
    assert dispatch_subcommand(words) == 2
    assert "--against late: several result sets: ours:late/ahead/none, again:" in (
        capsys.readouterr().err
    )


def test_equal_names_have_folders_in_front_until_they_differ(tmp_path: Path) -> None:
    places = [tmp_path / "late" / "results.json", tmp_path / "early" / "results.json"]
    places += [tmp_path / "x" / "early" / "results.json"]
    for place in places:
        write_json(place, make_first_file([make_record("RouteScenario_1")], 1))
    assert [one.name for one in read_all_sets(places)] == [
        *("late/results", f"{tmp_path.name}/early/results", "x/early/results")
    ]


def test_what_was_not_driven_is_a_failure_or_a_dash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of planned routes none is a success; of no scene there is no share; no route is common."""
    empty = write_json(tmp_path / "empty.json", make_first_file([], 5))
    other = write_json(
        tmp_path / "other.json", make_first_file([make_record("RouteScenario_1")], 1)
    )
    words = ["compare-results", str(empty), str(other), "--out", str(tmp_path / "o")]
    assert dispatch_subcommand(words) == 0
    printed = capsys.readouterr().out
    assert "empty and other: no route in common" in printed
    assert "0/0" not in printed
    success = pd.read_csv(tmp_path / "o" / "results_bench2drive.csv")["success, %"]
    assert success.to_list() == [0.0, 100.0]
    scenes = pd.read_csv(tmp_path / "o" / "results_scenes.csv")
    assert scenes["success, all, of"].to_list() == [0, 1]
    assert not (tmp_path / "o" / "results_pairs.csv").exists()


def test_attempts_without_result_and_results_that_are_no_campaigns_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = write_our_campaign(tmp_path / "ours")
    for route in ("0", "7", "7"):  # the first one has a result
        key = key_of("late", "none", route, 1)
        append_try(campaign, key, number=1, failure="world_load", message="", server_tail="")
    file = write_json(tmp_path / "a.json", make_first_file([make_record("1")], 1))
    words = ["compare-results", str(campaign), str(file), "--write", "leaderboard-1.0"]
    assert dispatch_subcommand([*words, str(tmp_path / "w")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "late/ahead/none: attempts without result, which are not counted: 1" in printed
    assert "not written, since they are no campaigns:" in printed
    # campaigns of one name would be written over each other
    again = write_our_campaign(tmp_path / "x" / "ours")
    words = ["compare-results", str(campaign), str(again), "--write", "leaderboard-1.0"]
    assert dispatch_subcommand([*words, str(tmp_path / "v")]) == 2
    assert "several campaigns are called ours" in capsys.readouterr().err
    assert not (tmp_path / "v").exists()
