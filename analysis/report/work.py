"""What parts of a report take, for the estimate of the time that is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.common.progress_bar import EstimatedBar

UNIT = 0.015
"""Seconds of a core of 2023 for a unit of work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPart:
    """A part of a report, and its units of work.

    Attributes:
        name: beginning of the stage's name.
        items: attempts that are looked at in the part.
        item_units: for each of them.
        fixed_units: for all else.
    """

    name: str
    items: int = 0
    item_units: int = 0
    fixed_units: int = 0

    @property
    def units(self) -> int:
        """All units of the part."""
        return sum(self.list_pieces())

    def list_pieces(self) -> list[int]:
        """Return the units of each piece: attempts first, then all else at once."""
        return [*[self.item_units] * self.items, self.fixed_units]


def list_report_parts(
    attempts: int, conditions: int, strips: int, *, results_only: bool
) -> list[ReportPart]:
    """Return the parts of a report in their order.

    The units were measured on reports of 6 and of 20 attempts (decision 0111).

    Args:
        attempts: with results.
        conditions: that are regressed.
        strips: violations that are drawn.
        results_only: whether only `result.json` is read.
    """
    both = 0 if results_only else 2 * attempts
    regressions = [
        # the first one imports what the others need, too
        ReportPart(
            name="regression",
            items=0 if results_only else attempts,
            item_units=1,
            fixed_units=2 if number else 50,
        )
        for number in range(conditions)
    ]
    parts = [
        ReportPart(name="tables", fixed_units=10),
        ReportPart(name="frames and messages", items=both, item_units=1),
        ReportPart(name="detections", items=both, item_units=5),
        ReportPart(name="comparisons", fixed_units=5 + attempts),
        *regressions,
        ReportPart(name="violations", items=0 if results_only else strips, item_units=9),
        ReportPart(name="files", fixed_units=45 + attempts),
    ]
    left_out = ("frames and messages", "detections") if results_only else ()
    return [part for part in parts if part.name not in left_out]


class ReportWork:
    """Notes on a bar which part of a report is done, and how many of its attempts.

    The bar is full when the last part is done, however often a part looks at its attempts.

    Args:
        bar: that shows it.
        parts: in their order.
    """

    def __init__(self, bar: EstimatedBar, parts: list[ReportPart]) -> None:
        self._bar, self._left = bar, iter(parts)
        self._part, self._items = ReportPart(name=""), 0
        self._items_before, self._units_before = 0, 0

    def begin_part(self, name: str) -> None:
        """Show the name; all parts before it are done."""
        for part in self._iter_skipped(name):
            self._part, self._items = part, 0
        self._bar.rename(name)
        self._show()

    def _iter_skipped(self, name: str) -> Iterator[ReportPart]:
        """Yield the next parts, up to the one of this name."""
        for part in self._left:
            self._items_before += self._part.items
            self._units_before += self._part.units
            yield part
            if name.startswith(part.name):
                return

    def advance(self) -> None:
        """An attempt of the part is done; those that are looked at again do not count."""
        self._items = min(self._items + 1, self._part.items)
        self._show()

    def _show(self) -> None:
        self._bar.show_done(self._items_before + self._items)
        self._bar.note_work(self._units_before + self._items * self._part.item_units)
