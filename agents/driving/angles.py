"""Arithmetic of angles, many at a time."""

from __future__ import annotations

import numpy as np

from harness.vocabulary import Floats


def wrapped(angle: Floats) -> Floats:
    """Return angles between plus and minus half a turn."""
    return (angle + np.pi) % (2.0 * np.pi) - np.pi


def half_wrapped(angle: Floats) -> Floats:
    """Return angles without regard to front and back, between plus and minus a quarter turn."""
    return (angle + 0.5 * np.pi) % np.pi - 0.5 * np.pi
