"""The study's tables as Markdown, from packed routes: what its page shows.

python -m studies.offline_to_violation.markdown studies/offline_to_violation/packed
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from analysis.tables.markdown import format_markdown_table
from studies.offline_to_violation.block_findings import unpack_findings
from studies.offline_to_violation.measuring import read_measured_study
from studies.offline_to_violation.plan import read_written_plan
from studies.offline_to_violation.table import (
    HEAD,
    SCORE_HEAD,
    format_estimate,
    list_score_rows,
    list_table_rows,
)
from studies.offline_to_violation.verdicts import ALL_SYSTEMS, build_score_table, judge_findings

SYSTEM_HEAD = (
    *("system", "lower log loss", "95 % interval"),
    *("violations, repaired less not, %", "95 % interval", "fewer", "more", "pairs"),
)


def build_packed_tables(folder: Path) -> list[pd.DataFrame]:
    """Return the models, the findings, and the findings of single systems.

    Args:
        folder: of packed routes.
    """
    plan = read_written_plan(folder)
    study = read_measured_study(plan, list(unpack_findings(folder).values())).study
    table = judge_findings(study)
    return [
        pd.DataFrame(list(rows), columns=pd.Index(head))
        for head, rows in (
            (SCORE_HEAD, list_score_rows(build_score_table(study))),
            (HEAD, list_table_rows(table)),
            (("finding", "range", *SYSTEM_HEAD), list_system_rows(table)),
        )
    ]


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
    for one in build_packed_tables(Path(sys.argv[1])):
        print(format_markdown_table(one), end="\n\n")
