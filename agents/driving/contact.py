"""Which road users a plan would touch, with how much room and how soon."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from agents.driving.footprint import (
    GroundRectangles,
    find_reachable_rows,
    find_touching_pairs,
    make_grown_rectangles,
)
from agents.driving.path import RoutePath
from agents.driving.prediction import PredictedMotion
from agents.driving.settings import EgoVehicleModel
from agents.driving.speed import SpeedProfiles
from agents.driving.tracking import RoadUserTracks, find_setting_off_tracks
from harness.types.vocabulary import CYCLIST, PEDESTRIAN, VEHICLE, Floats, Mask

SOFT_PRICE, HARD_PRICE, MOVING_PRICE = 20.0, 200.0, 20.0
"""Cost of coming close, of contact, and of each metre driven in contact."""

CERTAINTY_AT_HORIZON = 0.4
"""Share of the cost of a contact that counts at the end of the horizon."""

SETTING_OFF_ACCELERATION, RIDING_SPEED = 3.0, 4.5
"""m/s² and m/s that a cyclist who sets off across the ego's path may reach."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ContactMargins:
    """Room in metres that is kept around the ego and around other road users."""

    front: float
    rear: float
    side: Floats  # (T,) on either side of the ego
    their_front: Floats  # (N, T), or (N, 1) if constant
    their_rear: Floats  # (N,)
    their_side: Floats  # (N,)


def compute_comfort_margins(
    tracks: RoadUserTracks, future: PredictedMotion, times: Floats
) -> ContactMargins:
    """Return the room for comfort: half a second ahead of road users who cross the path.

    Args:
        tracks: N road users in the world.
        future: where they will be, (N, T).
        times: (T,) seconds from now.

    Returns:
        Metres.
    """
    # (N,) those that move across the path, and pedestrians that walk
    crossing = ~future.standing & (np.abs(np.sin(future.heading)) > 0.4)
    walking = ~future.standing & (tracks.classes == PEDESTRIAN)
    return ContactMargins(
        front=2.0,
        rear=1.0,
        side=np.full(len(times), 0.3),
        their_front=(np.minimum(0.6 * future.speed, 5.0) * crossing)[:, None],
        their_rear=np.minimum(0.3 * future.speed, 2.0) * crossing,
        their_side=np.where(walking, 0.5, np.where(crossing, 0.2, 0.0)),
    )


def compute_contact_margins(
    tracks: RoadUserTracks, future: PredictedMotion, times: Floats
) -> ContactMargins:
    """Return the room within which it counts as contact; it grows as predictions get uncertain.

    Args:
        tracks: N road users in the world.
        future: where they will be, (N, T).
        times: (T,) seconds from now.

    Returns:
        Metres.
    """
    return ContactMargins(
        front=0.5,
        rear=0.3,
        side=0.2 + 0.03 * times,
        their_front=0.15 * future.speed[:, None]
        + compute_setting_off_distance(tracks, future, times),
        their_rear=np.zeros(len(tracks)),
        their_side=np.where(tracks.classes == PEDESTRIAN, 0.1, 0.0),
    )


def compute_setting_off_distance(
    tracks: RoadUserTracks, future: PredictedMotion, times: Floats
) -> Floats:
    """Return metres (N, T) by which cyclists who set off across the path may be farther.

    All predictions assume constant speed. A cyclist predicted to stay as slow as in the first
    moments seems to let the ego pass, and then does not.
    """
    crossing = np.abs(np.sin(future.heading)) > 0.4
    may = (
        find_setting_off_tracks(tracks) & crossing & ~future.standing & (tracks.classes == CYCLIST)
    )
    # (N, 1) m/s by which they may become faster, and (N, T) how long that takes
    more = np.where(may, np.maximum(RIDING_SPEED - future.speed, 0.0), 0.0)[:, None]
    until = np.minimum(times, more / SETTING_OFF_ACCELERATION)
    way: Floats = 0.5 * SETTING_OFF_ACCELERATION * until**2 + more * (times - until)
    return way


