"""A study batch by batch: the record against a slow reference, resuming, budget, strata."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.sampled import build_sampling_frame, describe_decided, describe_sampled_routes
from analysis.statistics.sequential_family import Decision
from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.records.decided import DECIDE_FILE, read_decide_record
from harness.records.keys import AttemptKey
from studies.decide.forecast import forecast_study, make_rate_sampler
from studies.decide.planning import DecidePlan
from studies.decide.population import name_reveal_class
from tests.studies.decide.declared import Certain, follow_study, plan_written

RATES = {"ideal_single/none": 0.95, "ideal_late/none": 0.05, "ideal_late/latency": 0.15}
ARMS = {
    "sharing": ("ideal_single/none/none", "ideal_late/ahead/none", "violation"),
    "latency": ("ideal_late/ahead/none", "ideal_late/ahead/latency", "driving_score"),
}


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> DecidePlan:
    return plan_written(tmp_path_factory.mktemp("declared") / "study.yaml")


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / DECIDE_FILE).read_text().splitlines()]


class SlowWealth:
    """Bets on one mean and side, written out with floats; three stakes, each a third."""

    def __init__(self, mean: float, sign: int) -> None:
        self.mean, self.sign = mean, sign
        self.wealth, self.best = [1.0, 1.0, 1.0], 1.0

    def bet(self, values: list[float], ends: tuple[float, float], moments: list[float]) -> None:
        loss = self.mean - ends[0] if self.sign > 0 else ends[1] - self.mean
        count, total, square = moments
        gap = self.sign * (total / count - self.mean)
        variance = square / count - (total / count) ** 2
        follow = min(max(gap / (variance + gap**2), 0.0), 0.9 / loss)
        for value in values:
            gain = self.sign * (value - self.mean)
            stakes = (0.5 / loss, 0.9 / loss, follow)
            self.wealth = [w * (1 + s * gain) for w, s in zip(self.wealth, stakes, strict=True)]
            self.best = max(self.best, sum(self.wealth) / 3)


def follow_slowly(
    lines: list[dict[str, Any]], outcomes: Mapping[AttemptKey, Mapping[str, float]], name: str
) -> tuple[list[float], dict[tuple[float, int], float]]:
    """Return a comparison's weighted values, and the best wealth against some means."""
    a, b, outcome = ARMS[name]
    shares = {one["name"]: one["share"] for one in lines[0]["strata"]}
    seen: dict[str, list[float]] = {stratum: [] for stratum in shares}
    tried = [SlowWealth(round(m / 10, 1), s) for m in range(-9, 10) for s in (1, -1)]
    moments, values = [4.0, 0.0, 0.4], list[float]()
    for number in range(1, lines[-1]["batch"] + 1):
        pairs = [one for one in lines if one["is"] == "pair" and one["batch"] == number]
        if name not in pairs[0]["for"]:
            break
        chances = {one["stratum"]: one["chance"] for one in pairs}
        guess = {stratum: sum(d) / (len(d) + 4) for stratum, d in seen.items()}
        overall = sum(shares[stratum] * guess[stratum] for stratum in shares)
        new = []
        for one in pairs:
            x, y = (
                outcomes[AttemptKey(Arm.parse_name(arm), one["route"], one["seed"])][outcome]
                for arm in (a, b)
            )
            weight = one["share"] / one["chance"]
            new.append(overall + weight * (y - x - guess[one["stratum"]]))
            seen[one["stratum"]].append(y - x)
        values += new
        # ends are known where every stratum was sampled in the batch
        if not tried or len(chances) < len(shares):
            tried = []
            continue
        ends = (
            overall + min(shares[h] / chances[h] * (-1 - guess[h]) for h in shares),
            overall + max(shares[h] / chances[h] * (1 - guess[h]) for h in shares),
        )
        for one_mean in tried:
            one_mean.bet(new, ends, moments)
        moments = [
            moments[0] + len(new),
            moments[1] + sum(new),
            moments[2] + sum(value**2 for value in new),
        ]
    return values, {(one.mean, one.sign): one.best for one in tried}


def test_the_record_is_that_of_a_slow_reference(plan: DecidePlan, tmp_path: Path) -> None:
    driver = Certain(RATES)
    state = follow_study(plan, driver, tmp_path / "out")
    assert state is not None
    lines, last = lines_of(tmp_path / "out"), lines_of(tmp_path / "out")[-1]
    by_name = {one["name"]: one for one in last["comparisons"]}
    assert by_name["sharing"]["state"] == "superior"
    assert by_name["latency"]["state"] in ("equivalent", "out of budget")
    for name, known in by_name.items():
        values, _ = follow_slowly(lines, driver.outcomes, name)
        assert known["pairs"] == len(values)
        assert known["estimate"] == pytest.approx(sum(values) / len(values), abs=1e-6)
    # a budget is never exceeded, and no arm is driven that only decided comparisons have
    assert last["drives"] == len(driver.outcomes) <= 300
    after = [one for one in lines if one["is"] == "pair" and "sharing" not in one["for"]]
    assert after
    assert all("ideal_single/none/none" not in one["arms"] for one in after)


