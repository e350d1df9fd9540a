"""The sensors that a system brings: mounted on the ego, read in every tick.

Cameras, LiDARs, radars and inertial units are the simulator's. Satellite positions and speeds are
computed from where the ego is, as CARLA's Leaderboard does it: CARLA 0.9.16 turned the direction in
which its latitudes grow, and agents that know the older ones would drive the wrong way
(decision 0120).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

import carla
import numpy as np
from numpy.typing import NDArray

from harness.common.errors import AttemptError
from harness.types.agent_sensors import SensorRequest
from harness.types.geometry import compose_poses
from harness.types.vocabulary import Pose, SensorReading
from harness.world.attempt_context import AttemptContext
from harness.world.poses import to_carla_transform, to_pose
from harness.world.sensor_frames import wait_for_frame

GNSS, IMU, SPEED = "sensor.other.gnss", "sensor.other.imu", "sensor.speedometer"
CAMERA, LIDAR, RADAR = "sensor.camera.", "sensor.lidar.", "sensor.other.radar"
COMPUTED = (GNSS, SPEED)
"""Of the ego's pose, not spawned."""
EARTH_RADIUS = 6_378_137.0
DEFAULT_REFERENCE = (42.0, 2.0)
"""Degrees of latitude and longitude of a town whose map names none."""


class GeoReference:
    """Latitude and longitude as CARLA up to 0.9.15 and its Leaderboards have them."""

    def __init__(self, opendrive: str) -> None:
        match = re.search(r"<geoReference>(.*?)</geoReference>", opendrive, re.DOTALL)
        text = match.group(1) if match else ""
        matches = [re.search(rf"\+{name}=([-+0-9.eE]+)", text) for name in ("lat_0", "lon_0")]
        self.latitude, self.longitude = (
            float(value.group(1)) if value else default
            for value, default in zip(matches, DEFAULT_REFERENCE, strict=True)
        )

    def to_degrees(self, x: float, y: float) -> tuple[float, float]:
        """Return the latitude, which falls with y, and the longitude of a place in the world."""
        scale = math.cos(math.radians(self.latitude))
        east = scale * math.radians(self.longitude) * EARTH_RADIUS + x
        tangent = math.tan(math.radians(90.0 + self.latitude) / 2.0)
        north = scale * EARTH_RADIUS * math.log(tangent) - y
        longitude = math.degrees(east / (EARTH_RADIUS * scale))
        latitude = 2.0 * math.degrees(math.atan(math.exp(north / (EARTH_RADIUS * scale)))) - 90.0
        return latitude, longitude


