"""CrucibleRing: a ring road round a small inner ring, with spokes, hills and a flyover."""

from __future__ import annotations

import math

from harness.authoring.plan import JunctionControl, Node, Street, StreetProfile, TownPlan, Via

RING_RADIUS, INNER_RADIUS = 125.0, 44.0

RING = StreetProfile(lanes=2, sidewalk=2.5, speed=60, rank=3)
SPOKE = StreetProfile(lanes=1, parking=(2.6, 2.6), sidewalk=2.4, speed=50, rank=2)
FLYOVER = StreetProfile(lanes=1, lane_width=3.75, sidewalk=2.0, speed=60, rank=2)
LOOP = StreetProfile(lanes=1, sidewalk=2.2, parking=(2.6, 0.0), speed=50, rank=2)
INNER = StreetProfile(lanes=1, lane_width=3.5, sidewalk=2.6, speed=30, rank=1)


def _compute_circle_point(radius: float, degrees: float) -> tuple[float, float]:
    angle = math.radians(degrees)
    return round(radius * math.cos(angle), 3), round(radius * math.sin(angle), 3)


def _make_circle_node(
    radius: float, degrees: float, z: float, control: JunctionControl, *, corner: float
) -> Node:
    return Node(*_compute_circle_point(radius, degrees), z, control, corner=corner)


def _make_arc_via(radius: float, begin: float, end: float) -> tuple[Via, ...]:
    """Follow a circle, by the corner where the tangents at both ends meet."""
    half = math.radians((end - begin) / 2)
    return (
        Via(*_compute_circle_point(radius / math.cos(half), (begin + end) / 2), radius * 0.995),
    )


LIGHTS, ALL_STOP = JunctionControl.LIGHTS, JunctionControl.ALL_STOP
STOP, YIELD = JunctionControl.STOP, JunctionControl.YIELD

NODES = {
    "ring 0": _make_circle_node(RING_RADIUS, 0, 2.0, LIGHTS, corner=7),
    "ring 52": _make_circle_node(RING_RADIUS, 52, 0.0, YIELD, corner=7),
    "ring 128": _make_circle_node(RING_RADIUS, 128, 0.0, LIGHTS, corner=7),
    "ring 180": _make_circle_node(RING_RADIUS, 180, 2.0, STOP, corner=7),
    "ring 235": _make_circle_node(RING_RADIUS, 235, 3.0, YIELD, corner=7),
    "ring 305": _make_circle_node(RING_RADIUS, 305, 3.5, LIGHTS, corner=7),
    "inner 0": _make_circle_node(INNER_RADIUS, 0, 3.0, YIELD, corner=6),
    "inner 90": _make_circle_node(INNER_RADIUS, 90, 3.0, YIELD, corner=6),
    "inner 180": _make_circle_node(INNER_RADIUS, 180, 3.0, ALL_STOP, corner=6),
    "inner 270": _make_circle_node(INNER_RADIUS, 270, 3.0, YIELD, corner=6),
    "summit": Node(0, 222, 5.5, LIGHTS, corner=7),
}


def _make_arc_street(name: str, kind: str, begin: int, end: int) -> Street:
    radius, profile = (RING_RADIUS, RING) if kind == "ring" else (INNER_RADIUS, INNER)
    via = _make_arc_via(radius, begin, end if end > begin else end + 360)
    return Street(name, f"{kind} {begin}", f"{kind} {end}", profile, via=via)


STREETS = (
    _make_arc_street("Ring NE", "ring", 0, 52),
    _make_arc_street("Ring N", "ring", 52, 128),
    _make_arc_street("Ring NW", "ring", 128, 180),
    _make_arc_street("Ring SW", "ring", 180, 235),
    _make_arc_street("Ring S", "ring", 235, 305),
    _make_arc_street("Ring SE", "ring", 305, 0),
    _make_arc_street("Circus NE", "inner", 0, 90),
    _make_arc_street("Circus NW", "inner", 90, 180),
    _make_arc_street("Circus SW", "inner", 180, 270),
    _make_arc_street("Circus SE", "inner", 270, 0),
    Street("East Spoke", "inner 0", "ring 0", SPOKE),
    Street("West Spoke", "inner 180", "ring 180", SPOKE),
    Street("South Spoke", "inner 270", "ring 305", SPOKE, via=(Via(0, -78, 25), Via(50, -72, 25))),
    Street("Flyover", "inner 90", "summit", FLYOVER, via=(Via(0, 128, 500, z=8.0),)),
    Street("North Loop E", "ring 52", "summit", LOOP, via=(Via(118, 151, 45), Via(90, 222, 45))),
    Street(
        "North Loop W", "summit", "ring 128", LOOP, via=(Via(-100, 222, 45), Via(-120, 153, 40))
    ),
    Street(
        "South Loop",
        "ring 235",
        "ring 305",
        LOOP,
        via=(
            Via(-113, -161, 40),
            Via(-60, -222, 50, z=6.0),
            Via(80, -222, 60, z=8.0),
            Via(120, -171, 35),
        ),
    ),
)

PLAN = TownPlan("CrucibleRing", NODES, STREETS, latitude=50.1, longitude=8.7)
