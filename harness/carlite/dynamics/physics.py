"""Physics controls: what vehicles are born with, what a client applies, what the loops read."""

from __future__ import annotations

from harness.carlite.dynamics.control import Gear, PhysicsControl, Wheel
from harness.carlite.dynamics.defaults import defaults
from harness.carlite.dynamics.parameters import Physics

__all__ = ["Gear", "Physics", "PhysicsControl", "Wheel", "defaults"]
