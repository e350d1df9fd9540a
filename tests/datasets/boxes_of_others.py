"""Boxes as other programs' data sets give them, compared with ours."""

from __future__ import annotations

import numpy as np

from harness.types.vocabulary import Floats


def list_corners(box: Floats) -> Floats:
    """Return (8, 3) corners of an upright box."""
    x, y, z, length, width, height, yaw = box
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]) / 2
    local = signs * [length, width, height]
    turn = np.array([[np.cos(yaw), np.sin(yaw), 0], [-np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    corners: Floats = local @ turn + [x, y, z]
    return corners
