"""Subgroups of pairs once more by a slow path, and what `--by` refuses."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.collection import collect_campaigns
from analysis.commands.compare import format_time_difference
from analysis.comparison import COMPARED_MEASURES, compare_arms
from analysis.subgroups import (
    COLUMNS,
    collect_hazard_kinds,
    compute_subgroup_differences,
    group_by_hazard_kind,
    group_by_reveal_time,
    group_by_town,
    parse_grouping,
)
from analysis.surrogates import GOAL_TIME
from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from tests.analysis.little import write_little
from tests.keys import arm_of

KINDS = ("occluded_pedestrian", "crossing_vehicle", "cut_in")
LATE, LATENCY = arm_of("late", "none"), arm_of("late", "latency")
Hazards = list[dict[str, Any]]


def pairs_of(number: int, seed: int = 1) -> tuple[pd.DataFrame, list[tuple[str, Hazards, Hazards]]]:
    """Return pairs with none to two hazards, of which an arm may not know the reveal time."""
    random = make_named_stream(seed, "subgroups")
    rows: list[tuple[str, Hazards, Hazards]] = []
    for n in range(number):
        planned = [
            {"kind": str(random.choice(KINDS)), "reveal": round(float(random.uniform(0.5, 3)), 1)}
            for _ in range(int(random.integers(3)))
        ]
        a, b = (
            [{**one, "reveal": None} if random.random() < 0.3 else one for one in planned]
            for _ in "ab"
        )
        rows.append((f"Town{random.integers(3)}/{n}", a, b))
    table = pd.DataFrame(
        {
            "cluster": [cluster for cluster, _, _ in rows],
            "hazards_a": [json.dumps(a) for _, a, _ in rows],
            "hazards_b": [json.dumps(b) for _, _, b in rows],
        }
    )
    return table, rows


def test_a_pair_is_in_the_group_of_its_shortest_reveal_time() -> None:
    table, rows = pairs_of(200)
    edges = [0.8, 1.3, 2.2]
    names = ["to 0.8 s", "0.8 to 1.3 s", "1.3 to 2.2 s", "over 2.2 s"]
    groups = group_by_reveal_time(table, edges)
    assert set(groups) == {*names, "unknown"}
    for n, (_, a, b) in enumerate(rows):
        known = [one["reveal"] for one in [*a, *b] if one["reveal"] is not None]
        below = sum(edge < min(known) for edge in edges) if known else 4
        expected = [*names, "unknown"][below]
        assert [name for name, chosen in groups.items() if chosen[n]] == [expected]


def test_a_pair_is_in_the_groups_of_all_its_kinds_and_of_its_town() -> None:
    table, rows = pairs_of(100)
    apart = group_by_hazard_kind(table, None)
    assert list(apart) == sorted(KINDS)
    joined = group_by_hazard_kind(table, [["cut_in", "crossing_vehicle"], ["tram"]])
    for n, (_, a, b) in enumerate(rows):
        kinds = {one["kind"] for one in [*a, *b]}
        assert {kind for kind, chosen in apart.items() if chosen[n]} == kinds
        assert joined["cut_in + crossing_vehicle"][n] == bool(kinds - {"occluded_pedestrian"})
    assert not joined["tram"].any()
    towns = group_by_town(table)
    assert list(towns) == ["Town0", "Town1", "Town2"]
    clusters = {town: set(table["cluster"][chosen]) for town, chosen in towns.items()}
    assert sum(map(len, clusters.values())) == 100
    assert all(name.startswith(town) for town, names in clusters.items() for name in names)


@pytest.mark.thorough
def test_a_subgroup_is_compared_as_if_it_were_all(tmp_path: Path) -> None:
    folders = [write_little(tmp_path / town, town=town) for town in ("TownA", "TownB")]
    pooled = compute_subgroup_differences(
        [compare_arms(collect_campaigns(folders), LATE, LATENCY)], "town"
    )
    assert set(pooled["group"]) == {"TownA", "TownB"}
    for folder in folders:
        alone = compare_arms(collect_campaigns([folder]), LATE, LATENCY).differences.set_index(
            "measure"
        )
        rows = pooled[pooled["group"] == folder.name].set_index("measure")
        assert list(rows.index) == [*COMPARED_MEASURES, "mean speed, m/s", GOAL_TIME]
        pd.testing.assert_frame_equal(
            rows[COLUMNS[1:]], alone.loc[rows.index, COLUMNS[1:]], check_dtype=False
        )


def test_compare_prints_and_writes_subgroups(
    little: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", str(little), "late/none", "late/latency", "--out", str(tmp_path)]
    assert main([*words, "--by", "town", "--by", "kind"]) == 0
    out = capsys.readouterr().out
    assert "violations, %, by town: second minus first, not tested" in out
    table = pd.read_csv(tmp_path / "compare_by.csv")
    time = table[(table["measure"] == GOAL_TIME) & (table["by"] == "town")].iloc[0]
    ending = f"{time['difference']:+.1f}, n {time['pairs']}"
    assert any(line.rstrip().endswith(ending) for line in out.splitlines())
    figure = (tmp_path / "compare-by-kind.svg").read_text()
    assert figure.startswith("<?xml")
    assert "difference, n, time" in figure
    assert set(table["by"]) == {"town", "kind"}
    assert not {"p", "p holm"} & set(table.columns)
    assert np.isfinite(table["difference"]).all()


def test_the_time_to_the_goal_has_its_interval_where_there_is_one() -> None:
    row = pd.Series({"time": 1.25, "time low": -0.5, "time high": 3.04, "time pairs": 12.0})
    assert format_time_difference(row) == "+1.2 (-0.5 .. +3.0), n 12"
    assert format_time_difference(row.replace({-0.5: math.nan, 3.04: math.nan})) == "+1.2, n 12"
    assert format_time_difference(row.replace({1.25: math.nan})) == "-"


BAD = {
    "nothing": "must be town, kind",
    "town=x": "must be town, kind",
    "reveal": "must be ascending seconds",
    "kind=": "must be kinds",
    "kind=cut_in,": "must be kinds",
    "reveal=2,1": "must be ascending seconds",
    "reveal=a": "must be ascending seconds",
    f"reveal={math.inf}": "must be ascending seconds",
}


@pytest.mark.parametrize("by", BAD)
def test_what_is_no_subgroup_is_refused(
    by: str, little: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match=BAD[by]):
        parse_grouping(by)
    assert main(["compare", str(little), "late/none", "late/latency", "--by", by]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_kinds_that_no_hazard_has_are_refused_before_anything_is_written(
    little: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", str(little), "late/none", "late/latency", "--by", "kind=tram"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 2
    out, err = capsys.readouterr()
    assert "no pair is of these; hazards are of kind " in err
    assert "minus" not in out
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
def test_a_kind_may_be_missing_from_one_comparison_of_several(tmp_path: Path) -> None:
    folders = [write_little(tmp_path / town, town=town) for town in ("TownA", "TownB")]
    with_hazards, without = (
        compare_arms(collect_campaigns([folder]), LATE, LATENCY) for folder in folders
    )
    empty = without.pairs.assign(hazards_a="[]", hazards_b="[]")
    kinds = sorted(collect_hazard_kinds(with_hazards.pairs))
    rows = compute_subgroup_differences(
        [with_hazards, replace(without, pairs=empty)], f"kind={kinds[0]},tram"
    )
    pd.testing.assert_frame_equal(
        rows, compute_subgroup_differences([with_hazards], f"kind={kinds[0]}")
    )
