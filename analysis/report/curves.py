"""The section with curves: scores against a disturbance's size, and against bytes received."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from analysis.drawing.canvas import Canvas
from analysis.drawing.picture import render_canvas, write_png
from analysis.drawing.svg import render_svg_file
from analysis.figures.curves import render_sweep_figures
from analysis.figures.volume import render_volume_figures
from analysis.report import evidence, html_tables
from analysis.report.gather import ReportContents
from analysis.report.html import (
    Content,
    Markup,
    render_details,
    render_paragraph,
    render_section,
    render_tag,
)
from analysis.tables.curves import CURVES, VOLUME
from analysis.tables.table import EstimatesTable
from analysis.tables.writing import write_text
from harness.records.names import escape_file_name

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
    "One marker for each system and condition, with its name; a line joins a disturbed arm and the"
    " same arm without disturbance. The upright axis reaches as far as the markers. Of more than"
    " six arms, the table has the intervals. At the left edge (0) is what received nothing. Bytes"
    " are those of messages that the system used. The networks shipped here are lite ones: what"
    " they share is not as large as what the published networks share, so do not compare these"
    " volumes with published ones."
)


def render_curves_section(report: ReportContents) -> Markup:
    """Return the section."""
    parts = list(render_sweep_curves(report.tables)) + list(render_trade_off(report.tables))
    nothing = render_paragraph(describe_missing_curves(report), class_="quiet")
    return render_section("curves", "Curves", parts or nothing)


def describe_missing_curves(report: ReportContents) -> str:
    """Return why there is no curve."""
    text = "No disturbance was driven at several sizes; sweep.latency=[0,0.2,0.5] drives sizes. "
    if report.results_only:
        return f"{text}Bytes received are left out: this report was made with --results-only."
    if report.collection.packed:
        return (
            f"{text}Bytes received are left out: packing left out the records of messages. It says"
            " nothing about whether messages were received."
        )
    return f"{text}No message was received."


def render_sweep_curves(tables: Mapping[str, EstimatesTable]) -> Iterator[Content]:
    """Yield the curves of each disturbance, and the table of their points."""
    if CURVES not in tables:
        return
    table = tables[CURVES]
    yield render_paragraph(ABOUT, class_="quiet")
    for name in list_sweep_names(table):
        yield render_tag("h3", f"Over the size of {name}")
        yield evidence.render_figure_group(
            evidence.render_figure(canvas, title)
            for title, canvas in render_sweep_figures(table, name)
        )
    yield render_details("Every point as a table", html_tables.render_estimates_table(table))


def render_trade_off(tables: Mapping[str, EstimatesTable]) -> Iterator[Content]:
    """Yield the scores over the bytes received."""
    if VOLUME not in tables:
        return
    yield render_tag("h3", "Over the bytes received")
    yield evidence.render_figure_group(
        evidence.render_figure(canvas, title)
        for title, canvas in render_volume_figures(tables[VOLUME])
    )
    yield render_paragraph(TRADE_OFF, class_="quiet")
    yield render_details(
        "Bytes and scores as a table", html_tables.render_estimates_table(tables[VOLUME])
    )


def list_sweep_names(table: EstimatesTable) -> list[str]:
    """Return the names of the sweeps in the table of points."""
    return list(dict.fromkeys(names[0] for names, _ in table.list_rows()))


def iterate_curve_figures(tables: Mapping[str, EstimatesTable]) -> Iterator[tuple[str, Canvas]]:
    """Yield each figure of the section under the name of its file."""
    for name in list_sweep_names(tables[CURVES]) if CURVES in tables else ():
        for title, canvas in render_sweep_figures(tables[CURVES], name):
            yield f"curve-{name}-{title}", canvas
    for title, canvas in render_volume_figures(tables[VOLUME]) if VOLUME in tables else ():
        yield f"bytes-{title}", canvas


def write_curve_figures(tables: Mapping[str, EstimatesTable], out: Path) -> None:
    """Write each figure as SVG and as PNG, for papers.

    Args:
        tables: by name.
        out: the folder.
    """
    for name, canvas in iterate_curve_figures(tables):
        file = escape_file_name(name.lower().replace(" ", "-").replace(":", ""))
        write_text(render_svg_file(canvas), out / f"{file}.svg")
        write_png(render_canvas(canvas, FINENESS), out / f"{file}.png")
