"""Tables of operators and of an offline study's results in a terminal."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from metamorphic.catalogue import MAKERS
from metamorphic.sheets import (
    TextSheet,
    build_errors_sheet,
    build_precision_sheet,
    build_relations_sheet,
    build_skipped_sheet,
)
from metamorphic.summary import StudyTables


def build_operator_listing() -> Table:
    """Return the operators, what they need and what is asked of the answers."""
    table = Table(title="Operators")
    for column in ("operator", "level", "paper", "values", "needs", "relations"):
        table.add_column(column)
    for name, make in MAKERS.items():
        entry = make()
        operator = entry.operator
        values = [
            f"{parameter.name} {parameter.low:g} to {parameter.high:g} {parameter.unit}"
            for parameter in operator.space
            if parameter.name not in entry.fixed
        ]
        values += [f"{value} {name}" for name, value in entry.fixed.items()]
        cells = (
            *(name, operator.level, operator.paper, "; ".join(values) or "-"),
            ", ".join(sorted(operator.needs)) or "-",
            ", ".join(relation.name for relation in entry.relations),
        )
        table.add_row(*cells)
    return table


def render_study_tables(folder: Path) -> list[Table]:
    """Return the main results of a study; `crucible metamorphic tables` has all."""
    records = StudyTables(folder)
    shown = (
        build_precision_sheet(records),
        build_errors_sheet(records, "misled"),
        build_relations_sheet(records),
        build_skipped_sheet(records),
    )
    return [to_rich_table(sheet) for sheet in shown]


def to_rich_table(sheet: TextSheet) -> Table:
    """Return a table for a terminal."""
    table = Table(title=sheet.title, caption=sheet.note or None)
    for column in sheet.head:
        table.add_column(column)
    for row in sheet.rows:
        table.add_row(*row)
    return table
