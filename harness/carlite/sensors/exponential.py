"""The exponential of many numbers at once, the same on every processor.

The C library's is called number by number, and its last bit depends on the processor. This one is
plain arithmetic without branches, of which the compiler makes vector instructions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Floats, Ints
from harness.carlite.compiled import compiled

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""The logarithm of 2 in two parts; the first has zeros at its end."""

ROUNDER = 6755399441055744.0
"""1.5 * 2^52: the sum of this and another number has the other, rounded, in its lowest bits."""

BIAS, MANTISSA_BITS = 1023, 52
LEAST = -700.0


class PowerBuffer(NamedTuple):
    """Powers of two, as numbers and, in the same memory, bit by bit; both (numbers,)."""

    power: Floats
    bits: Ints


def make_power_buffer(count: int) -> PowerBuffer:
    """Return a buffer for the exponentials of up to `count` numbers."""
    power = np.zeros(count)
    return PowerBuffer(power, power.view(np.int64))


@compiled
def replace_by_exponentials(numbers: Floats, count: int, buffer: PowerBuffer) -> None:
    """Replace the first `count` numbers, from -700 to 700, by their exponentials.

    A number is a multiple of log 2 and a rest of at most 0.35: the result is a power of two times
    the exponential of the rest, by its Taylor series to the 13th power. Less than -700 counts as
    -700.
    """
    power, bits = buffer.power, buffer.bits
    for n in range(count):
        number = max(numbers[n], LEAST)
        rounded = number * LOG2_E + ROUNDER
        power[n] = rounded
        whole = rounded - ROUNDER
        numbers[n] = _compute_series((number - whole * LN2_HIGH) - whole * LN2_LOW)
    # whole multiples become exponents of floating-point numbers
    for n in range(count):
        bits[n] = (bits[n] + BIAS) << MANTISSA_BITS
    for n in range(count):
        numbers[n] *= power[n]


@compiled
def _compute_series(x: float) -> float:
    value = 1.0 / 6227020800.0
    value = value * x + 1.0 / 479001600.0
    value = value * x + 1.0 / 39916800.0
    value = value * x + 1.0 / 3628800.0
    value = value * x + 1.0 / 362880.0
    value = value * x + 1.0 / 40320.0
    value = value * x + 1.0 / 5040.0
    value = value * x + 1.0 / 720.0
    value = value * x + 1.0 / 120.0
    value = value * x + 1.0 / 24.0
    value = value * x + 1.0 / 6.0
    value = value * x + 0.5
    value = value * x + 1.0
    return value * x + 1.0
