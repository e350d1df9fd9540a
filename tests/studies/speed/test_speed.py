"""The interaction of speed and delay on made-up drives: slow readings, null rates, refusals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from analysis.tables.staleness import SPEED_SUMS
from harness.common.errors import UserError
from studies.speed import public
from studies.speed.figure import render_speed_figure
from studies.speed.interaction import (
    SCORE,
    VIOLATED,
    SpeedPairs,
    correct_interactions,
    estimate_interaction,
    find_clean_pairs,
    list_sweep_sizes,
    pair_speeds,
)
from studies.speed.markdown import build_page_tables, render_page_figures
from studies.speed.tables import (
    build_interaction_frame,
    find_speeds,
    list_curve_rows,
    pair_outcomes,
    pair_study,
    read_speed_drives,
    write_speed_drives,
)

SPEEDS = ("speed_0.625", "default")
SIZES = (0.2, 0.4)
CONDITIONS = ("none", *(f"latency={size:g}" for size in SIZES))


def make_attempts(
    *, routes: int = 10, seeds: int = 2, more: float = 0.0, seed: int = 0
) -> pd.DataFrame:
    """Return drives in which a delay costs 5 points, and `more` at the higher speed."""
    random = np.random.default_rng(seed)
    rows = []
    for route in range(routes):
        hard = random.normal(0, 5)
        for number in range(seeds):
            for speed, driver in enumerate(SPEEDS):
                for condition in CONDITIONS:
                    late = condition != "none"
                    loss = late * (5 + more * speed)
                    rows.append(
                        {
                            "arm": f"late/ahead/{condition}",
                            "system": "late",
                            "driver": driver,
                            "condition": condition,
                            "route": str(route),
                            "seed": number,
                            "cluster": f"Town05/{route // 2}",
                            "driving_score": 80 + hard - loss + random.normal(0, 4),
                            "violated": bool(random.random() < 0.2 + 0.1 * late),
                            "violation": "",
                            "steps": 10.0 + number,
                            "ego_speed": (10.0 + number) * (4.0 + speed) + route,
                            "vehicles": 5.0 * (route > 2),
                            "vehicle_speed": 30.0 * (route > 2) + speed,
                        }
                    )
    return pd.DataFrame(rows)


def pair(attempts: pd.DataFrame, outcome: str = SCORE) -> SpeedPairs:
    pairs = pair_speeds(attempts, SPEEDS, "latency", outcome)
    assert pairs is not None
    return pairs


def test_an_interaction_is_the_difference_of_two_losses() -> None:
    """Against a loop over routes and seeds."""
    attempts = make_attempts(more=8)
    pairs = pair(attempts)
    one = estimate_interaction(pairs, SCORE)
    scores = attempts.set_index(["route", "seed", "driver", "condition"])["driving_score"]
    slow, fast = list[float](), list[float]()
    for route, seed in {(row["route"], row["seed"]) for _, row in attempts.iterrows()}:
        for losses, driver in ((slow, SPEEDS[0]), (fast, SPEEDS[1])):
            on_time = scores[route, seed, driver, "none"]
            late = [scores[route, seed, driver, f"latency={size:g}"] for size in SIZES]
            losses.append(on_time - sum(late) / len(late))
    assert one.pairs == len(slow) == 20
    assert one.slow.value == pytest.approx(np.mean(slow))
    assert one.fast.value == pytest.approx(np.mean(fast))
    assert one.more.value == pytest.approx(np.mean(fast) - np.mean(slow))
    assert one.more.low < one.more.value < one.more.high
    (corrected,) = correct_interactions([one])
    assert corrected.p_holm == one.p
    # five ways: no sign flip of five reaches 5 %
    assert one.p == pytest.approx(2 / 2**5)
    assert corrected.verdict == "undecided"


def test_a_rise_of_violations_is_a_loss() -> None:
    attempts = make_attempts()
    attempts["violated"] = (attempts["condition"] != "none") & (attempts["driver"] == SPEEDS[1])
    one = estimate_interaction(pair(attempts, VIOLATED), VIOLATED)
    assert (one.slow.value, one.fast.value, one.more.value) == (0, 100, 100)
    attempts["violated"] = attempts["condition"] == "none"
    assert not find_clean_pairs(pair(attempts, VIOLATED)).any()


def test_pairs_that_lack_a_drive_are_left_out_and_counted() -> None:
    attempts = make_attempts()
    lacking = (attempts["route"] == "3") & (attempts["driver"] == SPEEDS[0])
    pairs = pair(attempts[~(lacking & (attempts["condition"] == "latency=0.4"))])
    assert (len(pairs.values), pairs.left_out) == (18, 2)
    assert pair_speeds(attempts, SPEEDS, "own_latency", SCORE) is None


def test_without_an_interaction_few_are_significant() -> None:
    significant = 0
    for seed in range(200):
        one = estimate_interaction(pair(make_attempts(routes=20, seeds=1, seed=seed)), SCORE)
        significant += one.p <= 0.05
    assert significant <= 20, f"{significant} of 200 at 5 %"


def test_a_large_interaction_is_significant() -> None:
    significant = sum(
        correct_interactions([estimate_interaction(pair(make_attempts(
            routes=24, seeds=1, more=8, seed=seed)), SCORE)])[0].verdict
        == "costs more at the higher speed"
        for seed in range(20)
    )  # fmt: skip
    assert significant >= 18


def test_sizes_of_a_sweep() -> None:
    names = ["none", "latency=0.8", "own_latency=0.4", "latency=0.2", "latency"]
    assert list_sweep_sizes(names, "latency") == {0.2: "latency=0.2", 0.8: "latency=0.8"}
    assert list_sweep_sizes(names, "own_latency") == {0.4: "own_latency=0.4"}


def test_the_tables_name_what_was_tested() -> None:
    attempts = make_attempts(routes=24, seeds=1, more=30)
    of = pair_outcomes(attempts, SPEEDS, "latency")
    assert of is not None
    frame = build_interaction_frame({("late", "latency"): of})
    assert list(frame["verdict"]) == [
        "costs more at the higher speed",
        "not tested",
        "not tested",
    ]
    rows = list_curve_rows("late", "latency", of)
    assert [row["delay, s"] for row in rows] == ["0", "0.2", "0.4"]
    assert {row["pairs"] for row in rows} == {24}
    figure = render_speed_figure(of[SCORE], SPEEDS)
    assert figure.height > 0


def test_the_public_curve() -> None:
    slow, fast = public.compute_public_losses((0.4, 0.8))
    assert slow == pytest.approx(99.4 - (95.0 + 69.7) / 2)
    assert fast == pytest.approx(99.5 - (82.7 + 55.9) / 2)
    assert math.isnan(public.compute_public_losses((0.7,))[0])


@pytest.mark.parametrize(
    ("drivers", "words"),
    [
        (["default"], "two speeds are needed"),
        (["default", "speed_0.5", "speed_2"], "two speeds are needed"),
        (["default", "idm_speed_0.5"], "one driver is needed"),
    ],
)
def test_other_than_two_speeds_of_one_driver_is_refused(drivers: list[str], words: str) -> None:
    with pytest.raises(UserError, match=words):
        find_speeds(pd.DataFrame({"driver": drivers}))


def test_the_slower_speed_comes_first() -> None:
    assert find_speeds(pd.DataFrame({"driver": ["default", "speed_0.625"]})) == SPEEDS
    names = {"driver": ["speed_1.5", "default"]}
    assert find_speeds(pd.DataFrame(names)) == ("default", "speed_1.5")
    names = {"driver": ["idm", "idm_speed_0.625"]}
    assert find_speeds(pd.DataFrame(names)) == ("idm_speed_0.625", "idm")


def test_drives_that_are_written_give_the_same_tables(tmp_path: Path) -> None:
    attempts = make_attempts(more=8)
    drivers = attempts["driver"].map(lambda name: "" if name == "default" else f"/driver={name}")
    attempts["arm"] = "late/ahead/" + attempts["condition"] + drivers
    write_speed_drives(attempts.sample(frac=1, random_state=3), tmp_path / "drives.csv")
    study = pair_study(read_speed_drives(tmp_path / "drives.csv"))
    expected = pair_study(attempts)
    assert study.speeds == expected.speeds == SPEEDS
    assert list(study.pairs) == [("late", "latency")]
    assert_frame_equal(
        build_interaction_frame(study.pairs), build_interaction_frame(expected.pairs)
    )
    assert_frame_equal(study.build_curves(), expected.build_curves())
    assert list(render_page_figures(study)) == ["speed-messages.svg"]
    costs, curves = build_page_tables(study)
    assert [*costs][3:6] == ["5 m/s", "8 m/s", "8 m/s less 5 m/s"]
    assert "score at 5 m/s" in curves


def test_mean_speeds_are_sums_over_sums_of_the_paired_drives(tmp_path: Path) -> None:
    attempts = make_attempts(seeds=2)
    attempts["arm"] = "late/ahead/" + attempts["condition"]
    drivers = attempts["driver"].map(lambda name: "" if name == "default" else f"/driver={name}")
    attempts["arm"] += drivers
    for row in pair_study(attempts).build_curves().to_dict("records"):
        condition = "none" if row["delay, s"] == "0" else f"latency={row['delay, s']}"
        for name, driver in zip(("slow", "fast"), SPEEDS, strict=True):
            there = attempts[
                (attempts["driver"] == driver) & (attempts["condition"] == condition)
            ].to_dict("records")
            ego = sum(one["ego_speed"] for one in there) / sum(one["steps"] for one in there)
            traffic = sum(one["vehicle_speed"] for one in there)
            traffic /= sum(one["vehicles"] for one in there)
            assert row[f"ego speed, {name}, m/s"] == f"{ego:.1f}"
            assert row[f"traffic speed, {name}, m/s"] == f"{traffic:.1f}"
    # older files lack the sums, and unpacked campaigns those of vehicles
    file = tmp_path / "drives.csv"
    write_speed_drives(attempts, file)
    old = pd.read_csv(file).drop(columns=[*SPEED_SUMS])
    old.to_csv(file, index=False)
    (row, *_) = pair_study(read_speed_drives(file)).build_curves().to_dict("records")
    assert [row[f"{what} speed, fast, m/s"] for what in ("ego", "traffic")] == ["-", "-"]
    assert row["pairs"] == 20
    unpacked = attempts.assign(vehicles=math.nan, vehicle_speed=math.nan)
    write_speed_drives(unpacked, file)
    (row, *_) = pair_study(read_speed_drives(file)).build_curves().to_dict("records")
    assert row["traffic speed, fast, m/s"] == "-"
    assert row["ego speed, fast, m/s"] != "-"


def test_a_file_without_drives_is_refused(tmp_path: Path) -> None:
    (tmp_path / "drives.csv").write_text("route\n1\n")
    with pytest.raises(UserError, match="no drives at two speeds"):
        read_speed_drives(tmp_path / "drives.csv")
