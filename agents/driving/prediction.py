"""Motion prediction: where road users will be during the next seconds.

Vehicles and cyclists along the ego's lane or the next ones, in either direction, follow the road.
All others keep their speed and, for a while, their turn rate. Standing road users stay.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.path import RoutePath
from agents.driving.tracking import RoadUserTracks
from harness.types.geometry import wrap_angle
from harness.types.vocabulary import PEDESTRIAN, Floats, Mask

STANDING = np.array([0.5, 0.25, 0.5])
"""m/s below which a vehicle, pedestrian, cyclist stands."""

TURN_MEMORY = 1.5
"""Time constant in seconds with which a turn rate decays."""

LANE_REACH, LANE_ANGLE = 6.0, 0.4
"""Metres and radians off the path within which a road user counts as following the road."""

SIGHT_AHEAD, SIGHT_BEHIND = 80.0, 30.0
"""The part of the path, in metres from the ego, on which others can follow the road."""

BENT_JUNCTION = 0.3
"""Radians of turning inside a junction from which others need not follow the ego's path."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PredictedMotion:
    """Predicted road users at the times of a plan, the first of which is now."""

    centre: Floats  # (N, T, 2) in the world
    yaw: Floats  # (N, T)
    speed: Floats  # (N,)
    along: Floats  # (N,) m/s in the direction of the path
    station: Floats  # (N,) of the centre on the path, now
    offset: Floats  # (N,) metres right of the path, now
    heading: Floats  # (N,) of motion (of the body, if standing), relative to the path
    standing: Mask  # (N,)


def predict_motion(
    tracks: RoadUserTracks,
    path: RoutePath,
    *,
    ego_station: float,
    times: Floats,
    yielding: float = 0.0,
) -> PredictedMotion:
    """Return where the tracks will be at these times from now.

    With `yielding`, road users that cross the path brake by so many m/s².

    Args:
        tracks: N road users in the world.
        path: the ego's.
        ego_station: metres along the path.
        times: (T,) seconds from now, the first 0.
        yielding: m/s².

    Returns:
        Positions and headings (N, T) in the world.
    """
    # speed and course of each, (N,), and where it lies along the path
    speed, heading = compute_track_motion(tracks)
    standing = speed < STANDING[tracks.classes]
    station, offset = path.locate_on_stretch(
        tracks.position, ego_station - SIGHT_BEHIND, ego_station + SIGHT_AHEAD
    )
    path_yaw = path.interpolate_points(station)[1]
    relative = wrap_angle(heading - path_yaw)
    speed = np.where(standing, 0.0, speed)
    # all keep their course first, (N, T, 2)
    crossing = np.abs(np.sin(relative)) > np.sin(LANE_ANGLE)
    travelled = compute_travelled_distances(speed, np.where(crossing, yielding, 0.0), times)
    centre, yaw = predict_kept_course(tracks, travelled, heading, times)
    # those along the ego's lane or the next ones follow the road instead
    with_us, against_us = np.abs(relative) < LANE_ANGLE, np.abs(relative) > np.pi - LANE_ANGLE
    far = station + np.where(with_us, 1.0, -1.0) * speed * times[-1]
    follows = (
        (with_us | against_us)
        & ~standing
        & (np.abs(offset) < LANE_REACH)
        & (tracks.classes != PEDESTRIAN)
        & ~find_bent_junction_crossings(path, station, far)
    )
    # (F, T) stations of those that follow: their offset from the path is kept
    along = speed * np.cos(relative)
    if follows.any():
        onward = np.sign(along[follows, None]) * travelled[follows]
        stations = station[follows, None] + onward
        points, road_yaw = path.interpolate_points(stations)
        right = np.stack([-np.sin(road_yaw), np.cos(road_yaw)], -1)
        centre[follows] = points + offset[follows, None, None] * right
        yaw[follows] = road_yaw + (yaw[follows, :1] - road_yaw[:, :1])
    return PredictedMotion(
        centre=centre,
        yaw=yaw,
        speed=speed,
        along=along,
        station=station,
        offset=offset,
        heading=relative,
        standing=standing,
    )


