"""A table for terminals that never breaks a number or a word.

Rich shrinks columns until a table fits, and folds "largest" to "larges t" on the way. Here a table
that is too wide becomes several tables, which repeat the first columns, or records: one line for
each value, "name: value". Before it becomes records, names that all rows share are printed once
above the tables. Names may wrap between words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

MOST_TABLES = 4
"""Tables that one may become; what needs more of them is easier to read as records."""
UNLIMITED = 10_000
"""Columns of a terminal in which nothing wraps."""
ROOMS_FOR_NAMES = (24, 12, 0)
"""Columns that a name has before it wraps: the widest is tried first. A word is never broken."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnSize:
    """Widths of a column without the space round cells.

    Attributes:
        word: of what is never broken: a number with its interval, or a word.
        line: of the longest line.
        whole: of the longest line or the header.
    """

    word: int
    line: int
    whole: int

    def get_least(self, room: int) -> int:
        """Return the least width if a name has some room before it wraps."""
        return max(self.word, min(self.line, room))


class FittingTable(Table):
    """Rich's table, of which nothing is broken: it is cut between columns.

    Columns to the left of the first right-aligned one name the row and are repeated. Where no
    column is right-aligned, the first one names the row.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, the tables, or the records that fit the width."""
        parts = self._split_to_width(console, options)
        if not parts and (shared := self._list_shared_columns()):
            # what all rows are named by alike is printed once, above tables that then fit
            rest = [index for index in range(len(self.columns)) if index not in shared]
            parts = self._copy_with(rest)._split_to_width(console, options)
            if parts:
                yield from self._render_shared_cells(console, shared)
        if not parts:
            yield from self._render_records(console)
        for part in parts:
            # title above the first part, caption below the last one
            part.title = self.title if part is parts[0] else None
            part.caption = self.caption if part is parts[-1] else None
            yield from Table.__rich_console__(part, console, options)

    def _list_shared_columns(self) -> list[int]:
        """Return the columns that name rows and say the same in all of several rows.

        One of the columns that name a row always stays.
        """
        count = count_naming_columns(self.columns)
        cells = [list(column.cells) for column in self.columns[:count]]
        # cells that are coloured texts have no hash
        shared = [
            index
            for index, one in enumerate(cells)
            if len(one) > 1 and all(cell == one[0] for cell in one)
        ]
        return shared if len(shared) < count else shared[:-1]

    def _copy_with(self, columns: Sequence[int]) -> FittingTable:
        """Return the table with some of its columns."""
        part = copy(self)
        part.columns = []
        for number, index in enumerate(columns):
            column = copy(self.columns[index])
            column._index = number
            part.columns.append(column)
        return part

    def _render_shared_cells(self, console: Console, columns: Sequence[int]) -> Iterator[Text]:
        """Yield a line for each column that says the same in all rows."""
        for index in columns:
            column = self.columns[index]
            yield render_record_line(console, column, next(iter(column.cells)))

    def _split_to_width(self, console: Console, options: ConsoleOptions) -> list[FittingTable]:
        """Return as few tables as fit the width; none if they would be too many."""
        sizes = [measure_column(console, options, column) for column in self.columns]
        count = count_naming_columns(self.columns)
        ways = []
        for room in ROOMS_FOR_NAMES:
            groups = self._group_columns(sizes, count, options.max_width, room)
            tables = [[*range(min(count, len(sizes))), *group] for group in groups]
            left = [self._count_left(sizes, one, options.max_width, room) for one in tables]
            if len(tables) <= MOST_TABLES and min(left) >= 0:
                parts = zip(tables, left, strict=True)
                ways.append([self._select_columns(sizes, one, room, more) for one, more in parts])
        return min(ways, key=len, default=[])

    def _group_columns(
        self, sizes: Sequence[ColumnSize], count: int, width: int, room: int
    ) -> list[list[int]]:
        """Return the columns of each table that follow those which name a row."""
        naming = list(range(count))
        groups: list[list[int]] = [[]]
        for index in range(count, len(sizes)):
            together = [*naming, *groups[-1], index]
            if groups[-1] and self._count_left(sizes, together, width, room) < 0:
                groups.append([])
            groups[-1].append(index)
        return groups

    def _count_left(
        self, sizes: Sequence[ColumnSize], columns: Sequence[int], width: int, room: int
    ) -> int:
        """Return what columns leave of a width; less than nothing if they do not fit."""
        needed = sum(sizes[index].get_least(room) for index in columns)
        return width - needed - self.measure_frame_width(len(columns))

    def measure_frame_width(self, columns: int) -> int:
        """Return what lines and spaces round cells take.

        Args:
            columns: of the table.
        """
        spaces = columns * (self.padding[3] + self.padding[1])
        edges = 2 if self.box and self.show_edge else 0
        return spaces + edges + (columns - 1 if self.box else 0)

    def _select_columns(
        self, sizes: Sequence[ColumnSize], columns: Sequence[int], room: int, more: int
    ) -> FittingTable:
        """Return a table of some columns; those that would wrap get what is left of the width."""
        part = self._copy_with(columns)
        for column, index in zip(part.columns, columns, strict=True):
            size = sizes[index]
            column.overflow = "fold"
            # a name that may not wrap would be cut
            column.no_wrap = False
            column.width = min(size.whole, size.get_least(room) + more)
            more -= column.width - size.get_least(room)
        return part

    def _render_records(self, console: Console) -> Iterator[Text]:
        """Yield a paragraph for each row, a line for each of its values."""
        if self.title:
            yield render_cell(console, self.title)
        cells = [list(column.cells) for column in self.columns]
        for row in zip(*cells, strict=True):
            yield Text()
            for column, cell in zip(self.columns, row, strict=True):
                yield render_record_line(console, column, cell)
        if self.caption:
            yield Text()
            yield render_cell(console, self.caption)


def render_record_line(console: Console, column: Column, cell: object) -> Text:
    """Return one value of a record: "name: value".

    Args:
        console: where it is printed.
        column: of the value.
        cell: the value.
    """
    name = render_cell(console, column.header).plain
    line = Text(f"{name}: " if name else "", no_wrap=False, overflow="fold")
    return line.append_text(render_cell(console, cell))


def count_naming_columns(columns: Sequence[Column]) -> int:
    """Return how many columns name a row: those before the first number, or one."""
    numbers = [index for index, column in enumerate(columns) if column.justify == "right"]
    return max(numbers[0], 1) if numbers else 1


def measure_column(console: Console, options: ConsoleOptions, column: Column) -> ColumnSize:
    """Return the widths of a column: of numbers if it is right-aligned, of names otherwise.

    Args:
        console: where it is printed.
        options: of that console.
        column: with its cells.
    """
    wide = options.update(width=UNLIMITED)
    header = Measurement.get(console, wide, column.header)
    cells = [Measurement.get(console, wide, cell) for cell in column.cells]
    longest_line = max([header.minimum, *(cell.maximum for cell in cells)])
    longest_word = max([header.minimum, *(cell.minimum for cell in cells)])
    return ColumnSize(
        word=longest_line if column.justify == "right" else longest_word,
        line=longest_line,
        whole=max(header.maximum, longest_line),
    )


def render_cell(console: Console, cell: object) -> Text:
    """Return a cell on one line."""
    text = cell if isinstance(cell, Text) else console.render_str(str(cell), highlight=False)
    return Text(" ").join(text.split("\n"))
