"""Reading OpenDRIVE: every kind of geometry as the client draws it, and broken files refused."""

from __future__ import annotations

import math
import random
from pathlib import Path

import carla
import numpy as np
import pytest

from harness.carlite import towns
from harness.carlite.errors import UserError
from harness.carlite.towns import lanes as sampling
from harness.carlite.towns import opendrive
from harness.carlite.towns.network import GeometryRecord
from harness.carlite.towns.reference_line import evaluate_cubic, evaluate_reference_line
from tests.carlite import opendrive_samples as samples
from tests.carlite.client_map import check_samples, check_successors

SHAPES = {
    "line": "<line/>",
    "left bend": '<arc curvature="0.02"/>',
    "right bend": '<arc curvature="-0.03"/>',
    "opening spiral": '<spiral curvStart="0.0" curvEnd="0.04"/>',
    "closing spiral": '<spiral curvStart="-0.05" curvEnd="-0.01"/>',
    "s-curve": '<spiral curvStart="-0.03" curvEnd="0.03"/>',
    "cubic": '<poly3 a="0" b="0" c="0.004" d="-0.00003"/>',
    "parametric": "normalized",
    "parametric by length": "arcLength",
}


def parametric(p_range: str) -> str:
    """A cubic curve 60 m long, whose parameter runs faster at its start than at its end."""
    last = 1.0 if p_range == "normalized" else 60.0
    p = np.linspace(0.0, 1.0, 100_001)
    u, v = p - 0.13 * p**3, 0.33 * p**2 - 0.06 * p**3
    scale = 60.0 / float(np.hypot(np.diff(u), np.diff(v)).sum())
    return (
        f'<paramPoly3 pRange="{p_range}" aU="0" bU="{scale / last!r}" cU="0" '
        f'dU="{-0.13 * scale / last**3!r}" aV="0" bV="0" cV="{0.33 * scale / last**2!r}" '
        f'dV="{-0.06 * scale / last**3!r}"/>'
    )


def winding_road(shape: str) -> str:
    """One piece of each shape, with slopes, a shifting centre and lanes of changing width."""
    link = '<predecessor id="{0}"/><successor id="{0}"/>'
    wide = '<width sOffset="0" a="3" b="0.02" c="0" d="0"/>'
    bulge = (
        '<width sOffset="0" a="3.2" b="0" c="0.001" d="-0.00001"/>'
        '<width sOffset="12" a="3.5" b="-0.01" c="0" d="0"/>'
    )
    sections = "".join(
        samples.section(
            [
                samples.lane(2, "sidewalk", link=link.format(2)),
                samples.lane(1, width=wide, link=link.format(1)),
                samples.lane(-1, width=bulge, link=link.format(-1)),
                samples.lane(-2, "shoulder", link=link.format(-2)),
            ],
            s,
        )
        for s in (0.0, 31.4)
    )
    return samples.document(
        samples.road(
            7,
            60.0,
            samples.geometry(0.0, 12.5, -8.0, 0.7, 60.0, shape),
            sections,
            elevation=(
                '<elevation s="0" a="1" b="0.02" c="0.001" d="0"/>'
                '<elevation s="20" a="1.8" b="0.06" c="-0.0005" d="0"/>'
            ),
            offset='<laneOffset s="0" a="0.5" b="0.01" c="0" d="0"/>',
        )
    )


@pytest.mark.thorough
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_runs_where_the_client_has_it(shape: str) -> None:
    course = SHAPES[shape]
    text = winding_road(course if course.startswith("<") else parametric(course))
    lanes = sampling.build_lanes(opendrive.parse_opendrive(text))
    reference = carla.Map(shape, text)
    assert check_samples(lanes, reference, every=1) > 150
    check_successors(lanes, reference)


