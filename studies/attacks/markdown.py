"""The study's tables as Markdown, from the sums of each drive: what its page shows.

python -m studies.attacks.markdown studies/attacks/packed/drives-1.csv
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.tables.attacks import build_attack_frame, read_attack_drives
from analysis.tables.markdown import format_markdown_table

COLUMNS = {
    "violations, %": "violations, %",
    "violations, points, by the attack": "more by the attack, points",
    "violations, points, by the defence": "more by the defence, points",
    "driving score": "driving score",
}
"""Outcomes by measure, as columns are called."""
DELIVERED = {
    "added boxes believed, %": "added boxes believed, %",
    "left out and missed, %": "left out and missed, %",
    "drives with a lie believed, %": "drives with a lie believed, %",
    "added boxes stopped, %": "added boxes stopped, %",
    "honest boxes rejected, %": "honest boxes rejected, %",
    "honest messages rejected, %": "honest messages rejected, %",
    "defence, ms/step": "defence, ms a step",
}
"""What was believed and rejected."""
NOTHING = "-"


def build_page_tables(files: Sequence[Path]) -> list[pd.DataFrame]:
    """Return outcomes, and what was believed and rejected: a row for each attack and defence.

    Args:
        files: of `crucible attacks`, with a row for each drive.
    """
    drives = pd.concat([read_attack_drives(file) for file in files], ignore_index=True)
    measures = build_attack_frame(drives)
    return [spread_measures(measures, columns) for columns in (COLUMNS, DELIVERED)]


def spread_measures(measures: pd.DataFrame, columns: dict[str, str]) -> pd.DataFrame:
    """Return a row for each attack and defence with some measures as words.

    Args:
        measures: of `build_attack_frame`, of one system.
        columns: titles by measure.
    """
    rows: list[dict[str, str]] = []
    for (attack, defence), part in measures.groupby(["attack", "defence"], sort=False):
        known = {str(one["measure"]): one for _, one in part.iterrows()}
        row = {"attack": str(attack), "defence": str(defence)}
        row["drives"] = str(known["violations, %"]["drives"])
        for measure, title in columns.items():
            row[title] = format_measure(known[measure]) if measure in known else NOTHING
        rows.append(row)
    table = pd.DataFrame(rows)
    return table[[name for name in table if (table[name] != NOTHING).any()]]


def format_measure(row: pd.Series) -> str:
    """Return a value with its interval, and its p in the family where it was tested."""
    if pd.isna(row["value"]):
        return NOTHING
    text = f"{row['value']:.3g}"
    if not pd.isna(row["low"]):
        text += f" ({row['low']:.3g} to {row['high']:.3g})"
    return text if pd.isna(row["p_holm"]) else f"{text}, p {row['p_holm']:.3f}"


if __name__ == "__main__":
    for one in build_page_tables([Path(word) for word in sys.argv[1:]]):
        print(format_markdown_table(one), end="\n\n")
