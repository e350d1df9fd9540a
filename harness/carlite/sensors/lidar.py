"""`sensor.lidar.ray_cast`: a turning column of lasers.

As in CARLA, only the sensor itself is transparent: the car that carries it is seen where it stands
in the way. Angles advance from tick to tick; points come channel by channel, uppermost first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Float32s, Floats, Int32s
from harness.carlite.compiled import allocating
from harness.carlite.randomness import derive_stream_seed
from harness.carlite.sensors.exponential import (
    PowerBuffer,
    make_power_buffer,
    replace_by_exponentials,
)
from harness.carlite.sensors.noise import (
    build_quantile_table,
    hash_counter,
    sample_first_uniform,
    sample_second_uniform,
    sample_standard_normal,
)
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.rasterise import NOTHING
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.settings import read_integer_attribute, read_number_attribute
from harness.carlite.sensors.sweep import LidarSweep

QUANTILE_TABLE = build_quantile_table()


@dataclass(frozen=True, kw_only=True)
class LidarLosses:
    """What becomes of a return on its way: attenuation, drop-off, noise along the ray."""

    attenuation: float
    general_rate: float
    intensity_limit: float
    zero_intensity: float
    noise: float

    @classmethod
    def from_attributes(cls, attributes: Mapping[str, str]) -> LidarLosses:
        """Read the attributes, by CARLA's names."""
        return cls(
            attenuation=read_number_attribute(
                attributes, "atmosphere_attenuation_rate", 0.004, low=0, high=1e6
            ),
            general_rate=read_number_attribute(
                attributes, "dropoff_general_rate", 0.45, low=0, high=1
            ),
            intensity_limit=read_number_attribute(
                attributes, "dropoff_intensity_limit", 0.8, low=0, high=1
            ),
            zero_intensity=read_number_attribute(
                attributes, "dropoff_zero_intensity", 0.4, low=0, high=1
            ),
            noise=read_number_attribute(attributes, "noise_stddev", 0.0, low=0, high=1e3),
        )


class LidarSensor:
    """Turns sweeps into frames of x, y, z, intensity."""

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        self._sweep = LidarSweep(attributes)
        self._losses = LidarLosses.from_attributes(attributes)
        noise_seed = read_integer_attribute(
            attributes, "noise_seed", 0, low=-(2**31), high=2**31 - 1
        )
        self._key = derive_stream_seed(seed, "lidar", noise_seed)
        self._first_frame: int | None = None
        self._points = np.empty((0, 4), np.float32)
        self._powers = make_power_buffer(0)

    def capture(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Scan one tick's worth of the circle."""
        if self._first_frame is None:
            self._first_frame = frame
        scan = self._sweep.scan_scene(scene, pose, frame, dt)
        # (rays, 4) room for all rays, used again; (channels,) points of each
        if len(self._points) < scan.nearness.size:
            self._points = np.empty((scan.nearness.size, 4), np.float32)
            self._powers = make_power_buffer(len(scan.place))
        counts = np.zeros(self._sweep.channels, np.uint32)
        losses = self._losses
        total = _pack_lidar_points(
            scan.nearness, scan.source, scan.place, scan.row, scan.fan.cosine, scan.fan.sine,
            scan.fan.slopes, losses.attenuation, losses.general_rate, losses.intensity_limit,
            losses.zero_intensity, losses.noise, QUANTILE_TABLE,
            np.uint64(self._key), np.uint64(frame - self._first_frame), self._powers,
            self._points, counts,
        )  # fmt: skip
        return self._sweep.pack_header(counts) + self._points[:total].data


@allocating
def _pack_lidar_points(
    nearness: Floats,
    source: Int32s,
    place: Int32s,
    row_of_channel: Int32s,
    cosine: Floats,
    sine: Floats,
    slopes: Floats,
    attenuation: float,
    general_rate: float,
    intensity_limit: float,
    zero_intensity: float,
    noise: float,
    table: Floats,
    key: np.uint64,
    age: np.uint64,
    powers: PowerBuffer,
    points: Float32s,
    counts: NDArray[np.uint32],
) -> int:
    """Write what comes back of each ray, channel by channel in firing order."""
    total = 0
    # weak returns are lost with a probability that falls as their intensity rises
    beta = 1.0 - zero_intensity
    alpha = zero_intensity / intensity_limit if intensity_limit > 0 else 0.0
    # random bits are a hash of sensor, scan and ray: no state, and any order
    base = hash_counter(key ^ hash_counter(age + np.uint64(1)))
    firings = len(place)
    returned, kept = np.empty(firings, np.int32), np.empty(firings, np.uint64)
    chance = np.empty(firings, np.uint64)
    flats, intensities = np.empty(firings), np.empty(firings)
    for channel in range(len(row_of_channel)):
        row = row_of_channel[channel]
        slope = slopes[row]
        stretch = math.sqrt(1 + slope * slope)
        before = total
        # Which rays come back, without a branch: half of them drop off, and none foretells which.
        count = 0
        for firing in range(firings):
            chance[firing] = hash_counter(base + np.uint64(channel * firings + firing))
        for firing in range(firings):
            column, bits = place[firing], chance[firing]
            returned[count], kept[count] = column, bits
            count += (source[column, row] != NOTHING) & (sample_first_uniform(bits) >= general_rate)
        # points of the rays that come back
        for n in range(count):
            flats[n] = 1 / nearness[returned[n], row]
            intensities[n] = -attenuation * (flats[n] * stretch)
        replace_by_exponentials(intensities, count, powers)
        for n in range(count):
            column, bits, flat, intensity = returned[n], kept[n], flats[n], intensities[n]
            if intensity <= intensity_limit and not (
                sample_second_uniform(bits) < alpha * intensity + beta
            ):
                continue
            if noise > 0:
                flat += sample_standard_normal(bits, table) * noise / stretch
            points[total, 0] = flat * cosine[column]
            points[total, 1] = flat * sine[column]
            points[total, 2] = flat * slope
            points[total, 3] = intensity
            total += 1
        counts[channel] = total - before
    return total
