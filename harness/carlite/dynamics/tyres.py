"""Forces of an axle's tyres, by the tyre model of PhysX 3 vehicles. Compiled."""

from __future__ import annotations

import math

from harness.carlite.compiled import compiled

DRIVEN_CREEP = 0.1
"""Metres per second added to the speed of a driven or braked wheel where its slip is measured."""

FREE_SPEED = 4.0
"""Least speed by which the slip of a wheel with neither drive nor brake is divided."""

SIDE_CREEP = 1.0
"""Metres per second added to the speed where the slip angle is measured."""

LEAST_SLIP = 1e-5
OVERSHOOT = 1.2

UNLOADED, FULL_LOAD = 0.2308, 3.0
"""Filtered load, as a share of the load at rest, of a tyre without load and of the most loaded."""


@compiled
def filter_tyre_load(share: float) -> float:
    """Return the load a tyre acts with, as a share of its load at rest."""
    load = UNLOADED + max(share, 0.0) * (FULL_LOAD - UNLOADED) / FULL_LOAD
    return min(load, FULL_LOAD)


@compiled
def compute_side_stiffness(rest_load: float, share: float, value: float, most_load: float) -> float:
    """Return newtons per unit of slip; it grows with the load, ever less, up to `most_load`."""
    return rest_load * value * _saturate_load(3.0 * share / most_load)


@compiled
def _saturate_load(load: float) -> float:
    if load >= 3.0:
        return 1.0
    return load - load * load / 3.0 + load * load * load / 27.0


@compiled
def compute_tyre_forces(
    spin: float, radius: float, along: float, across: float, worked: bool,
    grip: float, long_stiffness: float, lat_stiffness: float, inertia: float, dt: float,
) -> tuple[float, float]:  # fmt: skip
    """Return the forces along and across an axle's wheels, whose ground moves (along, across).

    `worked` wheels are driven or braked; `grip` is friction times load. What is not worked is not
    pulled far beyond the speed at which it rolls, or it would never come to rest.
    """
    if grip <= 0.0:
        return 0.0, 0.0
    # slip along and across, relative to the speed
    rolled = spin * radius
    fastest = max(abs(along), abs(rolled))
    slip = (rolled - along) / (fastest + DRIVEN_CREEP if worked else max(fastest, FREE_SPEED))
    drift = across / (abs(along) + SIDE_CREEP)
    if abs(slip) < LEAST_SLIP:
        slip = 0.0
    if abs(drift) < LEAST_SLIP:
        drift = 0.0
    if slip == 0.0 and drift == 0.0:
        return 0.0, 0.0
    # combined slip: the share of the grip that both ask for together
    demand = math.hypot(lat_stiffness * drift, long_stiffness * slip) / grip
    ratio = 1.0
    if demand <= 2.0 * math.pi:
        stiffer = lat_stiffness / max(long_stiffness, 1.0)
        ratio = 0.5 * (1.0 + stiffer - (1.0 - stiffer) * math.cos(0.5 * demand))
    # the force, along and across in the ratio of the slips
    force = grip * _saturate_load(demand) / math.hypot(slip, ratio * drift)
    pull = slip * force
    if not worked:
        most = OVERSHOOT * inertia * abs(rolled - along) / (radius * radius * dt)
        pull = min(max(pull, -most), most)
    return pull, -ratio * drift * force
