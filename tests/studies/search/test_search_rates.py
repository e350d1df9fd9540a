"""Rates of sampled disturbances, evaluations kept in order, and guidances side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from analysis.drawing.svg import render_svg_file
from crucible.subcommands import dispatch_subcommand
from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats, Mask
from studies.rates.rate import (
    RateSamples,
    compute_importance_weights,
    compute_range_share,
    compute_rate_interval,
    drive_rate_rounds,
    format_rate_lines,
    is_interval_narrow,
)
from studies.search.archive import build_failure_archive
from studies.search.archive_map import CellCounts, count_cells, render_archive_map
from studies.search.candidates import Evaluate, SearchCandidate, SearchEvaluation, SearchOutcome
from studies.search.configuration import SearchPlan, compose_search_config, plan_search
from studies.search.figures import iterate_mean_points, render_failure_curves
from studies.search.ledger import make_ledger_header, open_ledger, read_ledger
from studies.search.recorded import RecordedMapper
from studies.search.settings import BehaviourAxis
from studies.search.tables import SearchCurve, render_guidances_table, render_search_summary
from studies.space import SpaceParameter
from tests.studies.search.basins import MIXED, SETTINGS


@pytest.fixture(scope="module")
def ready() -> SearchPlan:
    return plan_search(compose_search_config("latency_cut_in", []))


@given(st.floats(0, 1 - 1e-9), st.sampled_from(MIXED.space))
def test_shares_are_those_of_values(share: float, parameter: SpaceParameter) -> None:
    value = parameter.get_value(share)
    again = compute_range_share(parameter, value)
    assert parameter.get_value(again) == (value if isinstance(value, str) else pytest.approx(value))
    if parameter.kind in ("number", "log"):
        assert again == pytest.approx(share, abs=1e-9)


def test_more_rounds_go_on_where_fewer_ended(ready: SearchPlan) -> None:
    centre = np.array([1.0, 0.0, -0.5])
    few, many = RateSamples(ready, centre, 5), RateSamples(ready, centre, 8)
    assert (few.sample_points() == many.sample_points()[:5]).all()
    ours, theirs = (
        few.build_candidates(few.sample_points()),
        many.build_candidates(many.sample_points()),
    )
    assert ours == theirs[:5]
    seeds = [one.seed for row in theirs for one in row]
    assert len(set(seeds)) == len(seeds) == 8


def test_without_a_proposal_values_are_even_over_the_range(ready: SearchPlan) -> None:
    samples = RateSamples(ready, None, 2000)
    delays = [
        float(row[0].values["delay"]) for row in samples.build_candidates(samples.sample_points())
    ]
    counts = np.histogram(delays, bins=4, range=(0, 1))[0]
    assert (abs(counts - 500) < 5 * np.sqrt(500)).all()
    assert (compute_importance_weights(samples, samples.sample_points()) == 1).all()


def failing(points: Floats, beyond: float) -> Mask:
    """Return where delays, in standard normal numbers, are beyond a limit."""
    return np.asarray(points[..., 0] > beyond)


def test_the_interval_of_failures_far_from_the_proposal_is_as_valid(ready: SearchPlan) -> None:
    samples = RateSamples(ready, np.array([1.5, 0.0, 0.0]), 600)
    points = samples.sample_points()
    failed = ~failing(points, -0.5)  # with weights near 2
    low, high = compute_rate_interval(samples, points, failed)
    assert low < 0.3085 < high


@pytest.mark.parametrize("centre", [None, np.array([1.5, 0.0, 0.0])])
def test_the_rate_of_a_region_is_in_its_interval(ready: SearchPlan, centre: Floats | None) -> None:
    samples = RateSamples(ready, centre, 600)
    points = samples.sample_points()
    failed = failing(points, 1.2816)  # a tenth
    low, high = compute_rate_interval(samples, points, failed)
    assert low < 0.1 < high
    assert high - low < 0.15
    rate = next(line for line in format_rate_lines(samples, points, failed) if "95" in line)
    assert abs(float(rate.split()[1]) - 0.1) < 0.03
    marks = failed.tolist()
    assert is_interval_narrow(samples, points, marks, 0.15)
    assert not is_interval_narrow(samples, points, marks[:5], 0.15)


def test_a_rate_of_few_effective_samples_is_refused(ready: SearchPlan) -> None:
    samples = RateSamples(ready, np.array([0.5, 0.0, 0.0]), 100)
    points = samples.sample_points()
    failed = failing(points, 2.3)
    assert failed.any()
    with pytest.raises(UserError, match=r"effective sample size .* must be ≥ 30; the rate is at"):
        list(format_rate_lines(samples, points, failed))


@pytest.mark.parametrize(
    ("failures", "sentence"),
    [
        (0, "  no drive failed: 0 is no estimate; the rate is at most 0."),
        (20, "  every drive failed: the rate is at least 0."),
        (7, None),
    ],
)
def test_lines_of_a_rate_name_what_they_are_of(
    ready: SearchPlan, failures: int, sentence: str | None
) -> None:
    samples = RateSamples(ready, None, 20)
    (route,) = samples.routes
    failed = np.arange(20)[:, None] < failures
    rate, of_what, *rest = list(format_rate_lines(samples, samples.sample_points(), failed))
    assert rate.startswith(f"rate {failures / 20:.3f} (95 % ")
    assert of_what == (
        f"  of late on route {route}, with delay, speed, phase over the declared ranges"
    )
    # one route has no line of its own
    assert len(rest) == (sentence is not None)
    if sentence is not None:
        low, high = compute_rate_interval(samples, samples.sample_points(), failed)
        assert rest[0].startswith(sentence)
        assert float(rest[0].split()[-1]) == pytest.approx(low if failures else high, abs=5e-4)


def test_several_routes_have_a_line_for_every_route(ready: SearchPlan) -> None:
    (assignment,) = ready.assignments
    samples = RateSamples(replace(ready, assignments=(assignment, assignment)), None, 4)
    failed = np.array([[True, False], [True, True], [False, False], [True, False]])
    lines = list(format_rate_lines(samples, samples.sample_points(), failed))
    assert lines[0].startswith("rate 0.500 (95 % ")
    assert "late on 2 routes, each as often, with" in lines[1]
    name = samples.routes[0]
    assert lines[2:] == [
        f"  route {name}: 0.750, 3 of 4 drives failed",
        f"  route {name}: 0.250, 1 of 4 drives failed",
    ]


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.parametrize(
    ("command", "plan", "folder"),
    [
        ("search", "100 evaluations of late in Crucible05", "cut_in"),
        ("rate", "1 route, until the interval is narrow", "cut_in-rate"),
    ],
)
def test_a_dry_run_prints_the_plan_and_drives_nothing(
    command: str, plan: str, folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "cut_in"
    words = [command, "latency_cut_in", "dry_run=true", f"out={out}"]
    assert dispatch_subcommand(words) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert plan in printed
    assert str(tmp_path / folder) in printed.replace(" ", "")
    assert not list(tmp_path.iterdir())


class Late:
    """Drives in which long delays fail."""

    map_candidates = staticmethod(map)

    def evaluate_candidate(self, candidate: SearchCandidate) -> SearchOutcome:
        delay = float(candidate.values["delay"])
        failed = delay > 0.9
        outcome = "hit" if failed else "clean"
        return SearchOutcome(outcome=outcome, failed=failed, objectives={"delay": delay})


def test_drives_go_on_until_enough_samples_carry_the_rate(
    ready: SearchPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studies.search.driving.open_driver", lambda *_, **__: nullcontext(Late()))
    here = replace(ready, folder=tmp_path / "out")
    evenly = replace(here, folder=tmp_path / "evenly")
    plain = list(drive_rate_rounds(RateSamples(evenly, None, 300), width=1.0, every=10))
    assert plain[0].startswith("10 drives of late, ")
    assert plain[1] == "10 of at most 300 rounds: the interval is as narrow as --width 1"
    centre = np.array([1.5, 0.0, 0.0])
    carrying = list(drive_rate_rounds(RateSamples(here, centre, 300), width=1.0, every=10))
    attempts = int(carrying[0].split()[0])
    assert 30 < attempts < 300
    effective = float(carrying[2].split("failures ")[1].split(",")[0])
    assert 30 <= effective < 35


def squared(candidate: SearchCandidate) -> SearchOutcome:
    value = float(candidate.values["x"]) ** 2
    return SearchOutcome(
        outcome="hit" if value > 1 else "clean", failed=value > 1, objectives={"v": value}
    )


def asked(first: int, count: int) -> list[SearchCandidate]:
    """Return candidates of one finding, whose number all share."""
    return [SearchCandidate(7, {"x": at / 2}, 100 + at) for at in range(first, first + count)]


class Counting:
    """A mapper that counts what it evaluates."""

    def __init__(self) -> None:
        self.evaluated: list[int] = []

    def __call__(
        self, evaluate: Evaluate, candidates: Sequence[SearchCandidate]
    ) -> Iterator[SearchOutcome]:
        for candidate in candidates:
            self.evaluated.append(candidate.seed)
            yield evaluate(candidate)


def test_a_ledger_gives_back_its_rows_and_only_the_rest_is_evaluated(tmp_path: Path) -> None:
    header, first, again = make_ledger_header({"of": "x"}, {}), Counting(), Counting()
    with open_ledger(tmp_path, header) as ledger:
        recorded = RecordedMapper(ledger, first)
        outcomes = list(recorded(squared, asked(0, 3)))
        one = next(recorded(squared, asked(3, 5)))  # the rest is not asked for
    rows = read_ledger(ledger.file)[1]
    assert [row.outcome for row in rows] == [*outcomes, one]
    assert [row.candidate.number for row in rows] == [0, 1, 2, 3]
    with open_ledger(tmp_path, header) as ledger:
        recorded = RecordedMapper(ledger, again)
        assert list(recorded(squared, asked(0, 3))) == outcomes
        assert [next(recorded(squared, asked(3, 5)))] == [one]
        assert again.evaluated == []
        assert len(list(recorded(squared, asked(4, 2)))) == 2
    assert again.evaluated == [104, 105]


@pytest.mark.parametrize(
    "other", [SearchCandidate(7, {"x": 9.0}, 100), SearchCandidate(7, {"x": 0.0}, 5)]
)
def test_rows_of_other_values_or_seeds_are_refused(tmp_path: Path, other: SearchCandidate) -> None:
    header = make_ledger_header({"of": "x"}, {})
    with open_ledger(tmp_path, header) as ledger:
        list(RecordedMapper(ledger, Counting())(squared, asked(0, 1)))
    with (
        open_ledger(tmp_path, header) as ledger,
        pytest.raises(UserError, match="line 2: of other values or of another seed"),
    ):
        list(RecordedMapper(ledger, Counting())(squared, [other]))


def printed(table: object) -> list[list[str]]:
    text = Console(width=200)
    with text.capture() as captured:
        text.print(table)
    lines = captured.get().splitlines()
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if "│" in line]


def curve(system: str, sampler: str, seed: int, *at: int) -> SearchCurve:
    heights = np.zeros(8, np.int64)
    for evaluation in at:
        heights[evaluation:] += 1
    return SearchCurve(
        system=system,
        sampler=sampler,
        seed=seed,
        failures=4,
        distinct=3,
        repeated=3,
        confirmed=len(at),
        first=1,
        curve=heights,
    )


def test_guidances_are_compared_with_random_search() -> None:
    curves = [
        curve(system, sampler, seed, *at)
        for system in ("late", "fcooper")
        for seed in (1, 2, 3)
        for sampler, at in (("tpe", (0, 4)), ("random", (4, 6)))
    ]
    rows = {(row[0], row[1]): row[2:] for row in printed(render_guidances_table(curves))}
    assert rows["late", "tpe"] == [
        "3",
        "1.00",
        "1.00",
        "2.00",
        "1.50",
        "2.00 (no interval: 3 of 5 searches)",
    ]
    assert rows["late", "random"] == ["3", "0.00", "0.00", "2.00", "0.75", "-"]
    assert rows["all", "tpe"][-1] == "2.00 (2.00 to 2.00)"
    assert rows["all", "random"][0] == "6"


def test_a_figure_has_the_means_of_guidances() -> None:
    curves = [curve("late", "tpe", 1, 0, 4), curve("late", "tpe", 2, 4), curve("late", "random", 1)]
    places = list(iterate_mean_points(curves[:2]))
    height = {int(x): y for x, y, _, _ in places}
    assert height == {at: np.mean([one.curve[at - 1] for one in curves[:2]]) for at in height}
    assert max(height) == len(curves[0].curve)
    figure = render_svg_file(render_failure_curves("late", curves))
    assert "late: confirmed distinct failures" in figure
    assert all(f">{name}<" in figure for name in ("tpe", "random"))


def test_a_map_counts_what_lies_in_a_cell() -> None:
    axes = tuple(
        BehaviourAxis(name=name, unit="m", low=0.0, high=1.0, cells=cells)
        for name, cells in (("x", 3), ("y", 2), ("z", 4))
    )
    random = make_named_stream(1, "map")
    searches = []
    for _ in range(2):
        measures = [{axis.name: float(random.random()) for axis in axes} for _ in range(80)]
        failed = random.random(80) < 0.3
        searches.append((measures, failed, set(np.flatnonzero(failed)[:3].tolist())))
    archives = [
        build_failure_archive(
            axes,
            [
                SearchEvaluation(
                    SearchCandidate(number, {}, 0),
                    SearchOutcome(
                        outcome="collision" if bad else "clean",
                        failed=bool(bad),
                        objectives={"gap": 1.0},
                        measures=place,
                    ),
                )
                for number, (place, bad) in enumerate(zip(measures, failed, strict=True))
            ],
            objective="gap",
            confirmed=confirmed,
        )
        for measures, failed, confirmed in searches
    ]
    cells = count_cells(archives)
    for column, row in np.ndindex(3, 2):
        inside = [
            (number in confirmed, bool(failed[number]))
            for measures, failed, confirmed in searches
            for number, place in enumerate(measures)
            if int(3 * place["x"]) == column and int(2 * place["y"]) == row
        ]
        cell = cells.get((column, row), CellCounts())
        assert cell.evaluations == len(inside)
        assert cell.failures == sum(bad for _, bad in inside)
        assert cell.confirmed == sum(sure for sure, _ in inside)
    figure = render_svg_file(render_archive_map("late", {"tpe": archives, "random": archives[:1]}))
    assert all(f">{cell.failures} of {cell.evaluations}<" in figure for cell in cells.values())
    assert all(f">{words}<" in figure for words in ("tpe", "random", "x, m", "up: y, m"))


def test_the_table_of_a_search_counts_its_failures() -> None:
    def evaluation(
        number: int, x: float, failed: bool, kind: str = "collision"
    ) -> SearchEvaluation:
        outcome = SearchOutcome(
            outcome=kind if failed else "clean",
            failed=failed,
            objectives={"gap": 0.0 if failed else 3.5},
            measures={"x": x, "y": 0.0},
        )
        return SearchEvaluation(SearchCandidate(number, {"delay": x}, number), outcome)

    lost = SearchEvaluation(
        SearchCandidate(4, {"delay": 0.0}, 4), SearchOutcome(outcome="server_crash", failed=False)
    )
    evaluations = [
        evaluation(0, 0.1, False),
        evaluation(1, 0.1, True),
        evaluation(2, 0.15, True),
        evaluation(3, 0.1, True, "off_road"),
        lost,
    ]
    rows = dict(printed(render_search_summary(replace(SETTINGS, budget=5), evaluations)))
    assert rows == {
        "evaluations": "5",
        "without a result": "1",
        "failures": "3",
        "distinct failures": "2",
        "first failure": "evaluation 1: collision",
        "delay": "0.1 m",
        "best gap": "0",
    }
