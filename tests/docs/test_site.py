"""The documentation: every link and anchor, nothing from a network, and pages made from code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.analysis.tab import new_tab

from .reference import ROOT, commands_page, pages, settings_page

LOADED = re.compile(
    r"<(?:script|img|iframe)[^>]*\ssrc=[\"']?https?:|<link[^>]*stylesheet[^>]*https?:"
)

CODE_BLOCK = re.compile(r"<pre\b.*?</pre>", re.S)
CUT_TABLE = re.compile(r"<p>\s*\|[^<]*(?:<code>|\|)")
"""A paragraph that begins as a row of a table does: a blank line has cut the table."""

RESTARTED = re.compile(r"</ol>\s*<div class=.?highlight\b(?:(?!</div>).)*</div>\s*<ol>", re.S)
"""A list that begins again at 1 after a block of code, for want of an indent."""
LOST_ITEM = re.compile(r"\n\s*- <(?:strong|code)>")
"""An item of a list that became a part of the paragraph before it, for want of a blank line."""

NUMBERED = re.compile(r"\s*(\d+)\. ")
"""An item of a numbered list."""

CUT_COLUMNS = (
    "Math.max(0, ...[...document.querySelectorAll('.md-typeset__scrollwrap')]"
    ".map(item => item.scrollWidth - item.clientWidth - 1))"
)
"""Pixels of the widest table that are behind the edge."""

LONGEST_CODE_LINE = 126
"""Letters of a block of code that are seen at 1400 pixels."""

LINES_OF_NUMBERS = """
[...document.querySelectorAll('.md-content :is(p, li, td)')].flatMap(part => {
  const found = [], walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    for (const match of node.data.matchAll(/[0-9.]+\\s%/g)) {
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      found.push(new Set([...range.getClientRects()].map(box => Math.round(box.top))).size);
    }
  }
  return found;
})
"""
"""Lines over which each number and its sign of per cent go, see docs/javascripts/whole-words.js."""

LINES_OF_WORDS = (
    "[...document.querySelectorAll('.md-content code .whole')]"
    ".map(item => item.getClientRects().length)"
)
"""Lines over which each word of code goes, see docs/javascripts/whole-words.js."""


def build(site: Path, *, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    """Build the site strictly, as `make docs` does."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", site],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    built = build(folder)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.thorough
def test_tables_of_studies_fit_a_wide_window(site: Path) -> None:
    """At 1400 pixels no column is behind the edge of the page."""
    pages_of_studies = sorted((site / "study").glob("*.html"))
    assert len(pages_of_studies) > 10
    with new_tab() as tab:
        for page in pages_of_studies:
            tab.open(page, width=1400)
            assert tab.value(CUT_COLUMNS) == 0, page.name


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1400, 390])
def test_a_number_stays_with_its_unit(site: Path, width: int) -> None:
    with new_tab() as tab:
        tab.open(site / "how-to" / "causes.html", width=width)
        lines_of_numbers = tab.value(LINES_OF_NUMBERS)
        assert len(lines_of_numbers) > 20
        assert set(lines_of_numbers) == {1}


def test_lines_of_code_are_seen_whole_at_1400_pixels() -> None:
    """Protocols keep every byte: their digests make towns."""
    cut = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if not page.name.endswith("-protocol.md")
        for block in re.findall(r"^ *```.*?^ *```", page.read_text("utf-8"), re.M | re.S)
        for line in block.splitlines()
        if len(line) > LONGEST_CODE_LINE
    ]
    assert not cut


@pytest.mark.thorough
def test_words_of_code_stay_whole_on_a_phone(site: Path) -> None:
    """No option is broken after its hyphens; a name too long for a cell is, and its text stays."""
    long_name = "kind=occluded_pedestrian+occluded_cyclist,crossing_vehicle+red_light_runner"
    with new_tab() as tab:
        tab.open(site / "how-to" / "critical.html", width=390)
        lines_of_words = tab.value(LINES_OF_WORDS)
        assert len(lines_of_words) > 50
        assert set(lines_of_words) == {1}
        names = tab.value("[...document.querySelectorAll('td code')].map(item => item.textContent)")
        assert long_name in names
        assert tab.value(CUT_COLUMNS) == 0


@pytest.mark.thorough
def test_the_site_is_built_strictly_and_loads_nothing_from_elsewhere(site: Path) -> None:
    notebook = (site / "tutorials" / "notebook.html").read_text(encoding="utf-8")
    figures = re.findall(r"src=\"?(notebook-[\w.]+)", notebook)
    assert figures
    for figure in figures:
        assert (site / "tutorials" / figure).stat().st_size > 1000
    written = list(site.rglob("*.html"))
    assert len(written) > 30
    for page in written:
        html = page.read_text(encoding="utf-8")
        assert not LOADED.search(html), page
        assert not RESTARTED.search(html), page
        assert not LOST_ITEM.search(CODE_BLOCK.sub("", html)), page
        assert not CUT_TABLE.search(html), f"{page.name}: rows that belong to no table"


@pytest.mark.thorough
@pytest.mark.parametrize("link", ["nowhere.md", "index.md#nowhere"])
def test_a_broken_link_or_anchor_fails(tmp_path: Path, link: str) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text(f"# Page\n\n[broken]({link})\n", encoding="utf-8")
    config = tmp_path / "mkdocs.yml"
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    config.write_text(text.partition("nav:\n  - index.md")[0], encoding="utf-8")
    built = build(tmp_path / "site", config=config)
    assert built.returncode == 1
    assert link in built.stderr


def test_pages_made_from_code_are_up_to_date() -> None:
    for path, page in pages().items():
        assert path.read_bytes() == page, f"{path.name}: run `python -m tests.docs.reference`"


def test_commands_and_their_subcommands_are_listed() -> None:
    page = commands_page()
    assert "\n### crucible report\n" in page
    assert "\n#### crucible routes generate\n" in page
    assert "[--results-only]" in page


def test_settings_come_with_value_and_unit_and_what_else_a_class_accepts() -> None:
    page = settings_page()
    assert "| `attempt_timeout` | `600.0` | s of wall-clock per try |" in page
    assert "| `ahead.roadside.renew_seconds` | `5.0` |" in page
    assert "| `ahead.roadside.distance` | `${rig.roadside_distance}` | m ahead of the ego |" in page
    assert "| `+following_distance` | `2.5` | m; null: the Traffic Manager's default |" in page
    assert "| `latency_and_pose_error.yaw_high` | `0.6` | degrees |" in page


def test_relative_links_of_pages_outside_the_site_lead_somewhere() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        if page.exists():
            for link in re.findall(
                r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")
            ):
                assert (ROOT / link).exists(), f"{page.name}: {link}"


def test_no_line_begins_with_a_number_that_becomes_an_item_of_a_list() -> None:
    """`35 of\\n70. So ...` is a new item, and all that follow have other numbers."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        last, is_code = 0, False
        for line in page.read_text(encoding="utf-8").splitlines():
            is_code ^= line.strip().startswith("```")
            item = None if is_code else NUMBERED.match(line)
            if item is not None:
                assert int(item[1]) in {1, last + 1}, f"{page.name}: {line}"
                last = int(item[1])
