"""The page on speed and latency shows what the packed drives give; a recount without Crucible."""

from __future__ import annotations

import csv
import itertools
import statistics
from collections import Counter

import pytest

from analysis.tables.markdown import format_markdown_table
from studies.speed.interaction import SCORE, correct_interactions, estimate_interaction
from studies.speed.markdown import build_page_tables, render_page_figures
from studies.speed.tables import SpeedStudy, pair_study, read_speed_drives
from tests.conftest import ROOT

DRIVES = ROOT / "studies" / "speed" / "packed" / "drives.csv"
PAGE = ROOT / "docs" / "study" / "speed.md"
SLOW = "/driver=speed_0.625"
DELAYS = (0.2, 0.4, 0.8)


@pytest.fixture(scope="module")
def study() -> SpeedStudy:
    return pair_study(read_speed_drives(DRIVES))


def read_rows() -> list[dict[str, str]]:
    """Return the packed drives as text."""
    with DRIVES.open(newline="") as opened:
        return list(csv.DictReader(opened))


def test_the_page_has_the_tables_and_figures_of_the_packed_drives(study: SpeedStudy) -> None:
    page = PAGE.read_text()
    for table in build_page_tables(study):
        assert format_markdown_table(table).strip() in page
    for name, svg in render_page_figures(study).items():
        assert f"images/{name}" in page
        assert (ROOT / "docs" / "images" / name).read_text() == svg


def test_the_study_is_whole() -> None:
    rows = read_rows()
    arms = Counter(row["arm"] for row in rows)
    assert len(arms) == 14
    assert set(arms.values()) == {28}
    assert len({(row["arm"], row["route"]) for row in rows}) == len(rows) == 392


@pytest.mark.parametrize("sweep", ["own_latency", "latency"])
def test_a_recount_gives_the_interaction_and_its_p(study: SpeedStudy, sweep: str) -> None:
    """All flips of the signs of routes, each of which is a way of its own, one after the other."""
    scores = {(row["arm"], row["route"]): float(row[SCORE]) for row in read_rows()}
    routes = sorted({route for _, route in scores})

    def lose(route: str, driver: str) -> float:
        on_time = scores[f"late/ahead/none{driver}", route]
        late = [scores[f"late/ahead/{sweep}={delay:g}{driver}", route] for delay in DELAYS]
        return on_time - statistics.fmean(late)

    more = [lose(route, "") - lose(route, SLOW) for route in routes]
    unequal = [value for value in more if abs(value) > 1e-9]
    flips = [
        abs(sum(sign * value for sign, value in zip(signs, unequal, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(unequal))
    ]
    p = statistics.fmean(flip >= abs(sum(unequal)) - 1e-9 for flip in flips)
    pairs = study.pairs["late", sweep][SCORE]
    one = estimate_interaction(pairs, SCORE)
    assert one.more.value == pytest.approx(statistics.fmean(more))
    assert one.p == pytest.approx(p)


def test_neither_interaction_is_shown(study: SpeedStudy) -> None:
    tested = correct_interactions(
        [estimate_interaction(of[SCORE], SCORE) for of in study.pairs.values()]
    )
    assert [one.verdict for one in tested] == ["undecided", "undecided"]


def test_no_drive_at_the_lower_speed_has_a_violation() -> None:
    violated = [row["arm"] for row in read_rows() if row["violated"] == "True"]
    assert len(violated) == 29
    assert not any(arm.endswith(SLOW) for arm in violated)
