"""`sensor.camera.dvs`: an event wherever the brightness of a pixel has changed by a threshold.

The algorithm is that of CARLA's `DVSCamera.cpp` (after Rebecq et al., "ESIM", CoRL 2018,
section 3). Between two pictures the (logarithmic) brightness of a pixel is taken to change linearly
in time. It crosses levels that are a threshold apart, counted from the last level that was crossed.
As in CARLA there is no message where there is no event, so there is none for the first picture.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Bytes, Floats, Ints
from harness.carlite.randomness import make_random_stream
from harness.carlite.sensors.camera import ColourCamera
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.settings import read_integer_attribute, read_number_attribute

EVENT = np.dtype([("x", "<u2"), ("y", "<u2"), ("t", "<i8"), ("pol", "?")])
GREY = np.array([0.114, 0.587, 0.2989])
"""Shares of blue, green and red in the brightness, as CARLA takes them."""

LEAST_CHANGE = 1e-6
LEAST_THRESHOLD = 0.01
MOST_CROSSINGS = 1000
"""Levels that a pixel crosses from one picture to the next, at the most."""

NANOSECONDS = 1e9


class EventCamera:
    """`camera.dvs`: events since the picture before, in the order of their times.

    Attributes:
        rise, fall: thresholds of the brightness. rise_noise, fall_noise: their standard deviations.
        rest: nanoseconds for which a pixel is blind after an event.
        logarithmic: whether the logarithm of the brightness is compared. floor: added to it before.
    """

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        def read(name: str, default: float, low: float, high: float) -> float:
            return read_number_attribute(attributes, name, default, low=low, high=high)

        self._colour = ColourCamera(attributes, seed, sensor_id)
        self.rise = read("positive_threshold", 0.3, LEAST_THRESHOLD, 255)
        self.fall = read("negative_threshold", 0.3, LEAST_THRESHOLD, 255)
        self.rise_noise = read("sigma_positive_threshold", 0.0, 0, 255)
        self.fall_noise = read("sigma_negative_threshold", 0.0, 0, 255)
        self.rest = read_integer_attribute(attributes, "refractory_period_ns", 0, low=0, high=2**53)
        self.logarithmic = attributes.get("use_log", "true").strip().lower() in ("true", "1")
        self.floor = read("log_eps", 0.001, 1e-9, 1)
        self._noise = make_random_stream(seed, "dvs")
        # (pixels,) row by row: brightness in the picture before, level last crossed, time of the
        # last event (0: none yet)
        self._before: Floats | None = None
        self._level: Floats = np.zeros(0)
        self._last: Ints = np.zeros(0, np.int64)
        self._time = 0

    def capture(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Return the events since the picture before, or None where there is none."""
        header, image = self._colour.make_image(scene, pose, frame)
        bright = self._measure_brightness(image)
        now = int(pose.elapsed * NANOSECONDS)
        before, since = self._before, self._time
        self._before, self._time = bright, now
        if before is None:
            self._level, self._last = bright.copy(), np.zeros(len(bright), np.int64)
            return None
        events = self._find_events(before, bright, since, now)
        if not len(events):
            return None
        width = image.shape[1]
        coded = np.empty(len(events), EVENT)
        coded["y"], coded["x"] = np.divmod(events["pixel"], width)
        coded["t"], coded["pol"] = events["t"], events["pol"]
        return header + coded.tobytes()

    def _measure_brightness(self, image: Bytes) -> Floats:
        """Return the (logarithmic) brightness of pixels, row by row."""
        grey: Floats = (image[..., :3] @ GREY).ravel()
        return np.log(self.floor + grey / 255.0) if self.logarithmic else grey

    def _find_events(self, before: Floats, after: Floats, since: int, now: int) -> NDArray[np.void]:
        """Cross level after level, all pixels at once; returns events by time."""
        # (changed,) pixels, which way they go, and how far apart their levels are
        pixels = np.flatnonzero(np.abs(after - before) > LEAST_CHANGE)
        way = np.where(after[pixels] >= before[pixels], 1.0, -1.0)
        step = self._make_thresholds(way)
        batches: list[NDArray[np.void]] = []
        for _ in range(MOST_CROSSINGS):
            # (crossing,) those whose next level lies beyond the start and not beyond the end
            start, end = before[pixels], after[pixels]
            level = self._level[pixels] + way * step
            crosses = (way * level > way * start) & (way * level <= way * end)
            pixels, way, step = pixels[crosses], way[crosses], step[crosses]
            if not len(pixels):
                break
            level, start, end = level[crosses], start[crosses], end[crosses]
            times = since + ((level - start) / (end - start) * (now - since)).astype(np.int64)
            # a pixel that is blind misses the event, but its level is crossed
            last = self._last[pixels]
            awake = (last == 0) | (times - last >= self.rest)
            self._level[pixels] = level
            self._last[pixels[awake]] = times[awake]
            events = np.empty(np.count_nonzero(awake), [("pixel", "i8"), ("t", "i8"), ("pol", "?")])
            events["pixel"], events["t"] = pixels[awake], times[awake]
            events["pol"] = way[awake] > 0
            batches.append(events)
        if not batches:
            return np.empty(0, [("pixel", "i8"), ("t", "i8"), ("pol", "?")])
        together = np.concatenate(batches)
        # by time, then by pixel
        return together[np.lexsort((together["pixel"], together["t"]))]

    def _make_thresholds(self, way: Floats) -> Floats:
        """Return the threshold of each pixel for this picture."""
        up = way > 0
        step = np.where(up, self.rise, self.fall)
        spread = np.where(up, self.rise_noise, self.fall_noise)
        if not spread.any():
            return step
        noisy = step + spread * self._noise.standard_normal(len(way))
        return np.where(spread > 0, np.maximum(noisy, LEAST_THRESHOLD), step)
