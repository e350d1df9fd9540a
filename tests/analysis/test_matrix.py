"""All pairs of many systems: the page shows every number that its tables hold."""

from __future__ import annotations

import math
import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from analysis.__main__ import main
from analysis.contrasts import DISTURBED
from analysis.drawing.svg import render_inline_svg
from analysis.figures.matrix import render_matrix_figure
from analysis.report.evidence import render_figure
from analysis.report.html_tables import MOST_ROWS, render_differences_table
from tests.analysis.little import write_little
from tests.analysis.page import Page

SYSTEMS = ("single", "late", "early", "fcooper", "v2xvit", "disconet")
ARMS = [(system, condition) for system in SYSTEMS for condition in ("none", "latency")]
NUMBER = re.compile(r"[+-]\d+\.\d")


def read_cells(svg: str) -> list[tuple[str, bool]]:
    """Return the numbers of a matrix, row by row, and whether each is bold."""
    texts = [item for item in ElementTree.fromstring(svg).iter() if item.tag.endswith("text")]
    return [
        (str(item.text), item.get("font-weight") == "600")
        for item in texts
        if NUMBER.fullmatch(str(item.text))
    ]


def make_rows(values: list[float], clear: list[bool]) -> pd.DataFrame:
    pairs = combinations(SYSTEMS, 2)
    return pd.DataFrame(
        [
            {"arm_a": f"{a}/none/none", "arm_b": f"{b}/none/none", "difference": value, "clear": of}
            for (a, b), value, of in zip(pairs, values, clear, strict=True)
        ]
    )


def test_a_matrix_has_all_pairs_twice_with_both_signs() -> None:
    values = [float(number) for number in range(1, 16)]
    clear = [number % 3 == 0 for number in range(1, 16)]
    canvas = render_matrix_figure(make_rows(values, clear), "score", higher_is_better=True)
    cells = read_cells(render_inline_svg(canvas))
    assert len(cells) == 30
    for value, of in zip(values, clear, strict=True):
        assert (f"{value:+.1f}", of) in cells
        assert (f"{-value:+.1f}", of) in cells


def test_a_difference_of_nothing_has_no_minus() -> None:
    canvas = render_matrix_figure(make_rows([-0.01] * 15, [False] * 15), "x", higher_is_better=True)
    assert {text for text, _ in read_cells(render_inline_svg(canvas))} == {"+0.0"}


@pytest.mark.parametrize(("systems", "broad"), [(6, False), (12, True)])
def test_a_matrix_of_many_systems_has_a_whole_row(systems: int, broad: bool) -> None:
    """In half of the page the numbers of twelve systems would be 7 pixels high."""
    pairs = combinations([f"system_{number}" for number in range(systems)], 2)
    rows = pd.DataFrame(
        [{"arm_a": a, "arm_b": b, "difference": 1.0, "clear": False} for a, b in pairs]
    )
    canvas = render_matrix_figure(rows, "score", higher_is_better=True)
    assert ('<figure class="broad">' in render_figure(canvas, "score")) == broad


@pytest.mark.parametrize("count", [MOST_ROWS, MOST_ROWS + 1, MOST_ROWS + 60])
def test_a_table_of_many_differences_has_every_test_and_counts_the_rest(count: int) -> None:
    """Rows of tests come last in the table that is given, and are all on the page."""
    tested = [number >= count - 50 for number in range(count)]
    rows = pd.DataFrame(
        {
            "arm_b": [f"b{number}" for number in range(count)],
            "arm_a": "a",
            "measure": ["driving score" if of else "RCR, %" for of in tested],
            "a": 1.0,
            "b": 2.0,
            "difference": 1.0,
            "low": 0.5,
            "high": 1.5,
            "clear": False,
            "p": 0.5,
            "p page": [1.0 if of else math.nan for of in tested],
            "pairs": 3,
            "routes": 3,
        }
    )
    page = Page(render_differences_table(rows))
    (table,) = [cells for of in page.tables.values() for cells in [of[1:]]]
    named = [row[0].strip() for row in table]
    assert len(set(named)) == len(named) == min(count, MOST_ROWS)
    assert {f"b{number}" for number in range(count) if tested[number]} <= set(named)
    left = count - len(named)
    counted = {0: "", 1: "1 more row is in", 60: "60 more rows are in"}[left]
    assert ("more row" in page.words) == bool(left)
    assert counted in page.words


@pytest.mark.thorough
def test_a_page_shows_what_its_tables_hold(tmp_path: Path) -> None:
    folder = write_little(tmp_path / "c", ARMS, ["0", "1", "2", "3"], [1])
    out = tmp_path / "out"
    assert main(["report", str(folder), "--results-only", "--out", str(out)]) == 0
    text = (out / "report.html").read_text()
    table = pd.read_csv(out / "differences.csv")
    for measure, label in (("driving score", "Driving score"), ("violations, %", "Violations")):
        for condition in ("none", "latency"):
            rows = table[
                (table["measure"] == measure) & (table["family"] == f"systems under {condition}")
            ]
            assert len(rows) == 15
            # the figure behind its caption
            caption = f"<b>{label}, systems under {condition}</b>"
            behind = text[text.index(caption) :]
            svg = behind[behind.index("<svg") : behind.index("</svg>") + len("</svg>")]
            held = [
                f"{sign * (round(value, 1) + 0.0) + 0.0:+.1f}"
                for value in rows["difference"]
                for sign in (1, -1)
            ]
            assert sorted(number for number, _ in read_cells(svg)) == sorted(held)
            significant = int(rows["clear"].sum())
            assert f"{significant} of 15 significant" in behind[:400]
            assert sum(bold for _, bold in read_cells(svg)) == 2 * significant
    # disturbed against undisturbed: all are listed
    listed = table[(table["measure"] == "driving score") & (table["family"] == DISTURBED)]
    assert len(listed) >= 5
