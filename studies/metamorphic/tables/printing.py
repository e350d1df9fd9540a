"""Tables of operators and of an offline study's results in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.common.fitting_table import FittingTable
from studies.metamorphic.catalogue import MAKERS
from studies.metamorphic.scenes.operator import Need
from studies.metamorphic.tables.realism import build_realism_sheets
from studies.metamorphic.tables.road_sheet import build_road_sheet, has_road_measures
from studies.metamorphic.tables.sheets import (
    build_errors_sheet,
    build_precision_sheet,
    build_relations_sheet,
    build_skipped_sheet,
)
from studies.metamorphic.tables.summary import StudyTables
from studies.metamorphic.tables.text_sheet import TextSheet
from studies.space import SpaceParameter

OPERATOR_COLUMNS = ("operator", "level", "paper", "values", "needs", "relations")
WIDE = 160
"""Columns of a terminal on which nothing of the listing is cut."""
NAMES_SHOWN = 4
"""Names of a choice that the listing shows."""
NEEDS: Mapping[Need, str] = {
    "surfaces": "recorded surfaces",
    "rings": "a LiDAR whose rays are known",
    "road": "the drivable area",
    "features": "feature maps in messages",
    "earlier": "an earlier moment",
    "pictures": "recorded pictures",
}
PAPERS = {
    "cootest": "CooTest",
    "v2xgen": "V2XGen",
    "zhou_sun": "Zhou and Sun",
    "multitest": "MultiTest",
    "ours": "none (Crucible)",
}


def build_operator_listing(width: int) -> FittingTable:
    """Return the operators, what they need and what is asked of the answers.

    Args:
        width: columns of the terminal; where six cells would be cut, they stand below each other
    """
    table = FittingTable(title="Operators", show_lines=width < WIDE)
    for column in OPERATOR_COLUMNS if width >= WIDE else ("operator", "what it is"):
        table.add_column(column)
    for name, make in MAKERS.items():
        entry = make()
        operator = entry.operator
        values = [
            describe_parameter_range(parameter)
            for parameter in operator.space
            if parameter.name not in entry.fixed
        ]
        units = {parameter.name: parameter.unit for parameter in operator.space}
        values += [
            f"{parameter}: {add_unit(f'{value:g}', units.get(parameter, ''))}"
            for parameter, value in entry.fixed.items()
        ]
        cells = (
            *(name, operator.level, PAPERS[operator.paper], "; ".join(values) or "-"),
            ", ".join(NEEDS[need] for need in sorted(operator.needs)) or "-",
            ", ".join(relation.name for relation in entry.relations),
        )
        if width >= WIDE:
            table.add_row(*cells)
        else:
            parts = zip(OPERATOR_COLUMNS[1:], cells[1:], strict=True)
            table.add_row(name, "\n".join(f"{column}: {cell}" for column, cell in parts))
    return table


def describe_parameter_range(parameter: SpaceParameter) -> str:
    """Return the values that a parameter can have: a range with its unit, or names."""
    if parameter.kind != "choice":
        # of whole numbers, two are both named
        both = parameter.kind == "whole" and parameter.high - parameter.low == 1
        reach = f"{parameter.low:g} {'or' if both else 'to'} {parameter.high:g}"
        return f"{parameter.name}: {add_unit(reach, parameter.unit)}"
    shown = ", ".join(parameter.choices[:NAMES_SHOWN])
    more = len(parameter.choices) - NAMES_SHOWN
    return f"{parameter.name}: {shown}" + (f" and {more} more" if more > 0 else "")


def add_unit(values: str, unit: str) -> str:
    """Return values with their unit; one of several words stands in brackets."""
    return f"{values} ({unit})" if " " in unit else f"{values} {unit}".rstrip()


def render_study_tables(folder: Path) -> list[FittingTable]:
    """Return the main results of a study; `crucible metamorphic tables` has all."""
    records = StudyTables(folder)
    shown = (
        build_precision_sheet(records),
        build_errors_sheet(records, "misled"),
        build_relations_sheet(records),
        *build_realism_sheets(records),
        build_skipped_sheet(records),
    )
    road = [build_road_sheet(records)] if has_road_measures(records) else []
    return [to_rich_table(sheet) for sheet in (*shown, *road)]


def to_rich_table(sheet: TextSheet) -> FittingTable:
    """Return a table for a terminal."""
    table = FittingTable(title=sheet.title, caption=sheet.note or None)
    for column in sheet.head:
        table.add_column(column)
    for row in sheet.rows:
        table.add_row(*row)
    return table
