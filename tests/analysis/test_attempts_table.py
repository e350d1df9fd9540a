"""The table of all attempts in a real browser: sorted, filtered, printed; without its script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from analysis.__main__ import main
from tests.analysis.little import write_little
from tests.analysis.tab import Tab, new_tab

pytestmark = pytest.mark.thorough

TABLE = "table.filtered"
TEXTS = """
[...document.querySelectorAll('table.filtered tbody tr')].filter(row => !row.hidden)
  .map(row => [...row.cells].map(cell => cell.textContent))
"""
OPEN = "document.querySelectorAll('details').forEach(fold => { fold.open = true; })"
HEADS = "[...document.querySelectorAll('table.filtered th')].map(head => head.textContent)"
WAY = "document.querySelectorAll('table.filtered th')[{}].getAttribute('aria-sort')"
HOSTILE = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with new_tab() as opened:
        yield opened


@pytest.fixture
def opened(tab: Tab, out: Path) -> Tab:
    tab.open(out / "report.html", width=1600)
    tab.value(OPEN)
    return tab


def column(tab: Tab, name: str) -> list[str]:
    """Return what is seen of a column."""
    at = tab.value(HEADS).index(name)
    return [row[at] for row in tab.value(TEXTS)]


def head(tab: Tab, name: str) -> str:
    """Return the button in the head of a column."""
    at = tab.value(HEADS).index(name)
    return f"{TABLE} th:nth-child({at + 1}) button"


def counted(tab: Tab) -> str:
    """Return how many rows are said to be seen."""
    return str(tab.value("document.querySelector('.controls output').textContent"))


def control(name: str) -> str:
    """Return the list of choices with a name."""
    names = "[...document.querySelectorAll('.controls label')]"
    return f"{names}.findIndex(label => label.textContent.startsWith('{name}'))"


def test_it_holds_the_attempts(opened: Tab, out: Path) -> None:
    table = pd.read_csv(out / "attempts.csv")
    rows = opened.value(TEXTS)
    assert len(rows) == len(table) == 48
    assert column(opened, "route") == list(map(str, table["route"]))
    assert column(opened, "driving score") == [f"{x:.1f}" for x in table["driving_score"]]
    assert column(opened, "CADE") == [f"{count:.0f}" for count in table["CADE_total"]]
    assert counted(opened) == "48 of 48 rows"
    assert not opened.problems


def test_a_click_on_a_head_sorts(opened: Tab) -> None:
    before = column(opened, "driving score")
    at = opened.value(HEADS).index("driving score")
    button = head(opened, "driving score")
    opened.click(button)
    assert opened.value(WAY.format(at)) == "ascending"
    assert column(opened, "driving score") == sorted(before, key=float)
    opened.click(button)
    assert opened.value(WAY.format(at)) == "descending"
    assert column(opened, "driving score") == sorted(before, key=float, reverse=True)
    opened.click(head(opened, "violation"))
    assert opened.value(WAY.format(at)) is None
    kinds = column(opened, "violation")
    assert kinds == sorted(kinds, key=lambda kind: (kind == "none", kind))
    opened.click(button)
    opened.click(button)
    opened.click(button)
    assert column(opened, "driving score") == before
    assert not opened.problems


def test_keys_sort_too(opened: Tab) -> None:
    opened.value(f"document.querySelector({head(opened, 'seed')!r}).focus()")
    opened.press("Enter")
    assert column(opened, "seed") == ["1"] * 24 + ["2"] * 24
    opened.press("Tab")
    assert opened.value("document.activeElement.textContent") == "violation"


def test_words_and_choices_filter(opened: Tab) -> None:
    opened.click(".controls input")
    opened.write("LATE collision")
    rows = opened.value(TEXTS)
    assert rows
    assert all("late" in row[0] and "collision" in " ".join(row) for row in rows)
    assert counted(opened) == f"{len(rows)} of 48 rows"
    opened.click(".controls button")
    assert len(opened.value(TEXTS)) == 48
    place = opened.value(control("condition"))
    opened.choose(f".controls label:nth-child({place + 1}) select", "latency")
    assert column(opened, "condition") == ["latency"] * 12
    opened.click(head(opened, "AP"))
    assert counted(opened) == "12 of 48 rows"
    precisions = list(map(float, column(opened, "AP")))
    assert precisions == sorted(precisions)
    assert not opened.problems


def test_a_violation_leads_to_its_place_on_the_page(opened: Tab) -> None:
    link = f"{TABLE} tbody a"
    wanted = opened.value(f"document.querySelector('{link}').hash")
    opened.click(link)
    opened.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert opened.value("location.hash") == wanted
    assert opened.value("document.querySelector(location.hash).getClientRects().length") > 0


def test_other_tables_sort_and_keep_their_intervals(opened: Tab) -> None:
    place = "#driving table"
    opened.click(f"{place} th:nth-child(4) button")
    cells = f"[...document.querySelectorAll('{place} tbody tr')].map(row => row.cells[3])"
    first = opened.value(f"{cells}.map(cell => parseFloat(cell.textContent))")
    assert first == sorted(first)
    assert len(opened.value(f"{cells}.filter(cell => cell.querySelector('small'))")) == len(first)


@pytest.mark.parametrize("width", [380, 1600])
def test_narrow_screens_sort_by_a_list(tab: Tab, out: Path, width: int) -> None:
    tab.open(out / "report.html", width=width)
    shown = tab.value("document.querySelector('.controls .narrow').getClientRects().length > 0")
    assert shown == (width < 860)
    tab.choose(".controls .narrow select", f"{tab.value(HEADS).index('AP')} descending")
    precisions = list(map(float, column(tab, "AP")))
    assert precisions == sorted(precisions, reverse=True)
    assert tab.value("document.scrollingElement.scrollWidth") == width


def test_without_its_script_it_is_a_plain_table(tab: Tab, out: Path, tmp_path: Path) -> None:
    """A changed script does not run: the policy has the digest of the one that was written."""
    text = (out / "report.html").read_text().replace("'use strict';", "'use strict'; alert(1);")
    (tmp_path / "page.html").write_text(text)
    with new_tab() as other:
        other.open(tmp_path / "page.html")
        assert len(other.value(TEXTS)) == 48
        assert other.value("document.querySelectorAll('.controls, th button').length") == 0
        assert len(other.problems) == 1
        assert "Content Security Policy" in other.problems[0]


def test_hostile_names_are_text(tab: Tab, tmp_path: Path) -> None:
    folder = write_little(tmp_path / "c", [("late", "none"), (HOSTILE, "latency")], ["0"], [1])
    assert main(["report", str(folder), "--results-only"]) == 0
    tab.problems.clear()
    tab.open(folder / "report" / "report.html", width=1600)
    assert sorted(column(tab, "system")) == sorted(["late", HOSTILE])
    options = tab.value("[...document.querySelectorAll('.controls option')].map(one => one.text)")
    assert HOSTILE in options
    tab.click(head(tab, "system"))
    tab.choose(".controls label:nth-child(2) select", HOSTILE)
    assert column(tab, "system") == [HOSTILE]
    assert tab.value("document.querySelectorAll('script, img').length") == 1
    assert not tab.problems


def test_the_filtered_rows_are_printed_and_no_controls(opened: Tab) -> None:
    opened.click(".controls input")
    opened.write("early 5")
    kept = len(opened.value(TEXTS))
    opened.call("Emulation.setEmulatedMedia", media="print")
    seen = (
        "[...document.querySelectorAll('{}')].filter(part => part.getClientRects().length).length"
    )
    assert opened.value(seen.format(f"{TABLE} tbody tr")) == kept > 0
    assert opened.value(seen.format(".controls label, .controls button")) == 0
    assert opened.value(seen.format(".controls output")) == 1
    style = "getComputedStyle(document.querySelector('.scroll')).maxHeight"
    assert opened.value(style) == "none"
    opened.call("Emulation.setEmulatedMedia", media="")
