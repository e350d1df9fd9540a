"""From a plan to an OpenDRIVE document."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count

from harness.authoring import control, junctions, sections
from harness.authoring.document import (
    CrosswalkRectangle,
    Cubic,
    JunctionConnection,
    LightController,
    LinkRecord,
    OpenDriveDocument,
    PlannedJunction,
    PlannedRoad,
)
from harness.authoring.geometry import PlanePath, PlanePose, make_rounded_path
from harness.authoring.junctions import JunctionArm, JunctionMovement, LaneMouth
from harness.authoring.plan import JunctionControl, Node, Street, TownPlan

FIRST_JUNCTION, FIRST_SIGN, FIRST_CONTROLLER = 5000, 7000, 8000
FIRST_CROSSWALK, FIRST_STOP_LINE = 9000, 9500


@dataclass(frozen=True)
class StreetCourse:
    """A street from node centre to node centre, and what is cut off its ends."""

    street: Street
    path: PlanePath
    zones: tuple[sections.EndZone, sections.EndZone]

    def list_ends_at_node(self, node: str) -> list[bool]:
        """List which ends (at the start: True) lie at a node."""
        ends = ((self.street.start, True), (self.street.end, False))
        return [at_start for name, at_start in ends if name == node]

    def compute_outward_pose(self, at_start: bool, distance: float) -> PlanePose:
        """Look along the street away from one of its ends, `distance` metres from the node."""
        if at_start:
            return self.path.compute_pose(distance)
        return self.path.compute_pose(self.path.length - distance).turn_around()


@dataclass(frozen=True, kw_only=True)
class IdCounters:
    """Where fresh ids come from."""

    roads: Iterator[int]
    signs: Iterator[int]
    controllers: Iterator[int]
    crosswalks: Iterator[int]
    stop_lines: Iterator[int]


def build_document(plan: TownPlan) -> OpenDriveDocument:
    """Derive everything a town's plan implies."""
    # streets, cut back where junctions are
    courses = [_make_street_course(plan, street) for street in plan.streets]
    cuts = _compute_street_cuts(plan, courses)
    number = {name: FIRST_JUNCTION + k for k, name in enumerate(plan.nodes)}
    roads = {
        index + 1: _make_street_road(plan, course, id_=index + 1, cut=cuts[index], number=number)
        for index, course in enumerate(courses)
    }
    # ids of everything else follow those of the streets
    numbers = IdCounters(
        roads=count(len(courses) + 1),
        signs=count(FIRST_SIGN),
        controllers=count(FIRST_CONTROLLER),
        crosswalks=count(FIRST_CROSSWALK),
        stop_lines=count(FIRST_STOP_LINE),
    )
    built: list[PlannedJunction] = []
    inner: list[PlannedRoad] = []
    # junctions: arms, movements through them, their roads, control and crosswalks
    for name, node in plan.nodes.items():
        arms = [
            _make_junction_arm(course, at_start, cut=cuts[index], road=roads[index + 1])
            for index, course in enumerate(courses)
            for at_start in course.list_ends_at_node(name)
        ]
        if len(arms) < 2:
            raise ValueError(f"{plan.name}: {name} is a dead end")
        ways = junctions.make_movements(node, arms)
        connecting = [
            _make_connecting_road(
                way, arms, id_=next(numbers.roads), junction=number[name], height=node.z
            )
            for way in ways
        ]
        timing = _place_junction_control(node, arms, roads, numbers)
        _add_crosswalks(arms, ways, connecting, numbers.crosswalks)
        built.append(
            PlannedJunction(number[name], name, _make_connections(arms, ways, connecting), timing)
        )
        inner += connecting
    every = (*roads.values(), *inner)
    return OpenDriveDocument(
        name=plan.name,
        latitude=plan.latitude,
        longitude=plan.longitude,
        roads=every,
        junctions=tuple(built),
        surroundings=plan.surroundings,
    )


def _make_connections(
    arms: list[JunctionArm], ways: list[JunctionMovement], roads: list[PlannedRoad]
) -> tuple[JunctionConnection, ...]:
    """Link the lanes of the streets to those of the connecting roads."""
    return tuple(
        JunctionConnection(
            k,
            arms[way.source].road,
            road.id,
            tuple((entry.lane, -i) for i, (entry, _) in enumerate(way.lanes, start=1)),
        )
        for k, (way, road) in enumerate(zip(ways, roads, strict=True))
    )