def test_spirals_integrate_their_heading() -> None:
    """Against a sum over a million small steps."""
    piece = GeometryRecord(
        kind="spiral", s=0.0, x=0.0, y=0.0, heading=0.0, length=120.0, parameters=(-0.08, 0.11)
    )
    steps = (np.arange(1_000_000) + 0.5) * 120e-6
    direction = -0.08 * steps + 0.5 * (0.19 / 120.0) * steps**2
    x, y, heading = evaluate_reference_line([piece], np.array([30.0, 120.0]))
    for index, share in enumerate((250_000, 1_000_000)):
        assert x[index] == pytest.approx(np.cos(direction[:share]).sum() * 120e-6, abs=1e-7)
        assert y[index] == pytest.approx(np.sin(direction[:share]).sum() * 120e-6, abs=1e-7)
    assert heading[1] == pytest.approx(0.015 * 120.0)


def test_pieces_meet_and_ends_hold() -> None:
    plan = [
        GeometryRecord(kind="line", s=0.0, x=0.0, y=0.0, heading=0.0, length=10.0),
        GeometryRecord(
            kind="arc", s=10.0, x=10.0, y=0.0, heading=0.0, length=5 * math.pi, parameters=(0.1,)
        ),
    ]
    before, after = (
        evaluate_reference_line(plan, np.array([10.0 - 1e-9])),
        evaluate_reference_line(plan, np.array([10.0])),
    )
    np.testing.assert_allclose(before, after, atol=1e-8)
    x, y, heading = evaluate_reference_line(plan, np.array([-5.0, 1000.0]))
    np.testing.assert_allclose([x[0], y[0], heading[0]], [0.0, 0.0, 0.0])
    np.testing.assert_allclose([x[1], y[1], heading[1]], [20.0, 10.0, math.pi / 2], atol=1e-12)


def test_cubics_take_the_last_row_that_has_started() -> None:
    profile = np.array([[0.0, 1.0, 2.0, 0.0, 0.0], [5.0, 0.0, 0.0, 1.0, 0.5]])
    value, slope = evaluate_cubic(profile, np.array([-1.0, 4.0, 5.0, 7.0]))
    np.testing.assert_allclose(value, [-1.0, 9.0, 0.0, 8.0])
    np.testing.assert_allclose(slope, [2.0, 2.0, 0.0, 10.0])


