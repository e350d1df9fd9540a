"""The exponential of many numbers at once, against numpy's in extended precision."""

from __future__ import annotations

import numpy as np

from harness.carlite.sensors.exponential import make_power_buffer, replace_by_exponentials


def test_the_exponential_is_within_two_units_of_the_last_place() -> None:
    numbers = np.concatenate([np.linspace(-690.0, 690.0, 20_001), np.linspace(-1.0, 1.0, 20_001)])
    values = numbers.copy()
    replace_by_exponentials(values, len(values), make_power_buffer(len(values)))
    exact = np.exp(numbers.astype(np.longdouble))
    assert np.abs((values - exact) / exact).max() < 2 * np.finfo(np.float64).eps


def test_what_is_hardly_anything_stays_so() -> None:
    values = np.array([-1e6, -710.0, 0.0])
    replace_by_exponentials(values, 3, make_power_buffer(3))
    assert (values[:2] < 1e-300).all()
    assert (values[:2] >= 0).all()
    assert values[2] == 1.0


def test_only_so_many_numbers_are_replaced() -> None:
    values = np.full(4, 2.0)
    replace_by_exponentials(values, 2, make_power_buffer(4))
    assert values[2:].tolist() == [2.0, 2.0]
    assert (values[:2] != 2.0).all()
