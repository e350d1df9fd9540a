"""What sensors send of a tick, waited for."""

from __future__ import annotations

from queue import Empty, SimpleQueue

import carla

from harness.common.errors import AttemptError

PATIENCE = 30.0
"""Seconds to wait for a frame that is due."""


def wait_for_frame(queue: SimpleQueue[carla.SensorData], frame: int) -> carla.SensorData:
    """Return what a sensor sent of a frame.

    Args:
        queue: of the sensor.
        frame: the tick.

    Raises:
        AttemptError: it does not come.
    """
    while True:
        try:
            data = queue.get(timeout=PATIENCE)
        except Empty:
            raise AttemptError(
                "sensor_timeout", f"no LiDAR frame {frame} within {PATIENCE:g} s"
            ) from None
        if data.frame >= frame:
            break
    if data.frame > frame:
        raise AttemptError("sensor_timeout", f"LiDAR frame {frame} is missing; {data.frame} came")
    return data