class AgentSensors:
    """The sensors of a system on the ego, as long as an attempt lasts.

    Args:
        context: of the attempt.
        ego: the vehicle that carries them.
        requests: what the system wants.
        number: of the ego, from 0: sensors of each have a noise of their own.
    """

    def __init__(
        self,
        context: AttemptContext,
        ego: carla.Vehicle,
        requests: Sequence[SensorRequest],
        number: int = 0,
    ) -> None:
        self.requests = tuple(requests)
        self._context = context
        self._ego = ego
        self._number = number
        self._reference = GeoReference(context.map.to_opendrive())
        self._actors: dict[str, carla.Sensor] = {}
        self._queues: dict[str, SimpleQueue[carla.SensorData]] = {}
        self._first_frame: int | None = None
        for request in self.requests:
            if request.kind not in COMPUTED:
                self._spawn_sensor(request)

    def _spawn_sensor(self, request: SensorRequest) -> None:
        """Put one sensor up and listen to it."""
        library = self._context.world.get_blueprint_library()
        if request.kind not in {blueprint.id for blueprint in library.filter("sensor.*")}:
            raise AttemptError(
                "agent_setup", f"sensor {request.name!r}: the simulator has no {request.kind}"
            )
        blueprint = library.find(request.kind)
        seed = self._context.compute_noise_seed("agent sensor", request.name)
        if self._number:
            ego = str(self._number)
            seed = self._context.compute_noise_seed("agent sensor", ego, request.name, "ego")
        numbers = {"noise_seed": str(seed % 2**31), **request.attributes}
        for name, value in numbers.items():
            if blueprint.has_attribute(name):
                blueprint.set_attribute(name, value)
        place = to_carla_transform(request.on_vehicle)
        sensor = self._context.world.spawn_actor(blueprint, place, self._ego)
        queue: SimpleQueue[carla.SensorData] = SimpleQueue()
        self._actors[request.name], self._queues[request.name] = sensor, queue

    def start(self) -> None:
        """Listen from now on."""
        for name, sensor in self._actors.items():
            sensor.listen(self._queues[name].put)

    def collect_readings(self, snapshot: carla.WorldSnapshot) -> tuple[SensorReading, ...]:
        """Return what all sensors gave in the tick of a snapshot, in the order of the requests."""
        if self._first_frame is None:
            self._first_frame = snapshot.frame
        return tuple(
            SensorReading(
                name=request.name,
                kind=request.kind,
                values=self._read_values(request, snapshot),
            )
            for request in self.requests
        )

    def _read_values(self, request: SensorRequest, snapshot: carla.WorldSnapshot) -> NDArray[Any]:
        ego = snapshot.find(self._ego.id)
        if request.kind == SPEED:
            ahead, velocity = ego.get_transform().get_forward_vector(), ego.get_velocity()
            return np.array([ahead.x * velocity.x + ahead.y * velocity.y + ahead.z * velocity.z])
        if request.kind == GNSS:
            return self._compute_position(request, to_pose(ego.get_transform()), snapshot.frame)
        data = wait_for_frame(self._queues[request.name], snapshot.frame)
        return decode_reading(request.kind, data)

    def _compute_position(
        self, request: SensorRequest, ego_in_world: Pose, frame: int
    ) -> NDArray[np.float64]:
        """Return latitude, longitude and altitude with the noise that the request asks for."""
        here = compose_poses(ego_in_world, request.on_vehicle)
        true = np.array([*self._reference.to_degrees(here.x, here.y), here.z])
        deviation = [
            float(request.attributes.get(f"noise_{axis}_stddev", 0.0))
            for axis in ("lat", "lon", "alt")
        ]
        tick = frame - (self._first_frame or frame)
        random = self._context.random("agent sensor", request.name, str(tick))
        if self._number:
            ego = str(self._number)
            random = self._context.random("agent sensor", ego, request.name, str(tick))
        return np.asarray(true + np.array(deviation) * random.standard_normal(3))

    def shift_position(self, values: NDArray[Any], x: float, y: float, z: float) -> NDArray[Any]:
        """Return a satellite position moved by metres in the world."""
        before, after = self._reference.to_degrees(0.0, 0.0), self._reference.to_degrees(x, y)
        moved = np.array([after[0] - before[0], after[1] - before[1], z])
        return np.asarray(values + moved)

    def destroy_sensors(self) -> None:
        """Take all of them down."""
        for sensor in self._actors.values():
            sensor.stop()
            sensor.destroy()


def decode_reading(kind: str, data: carla.SensorData) -> NDArray[Any]:
    """Return what a sensor sent as the Leaderboard gives it to agents."""
    if kind.startswith(CAMERA):
        pixels = np.frombuffer(data.raw_data, np.uint8)
        return pixels.reshape(data.height, data.width, 4).copy()
    if kind == IMU:
        felt, turn = data.accelerometer, data.gyroscope
        numbers = [felt.x, felt.y, felt.z, turn.x, turn.y, turn.z, data.compass]
        return np.array(numbers, np.float64)
    rows = np.frombuffer(data.raw_data, np.float32).reshape(-1, 4)
    # of a radar: depth, altitude, azimuth, velocity; CARLA sends them the other way round
    return np.ascontiguousarray(rows[:, ::-1] if kind == RADAR else rows)


def shift_compass(reading: SensorReading, yaw: float) -> SensorReading:
    """Return an inertial reading whose compass is wrong by an angle, rad."""
    values = reading.values.copy()
    values[-1] = (values[-1] + yaw) % math.tau
    return replace(reading, values=values)
