"""Physics controls: what vehicles are born with, what a client applies, what the loops read."""

from __future__ import annotations

from harness.carlite.dynamics.control import GearPhysicsControl, PhysicsControl, WheelPhysicsControl
from harness.carlite.dynamics.defaults import build_default_physics
from harness.carlite.dynamics.parameters import PhysicsTable

__all__ = [
    "GearPhysicsControl",
    "PhysicsControl",
    "PhysicsTable",
    "WheelPhysicsControl",
    "build_default_physics",
]
