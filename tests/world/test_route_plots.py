"""`crucible routes plot`: what is on the panels, and files that are whole or not there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.drawing.canvas import Canvas, Polyline, TextLabel
from analysis.figures.route_plan import (
    HazardMarker,
    RoutePlan,
    clip_polygon,
    convert_to_points,
    render_route_plans,
)
from crucible.subcommands import dispatch_subcommand as main
from harness.records.schema import SCENERY
from tests.conftest import ROOT

FILES = [str(ROOT / "routes" / "crucible05" / "routes.xml")]
HAZARDS = ["--hazards", str(ROOT / "routes" / "crucible05" / "hazards.json")]


def plan_of(name: str = "0", **changes: object) -> RoutePlan:
    """Return a route of 100 m to the east with a lane, a house beyond the panel, and a light."""
    x = np.arange(0.0, 101.0)
    edges = [
        pd.DataFrame({"x": [-500.0, 500.0], "y": y, "z": 0.0, "line": 0, "kind": f"lane_{side}"})
        for side, y in (("left", -2.0), ("right", 2.0))
    ]
    house = {"kind": "building", "x": 114.0, "y": 0.0, "length": 10.0, "width": 8.0, "yaw": 0.0}
    far = house | {"kind": "wall", "x": 300.0}
    scenery = pd.DataFrame([house, far]).reindex(columns=SCENERY.names, fill_value=0.0)
    plan = {
        "name": name,
        "town": "Little",
        "length": 100.0,
        "way": np.column_stack([x, np.zeros(101)]),
        "lane_change": (x > 40) & (x < 60),
        "lines": pd.concat(edges),
        "scenery": scenery,
        "lights": np.array([[50.0, 3.0], [400.0, 3.0]]),
        "stops": np.zeros((0, 2)),
        "hazards": [HazardMarker(kind="cut_in", station=50.0, place=(50.0, 0.0))],
        "units": np.array([[70.0, 5.0]]),
    }
    return RoutePlan(**{**plan, **changes})  # type: ignore[arg-type]


def words_of(canvas: Canvas) -> list[str]:
    return [mark.text for mark in canvas.marks if isinstance(mark, TextLabel)]


def areas(canvas: Canvas, fill: str) -> list[np.ndarray]:
    return [
        np.array(mark.points)
        for mark in canvas.marks
        if isinstance(mark, Polyline) and mark.fill == fill and mark.closed
    ]


def test_one_route_has_words_legend_and_scale() -> None:
    words = words_of(render_route_plans([plan_of()]))
    assert "route 0 of Little, 100 m" in words
    assert "1  cut in at 50 m" in words
    legend = {"start", "goal", "route", "lane change", "roadside unit", "traffic light", "lane"}
    assert legend <= set(words)
    assert {"building", "wall"} <= set(words)
    assert "stop sign" not in words


def test_the_scale_is_as_long_as_it_says() -> None:
    canvas = render_route_plans([plan_of()])
    (metres,) = [int(word.split()[0]) for word in words_of(canvas) if re.fullmatch(r"\d+ m", word)]
    bars = [
        mark.points for mark in canvas.marks if isinstance(mark, Polyline) and mark.stroke == "ink"
    ]
    (way, *_) = [
        mark.points
        for mark in canvas.marks
        if isinstance(mark, Polyline) and mark.stroke == "accent"
    ]
    per_metre = (way[-1][0] - way[0][0]) / 100
    assert bars[0][2][0] - bars[0][1][0] == pytest.approx(metres * per_metre)


def test_nothing_leaves_its_panel() -> None:
    canvas = render_route_plans([plan_of(str(number)) for number in range(6)])
    panels = areas(canvas, "panel")
    assert len(panels) == 6
    for fill in ("asphalt", "building", "quiet"):
        for area in areas(canvas, fill)[:-1]:  # the last is the legend's
            assert any(
                (area >= panel.min(axis=0) - 1e-6).all()
                and (area <= panel.max(axis=0) + 1e-6).all()
                for panel in panels
            ), fill
    assert len(areas(canvas, "building")) == 6 + 1
    assert len(areas(canvas, "quiet")) == 0 + 1
    assert max(panel.max() for panel in panels) < max(canvas.width, canvas.height)


def test_a_polygon_is_cut_at_an_edge() -> None:
    square = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    assert set(convert_to_points(clip_polygon(square, 0, 1.0, 1.0))) == {
        (1, 0),
        (2, 0),
        (2, 2),
        (1, 2),
    }
    assert len(clip_polygon(square, 0, 3.0, 1.0)) == 0


@pytest.mark.thorough
def test_a_route_of_ours_with_its_town(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "route.svg"
    asked = ["routes", "plot", *FILES, *HAZARDS, "--only", "4", "--surveyed", "--out", str(out)]
    assert main(asked) == 0
    assert capsys.readouterr().out == f"1 route in {out}\n"
    svg = out.read_text()
    for words in ("route 4 of Crucible05", "cut in at 113 m", "roadside unit", "parked vehicle"):
        assert words in svg, words
    assert svg.count('class="f-building s-quiet"') > 20
    assert [path.name for path in out.parent.iterdir()] == ["route.svg"]


def test_a_png_may_be_dark(tmp_path: Path) -> None:
    from analysis.drawing.picture import render_canvas

    canvas = render_route_plans([plan_of()])
    corners = [render_canvas(canvas, 1.0, dark).getpixel((1, 1)) for dark in (False, True)]
    assert corners == [(255, 255, 255), (21, 24, 28)]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--out", "a.jpg"], "a name that ends in .png or .svg is needed"),
        (["--only", "nine", "--out", "a.png"], "has no route nine"),
        (["--hazards", "none.json", "--out", "a.png"], "none.json"),
    ],
)
def test_refusals_are_one_line(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["routes", "plot", *FILES, *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert complaint in line
