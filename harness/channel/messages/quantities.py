"""Quantities as ETSI's messages hold them: whole numbers of steps.

The number n stands for what is over n - 1 steps and at most n steps. Read back is the middle, so
that a value and what is read of it differ by half a step at most.
"""

from __future__ import annotations

import math

from harness.channel.messages.errors import MessageError

EPSILON = 1e-6
"""Steps by which a value may be above a whole number of them and still count as that."""

CENTIMETRE = 0.01
"""Metres: of positions, and of speeds in a second."""
DECIMETRE = 0.1
"""Metres: of the sizes of road users; of accelerations in a second, squared."""
TENTH_OF_DEGREE = math.radians(0.1)
"""Radians."""
TURN = 3600
"""Tenths of a degree in a full turn."""
MILLISECOND = 1e-3
"""Seconds."""
GEO_STEP = 1e-7
"""Degrees of latitude and longitude."""


def count_steps(value: float, step: float, lowest: int, highest: int) -> int:
    """Return the number of steps that stands for a value, within what a field can hold.

    Args:
        value: in any unit.
        step: in the same unit.
        lowest: steps; smaller values are this one.
        highest: steps; larger values are this one.

    Raises:
        MessageError: the value is not finite.
    """
    if not math.isfinite(value):
        raise MessageError(f"{value} is no finite number")
    return max(lowest, min(highest, math.ceil(value / step - EPSILON)))


def get_middle(number: int, step: float) -> float:
    """Return the middle of what a number of steps stands for."""
    return (number - 0.5) * step


def count_angle(angle: float) -> int:
    """Return tenths of a degree, 0 to 3599, of an angle in radians.

    Args:
        angle: radians; full turns do not matter.
    """
    if not math.isfinite(angle):
        raise MessageError(f"{angle} is no finite number")
    return math.ceil(angle / TENTH_OF_DEGREE - EPSILON) % TURN


def get_angle(tenths: int) -> float:
    """Return radians from -pi to pi of tenths of a degree."""
    return math.remainder(get_middle(tenths, TENTH_OF_DEGREE), math.tau)


def count_milliseconds(seconds: float) -> int:
    """Return whole milliseconds; a time is counted, so the nearest."""
    return round(seconds / MILLISECOND)