def compute_contact_cost(
    path: RoutePath,
    profiles: SpeedProfiles,
    *,
    tracks: RoadUserTracks,
    futures: tuple[PredictedMotion, PredictedMotion],
    times: Floats,
    car: EgoVehicleModel,
    squeezes: bool = False,
) -> Floats:
    """Return the cost of each profile for the road users that it comes close to or touches.

    The first prediction is the likely one; the second is what can be relied on, and it alone counts
    for contact. An ego that squeezes past may come close to vehicles that stand.

    Args:
        path: the ego's.
        profiles: C candidates at T times.
        tracks: N road users in the world.
        futures: the likely prediction and the reliable one, (N, T) each.
        times: (T,) seconds from now.
        car: the ego's body.
        squeezes: whether the ego has waited long enough to pass close to standing vehicles.

    Returns:
        (C,)
    """
    if not len(tracks):
        return np.zeros(len(profiles.speed))
    # (C, T) masks: too close by the likely prediction, in contact by the reliable one
    likely, reliable = futures
    parked = likely.standing & (tracks.classes == VEHICLE)
    close = find_profile_contacts(
        path,
        profiles,
        tracks=tracks,
        future=likely,
        margins=compute_comfort_margins(tracks, likely, times),
        car=car,
        count=~parked if squeezes else None,
    )
    contact = find_profile_contacts(
        path,
        profiles,
        tracks=tracks,
        future=reliable,
        margins=compute_contact_margins(tracks, reliable, times),
        car=car,
    )
    # (T,) later contacts count less; the worst moment counts, and how fast the ego is then
    fading = 1.0 - (1.0 - CERTAINTY_AT_HORIZON) * times / times[-1]
    touch = (HARD_PRICE * fading * contact).max(1)
    moving = (profiles.speed * fading * contact).sum(1) * (times[1] - times[0])
    near = (SOFT_PRICE * (1.0 - times / (times[-1] + 1.0)) * close).max(1)
    cost: Floats = touch + MOVING_PRICE * moving + near
    return cost


def find_profile_contacts(
    path: RoutePath,
    profiles: SpeedProfiles,
    *,
    tracks: RoadUserTracks,
    future: PredictedMotion,
    margins: ContactMargins,
    car: EgoVehicleModel,
    count: Mask | None = None,
) -> Mask:
    """Return when each profile touches a road user, of those that count, (C, T).

    A road user that is already within the side margin but does not touch the ego must not keep it
    from moving: for those, the side margin is zero.

    Args:
        path: the ego's.
        profiles: C candidates at T times.
        tracks: N road users in the world.
        future: where they will be, (N, T).
        margins: metres around the ego and around them.
        car: the ego's body.
        count: (N,) which of them count; None for all.

    Returns:
        (C, T)
    """
    # (N, T) and (C, T) rectangles with their margins
    theirs = make_grown_rectangles(
        future.centre,
        future.yaw,
        size=(tracks.size[:, :1], tracks.size[:, 1:]),
        front=margins.their_front,
        rear=margins.their_rear[:, None],
        side=margins.their_side[:, None],
    )
    ours = make_ego_rectangles(path, profiles, margins, car)
    # (N,) a cheap test first: most road users are far from every profile
    near = find_reachable_rows(ours, theirs)
    if count is not None:
        near &= count
    if not near.any():
        return np.zeros(profiles.speed.shape, np.bool_)
    theirs = theirs[near][None]
    # (C, N, T)
    touched = find_touching_pairs(ours[:, None], theirs)
    # (C, N, 1) those within the margin already: of them only the bodies count
    within = touched[:, :, :1]
    if within.any():
        slim = replace(ours, half_width=np.full((1, 1), 0.5 * car.width))
        touched_by_body = find_touching_pairs(slim[:, None], theirs)
        squeezed = within & ~touched_by_body[:, :, :1]
        touched = np.where(squeezed, touched_by_body, touched)
    contact: Mask = np.any(touched, axis=1)
    return contact


def make_ego_rectangles(
    path: RoutePath, profiles: SpeedProfiles, margins: ContactMargins, car: EgoVehicleModel
) -> GroundRectangles:
    """Return the ego along each profile, (C, T), with the room that is kept around it."""
    # (C, T, 2) and (C, T); in a bend the body points outward of the path
    centre, course = path.interpolate_points(profiles.station)
    yaw = course - car.compute_slip(path.compute_curvature(profiles.station))
    return make_grown_rectangles(
        centre,
        yaw,
        size=(np.full((1, 1), car.length), np.full((1, 1), car.width)),
        front=np.array(margins.front),
        rear=np.array(margins.rear),
        side=margins.side[None],
    )
