"""Where and when a mover and the ego would meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from harness.types import ego_body
from harness.types.vocabulary import Floats, Pose
from harness.world.hazards.courses import MoverCourse
from harness.world.hazards.parameters import Value
from harness.world.hazards.sizes import get_blueprint_size
from harness.world.hazards.track import Track

TICK = 0.05
OUTLINE = np.array([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)], float)


@dataclass(frozen=True, eq=False)
class StaticActor:
    """Something that only stands there.

    Attributes:
        blueprint: name in the simulator.
        pose: on the ground, in the world.
    """

    blueprint: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class MovingActor:
    """An actor that waits at the start of a course and then follows it."""

    blueprint: str
    course: MoverCourse


@dataclass(frozen=True, kw_only=True)
class PlannedMeeting:
    """Where and when the ego's front would touch a mover if neither brakes."""

    station: float  # of the ego's front
    seconds: float  # since the mover started
    over: float  # seconds since the mover started when it has left the ego's way


@dataclass(frozen=True, eq=False, kw_only=True)
class EncounterPlan:
    """A hazard as it would stand: what hides the mover, the mover, and how it meets the ego."""

    mover: MovingActor
    meeting: PlannedMeeting
    standing: tuple[StaticActor, ...] = ()
    screens: tuple[MovingActor, ...] = ()  # drive off with the mover, and hide it
    taken: Mapping[str, Value] = field(default_factory=dict)  # parameters left open, as they are


def compute_mover_outline(mover: MovingActor, times: Floats) -> Floats:
    """Return nine points (T, 9, 2) of a mover's body at some times.

    Args:
        mover: an actor with a course.
        times: (T,) seconds from its start.

    Returns:
        Metres in the world.
    """
    length, width, _ = get_blueprint_size(mover.blueprint)
    xyz, yaw = mover.course.interpolate_poses(mover.course.compute_distance(times))
    local = OUTLINE * (length / 2, width / 2)
    cos, sin = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    x = xyz[:, 0, None] + cos * local[:, 0] - sin * local[:, 1]
    y = xyz[:, 1, None] + sin * local[:, 0] + cos * local[:, 1]
    return np.stack([x, y], axis=-1)


def compute_mover_meeting(track: Track, mover: MovingActor, near: float) -> PlannedMeeting | None:
    """Return how a mover meets the ego near a station: soon after it enters the ego's way.

    Args:
        track: the ego's route.
        mover: an actor with a course.
        near: metres along the route; it must be within 20 m.

    Returns:
        None if the mover never enters the ego's way.
    """
    times = np.arange(0.0, mover.course.duration, TICK)
    station, right = track.project_points(compute_mover_outline(mover, times))
    # (T, 9) points of the body in the strip that the ego's body sweeps
    inside = (np.abs(right) < ego_body.WIDTH / 2) & (np.abs(station - near) < 20.0)
    blocked = np.flatnonzero(inside.any(axis=1))
    if len(blocked) == 0:
        return None
    passed = np.flatnonzero(~inside.any(axis=1) & (np.arange(len(times)) > blocked[0]))
    last = passed[0] if len(passed) else len(times) - 1
    # not the first touch but a little later: the mover is then well in the ego's way
    at = blocked[0] + round(min(0.3 * (last - blocked[0]), 0.2 / TICK))
    return PlannedMeeting(
        station=float(station[at][inside[at]].min()),
        seconds=float(times[at]),
        over=float(times[last]),
    )