def test_limits_are_where_slow_bets_reject(tmp_path: Path) -> None:
    """One stratum, so that each batch shows the chances of all strata."""
    plan = plan_written(tmp_path / "study.yaml", strata=None, most=150)
    driver = Certain(RATES)
    state = follow_study(plan, driver, tmp_path / "out")
    assert state is not None
    lines = lines_of(tmp_path / "out")
    for one in lines[-1]["comparisons"]:
        values, best = follow_slowly(lines, driver.outcomes, one["name"])
        assert len(values) == one["pairs"]
        for (mean, sign), wealth in best.items():
            if abs(math.log(wealth * 0.05 / 2)) < 1e-6:
                continue
            outside = one["low"] >= mean if sign > 0 else one["high"] <= mean
            assert outside == (wealth >= 2 / 0.05), (one["name"], mean, sign)


@pytest.mark.parametrize("batches", [1, 3])
def test_an_interrupted_study_resumes_with_equal_bytes(
    plan: DecidePlan, tmp_path: Path, batches: int
) -> None:
    follow_study(plan, Certain(RATES), tmp_path / "whole")
    assert follow_study(plan, Certain(RATES, batches), tmp_path / "killed") is None
    file = tmp_path / "killed" / DECIDE_FILE
    whole = (tmp_path / "whole" / DECIDE_FILE).read_bytes()
    known = file.read_bytes()
    assert known
    assert whole.startswith(known)
    assert known != whole
    file.write_bytes(known + b'{"is": "pa')  # a line that was being written
    follow_study(plan, Certain(RATES), tmp_path / "killed")
    assert file.read_bytes() == whole
    record = read_decide_record(tmp_path / "killed")
    assert record is not None
    assert len(record.pairs) == whole.count(b'"is": "pair"')


def test_other_outcomes_or_a_changed_line_are_refused(plan: DecidePlan, tmp_path: Path) -> None:
    follow_study(plan, Certain(RATES), tmp_path / "out")
    file = tmp_path / "out" / DECIDE_FILE
    before = file.read_bytes()
    with pytest.raises(UserError, match=r"decide.jsonl: line \d+: not what the study gives"):
        follow_study(plan, Certain({**RATES, "ideal_late/none": 0.9}), tmp_path / "out")
    assert file.read_bytes() == before
    file.write_bytes(before.replace(b'"is": "pair", "batch": 1', b'"is": "pair", "batch": 2', 1))
    with pytest.raises(UserError, match="line 2: not what the study gives"):
        follow_study(plan, Certain(RATES), tmp_path / "out")


def test_arms_without_difference_are_rarely_decided(plan: DecidePlan, tmp_path: Path) -> None:
    """A null at small N; the statistics have tests of their own."""
    same = dict.fromkeys(RATES, 0.3)
    wrong = 0
    for seed in range(20):
        changed = replace(plan.declaration, seed=seed, most=90)
        other = replace(plan, words=replace(plan.words, declaration=changed))
        state = follow_study(other, Certain(same), tmp_path / f"out-{seed}")
        assert state is not None
        decided = {one.decision for one in state.comparisons}
        wrong += bool(decided & {Decision.MORE, Decision.FEWER})
    assert wrong <= 4  # of 20 at an error rate of 5 %: more has a chance of 0.003


def test_visits_of_a_route_take_the_next_seed(plan: DecidePlan, tmp_path: Path) -> None:
    follow_study(plan, Certain(RATES), tmp_path / "out")
    pairs = [
        (one["route"], one["seed"]) for one in lines_of(tmp_path / "out") if one["is"] == "pair"
    ]
    assert len(set(pairs)) == len(pairs)
    for route in {route for route, _ in pairs}:
        seeds = [seed for name, seed in pairs if name == route]
        assert seeds == list(range(1, len(seeds) + 1))


def test_listed_seeds_are_sampled_and_pairs_driven_once(tmp_path: Path) -> None:
    plan = plan_written(tmp_path / "study.yaml", seeds=[4, 9], most=400)
    driver = Certain(dict.fromkeys(RATES, 0.3))
    state = follow_study(plan, driver, tmp_path / "out")
    assert state is not None
    pairs = [
        (one["route"], one["seed"]) for one in lines_of(tmp_path / "out") if one["is"] == "pair"
    ]
    assert {seed for _, seed in pairs} == {4, 9}
    assert len(set(pairs)) <= 32 < len(pairs)
    assert len(driver.outcomes) == len(state.drives) <= 3 * 32


