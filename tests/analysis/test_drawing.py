"""Scales, ticks and marks: what figures are made of."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analysis.drawing.canvas import Canvas, TextLabel, estimate_text_width, trim_text
from analysis.drawing.markers import SHAPES, add_marker
from analysis.drawing.palette import COLOURS
from analysis.drawing.picture import render_canvas, split_into_dashes
from analysis.drawing.plots import (
    WIDTH,
    IntervalSpan,
    LegendEntry,
    PlotAxis,
    PlotLine,
    PlotRow,
    render_forest_plot,
    render_line_plot,
)
from analysis.drawing.scale import AxisScale, choose_round_step, compute_axis_ends, format_tick
from analysis.drawing.svg import render_inline_svg, render_svg_file

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("least", "step"), [(0.9, 1), (1.1, 2), (3, 5), (0.06, 0.1), (20, 20)])
def test_steps_are_round(least: float, step: float) -> None:
    assert choose_round_step(least) == pytest.approx(step)


def test_scales_keep_their_ends_and_their_order() -> None:
    straight = AxisScale(low=-10.0, high=40.0, first=100.0, last=200.0)
    assert straight.place_value(-10) == 100
    assert straight.place_value(15) == 150
    assert straight.place_value(99) == 200
    assert straight.choose_ticks() == pytest.approx([-10, 0, 10, 20, 30, 40])
    odds = AxisScale(low=0.1, high=10.0, first=0.0, last=100.0, log=True)
    assert odds.place_value(1) == pytest.approx(50)
    assert odds.place_value(0) == 0
    assert 1 in odds.choose_ticks()
    assert AxisScale(low=0.9, high=1.3, first=0, last=1, log=True).choose_ticks() == pytest.approx(
        [0.9, 1.0, 1.1, 1.2, 1.3]
    )


def test_spreads_show_everything_and_never_collapse() -> None:
    assert compute_axis_ends([3.0, math.nan, 8.0], [0.0])[0] == 0
    assert compute_axis_ends([3.0, 8.0], [0.0])[1] > 8
    for values in ([], [0.0], [5.0, 5.0], [math.nan]):
        low, high = compute_axis_ends(values, [0.0] if values == [0.0] else [])
        assert low < high


def test_ticks_are_short() -> None:
    assert [format_tick(item) for item in (0.1 + 0.2, 100.0, 250_000.0)] == ["0.3", "100", "2e5"]


def test_texts_are_shortened_in_the_middle() -> None:
    assert trim_text("late", 100) == "late"
    long = trim_text("a_system_with_a_very_long_name / latency", 120)
    assert long.startswith("a_sys")
    assert long.endswith("tency")
    assert estimate_text_width(long) < 130


def test_rows_stand_in_order_and_leave_out_what_is_not_known() -> None:
    rows = [
        PlotRow(label="first", spans=(IntervalSpan(value=1.0, low=0.5, high=2.0),)),
        PlotRow(label="second", spans=(IntervalSpan(value=math.nan),), note="n 0"),
    ]
    canvas = render_forest_plot(
        rows, PlotAxis(label="errors", keep=(0.0,)), says="says", keys=[LegendEntry("a", "hue0")]
    )
    at = {mark.text: mark.at[1] for mark in canvas.marks if isinstance(mark, TextLabel)}
    assert at["a"] < at["first"] < at["second"] < at["errors"]
    assert at["n 0"] == pytest.approx(at["second"], abs=1)
    tree = ElementTree.fromstring(render_inline_svg(canvas))
    assert len(tree.findall("circle")) == 2  # the legend's and the first row's
    assert max(float(element.get("x", "0")) for element in tree.findall("text")) <= WIDTH


def test_no_two_names_of_rows_look_the_same() -> None:
    """Names that are too long lose letters in their middle, which may be all they differ in."""
    names = [f"latency, on_time_{kind}_additional_rest" for kind in ("missed", "mislocalised")]
    names += [f"late, {'x' * 20}{number}{'y' * 20}" for number in range(3)]
    rows = [PlotRow(label=name, spans=(IntervalSpan(value=1.0),)) for name in names]
    canvas = render_forest_plot(rows, PlotAxis(label="errors"), says="says")
    shown = [mark.text for mark in canvas.marks if isinstance(mark, TextLabel)]
    assert len({text for text in shown if text.startswith("late")}) == len(names)


def test_what_lies_beyond_the_scale_is_an_arrow_and_no_dot() -> None:
    beyond = render_forest_plot(
        [PlotRow(label="x", spans=(IntervalSpan(value=99.0, low=1.0, high=999.0),))],
        PlotAxis(label="", within=(0.0, 10.0)),
        says="says",
    )
    inside = render_forest_plot(
        [PlotRow(label="x", spans=(IntervalSpan(value=5.0, low=1.0, high=9.0),))],
        PlotAxis(label="", within=(0.0, 10.0)),
        says="says",
    )
    assert "circle" not in render_inline_svg(beyond)
    assert render_inline_svg(beyond).count("polyline") > render_inline_svg(inside).count("polyline")


def test_a_point_without_an_interval_shows_its_value_alone() -> None:
    points = ((5.0, 1.0, math.nan, math.nan), (15.0, 0.5, 0.25, 0.75))
    result = render_inline_svg(
        render_line_plot([PlotLine("x", points, "accent")], (0, 20, ""), y=(0, 1, ""), says="says")
    )
    assert "<title>x, 5: 1.00</title>" in result
    assert "<title>x, 15: 0.50 (0.25 to 0.75)</title>" in result


def test_svg_alone_is_well_formed_and_escapes_what_it_writes() -> None:
    canvas = Canvas(100, 40, 'says "<this>"')
    canvas.add_text((1, 20), "a < b & c")
    add_marker(canvas, (50, 20), 3, colour="accent", title="<dot>")
    tree = ElementTree.fromstring(render_svg_file(canvas))
    assert tree.get("aria-label") == 'says "<this>"'
    assert "".join(tree.itertext()).endswith("a < b & c<dot>")


def test_pictures_are_as_large_as_asked_and_have_the_palette() -> None:
    canvas = Canvas(40, 20, "says")
    add_marker(canvas, (20, 10), 8, colour="accent")
    image = render_canvas(canvas, 3.0, dark=True)
    assert image.size == (120, 60)
    for place, name in (((60, 30), "accent"), ((2, 2), "paper")):
        assert image.getpixel(place) == tuple(bytes.fromhex(COLOURS[name][1].removeprefix("#")))


def test_dashes_cover_their_share_of_a_line() -> None:
    pieces = list(split_into_dashes([(0.0, 0.0), (10.0, 0.0), (10.0, 12.0)], [3.0, 2.0]))
    lengths = [sum(math.dist(a, b) for a, b in pairwise(piece)) for piece in pieces]
    assert sum(lengths) == pytest.approx(14.0)
    assert max(lengths) <= 3.0 + 1e-9


def test_hollow_has_one_meaning() -> None:
    """One function chooses between a marker's colour and the paper, by whether a test confirmed."""
    canvas = Canvas(40, 20, "says")
    for shape in SHAPES:
        for unconfirmed in (True, False):
            add_marker(canvas, (9, 9), 3, colour="accent", shape=shape, unconfirmed=unconfirmed)
    assert [mark.fill for mark in canvas.marks if not isinstance(mark, TextLabel)] == [
        *(("paper", "accent") * len(SHAPES))
    ]
    sources = {
        path.relative_to(ROOT): path.read_text()
        for room in ("analysis", "studies")
        for path in (ROOT / room).rglob("*.py")
    }
    choosing = {str(path) for path, text in sources.items() if re.search('"paper" (if|else)', text)}
    assert choosing == {"analysis/drawing/markers.py"}
    called = {str(path) for path, text in sources.items() if re.search(r"\bhollow\w*\b ?=", text)}
    assert not called
