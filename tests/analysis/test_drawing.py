"""Scales, ticks and marks: what figures are made of."""

from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from analysis.drawing.canvas import Canvas, Label, shortened, width_of
from analysis.drawing.palette import COLOURS
from analysis.drawing.picture import dashes, picture
from analysis.drawing.plots import (
    WIDTH,
    Axis,
    LegendEntry,
    Line,
    Row,
    Span,
    render_lines,
    render_rows,
)
from analysis.drawing.scale import Scale, round_step, spread, tick_words
from analysis.drawing.svg import inline, standalone


@pytest.mark.parametrize(("least", "step"), [(0.9, 1), (1.1, 2), (3, 5), (0.06, 0.1), (20, 20)])
def test_steps_are_round(least: float, step: float) -> None:
    assert round_step(least) == pytest.approx(step)


def test_scales_keep_their_ends_and_their_order() -> None:
    straight = Scale(low=-10.0, high=40.0, first=100.0, last=200.0)
    assert straight.at(-10) == 100
    assert straight.at(15) == 150
    assert straight.at(99) == 200
    assert straight.ticks() == pytest.approx([-10, 0, 10, 20, 30, 40])
    odds = Scale(low=0.1, high=10.0, first=0.0, last=100.0, log=True)
    assert odds.at(1) == pytest.approx(50)
    assert odds.at(0) == 0
    assert 1 in odds.ticks()
    assert Scale(low=0.9, high=1.3, first=0, last=1, log=True).ticks() == pytest.approx(
        [0.9, 1.0, 1.1, 1.2, 1.3]
    )


def test_spreads_show_everything_and_never_collapse() -> None:
    assert spread([3.0, math.nan, 8.0], [0.0])[0] == 0
    assert spread([3.0, 8.0], [0.0])[1] > 8
    for values in ([], [0.0], [5.0, 5.0], [math.nan]):
        low, high = spread(values, [0.0] if values == [0.0] else [])
        assert low < high


def test_ticks_are_short() -> None:
    assert [tick_words(item) for item in (0.1 + 0.2, 100.0, 250_000.0)] == ["0.3", "100", "2e5"]


def test_texts_are_shortened_in_the_middle() -> None:
    assert shortened("late", 100) == "late"
    long = shortened("a_system_with_a_very_long_name / latency", 120)
    assert long.startswith("a_sys")
    assert long.endswith("tency")
    assert width_of(long) < 130


def test_rows_stand_in_order_and_leave_out_what_is_not_known() -> None:
    rows = [
        Row(label="first", spans=(Span(value=1.0, low=0.5, high=2.0),)),
        Row(label="second", spans=(Span(value=math.nan),), note="n 0"),
    ]
    canvas = render_rows(
        rows, Axis(label="errors", keep=(0.0,)), says="says", keys=[LegendEntry("a", "hue0")]
    )
    at = {mark.text: mark.at[1] for mark in canvas.marks if isinstance(mark, Label)}
    assert at["a"] < at["first"] < at["second"] < at["errors"]
    assert at["n 0"] == pytest.approx(at["second"], abs=1)
    tree = ElementTree.fromstring(inline(canvas))
    assert len(tree.findall("circle")) == 2  # the legend's and the first row's
    assert max(float(element.get("x", "0")) for element in tree.findall("text")) <= WIDTH


def test_what_lies_beyond_the_scale_is_an_arrow_and_no_dot() -> None:
    beyond = render_rows(
        [Row(label="x", spans=(Span(value=99.0, low=1.0, high=999.0),))],
        Axis(label="", within=(0.0, 10.0)),
        says="says",
    )
    inside = render_rows(
        [Row(label="x", spans=(Span(value=5.0, low=1.0, high=9.0),))],
        Axis(label="", within=(0.0, 10.0)),
        says="says",
    )
    assert "circle" not in inline(beyond)
    assert inline(beyond).count("polyline") > inline(inside).count("polyline")


def test_a_point_without_an_interval_shows_its_value_alone() -> None:
    points = ((5.0, 1.0, math.nan, math.nan), (15.0, 0.5, 0.25, 0.75))
    result = inline(
        render_lines([Line("x", points, "accent")], (0, 20, ""), y=(0, 1, ""), says="says")
    )
    assert "<title>x, 5: 1.00</title>" in result
    assert "<title>x, 15: 0.50 (0.25 to 0.75)</title>" in result


def test_svg_alone_is_well_formed_and_escapes_what_it_writes() -> None:
    canvas = Canvas(100, 40, 'says "<this>"')
    canvas.text((1, 20), "a < b & c")
    canvas.dot((50, 20), 3, colour="accent", title="<dot>")
    tree = ElementTree.fromstring(standalone(canvas))
    assert tree.get("aria-label") == 'says "<this>"'
    assert "".join(tree.itertext()).endswith("a < b & c<dot>")


def test_pictures_are_as_large_as_asked_and_have_the_palette() -> None:
    canvas = Canvas(40, 20, "says")
    canvas.dot((20, 10), 8, colour="accent")
    image = picture(canvas, 3.0, dark=True)
    assert image.size == (120, 60)
    for place, name in (((60, 30), "accent"), ((2, 2), "paper")):
        assert image.getpixel(place) == tuple(bytes.fromhex(COLOURS[name][1].removeprefix("#")))


def test_dashes_cover_their_share_of_a_line() -> None:
    pieces = list(dashes([(0.0, 0.0), (10.0, 0.0), (10.0, 12.0)], [3.0, 2.0]))
    lengths = [sum(math.dist(a, b) for a, b in pairwise(piece)) for piece in pieces]
    assert sum(lengths) == pytest.approx(14.0)
    assert max(lengths) <= 3.0 + 1e-9
