"""What the bar of a report says of its parts."""

from __future__ import annotations

from analysis.report.work import ReportPart, ReportWork, list_report_parts
from harness.common.progress_bar import show_bar

PARTS = [
    ReportPart(name="tables", fixed_units=3),
    ReportPart(name="drives", items=2, item_units=5, fixed_units=1),
    ReportPart(name="files", fixed_units=4),
]


def test_attempts_that_are_looked_at_again_do_not_fill_the_bar() -> None:
    with show_bar("results", 1) as bar:
        pieces = [units for part in PARTS for units in part.list_pieces()]
        bar.begin_stage("drives", 3, units=pieces)
        work, shown = ReportWork(bar, PARTS), []
        work.begin_part("tables")
        shown.append(bar.count_done())
        work.begin_part("drives, none")
        for _ in range(5):
            work.advance()
            shown.append(bar.count_done())
        work.begin_part("files")
        shown.append(bar.count_done())
    assert shown == [(0, 0), (1, 8), *[(2, 13)] * 4, (2, 14)]


def test_all_parts_of_a_report_are_counted_once() -> None:
    for results_only in (False, True):
        parts = list_report_parts(6, 2, 3, results_only=results_only)
        names = [part.name for part in parts]
        assert ("detections" in names) != results_only
        assert names[-1] == "files"
        assert sum(part.units for part in parts) == sum(
            units for part in parts for units in part.list_pieces()
        )
