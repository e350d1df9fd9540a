"""The study's tables as Markdown and its figures, from the packed drives: what its page shows.

python -m studies.speed.markdown studies/speed/packed/drives.csv docs/images
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from analysis.drawing.svg import render_svg_file
from analysis.tables.markdown import format_markdown_table
from analysis.tables.writing import write_text
from studies.speed.figure import render_speed_figure
from studies.speed.interaction import SCORE
from studies.speed.tables import (
    SpeedStudy,
    build_interaction_frame,
    pair_study,
    read_speed_drives,
)

FIGURES = {"own_latency": "speed-perception.svg", "latency": "speed-messages.svg"}
"""Files of the page's figures, by sweep."""
SPEEDS = {"slow": "5 m/s", "fast": "8 m/s"}
"""How the page calls both cruise speeds."""


def build_page_tables(study: SpeedStudy) -> list[pd.DataFrame]:
    """Return what delays cost, and the outcomes by delay, of a study with one system."""
    interactions = build_interaction_frame(study.pairs).sort_values(
        "late", ascending=False, kind="stable"
    )
    return [name_page_speeds(table) for table in (interactions, study.build_curves())]


def name_page_speeds(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of one system with the page's names of both speeds in its head."""
    plain = table.drop(columns="system")
    heads = [str(name) for name in plain]
    for word, speed in SPEEDS.items():
        heads = [head.replace(f", {word}", f" at {speed}").replace(word, speed) for head in heads]
    return plain.set_axis(heads, axis="columns")


def render_page_figures(study: SpeedStudy) -> dict[str, str]:
    """Return the figures as SVG, by the names of their files."""
    slow, fast = (f"cruise speed {speed}" for speed in SPEEDS.values())
    return {
        FIGURES[sweep]: render_svg_file(render_speed_figure(of[SCORE], (slow, fast)))
        for (_, sweep), of in study.pairs.items()
    }


def main(drives: Path, images: Path) -> None:
    """Print the tables and write the figures."""
    study = pair_study(read_speed_drives(drives))
    for table in build_page_tables(study):
        print(format_markdown_table(table), end="\n\n")
    for name, text in render_page_figures(study).items():
        write_text(text, images / name)


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:3]))