def compute_track_motion(tracks: RoadUserTracks) -> tuple[Floats, Floats]:
    """Return speeds and headings; a vehicle moves along its axis, forwards or backwards.

    Args:
        tracks: N road users in the world.

    Returns:
        (N,) m/s and (N,) radians of motion; of the body if it stands.
    """
    vx, vy = tracks.velocity.T
    speed, heading = np.hypot(vx, vy), np.arctan2(vy, vx)
    # a velocity across the body is noise of a vehicle; of a pedestrian it is motion
    drift = wrap_angle(heading - tracks.yaw)
    rolling = tracks.classes != PEDESTRIAN
    forward = np.abs(np.cos(drift)) > 0.7
    speed = np.where(rolling & forward, np.abs(speed * np.cos(drift)), speed)
    # backwards is the opposite of the yaw; what stands has the direction of its body
    axis = np.where(np.cos(drift) >= 0.0, tracks.yaw, wrap_angle(tracks.yaw + np.pi))
    still = speed < STANDING[tracks.classes]
    heading = np.where(rolling & (forward | still), np.where(still, tracks.yaw, axis), heading)
    return speed, heading


def compute_travelled_distances(speed: Floats, braking: Floats, times: Floats) -> Floats:
    """Return metres travelled (N, T) until these times, braking until standstill.

    Args:
        speed: (N,) m/s.
        braking: (N,) m/s².
        times: (T,) seconds.
    """
    held = np.minimum(times, (speed / np.maximum(braking, 1e-6))[:, None])
    way: Floats = speed[:, None] * held - 0.5 * braking[:, None] * held**2
    return way


def predict_kept_course(
    tracks: RoadUserTracks, travelled: Floats, heading: Floats, times: Floats
) -> tuple[Floats, Floats]:
    """Return centres and body headings with constant speed and a decaying turn rate.

    Args:
        tracks: N road users in the world.
        travelled: (N, T) metres.
        heading: (N,) radians of motion.
        times: (T,) seconds.

    Returns:
        (N, T, 2) metres and (N, T) radians.
    """
    # (N, T) radians: the turn rate fades, standing ones and pedestrians do not turn
    turned = tracks.turn_rate[:, None] * TURN_MEMORY * (1.0 - np.exp(-times / TURN_MEMORY))
    turns = (travelled[:, -1:] > 0.0) & (tracks.classes != PEDESTRIAN)[:, None]
    turned = np.where(turns, turned, 0.0)
    course = heading[:, None] + turned
    # each piece of the way in the direction of its middle
    step = np.diff(travelled, prepend=0.0)
    middle = 0.5 * (course + np.concatenate([course[:, :1], course[:, :-1]], axis=1))
    way = np.stack([np.cos(middle), np.sin(middle)], -1) * step[..., None]
    return tracks.position[:, None] + np.cumsum(way, axis=1), tracks.yaw[:, None] + turned


def find_bent_junction_crossings(path: RoutePath, start: Floats, end: Floats) -> Mask:
    """Return whether the path turns in a junction between two stations: others need not.

    Args:
        path: the ego's.
        start: (N,) metres along the path.
        end: (N,) metres along the path.

    Returns:
        (N,)
    """
    inside = path.route.in_junction
    # (stations,) radians turned inside junctions up to each station
    bends = np.abs(path.compute_curvature(path.route.station)) * inside
    pieces = np.diff(path.route.station, append=path.length)
    turned = np.concatenate([[0.0], np.cumsum(bends * pieces)])
    low = np.searchsorted(path.route.station, np.minimum(start, end))
    high = np.searchsorted(path.route.station, np.maximum(start, end))
    result: Mask = turned[high] - turned[low] > BENT_JUNCTION
    return result