STRAIGHT, CROSSING = samples.straight_road(), samples.crossing()
BROKEN = {
    "nothing": ("", "not well-formed"),
    "not XML": ("hello", "not well-formed"),
    "cut short": (CROSSING[: len(CROSSING) // 2], "not well-formed"),
    "another document": ("<html></html>", "not <OpenDRIVE>"),
    "empty": ("<OpenDRIVE/>", "no road"),
    "entities": ('<!DOCTYPE x [<!ENTITY a "b">]>' + STRAIGHT, "DOCTYPE"),
    "nested too deeply": (
        STRAIGHT.replace("<line/>", "<a>" * 200_000 + "</a>" * 200_000),
        "<a> is nested deeper than 64 levels",
    ),
    "no id": (STRAIGHT.replace(' id="1" junction', " junction"), "id is missing"),
    "id not a number": (STRAIGHT.replace('id="1" junction', 'id="one" junction'), "whole number"),
    "id too big": (STRAIGHT.replace('id="1" junction', f'id="{2**40}" junction'), "beyond 32 bits"),
    "twice the same id": (
        STRAIGHT.replace("</OpenDRIVE>", STRAIGHT[STRAIGHT.index("<road") :]),
        "road 1 is there twice",
    ),
    "NaN": (STRAIGHT.replace('hdg="0.0"', 'hdg="nan"'), "geometry at s=0: hdg"),
    "infinite": (STRAIGHT.replace('a="3.5"', 'a="inf"'), "lane 1: a of <width>"),
    "not a number": (STRAIGHT.replace('x="0.0"', 'x="left"'), "x of <geometry> is 'left'"),
    "no length": (STRAIGHT.replace('length="100.0" id', 'length="0" id'), "must be above zero"),
    "backwards": (STRAIGHT.replace('length="100.0">', 'length="-4">'), "must be above zero"),
    "no geometry": (STRAIGHT.replace("geometry", "geo"), "no <geometry>"),
    "no shape": (STRAIGHT.replace("<line/>", "<curve/>"), "exactly one of line, arc"),
    "no lanes": (STRAIGHT.replace("laneSection", "lanesection"), "no <laneSection>"),
    "endless": (STRAIGHT.replace('length="100.0" id', 'length="1e9" id'), "more than 100000 m"),
    "far too sharp": (STRAIGHT.replace("<line/>", '<arc curvature="1e5"/>'), "curvature"),
    "far too wide": (STRAIGHT.replace('a="3.5"', 'a="5000"', 1), "road 1, lane 1: it is wider"),
    "on the moon": (STRAIGHT.replace('x="0.0"', 'x="4e8"'), "more than 1000 km from the origin"),
    "a pirouette": (
        STRAIGHT.replace("<line/>", '<arc curvature="90"/>').replace('a="3.5"', 'a="150"'),
        "far longer than its",
    ),
    "strange unit": (STRAIGHT.replace("km/h", "knots"), "'knots' is none of"),
    "speed below zero": (STRAIGHT.replace('max="50"', 'max="-5"'), "above zero"),
    "link to no junction": (
        CROSSING.replace('junction id="50"', 'junction id="51"'),
        "junction 50",
    ),
    "link to no road": (
        CROSSING.replace('incomingRoad="3"', 'incomingRoad="33"'),
        "connects road 33",
    ),
    "link to no lane": (
        CROSSING.replace('<successor id="1"/>', '<successor id="4"/>'),
        "leads to lane 4 of road",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_files_are_refused_in_one_clear_line(fault: str, tmp_path: Path) -> None:
    text, hint = BROKEN[fault]
    with pytest.raises(ValueError, match=r"^[^\n]*$") as wrong:
        towns.from_opendrive("broken", text)
    assert hint in str(wrong.value)
    file = tmp_path / "Broken.xodr"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as refusal:
        towns.load_town("Broken", tmp_path)
    assert str(refusal.value) == f"{file}: {wrong.value}"


def test_elements_may_be_nested_as_deeply_as_is_said() -> None:
    """A geometry is at the fourth level: 60 more are read, 61 are not."""
    for levels, readable in ((60, True), (61, False)):
        nested = "<userData>" * levels + "</userData>" * levels
        text = STRAIGHT.replace("<line/>", f"<line/>{nested}")
        if readable:
            assert (
                opendrive.parse_opendrive(text).roads[1].plan
                == opendrive.parse_opendrive(STRAIGHT).roads[1].plan
            )
        else:
            with pytest.raises(ValueError, match="<userData> is nested deeper than 64 levels"):
                opendrive.parse_opendrive(text)


def test_deep_nesting_is_refused_before_the_rest_is_read() -> None:
    """What follows, further on, is no XML; it is not reached."""
    text = "<OpenDRIVE>" + "<a>" * 200 + " " * (1 << 16) + "<<<"
    with pytest.raises(ValueError, match="nested deeper"):
        opendrive.parse_opendrive(text)


def test_damaged_files_never_fail_in_another_way() -> None:
    """Random cuts, swaps and replaced values end in a town or a ValueError."""
    rng = random.Random(11)
    refused = 0
    for _ in range(200):
        text = CROSSING
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text))
            until = at + rng.randint(0, 40)
            text = text[:at] + rng.choice(["", "9", "-", "nan", "<", text[-until:]]) + text[until:]
        try:
            town = towns.from_opendrive("damaged", text)
        except ValueError:
            refused += 1
        else:
            assert np.isfinite(town.lanes.points).all()
            assert np.isfinite(town.ground.lower).all()
    assert 50 < refused < 200
