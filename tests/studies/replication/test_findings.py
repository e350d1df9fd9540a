"""The replication's findings on made-up drives: slow readings, verdicts, null rates, refusals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.common.command_running import run_package_command
from harness.common.errors import UserError
from harness.types.record_names import PATTERNS
from studies.replication import paper
from studies.replication.drives import (
    ReplicationDrives,
    list_replication_arms,
    select_replication_drives,
)
from studies.replication.findings import ReplicatedFinding, replicate_findings
from studies.replication.replication import build_driving_frame, build_findings_frame
from studies.replication.resampled import (
    DriveMean,
    ResampledEstimate,
    estimate_resampled,
    subtract_last_from_lowest,
    take_mean,
)

WINDOWS = ("t1", "t2", "t3", "end_10s")


def make_attempts(
    routes: int = 12, seeds: int = 3, late_harm: float = 0.0, seed: int = 0
) -> pd.DataFrame:
    """Return made-up drives of all arms; latency costs `late_harm` points of driving score."""
    random = np.random.default_rng(seed)
    rows = []
    for route in range(routes):
        hard = random.normal(0, 10)
        for number in range(1, seeds + 1):
            for system, condition in list_replication_arms():
                score = 80 + hard + random.normal(0, 3) - late_harm * (condition == "latency")
                violated = bool(random.random() < 0.3)
                counts = {
                    f"{pattern}_{window}": float(random.poisson(5 + 4 * violated))
                    for pattern in PATTERNS
                    for window in WINDOWS
                }
                row = {
                    "system": system,
                    "condition": condition,
                    "route": str(route),
                    "seed": number,
                    "cluster": f"Town05/{route // 2}",
                    "violated": violated,
                    "driving_score": score,
                    "collided": violated,
                    "completion": 0.9,
                    "truth_all_end_10s": 100.0,
                    "ap_end_10s": random.uniform(0.4, 0.6),
                }
                rows.append(row | counts)
    return pd.DataFrame(rows)


def make_filter(attempts: pd.DataFrame, violated: tuple[str, ...] = ()) -> pd.DataFrame:
    routes = attempts["route"].unique()
    return pd.DataFrame(
        [{"system": "oracle", "route": route, "violated": route in violated} for route in routes]
    )


def make_drives(routes: int = 12, late_harm: float = 0.0) -> ReplicationDrives:
    attempts = make_attempts(routes, late_harm=late_harm)
    return select_replication_drives(attempts, make_filter(attempts))


def find(findings: list[ReplicatedFinding], name: str) -> ReplicatedFinding:
    return next(finding for finding in findings if finding.name == name)


def test_every_finding_of_the_protocol_is_there() -> None:
    names = [finding.name for finding in replicate_findings(make_drives())]
    numbers = {"A": 2, "B": 3, "C": 3, "D": 1, "E": 7, "F": 2, "G": 5, "H": 2}
    assert names == [f"{letter}{n + 1}" for letter, last in numbers.items() for n in range(last)]


def test_estimates_are_those_of_loops() -> None:
    drives = make_drives(late_harm=9.0)
    rows = drives.attempts.set_index(["system", "condition", "route", "seed"])
    pairs = sorted({(route, seed) for _, _, route, seed in rows.index})
    findings = replicate_findings(drives)
    values = {
        (key, name): number
        for name in rows.select_dtypes("number")
        for key, number in rows[name].items()
    }

    def value(system: str, condition: str, pair: tuple[str, int], column: str) -> float:
        return float(values[(system, condition, *pair), column])

    cooperation = [
        np.mean([value(system, "none", pair, "driving_score") for system in paper.SYSTEMS])
        - value("single", "none", pair, "driving_score")
        for pair in pairs
    ]
    assert find(findings, "A1").estimate.value == pytest.approx(np.mean(cooperation))
    late = [
        value(system, "latency", pair, "driving_score")
        - value(system, "none", pair, "driving_score")
        for pair in pairs
        for system in paper.SYSTEMS
    ]
    assert find(findings, "B1").estimate.value == pytest.approx(np.mean(late))
    missed = [
        sum(sign * value(system, cause, pair, f"{name}_end_10s") for name in ("LCME", "CCME"))
        for pair in pairs
        for system in paper.SYSTEMS
        for sign, cause in ((1, "latency"), (-1, "pose_error"))
    ]
    assert find(findings, "H1").estimate.value == pytest.approx(np.sum(missed) / len(pairs) / 4)
    scores = [
        np.mean([value(system, cause, pair, "driving_score") for pair in pairs])
        for cause in ("latency", "pose_error")
        for system in paper.SYSTEMS
    ]
    alone = np.mean([value("single", "none", pair, "driving_score") for pair in pairs])
    assert find(findings, "D1").estimate.value == pytest.approx(min(scores) - alone)
    calm = drives.attempts[drives.attempts["condition"] == "none"]
    calm = calm[calm["system"] != "single"]
    split = [calm.loc[calm["violated"] == of, "CCLE_end_10s"].mean() for of in (True, False)]
    assert find(findings, "E6").estimate.value == pytest.approx(split[0] - split[1])


def test_an_effect_counts_and_its_opposite_does_not() -> None:
    harm = find(replicate_findings(make_drives(routes=24, late_harm=9.0)), "B1")
    assert harm.verdict == "found"
    assert harm.estimate.low < -9.0 < harm.estimate.high
    gain = find(replicate_findings(make_drives(routes=24, late_harm=-9.0)), "B1")
    assert gain.verdict == "not found: the opposite"


@pytest.mark.parametrize(
    ("low", "high", "printed", "p_holm", "verdict"),
    [
        (1.0, 5.0, 3.0, 0.01, "found"),
        (1.0, 5.0, 3.0, 0.08, "found, not after correction"),
        (-5.0, -1.0, 3.0, 0.01, "not found: the opposite"),
        (-5.0, -1.0, 3.0, 0.08, "not found: the opposite, not after correction"),
        (-2.0, 2.0, 3.0, 1.0, "not found"),
        (-2.0, 4.0, 3.0, 1.0, "undecided"),
        (-2.0, 4.0, math.nan, 1.0, "undecided"),
        (math.nan, math.nan, 3.0, math.nan, "undecided"),
    ],
)
def test_verdicts_are_the_protocols(
    low: float, high: float, printed: float, p_holm: float, verdict: str
) -> None:
    for sign in (1, -1):
        ends = (low, high) if sign > 0 else (-high, -low)
        estimate = ResampledEstimate(value=0, low=ends[0], high=ends[1], p=p_holm, n=9, ways=9)
        finding = ReplicatedFinding(
            name="A1", claim="", sign=sign, printed=sign * printed, estimate=estimate, p_holm=p_holm
        )
        assert finding.verdict == verdict


def test_p_and_interval_agree() -> None:
    random = np.random.default_rng(3)
    for shift in np.linspace(-1.5, 1.5, 25):
        mean = DriveMean(random.normal(shift, 1, 40), np.repeat(np.arange(10), 4))
        estimate = estimate_resampled([mean], take_mean)
        assert (estimate.p < 0.05) == (estimate.low > 0 or estimate.high < 0)


def test_the_lowest_of_equal_arms_is_below_the_last() -> None:
    """The minimum of eight equal means is low by construction; resampling it shows how low."""
    random = np.random.default_rng(5)
    ways = np.repeat(np.arange(20), 5)
    means = [DriveMean(random.normal(80, 10, 100), ways) for _ in range(9)]
    estimate = estimate_resampled(means, subtract_last_from_lowest)
    assert estimate.value < 0
    assert estimate.low < estimate.value


def test_equal_arms_seldom_differ() -> None:
    """Of drives with equal means, at most some five per cent have p below 0.05."""
    random = np.random.default_rng(7)
    ways = np.repeat(np.arange(20), 5)
    small = 0
    for _ in range(600):
        values = np.repeat(random.normal(0, 1, 20), 5) + random.normal(0, 1, 100)
        small += estimate_resampled([DriveMean(values, ways)], take_mean).p < 0.05
    assert small / 600 < 0.075


def test_unclean_routes_take_no_part_and_tables_are_whole() -> None:
    attempts = make_attempts()
    drives = select_replication_drives(attempts, make_filter(attempts, violated=("3", "4")))
    assert set(drives.attempts["route"]) == {str(n) for n in range(12)} - {"3", "4"}
    table = build_driving_frame(drives)
    assert len(table) == 13
    assert (table["drives"] == 30).all()
    assert len(build_findings_frame(replicate_findings(drives))) == 25


def test_what_the_paper_prints_adds_up() -> None:
    """The text's means and differences (V-C, V-D) follow from the tables."""
    calm, late, displaced = (paper.average_driving(condition) for condition in paper.CONDITIONS)
    assert calm == pytest.approx((78.2, 27.6, 84.3), abs=0.06)
    assert 100 * (late[0] / calm[0] - 1) == pytest.approx(-10.3, abs=0.15)
    assert 100 * (displaced[0] / calm[0] - 1) == pytest.approx(-11.2, abs=0.25)
    assert late[1] - calm[1] == pytest.approx(7.9, abs=0.05)
    assert late[2] - calm[2] == pytest.approx(-6.3, abs=0.1)
    for odds in paper.ODDS.values():
        low, high = paper.compute_printed_odds_interval(odds)
        assert 1 < low < odds.ratio < high
    low, high = paper.compute_printed_rate_interval(26.3)
    assert (low, high) == pytest.approx((11.8, 48.8), abs=0.1)


def test_folders_that_are_no_study_are_refused(tmp_path: Path) -> None:
    attempts = make_attempts()
    with pytest.raises(UserError, match="no drive of oracle"):
        select_replication_drives(attempts, attempts)
    some = attempts[attempts["system"] != "v2xvit"]
    with pytest.raises(UserError, match="no drive of v2xvit under none"):
        select_replication_drives(some, make_filter(some))
    words = ["replication", str(tmp_path), str(tmp_path / "seed-1"), str(tmp_path / "seed-2")]
    assert run_package_command("studies.replication", words, "crucible") == 2
