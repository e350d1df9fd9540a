"""Planned paths of the ego and of others, and what they say of where others will be."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from agents.driving.path import RoutePath
from agents.driving.prediction import PredictedMotion, compute_travelled_distances
from agents.driving.settings import EgoVehicleModel
from agents.driving.tracking import RoadUserTracks
from harness.types.geometry import compose_poses
from harness.types.intentions import place_motion
from harness.types.vocabulary import (
    VEHICLE,
    EgoObservation,
    Floats,
    Intention,
    PlannedMotion,
    Pose,
)

MATCHED = 3.0
"""Metres between a track and where a plan is now, up to which both are one vehicle."""


def make_planned_motion(
    path: RoutePath, stations: Floats, speeds: Floats, *, times: Floats, car: EgoVehicleModel
) -> PlannedMotion:
    """Return the ego's motion along a path, in the world.

    Args:
        path: that it drives along.
        stations: (T,) metres along the path.
        speeds: (T,) m/s.
        times: (T,) seconds.
        car: its body; in a bend it points outward of the path.
    """
    centre, course = path.interpolate_points(stations)
    yaw = course - car.compute_slip(path.compute_curvature(stations))
    return PlannedMotion(
        times=times, centre=centre, yaw=yaw, speed=speeds, length=car.length, width=car.width
    )


def place_intentions(observation: EgoObservation) -> tuple[Intention, ...]:
    """Return the received intentions in the world, by the ego's true pose, as boxes are placed."""
    lidar = compose_poses(observation.vehicle_in_world, observation.lidar_in_vehicle)
    world = Pose(0.0, 0.0)
    return tuple(
        Intention(one.sender, place_motion(one.motion, lidar, world))
        for one in observation.intentions
    )


def follow_intentions(
    future: PredictedMotion,
    tracks: RoadUserTracks,
    intentions: Sequence[Intention],
    *,
    times: Floats,
    yielding: Collection[str],
    braking: float,
) -> PredictedMotion:
    """Return a prediction in which vehicles that said what they plan do that.

    A vehicle that yields to the ego brakes, if it does not plan to already: its plan may be older
    than its knowledge of the ego's.

    Args:
        future: the prediction without intentions.
        tracks: N road users in the world.
        intentions: in the world.
        times: (T,) seconds from now.
        yielding: senders that yield to the ego.
        braking: m/s² of those.
    """
    centre, yaw = future.centre.copy(), future.yaw.copy()
    for intention in intentions:
        motion = intention.motion
        away = np.hypot(*(tracks.position - motion.centre[0]).T)
        away[tracks.classes != VEHICLE] = np.inf
        if not len(away) or away.min() > MATCHED:
            continue
        row = int(away.argmin())
        centre[row], yaw[row] = extend_motion(
            motion, times, braking=braking if intention.sender in yielding else None
        )
    return replace(future, centre=centre, yaw=yaw)


def extend_motion(
    motion: PlannedMotion, times: Floats, *, braking: float | None = None
) -> tuple[Floats, Floats]:
    """Return centres (T, 2) and headings (T,) of a plan; beyond its end it goes straight on.

    Args:
        motion: its times from now.
        times: (T,) seconds from now.
        braking: m/s² with which the vehicle falls behind its plan; None: it keeps to it.
    """
    # metres along the way of the plan: (places,), and those driven at the times
    way = measure_way(motion)
    beyond = np.maximum(times - motion.times[-1], 0.0) * motion.speed[-1]
    driven = np.interp(times, motion.times, way) + beyond
    if braking is not None:
        speed, rate = motion.speed[:1], np.array([braking])
        driven = np.minimum(driven, compute_travelled_distances(speed, rate, times)[0])
    # places on that way; a plan that stands has one place
    over = np.maximum(driven - way[-1], 0.0)
    end = motion.yaw[-1]
    x = np.interp(driven, way, motion.centre[:, 0]) + over * np.cos(end)
    y = np.interp(driven, way, motion.centre[:, 1]) + over * np.sin(end)
    return np.stack([x, y], -1), np.interp(driven, way, motion.yaw)


def measure_way(motion: PlannedMotion) -> Floats:
    """Return the metres (T,) from the beginning of a plan to each of its times."""
    pieces = np.hypot(*np.diff(motion.centre, axis=0).T)
    return np.concatenate([[0.0], np.cumsum(pieces)])
