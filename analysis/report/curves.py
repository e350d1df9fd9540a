"""The section with curves: scores against a disturbance's size, and against bytes received."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from analysis.drawing.canvas import Canvas
from analysis.drawing.picture import picture, write_png
from analysis.drawing.svg import standalone
from analysis.figures.curves import sweep_figures, volume_figures
from analysis.report import evidence, html_tables
from analysis.report.gather import Report
from analysis.report.html import Content, Markup, folded, paragraph, section, tag
from analysis.tables.curves import CURVES, VOLUME
from analysis.tables.table import Table
from analysis.tables.writing import write_text
from harness.records.names import safe_name

FINENESS = 3.0
"""Pixels of a PNG for each unit of a figure."""
ABOUT = (
    "Each point is an arm with its 95 % confidence interval, a bootstrap over routes, or Wilson's"
    " interval where each route counts once; 0 is the same system without disturbance. Sizes are"
    " what was delivered, measured in the records, where the axis does not say that they are what"
    " was asked for. Lines join points, they estimate nothing between them. A level line is a"
    " system that receives no messages: no size makes a difference to it. Whether two points"
    " differ is for the paired differences to say: each point against 0, and systems at the same"
    " size, are among the tests of the page."
)
TRADE_OFF = (
    "One point for each system and condition, with intervals both ways; full markers are without"
    " disturbance, hollow ones disturbed. At the left edge (0) is what received nothing. Bytes are"
    " those of messages that the system used. The networks shipped here are lite ones: what they"
    " share is not as large as what the published networks share, so do not compare these volumes"
    " with published ones."
)


def curves(report: Report) -> Markup:
    """Return the section."""
    parts = list(swept(report.tables)) + list(trade_off(report.tables))
    nothing = paragraph(
        "No disturbance was driven at several sizes, and no message was received;"
        " sweep.latency=[0,0.2,0.5] drives sizes.",
        class_="quiet",
    )
    return section("curves", "Curves", parts or nothing)


def swept(tables: Mapping[str, Table]) -> Iterator[Content]:
    """Yield the curves of each disturbance, and the table of their points."""
    if CURVES not in tables:
        return
    table = tables[CURVES]
    yield paragraph(ABOUT, class_="quiet")
    for name in sweeps_in(table):
        yield tag("h3", f"Over the size of {name}")
        yield evidence.figures(
            evidence.figure(canvas, title) for title, canvas in sweep_figures(table, name)
        )
    yield folded("Every point as a table", html_tables.estimates(table))


def trade_off(tables: Mapping[str, Table]) -> Iterator[Content]:
    """Yield the scores over the bytes received."""
    if VOLUME not in tables:
        return
    yield tag("h3", "Over the bytes received")
    yield evidence.figures(
        evidence.figure(canvas, title) for title, canvas in volume_figures(tables[VOLUME])
    )
    yield paragraph(TRADE_OFF, class_="quiet")
    yield folded("Bytes and scores as a table", html_tables.estimates(tables[VOLUME]))


def sweeps_in(table: Table) -> list[str]:
    """Return the names of the sweeps in the table of points."""
    return list(dict.fromkeys(names[0] for names, _ in table.rows()))


def every_figure(tables: Mapping[str, Table]) -> Iterator[tuple[str, Canvas]]:
    """Yield each figure of the section under the name of its file."""
    for name in sweeps_in(tables[CURVES]) if CURVES in tables else ():
        for title, canvas in sweep_figures(tables[CURVES], name):
            yield f"curve-{name}-{title}", canvas
    for title, canvas in volume_figures(tables[VOLUME]) if VOLUME in tables else ():
        yield f"bytes-{title}", canvas


def write_curves(tables: Mapping[str, Table], out: Path) -> None:
    """Write each figure as SVG and as PNG, for papers."""
    for name, canvas in every_figure(tables):
        file = safe_name(name.lower().replace(" ", "-").replace(":", ""))
        write_text(standalone(canvas), out / f"{file}.svg")
        write_png(picture(canvas, FINENESS), out / f"{file}.png")
