"""Only a collision is a jolt: no braking and no steering of the ego's car looks like one."""

from __future__ import annotations

import itertools

import numpy as np

from harness.world.ego import JOLT, MODELS
from tests.carlite.proving_ground import DT, Place


def test_hard_steering_with_hard_braking_is_no_jolt() -> None:
    strongest = 0.0
    for speed, steer, brake in itertools.product((6.0, 14.0, 30.0), (0.1, 0.6, 1.0), (0.6, 1.0)):
        place = Place()
        place.car(MODELS[0], velocity=(speed, 0.0))
        for tick in range(45):
            place.table.brake[0] = brake
            place.table.steer[0] = steer if tick < 25 else -steer
            before = place.table.velocity[0, :2].copy()
            place.tick()
            change = place.table.velocity[0, :2] - before
            strongest = max(strongest, float(np.hypot(*change)) / DT)
    # the tyres do grip, and stay below what a collision gives
    assert 20.0 < strongest < JOLT
