"""A system with its own sensors, at every tick: disturbed readings in, pedals and wheel out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import carla
import numpy as np

from harness.campaign.attempt.planning_step import EGO
from harness.channel.channel import Channel
from harness.channel.effects import NO_SHIFT, Shift, compute_shift
from harness.types.agent_sensors import (
    SensorBearingSystem,
    SensorRequest,
    has_boxes,
    opens_world,
    steers_all,
)
from harness.types.geometry import compose_poses
from harness.types.vocabulary import (
    CameraImage,
    EgoObservation,
    Floats,
    Observation,
    Pose,
    SensorReading,
    Step,
)
from harness.world.agent_sensors import GNSS, IMU, LIDAR, SPEED, AgentSensors, shift_compass
from harness.world.attempt_context import EgoState

RGB = "sensor.camera.rgb"


class AgentSensing:
    """Reads the sensors of a system, disturbs what they say, and asks the system.

    Args:
        system: with its own sensors.
        sensors: on the ego.
        channel: of the attempt.
    """

    def __init__(
        self, system: SensorBearingSystem, sensors: AgentSensors, channel: Channel
    ) -> None:
        self.sensors = sensors
        self._system = system
        self._channel = channel
        self._mounts = {request.name: request for request in sensors.requests}
        self._cameras = [one.name for one in sensors.requests if one.kind == RGB]
        self._shift: Shift = NO_SHIFT  # of the ego's belief, since the last planning step
        self._taken = False  # readings of this tick, before the system is asked

    def make_record(self) -> dict[str, Any]:
        """Return the part of `result.json` about a system with its own sensors."""
        return {
            "privileged": opens_world(self._system),
            "boxes": has_boxes(self._system),
            "sensors": [[one.name, one.kind] for one in self.sensors.requests],
            **getattr(self._system, "make_attempt_record", dict)(),
        }

    def make_timing_record(self) -> dict[str, Any]:
        """Return what the system adds to `timing.json`."""
        added: dict[str, Any] = getattr(self._system, "make_timing_record", dict)()
        return added

    def note_belief(self, believed: Pose, true: Pose) -> None:
        """Take note of how far the ego is wrong about where it is, until the next planning step."""
        self._shift = compute_shift(believed, true)

    def take_tick(self, observation: EgoObservation, snapshot: carla.WorldSnapshot) -> None:
        """Read and disturb for a system that steers all egos: all readings come before a control.

        A wrong belief of a planning step is seen from the next tick on.

        Args:
            observation: of the ego in this tick.
            snapshot: of this tick.
        """
        if steers_all(self._system):
            readings = self._disturb(self.sensors.collect_readings(snapshot), observation)
            self._system.take_readings(observation.frame, readings)
            self._taken = True

    def drive_tick(self, observation: EgoObservation, snapshot: carla.WorldSnapshot) -> Step:
        """Read, disturb, ask; return pedals and wheel as they reach the vehicle in this tick.

        Args:
            observation: of the ego in this tick.
            snapshot: of this tick.
        """
        if self._taken:
            self._taken = False
        else:
            readings = self._disturb(self.sensors.collect_readings(snapshot), observation)
            observation = replace(observation, readings=readings)
        step = self._system.step(observation, ())
        if self._channel.of_answers:
            control = self._channel.hold_control(step.control, observation)
            return replace(step, control=control)
        return step

    def _disturb(
        self, readings: Sequence[SensorReading], observation: EgoObservation
    ) -> tuple[SensorReading, ...]:
        """Return readings as the disturbances of the condition leave them."""
        seen = self._see_images(readings, observation)
        return tuple(
            seen.get(reading.name) or self._disturb_reading(reading, observation)
            for reading in readings
        )

    def _disturb_reading(
        self, reading: SensorReading, observation: EgoObservation
    ) -> SensorReading:
        """Return one reading of no camera, disturbed."""
        shift = self._shift
        if reading.kind in (GNSS, IMU) and shift != NO_SHIFT:
            self._channel.note_shifted_reading()
        if reading.kind == GNSS and shift != NO_SHIFT:
            moved = self.sensors.shift_position(reading.values, shift.x, shift.y, shift.z)
            return replace(reading, values=moved)
        if reading.kind == IMU and shift.yaw:
            return shift_compass(reading, shift.yaw)
        if reading.kind == SPEED:
            speed = float(reading.values[0])
            shown = self._channel.speeds.show_speed(speed, observation)
            if shown != speed:
                self._channel.note_shifted_reading()
                return replace(reading, values=np.full_like(reading.values, shown))
        if reading.kind.startswith(LIDAR) and self._channel.of_sweeps:
            mount = self._mounts[reading.name].on_vehicle
            captured = Observation(
                sender=f"{EGO} {reading.name}",
                kind=EGO,
                frame=observation.frame,
                time=observation.time,
                lidar_in_world=compose_poses(observation.vehicle_in_world, mount),
                points_in_lidar=reading.values,
            )
            sensed = self._channel.sense_sweep(captured, None)
            return replace(reading, values=sensed.points_in_lidar.astype(np.float32))
        return reading

    def _see_images(
        self, readings: Sequence[SensorReading], observation: EgoObservation
    ) -> dict[str, SensorReading]:
        """Return readings of colour cameras as they are seen, by name."""
        given = {one.name: one for one in readings if one.name in self._cameras}
        if not given or not self._channel.of_pictures:
            return {}
        images = tuple(make_image(one, self._mounts[one.name]) for one in given.values())
        captured = Observation(
            sender=EGO,
            kind=EGO,
            frame=observation.frame,
            time=observation.time,
            lidar_in_world=observation.vehicle_in_world,
            points_in_lidar=np.zeros((0, 4), np.float32),
            images=images,
        )
        seen = self._channel.see_images(captured)
        return {image.name: replace(given[image.name], values=to_pixels(image)) for image in seen}


def make_tick_observation(state: EgoState, lidar_in_vehicle: Pose) -> EgoObservation:
    """Return what the ego knows between planning steps: no points, no lights."""
    return EgoObservation(
        sender=EGO,
        kind=EGO,
        frame=state.frame,
        time=state.time,
        lidar_in_world=compose_poses(state.vehicle_in_world, lidar_in_vehicle),
        points_in_lidar=np.zeros((0, 4), np.float32),
        vehicle_in_world=state.vehicle_in_world,
        lidar_in_vehicle=lidar_in_vehicle,
        speed=state.speed,
        lights=(),
    )


def make_image(reading: SensorReading, request: SensorRequest) -> CameraImage:
    """Return a camera's reading as an image; its agent's frame is that of the vehicle."""
    rows, columns = reading.values.shape[:2]
    return CameraImage(
        name=reading.name,
        pixels=np.ascontiguousarray(reading.values[:, :, 2::-1]),
        intrinsics=compute_intrinsics(rows, columns, float(request.attributes["fov"])),
        camera_in_lidar=request.on_vehicle,
        above_road=request.on_vehicle.z,
    )


def compute_intrinsics(rows: int, columns: int, fov: float) -> Floats:
    """Return the (3, 3) matrix of CARLA's pinhole camera; `fov` in degrees."""
    focal = columns / (2.0 * math.tan(math.radians(fov) / 2.0))
    return np.array([[focal, 0.0, columns / 2.0], [0.0, focal, rows / 2.0], [0.0, 0.0, 1.0]])


def to_pixels(image: CameraImage) -> np.ndarray:
    """Return an image as (rows, columns, 4) blue green red alpha."""
    rows, columns = image.pixels.shape[:2]
    pixels = np.full((rows, columns, 4), 255, np.uint8)
    pixels[:, :, :3] = image.pixels[:, :, ::-1]
    return pixels