def _place_junction_control(
    node: Node, arms: list[JunctionArm], roads: dict[int, PlannedRoad], numbers: IdCounters
) -> tuple[LightController, ...]:
    """Put up lights or signs of priority, stop lines and speed limits."""
    timing: tuple[LightController, ...] = ()
    if node.control is JunctionControl.LIGHTS:
        timing = control.add_lights(
            node, arms, roads, signs=numbers.signs, controllers=numbers.controllers
        )
    else:
        control.add_priority_signs(node, arms, roads, numbers.signs)
    control.add_stop_lines(arms, roads, numbers.stop_lines)
    control.add_speed_limit_signs(arms, roads, numbers.signs)
    return timing


def _make_street_course(plan: TownPlan, street: Street) -> StreetCourse:
    start, end = plan.nodes[street.start], plan.nodes[street.end]
    points = ((start.x, start.y), *((via.x, via.y) for via in street.via), (end.x, end.y))
    try:
        path = make_rounded_path(points, tuple(via.radius for via in street.via))
    except ValueError as error:
        raise ValueError(f"{plan.name}, {street.name}: {error}") from error
    zones = tuple(
        sections.make_end_zone(street.profile, pocket, at_end)
        for pocket, at_end in zip(street.pockets, (False, True), strict=True)
    )
    return StreetCourse(street, path, (zones[0], zones[1]))


def _compute_street_cuts(plan: TownPlan, courses: list[StreetCourse]) -> list[tuple[float, float]]:
    """Cut every street back at both ends."""
    cuts = [[0.0, 0.0] for _ in courses]
    for name, node in plan.nodes.items():
        # the streets that end at this node, and how far each must give way
        ends = [
            (index, at_start)
            for index, course in enumerate(courses)
            for at_start in course.list_ends_at_node(name)
        ]
        rays = [
            junctions.make_street_ray(
                partial(courses[index].compute_outward_pose, at_start),
                courses[index].zones[0 if at_start else 1].cut,
                at_start,
            )
            for index, at_start in ends
        ]
        for (index, at_start), cut in zip(
            ends, junctions.compute_cut_backs(node, rays), strict=True
        ):
            cuts[index][0 if at_start else 1] = cut
    return [(start, end) for start, end in cuts]


def _make_street_road(
    plan: TownPlan,
    course: StreetCourse,
    *,
    id_: int,
    cut: tuple[float, float],
    number: dict[str, int],
) -> PlannedRoad:
    street = course.street
    path = course.path.crop_path(cut[0], course.path.length - cut[1])
    try:
        parts = sections.split_street(street.profile, *course.zones, path.length)
    except ValueError as error:
        raise ValueError(f"{plan.name}, {street.name}: {error}") from error
    return PlannedRoad(
        id=id_,
        name=street.name,
        junction=-1,
        path=path,
        elevation=_compute_elevation(plan, course, path, cut[0]),
        offset=sections.compute_lane_offset(parts),
        sections=sections.make_lane_sections(parts),
        predecessor=LinkRecord(number[street.start]),
        successor=LinkRecord(number[street.end]),
        speed=street.profile.speed,
        halls=street.halls,
    )


def _compute_elevation(
    plan: TownPlan, course: StreetCourse, path: PlanePath, cut: float
) -> tuple[Cubic, ...]:
    """Run level into both junctions and smoothly over the heights in between."""
    street = course.street
    # heights that are given, by station
    knots = [(0.0, plan.nodes[street.start].z)]
    knots += [
        (_find_nearest_station(course.path, via.x, via.y) - cut, via.z)
        for via in street.via
        if via.z is not None
    ]
    knots.append((path.length, plan.nodes[street.end].z))
    slopes = [0.0]
    # slope at each: level at tops and hollows, so that nothing overshoots
    for (s0, z0), (_, z1), (s2, z2) in zip(knots, knots[1:], knots[2:], strict=False):
        level = (z1 - z0) * (z2 - z1) <= 0
        slopes.append(0.0 if level else (z2 - z0) / (s2 - s0))
    slopes.append(0.0)
    result = []
    # cubics through heights and slopes (Hermite)
    for (s0, z0), (s1, z1), m0, m1 in zip(knots, knots[1:], slopes, slopes[1:], strict=False):
        run, rise = s1 - s0, (z1 - z0) / (s1 - s0)
        c, d = (3 * rise - 2 * m0 - m1) / run, (m0 + m1 - 2 * rise) / run**2
        result.append((s0, z0, m0, c, d))
    return tuple(result)


