"""The study's tables as Markdown, and its figure, from packed routes: what its page shows.

python -m studies.offline_to_violation.markdown studies/offline_to_violation/packed [FIGURE.svg]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from analysis.drawing.svg import render_svg_file
from analysis.tables.markdown import format_markdown_table
from analysis.tables.writing import write_text
from studies.offline_to_violation.block_findings import unpack_findings
from studies.offline_to_violation.figure import render_findings_figure
from studies.offline_to_violation.measuring import read_measured_study
from studies.offline_to_violation.plan import read_written_plan
from studies.offline_to_violation.table import (
    HEAD,
    SCORE_HEAD,
    format_estimate,
    list_score_rows,
    list_table_rows,
)
from studies.offline_to_violation.verdicts import (
    ALL_SYSTEMS,
    MeasuredStudy,
    build_score_table,
    judge_findings,
)

SYSTEM_HEAD = (
    *("system", "lower log loss", "95 % interval"),
    *("violations, repaired less not, %", "95 % interval", "fewer", "more", "pairs"),
)


def read_study_step(folder: Path) -> tuple[MeasuredStudy, int]:
    """Return what the page may show, and how many tests of the family are to come.

    The page has two steps (docs/study/offline-protocol.md, "Deviations"): repairs are left out
    until all routes have them.

    Args:
        folder: of packed routes.
    """
    plan = read_written_plan(folder)
    study = read_measured_study(plan, list(unpack_findings(folder).values())).study
    if all(set(drives["route"]) == set(study.routes) for drives in study.repairs.values()):
        return study, 0
    nothing = {name: drives.iloc[:0] for name, drives in study.repairs.items()}
    return replace(study, repairs=nothing), len(nothing)


@dataclass(frozen=True, slots=True, eq=False)
class PageParts:
    """What the page shows.

    Attributes:
        tables: violations, models, findings, findings of single systems.
        figure: SVG.
    """

    tables: tuple[pd.DataFrame, ...]
    figure: str


def build_page_parts(folder: Path) -> PageParts:
    """Return the tables and the figure of packed routes."""
    study, tests_to_come = read_study_step(folder)
    table = judge_findings(study, tests_to_come=tests_to_come)
    tables = (
        count_violations(study.drives),
        *(
            pd.DataFrame(list(rows), columns=pd.Index(head))
            for head, rows in (
                (SCORE_HEAD, list_score_rows(build_score_table(study))),
                (HEAD, list_table_rows(table)),
                (("finding", "range", *SYSTEM_HEAD), list_system_rows(table)),
            )
        ),
    )
    return PageParts(tables, render_svg_file(render_findings_figure(table)))


def count_violations(drives: pd.DataFrame) -> pd.DataFrame:
    """Return the drives without a repair that have a violation, by system and condition."""
    rows = drives.groupby(["system", "condition"])["violated"].agg(["sum", "count"])
    cells = (rows["sum"].astype(str) + " of " + rows["count"].astype(str)).unstack("condition")
    return cells[["none", "latency"]].reset_index().rename_axis(columns=None)


def list_system_rows(table: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the cells of each finding whose effect was driven, system by system; none is tested."""
    driven = (table["system"] != ALL_SYSTEMS) & (table["pairs"] > 0)
    for _, row in table[driven].iterrows():
        yield [
            row["finding"],
            row["range"],
            row["system"],
            *format_estimate(row, "lower log loss", digits=4),
            *format_estimate(row, "effect", digits=1, scale=100.0),
            *(str(row[name]) for name in ("fewer", "more", "pairs")),
        ]


if __name__ == "__main__":
    parts = build_page_parts(Path(sys.argv[1]))
    for one in parts.tables:
        print(format_markdown_table(one), end="\n\n")
    for figure in sys.argv[2:]:
        write_text(parts.figure, Path(figure))