def test_ideal_systems_make_a_stratum(tmp_path: Path) -> None:
    plan = plan_written(
        tmp_path / "study.yaml", ideal=["ideal_single/none", "ideal_late/none"], strata=None
    )
    driver = Certain(RATES)
    follow_study(plan, driver, tmp_path / "out")
    failing = {
        key.route for key, one in driver.outcomes.items()
        if key.seed == 0 and key.arm.system == "ideal_single" and one["violation"]
    }  # fmt: skip
    strata = {one["name"]: one["routes"] for one in lines_of(tmp_path / "out")[0]["strata"]}
    assert strata == {"all routes": 16 - len(failing), "ideal_single fails": len(failing)}
    for one in lines_of(tmp_path / "out"):
        if one["is"] == "pair":
            assert (one["stratum"] == "ideal_single fails") == (one["route"] in failing)
            assert one["seed"] > 0  # the ideal systems have a seed that no pair has


def test_declared_shares_weigh_strata(tmp_path: Path) -> None:
    shares = {"under 0.6 s": 0.5, "0.6 to 0.7 s": 0.25, "from 0.7 s": 0.25}
    by = {"by": ["reveal"], "reveal_edges": [0.6, 0.7], "shares": shares}
    plan = plan_written(tmp_path / "study.yaml", strata=by)
    listed = plan.stratified.list_strata()
    assert {one["name"]: one["share"] for one in listed} == shares
    counted = np.bincount(plan.stratified.population.strata).tolist()
    assert [one["routes"] for one in listed] == counted
    assert sum(counted) == 16
    by["shares"] = {"under 0.6 s": 1.0}
    with pytest.raises(UserError, match=r"strata.shares: .* has routes and no share; strata: "):
        plan_written(tmp_path / "study.yaml", strata=by)


def test_classes_of_reveal_times() -> None:
    edges = (0.8, 1.3)
    names = [name_reveal_class(time, edges) for time in (0.0, 0.79, 0.8, 1.29, 1.3, 9.0, None)]
    under, middle, above = "under 0.8 s", "0.8 to 1.3 s", "from 1.3 s"
    assert names == [under, under, middle, middle, above, above, "no reveal time"]


def test_a_forecast_of_a_clear_difference_is_short(plan: DecidePlan, tmp_path: Path) -> None:
    clear = {"ideal_single/none": 1.0, "ideal_late/none": 0.0, "ideal_late/latency": 0.0}
    whole = follow_study(plan, Certain(clear), tmp_path / "whole")
    assert whole is not None
    assert whole.comparisons[0].describe_state(ended=False) == "superior"
    assert whole.comparisons[0].pairs <= 15
    random = np.random.default_rng(1)
    forecast = forecast_study(
        whole.stratified.population, whole.comparisons, level=0.05, batch=5, most=50, random=random
    )
    # what is decided needs nothing more
    assert (forecast.pairs[:, 0] == 0).all()
    sampled = make_rate_sampler(0.3, 0.1)(np.zeros((1, 20000), np.int64), random)
    assert sampled.mean() == pytest.approx(0.2, abs=0.02)
    assert (sampled == -1).mean() == pytest.approx(0.1, abs=0.01)


class Folder:
    """A campaign that has a folder alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder


def test_analysis_has_weights_and_estimates(plan: DecidePlan, tmp_path: Path) -> None:
    follow_study(plan, Certain(RATES), tmp_path / "out")
    campaigns: Any = [Folder(tmp_path / "out")]
    (note,) = describe_sampled_routes(campaigns)
    assert "were chosen by crucible decide (tried)" in note
    frame = build_sampling_frame(campaigns)
    assert frame["weight"].to_numpy() == pytest.approx(
        (frame["share"] / frame["chance"]).to_numpy()
    )
    a, b = (Arm.parse_name(name) for name in ARMS["sharing"][:2])
    estimate = lines_of(tmp_path / "out")[-1]["comparisons"][0]["estimate"]
    (line,) = describe_decided(campaigns, a, b)
    assert f"violation {estimate:+.3f} (95 % at any time" in line
    (turned,) = describe_decided(campaigns, b, a)
    assert f"violation {-estimate:+.3f} (" in turned


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (1, '{"is": "look", "batch": 1, "comparisons": []}'),
        (1, '{"is": "plan", "version": 2}'),
        (2, '{"is": "pair", "batch": -1}'),
        (2, '{"is": "other"}'),
        (2, "[]"),
        (2, "not JSON"),
    ],
)
def test_a_broken_record_is_one_line(
    plan: DecidePlan, tmp_path: Path, line: int, text: str
) -> None:
    follow_study(plan, Certain(RATES), tmp_path / "out")
    file = tmp_path / "out" / DECIDE_FILE
    lines = file.read_text().splitlines()
    lines[line - 1] = text
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(UserError, match=rf"decide.jsonl: line {line}: not of a decide plan \("):
        read_decide_record(tmp_path / "out")
