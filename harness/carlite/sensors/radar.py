"""`sensor.other.radar`: scattered rays ahead, and how fast what they hit comes closer.

Rays fall into an ellipse about the forward axis, densest in its middle. As in CARLA, a negative
velocity means approaching.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from harness.carlite.arrays import Floats, Ints
from harness.carlite.randomness import make_random_stream
from harness.carlite.sensors.frames import build_rotation_matrix
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.settings import read_integer_attribute, read_number_attribute

DEGREE = math.pi / 180
MOST_RAYS = 200_000


class RadarSensor:
    """The body is float32 velocity, azimuth, altitude, depth for each detection."""

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        self._half_width = math.tan(
            read_number_attribute(attributes, "horizontal_fov", 30.0, low=0, high=179) * DEGREE / 2
        )
        self._half_height = math.tan(
            read_number_attribute(attributes, "vertical_fov", 30.0, low=0, high=179) * DEGREE / 2
        )
        self._range = read_number_attribute(attributes, "range", 100.0, low=0.01, high=1e5)
        self._rate = read_integer_attribute(
            attributes, "points_per_second", 1500, low=0, high=1_000_000_000
        )
        noise_seed = read_integer_attribute(
            attributes, "noise_seed", 0, low=-(2**31), high=2**31 - 1
        )
        self._noise = (seed, "radar", noise_seed)
        self._first_frame: int | None = None

    def capture(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Shoot one tick's worth of rays."""
        if self._first_frame is None:
            self._first_frame = frame
        scene.refresh_actors(frame)
        # (rays, 3) in the sensor's frame; as many as points per second allow in dt
        rays = self._scatter_rays(
            frame - self._first_frame, int(min(self._rate * dt + 1e-6, MOST_RAYS))
        )
        # the same as unit vectors in the world
        length = np.linalg.norm(rays, axis=1)
        directions = rays / length[:, None] @ build_rotation_matrix(*pose.rotation).T
        origins = np.tile(np.array(pose.position, np.float64), (len(rays), 1))
        # range is measured along x, so rays at the edge reach farther
        reach = self._range * math.hypot(1, self._half_width, self._half_height)
        distance, actor, _ = scene.find_first_hit(origins, directions, reach)
        hit = distance <= self._range * length
        # relative velocity along the ray: above 0 where the gap grows
        motion = _collect_velocities(scene, actor[hit]) - np.array(pose.velocity)
        # (hits, 4): velocity m/s, azimuth rad, altitude rad, depth m
        detections = np.empty((int(hit.sum()), 4), "<f4")
        detections[:, 0] = np.einsum("ij,ij->i", motion, directions[hit])
        detections[:, 1] = np.arctan2(rays[hit, 1], rays[hit, 0])
        detections[:, 2] = np.arcsin(rays[hit, 2] / length[hit])
        detections[:, 3] = distance[hit]
        return detections.tobytes()

    def _scatter_rays(self, age: int, count: int) -> Floats:
        """Scatter rays in the sensor's frame, one metre forward each."""
        rng = make_random_stream(*self._noise, age)
        radius, angle = rng.random(count), rng.uniform(0, 2 * math.pi, count)
        across, up = radius * np.cos(angle), radius * np.sin(angle)
        return np.column_stack([np.ones(count), across * self._half_width, up * self._half_height])


def _collect_velocities(scene: SensorScene, actors: Ints) -> Floats:
    """World velocities of actors; what is no actor stands still."""
    velocity = np.zeros((len(actors), 3))
    for actor in np.unique(actors[actors > 0]).tolist():
        velocity[actors == actor] = scene.table.velocity[scene.table.find_slot(actor)]
    return velocity
