"""Sensors: rays, cameras, inertial sensors, each asked the same way."""

from __future__ import annotations

from harness.carlite.sensors.protocol import Pose, Sensor

__all__ = ["Pose", "Sensor"]