def _find_nearest_station(path: PlanePath, x: float, y: float) -> float:
    """Find the station closest to a point, to a quarter metre."""

    def distance(quarter: int) -> float:
        here = path.compute_pose(quarter / 4)
        return round(math.hypot(here.x - x, here.y - y), 6)

    return min(range(int(path.length * 4) + 1), key=distance) / 4


def _make_junction_arm(
    course: StreetCourse, at_start: bool, *, cut: tuple[float, float], road: PlannedRoad
) -> JunctionArm:
    """Look at a street from its junction."""
    # the end of the road that meets the junction
    section = road.sections[0 if at_start else -1]
    zone = course.zones[0 if at_start else 1]
    along = road.path.compute_pose(0.0) if at_start else road.path.compute_pose(road.path.length)
    mouths: dict[tuple[bool, str], list[LaneMouth]] = {}
    # mouths of lanes from the middle outwards, those nearest to the kerb first in the list
    for left, widths in ((True, zone.cut.left), (False, zone.cut.right)):
        lateral = zone.cut.offset
        ids = sorted((x.id for x in section.lanes if (x.id > 0) == left and x.id), key=abs)
        for lane, (name, width) in zip(ids, widths.items(), strict=True):
            pose = along.move_left(lateral)
            mouth = LaneMouth(lane, name, pose.turn_around() if left else pose, width)
            kind = "walk" if name == "sidewalk" else "drive"
            if kind == "walk" or sections.is_driving(name):
                mouths.setdefault((left, kind), []).insert(0, mouth)
            lateral += width if left else -width
    # left and right as seen from the junction
    kerbs = zone.cut.measure_kerb(left=True), zone.cut.measure_kerb(left=False)
    return JunctionArm(
        road=road.id,
        rank=course.street.profile.rank,
        outward=course.compute_outward_pose(at_start, cut[0 if at_start else 1]),
        incoming=tuple(mouths[at_start, "drive"]),
        outgoing=tuple(mouths[not at_start, "drive"]),
        walk_in=mouths[at_start, "walk"][0],
        walk_out=mouths[not at_start, "walk"][0],
        kerb_left=kerbs[0 if at_start else 1],
        kerb_right=kerbs[1 if at_start else 0],
    )


def _make_connecting_road(
    way: JunctionMovement, arms: list[JunctionArm], *, id_: int, junction: int, height: float
) -> PlannedRoad:
    entry, leave = arms[way.source], arms[way.target]
    return PlannedRoad(
        id=id_,
        name=f"{entry.road} to {leave.road}",
        junction=junction,
        path=way.path,
        elevation=((0.0, height, 0.0, 0.0, 0.0),),
        offset=((0.0, 0.0, 0.0, 0.0, 0.0),),
        sections=(junctions.make_connecting_section(way),),
        predecessor=LinkRecord(entry.road, "start" if entry.incoming[0].lane > 0 else "end"),
        successor=LinkRecord(leave.road, "start" if leave.outgoing[0].lane < 0 else "end"),
        speed=30,
    )


def _add_crosswalks(
    arms: list[JunctionArm],
    ways: list[JunctionMovement],
    roads: list[PlannedRoad],
    numbers: control.Ids,
) -> None:
    """Paint a crosswalk over every arm, on the connecting road that starts at its kerb."""
    for index, arm in enumerate(arms):
        # the road that begins at this arm's kerb carries it
        first = next(
            road
            for way, road in zip(ways, roads, strict=True)
            if way.source == index and way.lanes[0][0] is arm.incoming[0]
        )
        # from kerb to kerb
        station = junctions.CROSSWALK_GAP + junctions.CROSSWALK_DEPTH / 2
        right = -arm.incoming[0].width
        left = right + arm.kerb_left + arm.kerb_right
        first.crosswalks.append(
            CrosswalkRectangle(
                id=next(numbers),
                station=station,
                right=right,
                left=left,
                depth=junctions.CROSSWALK_DEPTH,
            )
        )
