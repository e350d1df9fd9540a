"""The cost in time next to oracle, and surrogates in tables, comparisons and sentences."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.collection import Collection, collect
from analysis.comparison import MEASURES, SURROGATES, compare
from analysis.contrasts import contrasts_of
from analysis.figures.surrogates import OF_ORACLE, SPEED, speed_of, time_cost_figure
from analysis.report.costs import cost_sentence
from analysis.surrogates import PREFIX, with_oracle
from analysis.tables.from_results import tables_of_results
from analysis.tables.table import Table
from tests.analysis.little import Drive, write_little
from tests.keys import arm_of, key_of

LATE, LATENCY = arm_of("late", "none"), arm_of("late", "latency")
ROUTES = ["0", "1", "2"]
SECONDS = {"oracle": 20, "none": 25, "latency": 30}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign: oracle and late take their times, late messages end route 2 early."""
    arms = [("oracle", "none"), ("late", "none"), ("late", "latency")]
    drives = {
        key_of(*arm, route, 1): Drive(SECONDS.get(arm[0], SECONDS[arm[1]]))
        for arm in arms
        for route in ROUTES
    }
    drives[key_of("late", "latency", "2", 1)] = Drive(15, "collision_vehicle")
    made = tmp_path_factory.mktemp("oracle") / "c"
    return write_little(made, arms=arms, routes=ROUTES, seeds=[1], drives=drives)


@pytest.fixture(scope="module")
def read(folder: Path) -> Collection:
    return collect([folder])


def table(collection: Collection, name: str) -> Table:
    return next(item for item in tables_of_results(collection) if item.name == name)


def test_attempts_are_next_to_oracle_on_their_route(read: Collection) -> None:
    """A drive of n planning steps, one a second, is n - 1 seconds long."""
    rows = read.attempts.set_index(["arm", "route"])
    speeds = rows[f"{PREFIX}mean_speed"]
    for arm, route in ((str(LATE), "0"), (str(LATENCY), "1"), (str(LATENCY), "2")):
        expected = speeds[arm, route] / speeds[str(arm_of("oracle", "none")), route]
        assert rows.loc[(arm, route), f"{PREFIX}speed_of_oracle"] == pytest.approx(expected)
    delay = rows[f"{PREFIX}delay_to_oracle"]
    assert delay[str(LATE), "0"] == pytest.approx(5.0)
    assert delay[str(LATENCY), "1"] == pytest.approx(10.0)
    assert math.isnan(delay[str(LATENCY), "2"])


def test_an_oracle_of_another_seed_or_route_is_no_pair(read: Collection) -> None:
    columns = [f"{PREFIX}speed_of_oracle", f"{PREFIX}delay_to_oracle"]
    attempts = read.attempts.drop(columns=columns)
    oracle = attempts["system"] == "oracle"
    for change in ({"seed": 7}, {"cluster": "elsewhere"}, {"route": "9"}, {"system": "other"}):
        moved = attempts.copy()
        for name, value in change.items():
            moved.loc[oracle, name] = value
        assert with_oracle(moved).loc[~oracle, columns].isna().all(axis=None)
    elsewhere = attempts.copy()
    elsewhere.loc[oracle, "source"] = 1
    assert with_oracle(elsewhere).loc[~oracle, columns[0]].notna().all()


def test_the_cost_stands_next_to_scores(read: Collection) -> None:
    rows = dict(table(read, "time_cost").rows())
    late = rows["late", "latency"]
    assert late["CR %"].value == pytest.approx(100 / 3)
    assert (late["delay against oracle, s"].value, late["delay against oracle, s"].n) == (10.0, 2)
    assert late[SPEED].n == late[OF_ORACLE].n == 3
    assert rows["oracle", "none"][OF_ORACLE].value == pytest.approx(100)
    surrogates = dict(table(read, "surrogates").rows())
    of_arm = read.attempts[read.attempts["arm"] == str(LATENCY)]
    expected = of_arm[f"{PREFIX}near_misses"].mean()
    assert surrogates["late", "latency"]["near misses"].value == pytest.approx(expected)


def test_differences_are_over_pairs_that_know_both(read: Collection) -> None:
    comparison = compare(read, LATE, LATENCY)
    rows = comparison.differences.set_index("measure")
    assert list(rows.index) == [*MEASURES, *SURROGATES]
    assert rows.loc["time to goal, s", ["difference", "pairs"]].tolist() == [5.0, 2]
    assert rows.loc["mean speed, m/s", "pairs"] == 3
    both = comparison.pairs
    column = f"{PREFIX}smallest_gap"
    expected = (both[f"{column}_b"] - both[f"{column}_a"]).mean()
    assert rows.loc["smallest gap, m", "difference"] == pytest.approx(expected)


def test_sentences_carry_the_cost(read: Collection) -> None:
    contrasts = contrasts_of(read)
    text = cost_sentence(contrasts, "late/none", "late/latency")
    rows = compare(read, LATE, LATENCY).differences.set_index("measure")
    share = rows.loc["mean speed, % of oracle"]
    assert f"{share['b']:.0f} % of oracle's speed against {share['a']:.0f} %" in text
    assert f"mean speed {rows.loc['mean speed, m/s', 'difference']:+.2f} m/s" in text
    assert "time to goal +5.0 s in 2 pairs in which both reached it" in text
    assert cost_sentence(contrasts, "late/none", "nothing") == " Time cost: not recorded."


def test_the_figure_has_a_point_for_each_arm(read: Collection, collection: Collection) -> None:
    with_it, without = table(read, "time_cost"), table(collection, "time_cost")
    assert (speed_of(with_it), speed_of(without)) == (OF_ORACLE, SPEED)
    titles = [getattr(mark, "title", "") for mark in time_cost_figure(with_it).marks]
    assert any("late, latency: 33.33" in title for title in titles)


def test_records_without_surrogates_are_shown_as_missing(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = [("late", "none"), ("late", "latency")]
    older = write_little(tmp_path / "c", arms=arms, routes=ROUTES, seeds=[1])
    for file in older.glob("episodes/**/result.json"):
        result = json.loads(file.read_text())
        del result["crucible"]["surrogates"]
        file.write_text(json.dumps(result))
    read = collect([older])
    assert np.isnan(table(read, "time_cost").cells.set_index("measure").loc[SPEED, "value"]).all()
    assert list(compare(read, LATE, LATENCY).differences["measure"]) == list(MEASURES)
    assert main(["report", str(older), "--results-only", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "Missing: not in the records." in page
    assert "Time cost: not recorded." in page
    assert main(["report", str(folder), "--results-only", "--out", str(tmp_path / "new")]) == 0
    page = (tmp_path / "new" / "report.html").read_text()
    assert "of oracle&#x27;s speed against" in page or "of oracle's speed against" in page
    assert "hard braking without reason" in page


def test_compare_prints_them(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["compare", str(folder), "late/none", "late/latency", "--out", str(tmp_path)]
    assert main(asked) == 0
    printed = capsys.readouterr().out
    assert "mean speed, % of oracle" in printed
    assert "time to goal, s: known in both drives of 2 pairs" in printed
