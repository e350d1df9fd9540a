"""Scores of proposals: no collision at fault, times progress, time to collision and comfort.

Source: Dauner et al., CoRL 2023; weights and bounds of its published `pdm_scorer.py` and
`pdm_comfort_metrics.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.footprint import GroundRectangles, find_reachable_rows, find_touching_pairs
from agents.driving.path import RoutePath
from agents.driving.proposing.forecast import BoxForecast
from agents.driving.proposing.proposals import EASE, DriveProposals
from agents.driving.proposing.settings import ProposalSettings
from harness.types.vocabulary import Floats, Mask

MOVES = 0.005
"""m/s from which the ego moves: a standing ego is at fault for no collision."""

LOOKS = (0.3, 0.6, 0.9)
"""Shares of the time to collision at which the ego is projected."""

MOST_ACCELERATION, MOST_BRAKING, MOST_SIDEWAYS, MOST_TURNING = 2.40, 4.05, 4.89, 0.95
"""m/s² ahead, backwards and sideways, and rad/s, within which a proposal is comfortable."""

LEAST_PROGRESS = 0.1
"""Metres of the best proposal, below which all have the same progress."""


@dataclass(frozen=True, slots=True, eq=False)
class ProposalScores:
    """Scores of C proposals, 0 to 1, and the seconds to their collisions; infinite for none."""

    score: Floats
    collision: Floats


def score_proposals(
    path: RoutePath,
    proposals: DriveProposals,
    *,
    forecast: BoxForecast,
    times: Floats,
    settings: ProposalSettings,
) -> ProposalScores:
    """Return the score of each proposal.

    Args:
        path: the route.
        proposals: C of them at T times.
        forecast: N road users at T times.
        times: (T,) seconds from now.
        settings: weights, and the ego's body.
    """
    bodies = make_proposal_bodies(path, proposals, settings)
    at_fault = find_contacts_at_fault(bodies, proposals.speed, forecast)
    collision = np.where(at_fault.any(1), times[at_fault.argmax(1)], np.inf)
    safe = ~at_fault.any(1)
    # (C,) metres, as a share of the best of those without a collision
    driven = (proposals.station[:, -1] - proposals.station[:, 0]) * safe
    best = float(driven.max())
    progress = driven / best if best > LEAST_PROGRESS else safe.astype(float)
    weighted = (
        settings.progress_weight * progress
        + settings.time_to_collision_weight
        * ~find_short_times(bodies, proposals.speed, forecast, settings.time_to_collision)
        + settings.comfort_weight * find_comfortable(path, proposals, settings.step)
    )
    total = settings.progress_weight + settings.time_to_collision_weight + settings.comfort_weight
    return ProposalScores(safe * weighted / total, collision)


def make_proposal_bodies(
    path: RoutePath, proposals: DriveProposals, settings: ProposalSettings
) -> GroundRectangles:
    """Return the ego along each proposal, (C, T)."""
    points, course = path.interpolate_points(proposals.station)
    right = np.stack([-np.sin(course), np.cos(course)], -1)
    # heading of the approach to the parallel path: what is left falls with the metres driven
    wanted = proposals.aside[:, -1:]
    swerve = np.arctan((wanted - proposals.aside) / EASE)
    car, shape = settings.car, course.shape
    return GroundRectangles(
        points + proposals.aside[..., None] * right,
        course + swerve - car.compute_slip(path.compute_curvature(proposals.station)),
        np.full(shape, 0.5 * car.length),
        np.full(shape, 0.5 * car.width),
    )


def find_contacts_at_fault(ours: GroundRectangles, speed: Floats, forecast: BoxForecast) -> Mask:
    """Return when each proposal touches a road user by its own fault, (C, T).

    The ego is at fault if it moves, and the road user stands or is ahead of the ego's centre.
    Road users that touch the ego now do not count: nothing can be done about them.

    Args:
        ours: (C, T) the ego.
        speed: (C, T) m/s.
        forecast: N road users at T times.
    """
    near = find_reachable_rows(ours, forecast.bodies)
    if not near.any():
        return np.zeros(speed.shape, np.bool_)
    theirs, standing = forecast.bodies[near][None], forecast.standing[near]
    touched = find_touching_pairs(ours[:, None], theirs)
    counts = touched & ~touched[:, :, :1] & (speed > MOVES)[:, None]
    counts &= find_ahead(ours[:, None], theirs) | standing[None, :, None]
    return np.asarray(counts.any(1))


def find_short_times(
    ours: GroundRectangles, speed: Floats, forecast: BoxForecast, seconds: float
) -> Mask:
    """Return which proposals come too near a collision with a road user ahead, (C,).

    At every other time, the ego is moved on at its speed, while all others stay where they are.

    Args:
        ours: (C, T) the ego.
        speed: (C, T) m/s.
        forecast: N road users at T times.
        seconds: that must be free.
    """
    times = slice(None, None, 2)
    ours, speed = ours[:, times], speed[:, times]
    ahead = np.stack([np.cos(ours.yaw), np.sin(ours.yaw)], -1) * speed[..., None] * seconds
    bodies = forecast.bodies[:, times]
    # (C, L T) all looks of a proposal next to each other, with others as they are at that time
    looked = GroundRectangles(
        np.concatenate([ours.centre + share * ahead for share in LOOKS], 1),
        np.tile(ours.yaw, len(LOOKS)),
        np.tile(ours.half_length, len(LOOKS)),
        np.tile(ours.half_width, len(LOOKS)),
    )
    theirs = GroundRectangles(
        np.tile(bodies.centre, (1, len(LOOKS), 1)),
        np.tile(bodies.yaw, len(LOOKS)),
        np.tile(bodies.half_length, len(LOOKS)),
        np.tile(bodies.half_width, len(LOOKS)),
    )
    near = find_reachable_rows(looked, theirs)
    if not near.any():
        return np.zeros(len(speed), np.bool_)
    touched = find_touching_pairs(looked[:, None], theirs[near][None])
    moving = np.tile(speed > MOVES, len(LOOKS))[:, None]
    before = np.tile(find_ahead(ours[:, None], bodies[near][None]), len(LOOKS))
    return np.asarray((touched & moving & before).any((1, 2)))


def find_ahead(ours: GroundRectangles, theirs: GroundRectangles) -> Mask:
    """Return which centres of others are ahead of the ego's centre, broadcasting."""
    off = theirs.centre - ours.centre
    ahead: Mask = off[..., 0] * np.cos(ours.yaw) + off[..., 1] * np.sin(ours.yaw) > 0.0
    return ahead


def find_comfortable(path: RoutePath, proposals: DriveProposals, step: float) -> Mask:
    """Return which proposals stay within the bounds of acceleration and turning, (C,).

    Jerk is not among them: proposals change their acceleration at once.

    Args:
        path: the route.
        proposals: C of them.
        step: seconds between two times.
    """
    rate = np.diff(proposals.speed, axis=1) / step
    turning = np.abs(proposals.speed * path.compute_curvature(proposals.station))
    within = ((rate < MOST_ACCELERATION) & (rate > -MOST_BRAKING)).all(1)
    within &= (turning < MOST_TURNING).all(1)
    return np.asarray(within & (turning * proposals.speed < MOST_SIDEWAYS).all(1))
