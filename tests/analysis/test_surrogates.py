"""The cost in time next to oracle, and surrogates in tables, comparisons and sentences."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.collection import CampaignCollection, collect_campaigns
from analysis.comparison import COMPARED_MEASURES, COMPARED_SURROGATES, compare_arms
from analysis.contrasts import compute_contrasts
from analysis.figures.surrogates import (
    OF_ORACLE,
    SPEED,
    choose_speed_measure,
    render_time_cost_figure,
)
from analysis.report.costs import format_cost_sentence
from analysis.surrogates import (
    ALONG,
    PREFIX,
    REACHED,
    SHARED_MEASURES,
    add_oracle_columns,
    add_shared_measures,
    add_shared_speeds,
    compute_speed_share,
)
from analysis.tables.from_results import build_result_tables
from analysis.tables.table import EstimatesTable
from tests.analysis.little import Drive, write_little
from tests.keys import arm_of, key_of

MEAN_SPEED = f"{PREFIX}mean_speed"

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
def read(folder: Path) -> CampaignCollection:
    return collect_campaigns([folder])


def table(collection: CampaignCollection, name: str) -> EstimatesTable:
    return next(item for item in build_result_tables(collection) if item.name == name)


@pytest.mark.thorough
def test_attempts_are_next_to_oracle_on_their_route(read: CampaignCollection) -> None:
    """A drive of n planning steps, one a second, is n - 1 seconds long, at 100 / n m/s."""
    rows = read.attempts.set_index(["arm", "route"])
    share = rows[f"{PREFIX}speed_of_oracle"]
    assert share[str(LATE), "0"] == pytest.approx(20 / 25, abs=0.01)
    assert share[str(LATENCY), "1"] == pytest.approx(20 / 30, abs=0.01)
    assert share[str(LATENCY), "2"] == pytest.approx(20 / 15, abs=0.01)
    delay = rows[f"{PREFIX}delay_to_oracle"]
    assert delay[str(LATE), "0"] == pytest.approx(5.0)
    assert delay[str(LATENCY), "1"] == pytest.approx(10.0)
    assert math.isnan(delay[str(LATENCY), "2"])


def test_speeds_are_compared_over_the_stretch_that_both_drove() -> None:
    """A drive that ends before the place at which both would wait is no faster than `oracle`."""
    waits = (0.0, 2.0, 4.0, 30.0, 32.0)
    assert compute_speed_share((0.0, 2.0, 4.0), waits) == 1.0
    assert compute_speed_share((0.0, 4.0, 8.0), waits) == 0.5
    assert compute_speed_share(waits, (0.0, 2.0, 4.0, 15.0)) == 0.5
    for short in ((), (0.0,)):
        assert math.isnan(compute_speed_share(short, waits))
        assert math.isnan(compute_speed_share(waits, short))


def test_an_oracle_of_another_seed_or_route_is_no_pair(read: CampaignCollection) -> None:
    columns = [f"{PREFIX}speed_of_oracle", f"{PREFIX}delay_to_oracle"]
    attempts = read.attempts.drop(columns=columns)
    oracle = attempts["system"] == "oracle"
    for change in ({"seed": 7}, {"cluster": "elsewhere"}, {"route": "9"}, {"system": "other"}):
        moved = attempts.copy()
        for name, value in change.items():
            moved.loc[oracle, name] = value
        assert add_oracle_columns(moved).loc[~oracle, columns].isna().all(axis=None)
    elsewhere = attempts.copy()
    elsewhere.loc[oracle, "source"] = 1
    assert add_oracle_columns(elsewhere).loc[~oracle, columns[0]].notna().all()


def test_the_oracle_of_the_same_campaign_comes_first(read: CampaignCollection) -> None:
    oracle = read.attempts["system"] == "oracle"
    slower = read.attempts[oracle].assign(source=-1, **{f"{PREFIX}time_to_goal": 3.0})
    both = add_oracle_columns(pd.concat([slower, read.attempts], ignore_index=True))
    column = f"{PREFIX}delay_to_oracle"
    assert both[column].iloc[len(slower) :].equals(read.attempts[column].set_axis(both.index[3:]))


@pytest.mark.thorough
def test_the_cost_stands_next_to_scores(read: CampaignCollection) -> None:
    rows = dict(table(read, "time_cost").list_rows())
    late = rows["late", "latency"]
    assert late["CR %"].value == pytest.approx(100 / 3)
    assert (late["delay against oracle, s"].value, late["delay against oracle, s"].n) == (10.0, 2)
    assert late[SPEED].n == late[OF_ORACLE].n == 3
    assert rows["oracle", "none"][OF_ORACLE].value == pytest.approx(100)
    surrogates = dict(table(read, "surrogates").list_rows())
    of_arm = read.attempts[read.attempts["arm"] == str(LATENCY)]
    expected = of_arm[f"{PREFIX}near_misses"].mean()
    assert surrogates["late", "latency"]["near misses"].value == pytest.approx(expected)
    # of a kilometre: who ends early has less road
    rates = dict(table(read, "surrogate_rates").list_rows())
    kilometres = (of_arm["completion"] * of_arm["route_length"]).sum() / 1000
    expected = of_arm[f"{PREFIX}near_misses"].sum() / kilometres
    assert rates["late", "latency"]["near misses/km"].value == pytest.approx(expected)


def test_differences_are_over_pairs_that_know_both(read: CampaignCollection) -> None:
    comparison = compare_arms(read, LATE, LATENCY)
    rows = comparison.differences.set_index("measure")
    assert list(rows.index) == [*COMPARED_MEASURES, *COMPARED_SURROGATES]
    assert rows["difference"]["time to goal, s"] == 5.0
    assert rows["pairs"][["time to goal, s", "mean speed, m/s"]].tolist() == [2, 3]
    both = comparison.pairs
    column = f"{PREFIX}smallest_gap"
    expected = (both[f"{column}_b"] - both[f"{column}_a"]).mean()
    assert rows["difference"]["smallest gap, m"] == pytest.approx(expected)


def test_sentences_carry_the_cost(read: CampaignCollection) -> None:
    contrasts = compute_contrasts(read)
    text = format_cost_sentence(contrasts, "late/none", "late/latency")
    rows = compare_arms(read, LATE, LATENCY).differences.set_index("measure")
    first, second = (float(rows[side]["speed, % of oracle"]) for side in "ab")
    assert f"Share of oracle's speed: {second:.0f} % against {first:.0f} %." in text
    change = float(rows["difference"]["mean speed, m/s"])
    assert f"Mean speed over the road that both drove: {change:+.2f} m/s" in text
    assert "Time to goal: +5.0 s in 2 pairs in which both reached it." in text
    nothing = format_cost_sentence(contrasts, "late/none", "nothing")
    assert nothing == " Speed and time to goal: not recorded."


@pytest.mark.thorough
def test_the_figure_has_a_point_for_every_arm(
    read: CampaignCollection, collection: CampaignCollection
) -> None:
    with_it, without = table(read, "time_cost"), table(collection, "time_cost")
    assert (choose_speed_measure(with_it), choose_speed_measure(without)) == (OF_ORACLE, SPEED)
    titles = [getattr(mark, "title", "") for mark in render_time_cost_figure(with_it).marks]
    assert any("late, latency: 33.33" in title for title in titles)


@pytest.mark.thorough
def test_records_without_surrogates_are_shown_as_missing(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = [("late", "none"), ("late", "latency")]
    older = write_little(tmp_path / "c", arms=arms, routes=ROUTES, seeds=[1])
    for file in older.glob("episodes/**/result.json"):
        result = json.loads(file.read_text())
        del result["crucible"]["surrogates"]
        file.write_text(json.dumps(result))
    read = collect_campaigns([older])
    cells = table(read, "time_cost").cells
    assert cells.loc[cells["measure"] == SPEED, "value"].isna().all()
    assert list(compare_arms(read, LATE, LATENCY).differences["measure"]) == list(COMPARED_MEASURES)
    assert main(["report", str(older), "--results-only", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "Missing: not in the records." in page
    assert "Speed and time to goal: not recorded." in page
    assert main(["report", str(folder), "--results-only", "--out", str(tmp_path / "new")]) == 0
    page = (tmp_path / "new" / "report.html").read_text()
    assert "Share of oracle&#x27;s speed:" in page or "Share of oracle's speed:" in page
    assert "hard braking without reason" in page


def test_compare_prints_them(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["compare", str(folder), "late/none", "late/latency", "--out", str(tmp_path)]
    assert main(asked) == 0
    printed = capsys.readouterr().out
    assert "speed, % of oracle" in printed
    assert "time to goal, s: known in both drives of 2 pairs" in printed


def test_a_drive_that_stops_half_way_is_not_faster_for_that() -> None:
    """Over all that it drove it seems so, where the slow part comes last."""
    random = np.random.default_rng(11)
    rows = []
    for _ in range(200):
        # 300 m: a metre takes 0.1 s on the first half and 0.4 s on the second one
        seconds = np.where(np.arange(30) < 15, 1.0, 4.0) * random.uniform(0.8, 1.2, 30)
        whole = [0.0, *np.cumsum(seconds).tolist()]
        stopped = whole[: int(random.integers(2, len(whole)))]
        plain = [10 * (len(times) - 1) / times[-1] for times in (whole, stopped)]
        reached = [json.dumps(times) for times in (whole, stopped)]
        rows.append([*reached, *plain])
    names = [f"{REACHED}_a", f"{REACHED}_b", f"{MEAN_SPEED}_a", f"{MEAN_SPEED}_b"]
    pairs = pd.DataFrame(rows, columns=names)
    assert (pairs[f"{MEAN_SPEED}_b"] - pairs[f"{MEAN_SPEED}_a"]).mean() > 1.0
    shared = add_shared_speeds(pairs)
    assert (shared[f"{MEAN_SPEED}_b"] - shared[f"{MEAN_SPEED}_a"]).abs().max() < 1e-9


def test_a_drive_that_stops_half_way_has_no_fewer_events_for_that() -> None:
    """Events come at random along the way; over whole drives the stopped one seems gentle."""
    random = np.random.default_rng(12)
    rows = []
    for _ in range(400):
        # (31,) events until each 10 m of two drives, the second of which is stopped
        counts = [np.cumsum(random.poisson(0.2, 31)).tolist() for _ in "ab"]
        until = int(random.integers(3, 31))
        a, b = [*counts[0], counts[0][-1]], [*counts[1][:until], counts[1][until - 1]]
        rows.append([json.dumps(dict.fromkeys(SHARED_MEASURES, one)) for one in (a, b)])
    whole = {f"{PREFIX}{name}_{side}": 0.0 for name in SHARED_MEASURES for side in "ab"}
    pairs = pd.DataFrame(rows, columns=[f"{ALONG}_a", f"{ALONG}_b"]).assign(**whole)
    shared = add_shared_measures(pairs)
    assert shared["shared"].all()
    difference = shared[f"{PREFIX}near_misses_b"] - shared[f"{PREFIX}near_misses_a"]
    # three standard errors; over whole drives it would be about -3
    assert abs(difference.mean()) < 3 * difference.std() / np.sqrt(len(difference))


def test_a_collision_stays_the_extreme_and_old_records_their_whole_drives() -> None:
    crash, other = [20.0, 9.0, 0.0], [20.0, 12.0, 8.0, 1.0, 1.0]
    texts = [json.dumps(dict.fromkeys(SHARED_MEASURES, one)) for one in (crash, other)]
    whole = {f"{PREFIX}{name}_{side}": 7.0 for name in SHARED_MEASURES for side in "ab"}
    pairs = pd.DataFrame([texts, [texts[0], ""]], columns=[f"{ALONG}_a", f"{ALONG}_b"])
    shared = add_shared_measures(pairs.assign(**whole))
    for name, expected in (("smallest_gap", (0.0, 8.0)), ("hard_braking", (9.0, 12.0))):
        both = [tuple(shared[f"{PREFIX}{name}_{side}"]) for side in "ab"]
        assert both == [(expected[0], 7.0), (expected[1], 7.0)]
    assert shared["shared"].tolist() == [True, False]
