"""The report in a real browser: on a wide screen, on a phone, in the dark, on paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.drawing.palette import COLOURS
from tests.analysis.browser import DARK, Seen, browse, look
from tests.conftest import ROOT

pytestmark = pytest.mark.thorough


@pytest.fixture
def report(out: Path) -> Path:
    return out / "report.html"


def rgb(name: str, dark: bool) -> str:
    """Return a colour as browsers report it."""
    code = COLOURS[name][dark].removeprefix("#")
    return f"rgb({', '.join(str(int(code[at : at + 2], 16)) for at in (0, 2, 4))})"


def holds(seen: Seen, width: int, dark: bool) -> None:
    assert not seen.console
    assert seen.layout["inner"] == width
    assert seen.layout["width"] == width
    assert not seen.layout["wide"]
    assert seen.layout["drawings"] > 20
    assert not seen.layout["flat"]
    assert not seen.layout["lost"]
    assert seen.layout["smallest"] >= 12
    assert not seen.layout["cramped"]
    assert not seen.layout["unsaid"]
    assert seen.layout["ground"] == rgb("paper", dark)
    assert seen.layout["ink"] == rgb("ink", dark)


@pytest.mark.parametrize(
    ("width", "dark"),
    [(1200, False), (768, False), (380, False), (380, True)],
    ids=["wide", "tablet", "phone", "dark"],
)
def test_the_report_fits(report: Path, tmp_path: Path, width: int, dark: bool) -> None:
    holds(look(report, width, tmp_path, *([DARK] if dark else [])), width, dark)


def test_no_head_of_a_table_stands_beyond_its_edge(tmp_path: Path) -> None:
    """In the example report, whose tables have up to 18 columns, at the width of a laptop."""
    seen = look(ROOT / "docs" / "example-report" / "report.html", 1400, tmp_path)
    assert not seen.layout["wide"]
    assert not seen.layout["cut"]


@pytest.mark.parametrize(("width", "scrolls"), [(390, True), (606, True), (608, False)])
def test_figures_that_are_wider_than_a_phone_have_a_note(
    tmp_path: Path, width: int, scrolls: bool
) -> None:
    """The matrices of the example report's twelve systems."""
    seen = look(ROOT / "docs" / "example-report" / "report.html", width, tmp_path)
    assert (seen.layout["sideways"] >= 2) == scrolls
    assert not seen.layout["unsaid"]


def test_a_broken_page_is_noticed(report: Path, tmp_path: Path) -> None:
    """What the tests here stand on: too wide, a lost link, and a script that fails."""
    text = report.read_text().replace(
        "</main>",
        '<div style="width:900px">wide</div><a href="#nowhere">?</a>'
        "<script>nothing.there()</script></main>",
    )
    (tmp_path / "broken.html").write_text(text)
    seen = look(tmp_path / "broken.html", 380, tmp_path)
    assert seen.console
    assert seen.layout["width"] > 380
    assert seen.layout["wide"]
    assert seen.layout["lost"] == ["#nowhere"]


def test_the_report_can_be_printed(report: Path, tmp_path: Path) -> None:
    paper = tmp_path / "report.pdf"
    browse(report, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    assert paper.read_bytes().startswith(b"%PDF")
    assert paper.stat().st_size > 50_000
