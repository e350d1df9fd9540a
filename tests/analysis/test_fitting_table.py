"""Tables on terminals of any width: no number and no word is broken, nothing is left out."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich import box
from rich.console import Console

from harness.common.fitting_table import FittingTable
from tests.screens import split_words

words = st.text("abcxyz0123456789./%", min_size=1, max_size=12)
phrases = st.lists(words, min_size=1, max_size=4).map(" ".join)


@st.composite
def tables(sample: st.DrawFn) -> tuple[list[str], int, list[list[str]]]:
    """Headers, how many of them are names, and rows."""
    count = sample(st.integers(1, 9))
    heads = sample(st.lists(phrases, min_size=count, max_size=count))
    rows = st.lists(st.lists(phrases, min_size=count, max_size=count), min_size=1, max_size=4)
    return heads, sample(st.integers(0, count)), sample(rows)


def build_table(heads: list[str], names: int, rows: list[list[str]]) -> FittingTable:
    table = FittingTable(box=box.SIMPLE_HEAD)
    for number, head in enumerate(heads):
        table.add_column(head, justify="left" if number < names else "right")
    for row in rows:
        table.add_row(*row)
    return table


def print_at(width: int, table: FittingTable) -> str:
    out = io.StringIO()
    Console(width=width, file=out, markup=False, emoji=False).print(table)
    return out.getvalue()


@given(tables(), st.integers(14, 140))
def test_all_words_are_whole(table: tuple[list[str], int, list[list[str]]], width: int) -> None:
    heads, names, rows = table
    held = split_words(" ".join([*heads, *(cell for row in rows for cell in row)]))
    assert split_words(print_at(width, build_table(heads, names, rows))) == held


@given(tables(), st.integers(14, 140))
def test_all_words_are_whole_in_columns_that_do_not_wrap(
    table: tuple[list[str], int, list[list[str]]], width: int
) -> None:
    heads, names, rows = table
    made = build_table(heads, names, rows)
    for column in made.columns:
        column.no_wrap = True
    held = split_words(" ".join([*heads, *(cell for row in rows for cell in row)]))
    assert split_words(print_at(width, made)) == held


@given(tables(), st.integers(14, 140))
def test_no_line_is_wider_than_the_terminal(
    table: tuple[list[str], int, list[list[str]]], width: int
) -> None:
    shown = print_at(width, build_table(*table))
    assert max(map(len, shown.splitlines())) <= width


@given(tables())
def test_numbers_stay_on_their_line(table: tuple[list[str], int, list[list[str]]]) -> None:
    """A right-aligned cell of several words is on one line of a table, or of a record."""
    heads, names, rows = table
    lines = print_at(110, build_table(heads, names, rows)).splitlines()
    for row in rows:
        for cell in row[names:]:
            assert any(cell in line for line in lines)


def test_what_does_not_fit_becomes_a_second_table() -> None:
    heads = ["system", "driving score", "collisions", "largest encroachment", "n"]
    table = build_table(heads, 1, [["late", "81.5", "17", "0.5555", "30"]])
    whole, parts = print_at(80, table), print_at(36, table)
    assert whole.count("late") == 1
    assert parts.count("late") == 2
    assert parts.count("driving") == parts.count("encroachment") == 1


def test_what_fits_no_table_becomes_records() -> None:
    table = build_table(["system", "largest encroachment"], 1, [["late", "0.5555"]])
    table.title = "what happened"
    assert print_at(16, table).split("\n") == [
        "what happened", "", "system: late", "largest ", "encroachment: ", "0.5555", "",
    ]  # fmt: skip


def test_names_that_all_rows_share_are_printed_once_before_records_are() -> None:
    """As `crucible radio` has it: five columns name a row, and all rows have the same system."""
    heads = ["system", "condition", "link", "format", "partner", "received, %", "queue, ms"]
    rows = [
        ["ideal_late", "none", "nr_v2x_radio", "native", kind, f"{number}.0", f"{number}.5"]
        for number, kind in enumerate(("vehicle", "roadside"))
    ]
    shown = print_at(48, build_table(heads, 5, rows))
    assert shown.count("ideal_late") == 1
    assert shown.splitlines()[0] == "system: ideal_late"
    assert [line.split()[0] for line in shown.splitlines() if "1.0" in line] == ["roadside"]
    # rows that share nothing stay records
    rows[1][:4] = ["late", "latency", "nr_v2x_queue", "cpm"]
    assert "system: late" in print_at(48, build_table(heads, 5, rows))


def test_rows_that_share_all_names_keep_one_of_them() -> None:
    heads = ["system", "condition", "a", "b", "c", "d", "e"]
    rows = [["ideal_late", "latency", *"12345"]] * 2
    shown = print_at(18, build_table(heads, 2, rows))
    assert split_words(shown) == {*heads, "ideal_late", "latency", *"12345"}
