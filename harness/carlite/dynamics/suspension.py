"""How a body rides on the ground: heave, pitch and roll. Compiled."""

from __future__ import annotations

from harness.carlite.compiled import compiled

HEAVE = 14.0
"""Natural frequency of the springs, rad/s, critically damped."""

DROOP = 0.05
"""Metres a body can rise above its place before the wheels leave the ground."""

BUMP = 0.04
"""Metres a body can sink below its place before the springs are solid."""

HARDEST = 3.0
"""Metres per second at which springs throw a body up, however deep below the ground it was put."""

LEVELLING = 10.0
"""How fast pitch and roll follow the ground, per second."""

STILL_HEIGHT, STILL_SPEED, STILL_ANGLE = 1e-5, 1e-4, 1e-6


@compiled
def step_heave(
    z: float, rising: float, ground: float, ground_rising: float, lift: float, dt: float
) -> tuple[float, float]:
    """Return height and vertical speed after `dt` on the springs; `lift` is an extra acceleration.

    The springs hold the weight at the ground's height and are damped against the ground's own
    rise, so that neither a ramp nor a stop leaves an offset.
    """
    # relative to the ground, so that a ramp is no disturbance
    gap, speed = z - ground, rising - ground_rising
    stretch = HEAVE * dt
    # critically damped, implicitly: stable for any tick
    speed = (speed + dt * (lift - HEAVE * HEAVE * gap)) / (1.0 + 2.0 * stretch + stretch * stretch)
    gap += dt * speed
    # bump stops; and rest, so that a vehicle that stands does not tremble
    if gap < -BUMP:
        gap, speed = -BUMP, min(max(speed, 0.0), HARDEST)
    if abs(gap) < STILL_HEIGHT and abs(speed) < STILL_SPEED:
        gap, speed = 0.0, 0.0
    return ground + gap, ground_rising + speed


@compiled
def step_body_angle(angle: float, target: float, share: float) -> float:
    """Return an angle that keeps a share of what parts it from the ground's, and arrives."""
    rest = angle - target
    if abs(rest) < STILL_ANGLE:
        return target
    return target + rest * share
