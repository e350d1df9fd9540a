"""Plane curves made of straight lines and circular arcs, in OpenDRIVE's frame (y to the left)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from harness.carlite.angles import wrap_to_pi

STRAIGHT = 1e-9
TIE = 1e-6
"""Lengths this near to each other count as equal, so that no rounding error decides anything."""


@dataclass(frozen=True)
class PlanePose:
    """A point and a heading, counterclockwise from the x axis."""

    x: float
    y: float
    heading: float

    def move_ahead(self, distance: float) -> PlanePose:
        """Go straight on; backwards if negative."""
        return PlanePose(
            self.x + distance * math.cos(self.heading),
            self.y + distance * math.sin(self.heading),
            self.heading,
        )

    def move_left(self, distance: float) -> PlanePose:
        """Step to the left, keeping the heading."""
        return PlanePose(
            self.x - distance * math.sin(self.heading),
            self.y + distance * math.cos(self.heading),
            self.heading,
        )

    def turn_around(self) -> PlanePose:
        """Turn about."""
        return PlanePose(self.x, self.y, wrap_to_pi(self.heading + math.pi))

    def locate_point(self, x: float, y: float) -> tuple[float, float]:
        """Where a point lies seen from here: how far ahead, how far left."""
        dx, dy = x - self.x, y - self.y
        c, s = math.cos(self.heading), math.sin(self.heading)
        return dx * c + dy * s, dy * c - dx * s


@dataclass(frozen=True)
class PathPiece:
    """A line (curvature 0) or an arc (positive curvature turns left)."""

    start: PlanePose
    length: float
    curvature: float

    def compute_pose(self, s: float) -> PlanePose:
        """Return the pose `s` metres along the piece."""
        turn = self.curvature * s
        if abs(turn) < STRAIGHT:
            return self.start.move_ahead(s)
        chord = 2 * math.sin(turn / 2) / self.curvature
        across = PlanePose(self.start.x, self.start.y, self.start.heading + turn / 2).move_ahead(
            chord
        )
        return PlanePose(across.x, across.y, wrap_to_pi(self.start.heading + turn))

    def crop_piece(self, begin: float, end: float) -> PathPiece:
        """Keep what lies between two stations."""
        return PathPiece(self.compute_pose(begin), end - begin, self.curvature)


@dataclass(frozen=True)
class PlanePath:
    """Pieces end to end, each tangent to the one before."""

    pieces: tuple[PathPiece, ...]

    @cached_property
    def length(self) -> float:
        """Metres from start to end."""
        return sum(piece.length for piece in self.pieces)

    def compute_pose(self, s: float) -> PlanePose:
        """Return the pose at station `s`; beyond the ends it goes straight on."""
        for piece in self.pieces[:-1]:
            if s < piece.length:
                return piece.compute_pose(s)
            s -= piece.length
        last = self.pieces[-1]
        return (
            last.compute_pose(s)
            if s <= last.length
            else last.compute_pose(last.length).move_ahead(s - last.length)
        )

    def crop_path(self, begin: float, end: float) -> PlanePath:
        """Keep what lies between two stations."""
        kept = []
        station = 0.0
        for piece in self.pieces:
            low, high = max(begin - station, 0.0), min(end - station, piece.length)
            if high - low > TIE:
                kept.append(piece.crop_piece(low, high))
            station += piece.length
        return PlanePath(tuple(kept))


def join_paths(*paths: PlanePath) -> PlanePath:
    """Put paths end to end; straight lines in a row become one."""
    pieces: list[PathPiece] = []
    for piece in (piece for path in paths for piece in path.pieces):
        if pieces and pieces[-1].curvature == 0 == piece.curvature:
            pieces[-1] = PathPiece(pieces[-1].start, pieces[-1].length + piece.length, 0.0)
        else:
            pieces.append(piece)
    return PlanePath(tuple(pieces))


def _fit_arc(start: PlanePose, x: float, y: float) -> PathPiece:
    """Return the one arc (or line) that leaves `start` along its heading and ends at a point."""
    ahead, left = start.locate_point(x, y)
    chord = math.hypot(ahead, left)
    turn = 2 * math.atan2(left, ahead)
    if abs(turn) < 1e-7:
        return PathPiece(start, chord, 0.0)
    curvature = 2 * math.sin(turn / 2) / chord
    return PathPiece(start, turn / curvature, curvature)


def _fit_biarc(start: PlanePose, end: PlanePose) -> PlanePath:
    """Join two poses by two arcs whose tangent legs are equally long."""
    dx, dy = end.x - start.x, end.y - start.y
    tx = math.cos(start.heading) + math.cos(end.heading)
    ty = math.sin(start.heading) + math.sin(end.heading)
    along = dx * tx + dy * ty
    spread = 2 * (1 - math.cos(end.heading - start.heading))
    square = dx * dx + dy * dy
    if spread < 1e-9:
        leg = square / (2 * along)
    else:
        leg = (math.sqrt(along * along + spread * square) - along) / spread
    first, last = start.move_ahead(leg), end.move_ahead(-leg)
    middle_x, middle_y = (first.x + last.x) / 2, (first.y + last.y) / 2
    one = _fit_arc(start, middle_x, middle_y)
    return PlanePath((one, _fit_arc(one.compute_pose(one.length), end.x, end.y)))


def _make_fillet(
    start: PlanePose, end: PlanePose, legs: tuple[float, float], radius: float
) -> PlanePath:
    """Round the corner of two tangents, as long as `legs`, by one arc between lines."""
    leg_in, leg_out = legs
    turn = wrap_to_pi(end.heading - start.heading)
    tangent = min(radius * math.tan(abs(turn) / 2), leg_in, leg_out)
    bend = math.copysign(math.tan(abs(turn) / 2) / tangent, turn)
    pieces = []
    if leg_in - tangent > TIE:
        pieces.append(PathPiece(start, leg_in - tangent, 0.0))
    pieces.append(PathPiece(start.move_ahead(leg_in - tangent), turn / bend, bend))
    if leg_out - tangent > TIE:
        pieces.append(PathPiece(end.move_ahead(tangent - leg_out), leg_out - tangent, 0.0))
    return PlanePath(tuple(pieces))


def compute_tangent_legs(start: PlanePose, end: PlanePose) -> tuple[float, float]:
    """Return how far two tangents run to where they meet: from the start, and on to the end."""
    turn = end.heading - start.heading
    ahead, left = start.locate_point(end.x, end.y)
    leg_out = left / math.sin(turn)
    return ahead - leg_out * math.cos(turn), leg_out


def join_poses(start: PlanePose, end: PlanePose, radius: float = math.inf) -> PlanePath:
    """Join two poses smoothly, by an arc of up to `radius` between lines where that is possible."""
    turn = wrap_to_pi(end.heading - start.heading)
    ahead, left = start.locate_point(end.x, end.y)
    if abs(turn) < 1e-6 and abs(left) < 1e-6:
        return PlanePath((PathPiece(start, ahead, 0.0),))
    if abs(turn) > 0.05 and abs(turn) < 3.0:
        legs = compute_tangent_legs(start, end)
        if min(legs) > 0.5:
            return _make_fillet(start, end, legs, radius)
    return _fit_biarc(start, end)


def make_rounded_path(
    points: tuple[tuple[float, float], ...], radii: tuple[float, ...]
) -> PlanePath:
    """Follow a polyline whose inner corners are rounded by arcs of the given radii."""
    headings = [math.atan2(b[1] - a[1], b[0] - a[0]) for a, b in pairwise(points)]
    pieces: list[PathPiece] = []
    here = PlanePose(*points[0], headings[0])
    for corner, radius, heading in zip(points[1:-1], radii, headings[1:], strict=True):
        # an arc touches both legs at the same distance from the corner
        turn = wrap_to_pi(heading - here.heading)
        tangent = radius * math.tan(abs(turn) / 2)
        straight = math.hypot(corner[0] - here.x, corner[1] - here.y) - tangent
        if straight < -TIE:
            raise ValueError(f"a bend of radius {radius:g} m at {corner} has no room")
        # the straight piece before it, then the arc
        if straight > TIE:
            pieces.append(PathPiece(here, straight, 0.0))
        arc = PathPiece(
            here.move_ahead(straight), abs(turn) * radius, math.copysign(1 / radius, turn)
        )
        pieces.append(arc)
        here = PlanePose(corner[0], corner[1], heading).move_ahead(tangent)
    # the last straight piece
    rest = math.hypot(points[-1][0] - here.x, points[-1][1] - here.y)
    if here.locate_point(*points[-1])[0] < 0:
        raise ValueError(f"the last bend before {points[-1]} has no room")
    return (
        PlanePath((*pieces, PathPiece(here, rest, 0.0))) if rest > TIE else PlanePath(tuple(pieces))
    )
