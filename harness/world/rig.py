"""Mounts of sensors, and a scanner: points and images if they are read, hits always."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import carla
import numpy as np
import yaml

from harness.common.errors import AttemptError, UserError
from harness.common.installation import CONF
from harness.common.sensitivity import LidarSensitivity
from harness.types.geometry import build_pose_matrix, compose_poses, get_matrix_pose
from harness.types.vocabulary import CameraImage, Kind, Mask, Pose, Singles, Surfaces
from harness.world import poses
from harness.world.attempt_context import AttemptContext
from harness.world.cameras import (
    DEPTH,
    RGB,
    CameraMount,
    CameraPlace,
    decode_depth,
    place_camera,
    spawn_camera,
)
from harness.world.sensor_frames import wait_for_frame

SEMANTIC_RETURN = np.dtype(
    [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("cos", "<f4"), ("actor", "<u4"), ("tag", "<u4")]
)
FIRST_PATIENCE = 0.5
"""Seconds after a tick in which a sweep comes if there was one."""
CARRIER_BODY = (-2.95, 1.95, 1.1)
"""Metres behind, ahead and aside of a car's LiDAR within which points are the car itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LidarMount:
    """A spinning LiDAR; `conf/rig` has the numbers."""

    safe_from_file = True
    x: float  # m forward, on the vehicle
    y: float  # m right
    z: float  # m up
    yaw: float  # degrees; removed from all measurements
    channels: int  # beams
    range: float  # m
    points_per_second: int  # rays, hit or not
    upper_fov: float  # degrees
    lower_fov: float  # degrees
    atmosphere_attenuation_rate: float  # per m
    dropoff_general_rate: float  # share of returns lost
    dropoff_intensity_limit: float  # intensity above which no return is lost
    dropoff_zero_intensity: float  # share of returns lost at intensity 0
    noise_stddev: float  # m along the ray
    r_max: float | None = None  # m where reflectivity 0.9 is just detected; null: no limit
    keep_intensity: bool = False  # true: weather leaves intensities as in dry air
    carrier_body: tuple[float, float, float] = CARRIER_BODY  # m behind, ahead, aside: the car

    def __post_init__(self) -> None:
        if self.sensitivity and not self.returns_all:
            raise UserError(
                f"rig: r_max = {self.r_max:g} m with dropoff: what points lie on is known only"
                " where the simulator drops no return; dropoff_general_rate and"
                " dropoff_zero_intensity must be 0"
            )

    @property
    def sensitivity(self) -> LidarSensitivity | None:
        """What it detects; None if that is all that its rays hit within range."""
        if self.r_max is None:
            return None
        return LidarSensitivity(r_max=self.r_max, keep_intensity=self.keep_intensity)

    @property
    def returns_all(self) -> bool:
        """Whether the simulator drops no return."""
        return not (self.dropoff_general_rate or self.dropoff_zero_intensity)

    @property
    def pose_in_carrier(self) -> Pose:
        """Where the LiDAR stands on what carries it, its yaw undone."""
        return Pose(self.x, self.y, self.z)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rig:
    """The sensors of the ego, of roadside units and of connected vehicles."""

    safe_from_file = True
    ego: LidarMount  # the ego's LiDAR
    roadside: LidarMount  # LiDAR of roadside units
    vehicle: LidarMount  # LiDAR of connected vehicles
    roadside_height: float  # m from the road to a roadside unit
    roadside_distance: float  # m ahead of the ego at which a roadside unit is placed
    vehicle_cameras: Mapping[str, CameraMount] = field(default_factory=dict)  # ego's and vehicles'
    roadside_cameras: Mapping[str, CameraMount] = field(default_factory=dict)  # of roadside units

    def get_mount(self, kind: Kind) -> LidarMount:
        """Return the LiDAR of a kind of agent."""
        return {"ego": self.ego, "roadside": self.roadside, "vehicle": self.vehicle}[kind]

    @property
    def mounts(self) -> tuple[LidarMount, ...]:
        """All of them."""
        return self.ego, self.roadside, self.vehicle

    @property
    def has_cameras(self) -> bool:
        """Whether all agents have cameras."""
        return bool(self.vehicle_cameras and self.roadside_cameras)

    def place_cameras(self, kind: Kind) -> tuple[CameraPlace, ...]:
        """Return where the cameras of a kind of agent stand for its LiDAR.

        A roadside unit's cameras are mounted from the top of its mast, where its LiDAR stands too.
        """
        roadside = kind == "roadside"
        mounts = self.roadside_cameras if roadside else self.vehicle_cameras
        lidar = self.get_mount(kind).pose_in_carrier
        height = self.roadside_height if roadside else 0.0
        return tuple(place_camera(name, mount, lidar, height) for name, mount in mounts.items())


RIGS = CONF / "rig"


@cache
def read_rig(file: Path = RIGS / "v2xverse.yaml") -> Rig:
    """Return the rig of a file in `conf/rig`."""
    given = yaml.safe_load(file.read_text())
    # a rig that extends another one lists it among its defaults
    parents = [name for name in given.pop("defaults", []) if name != "_self_"]
    known: dict[str, Any] = {}
    for parent in parents:
        rig = read_rig(file.with_name(f"{parent}.yaml"))
        known |= {item.name: getattr(rig, item.name) for item in fields(rig)}
    for name, value in given.items():
        if name.endswith("_cameras"):
            known[name] = {key: CameraMount(**drop_target(mount)) for key, mount in value.items()}
        elif isinstance(value, dict):
            old = known.get(name)
            numbers = drop_target(value)
            known[name] = replace(old, **numbers) if old is not None else LidarMount(**numbers)
        elif name != "_target_":
            known[name] = value
    return Rig(**known)


def drop_target(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without the class that they name."""
    return {key: value for key, value in settings.items() if key != "_target_"}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LidarScan:
    """One turn of a LiDAR.

    Attributes:
        frame: the tick.
        time: seconds, of the simulator.
        lidar_in_world: where the LiDAR stands and its carrier looks.
        points_in_lidar: (N, 4) x y z intensity, metres.
    """

    frame: int
    time: float
    lidar_in_world: Pose
    points_in_lidar: Singles
    hits: dict[int, int]  # returns by actor
    surfaces: Surfaces | None = None  # that the points lie on, if they were asked for
    sensitivity: LidarSensitivity | None = None  # of the LiDAR, which has not been applied
    images: tuple[CameraImage, ...] = ()  # of the same tick, if they were asked for
    depths: tuple[Singles, ...] = ()  # (rows, columns) metres, of each image, if asked for


class ScanningPost:
    """A LiDAR, and its semantic twin with the same rays: ground truth needs the actors hit.

    Cameras stand on the same carrier and take their images in the tick of the sweep. It sweeps once
    in a planning period, a full turn in one tick. Posts that are put up before the same tick sweep
    in the same ticks, if they listen when the first of those is due.

    Args:
        context: of the attempt.
        mount: numbers of the LiDAR.
        period: seconds between sweeps.
        reads_points: whether points are needed, or hits only.
        reads_surfaces: whether it must be known what points lie on.
        carrier: vehicle that carries it; None for a pole.
        place: where it stands; None: as mounted on the carrier.
        noise_seed: of its noise.
        cameras: that take images at the same time.
        depth_size: columns and rows of depth images of the same cameras; None for no depth.
    """

    def __init__(
        self,
        context: AttemptContext,
        mount: LidarMount,
        *,
        period: float,
        reads_points: bool,
        reads_surfaces: bool = False,
        carrier: carla.Actor | None = None,
        place: carla.Transform | None = None,
        noise_seed: int = 0,
        cameras: Sequence[CameraPlace] = (),
        depth_size: tuple[int, int] | None = None,
    ) -> None:
        kinds = ["sensor.lidar.ray_cast_semantic"]
        if reads_points:
            kinds.append("sensor.lidar.ray_cast")
        self.mount = mount
        self.reads_points = reads_points
        self.listening = False
        self._reads_surfaces = reads_surfaces
        self._on_vehicle = carrier is not None
        self._sensors = [
            _spawn_lidar(
                context,
                kind,
                mount=mount,
                period=period,
                carrier=carrier,
                place=place,
                noise_seed=noise_seed,
            )
            for kind in kinds
        ]
        self._lidars, self._cameras = len(kinds), tuple(cameras)
        # images first, then their depths
        pictures = [(RGB, camera, camera.mount) for camera in cameras]
        if depth_size is not None:
            width, height = depth_size
            pictures += [
                (DEPTH, camera, replace(camera.mount, width=width, height=height))
                for camera in cameras
            ]
        mast = Pose(0.0, 0.0) if place is None else self._compute_lidar_pose(place)
        self._places = [camera.mount.pose_on_carrier for _, camera, _ in pictures]
        self._sensors += [
            spawn_camera(
                context,
                kind,
                film,
                period=period,
                carrier=carrier,
                place=compose_poses(mast, camera.mount.pose_on_carrier),
            )
            for kind, camera, film in pictures
        ]
        self._queues: list[SimpleQueue[carla.SensorData]] = [SimpleQueue() for _ in self._sensors]

    def start_scanning(self) -> None:
        """Start to scan."""
        if not self.listening:
            self.listening = True
            for sensor, queue in zip(self._sensors, self._queues, strict=True):
                sensor.listen(queue.put)

    def stop_scanning(self) -> None:
        """Stop scanning: an idle sensor costs nothing."""
        if self.listening:
            self.listening = False
            for sensor in self._sensors:
                sensor.stop()

    def move_lidar(self, place: carla.Transform) -> None:
        """Stand elsewhere from the next tick on."""
        for sensor in self._sensors[: self._lidars]:
            sensor.set_transform(place)
        mast = self._compute_lidar_pose(place)
        cameras = zip(self._sensors[self._lidars :], self._places, strict=True)
        for sensor, pose in cameras:
            sensor.set_transform(poses.to_carla_transform(compose_poses(mast, pose)))

    def collect_scan(self, frame: int) -> LidarScan:
        """Return the scan of this frame; it is late only if something is wrong.

        Args:
            frame: the tick in which it swept.

        Returns:
            Points and hits in the LiDAR's frame.
        """
        # the semantic sweep, then that with points if it is read
        data = [wait_for_frame(queue, frame) for queue in self._queues]
        semantic = np.frombuffer(data[0].raw_data, SEMANTIC_RETURN)
        actors = semantic["actor"]
        # returns by actor, for ground truth
        hit, counts = np.unique(actors[actors > 0], return_counts=True)  # most are of the town
        # without the points of the car that carries it
        points, surfaces = np.zeros((0, 4), np.float32), None
        if self._lidars > 1:
            points = self._undo_mount_yaw(
                np.frombuffer(data[1].raw_data, np.float32).reshape(-1, 4)
            )
            if self._reads_surfaces:
                surfaces = to_surfaces(semantic, len(points))
            if self._on_vehicle:
                others = ~find_carrier_points(points, self.mount.carrier_body)
                points = points[others]
                surfaces = None if surfaces is None else surfaces[others]
        return LidarScan(
            frame=frame,
            time=data[0].timestamp,
            lidar_in_world=self._compute_lidar_pose(data[0].transform),
            points_in_lidar=points,
            hits=dict(zip(hit.tolist(), counts.tolist(), strict=True)),
            surfaces=surfaces,
            sensitivity=self.mount.sensitivity,
            images=tuple(
                camera.make_image(image)
                for camera, image in zip(self._cameras, data[self._lidars :], strict=False)
            ),
            depths=tuple(map(decode_depth, data[self._lidars + len(self._cameras) :])),
        )

    def read_camera_poses(self, snapshot: carla.WorldSnapshot) -> Singles:
        """Return where the cameras are in a snapshot.

        Returns:
            (cameras, 6) x y z in m, pitch yaw roll in degrees.
        """
        first = self._lidars
        cameras = self._sensors[first : first + len(self._cameras)]
        rows = [poses.make_pose_row(snapshot.find(one.id).get_transform()) for one in cameras]
        return np.array(rows, np.float32).reshape(-1, 6)

    def has_sweep_in_frame(self, frame: int) -> bool:
        """Return whether this frame is one in which it sweeps."""
        try:
            data = self._queues[0].get(timeout=FIRST_PATIENCE)
        except Empty:
            return False
        self._queues[0].put(data)
        return bool(data.frame == frame)

    def destroy_sensors(self) -> None:
        """Leave the world, once."""
        self.stop_scanning()
        sensors, self._sensors = self._sensors, []
        for sensor in sensors:
            sensor.destroy()

    def _compute_lidar_pose(self, transform: carla.Transform) -> Pose:
        """Return where the LiDAR stands and where its carrier looks."""
        turned_back = Pose(0.0, 0.0, yaw=-math.radians(self.mount.yaw))
        return get_matrix_pose(
            build_pose_matrix(poses.to_pose(transform)) @ build_pose_matrix(turned_back)
        )

    def _undo_mount_yaw(self, points: Singles) -> Singles:
        turned = points.copy()
        yaw = math.radians(self.mount.yaw)
        cos, sin = np.float32(math.cos(yaw)), np.float32(math.sin(yaw))
        turned[:, 0] = cos * points[:, 0] - sin * points[:, 1]
        turned[:, 1] = sin * points[:, 0] + cos * points[:, 1]
        return turned


def find_carrier_points(points: Singles, body: tuple[float, float, float] = CARRIER_BODY) -> Mask:
    """Return which points are the car that carries the LiDAR.

    Args:
        points: (N, 4) in the LiDAR's frame.
        body: metres behind (negative), ahead and aside of the LiDAR.

    Returns:
        (N,)
    """
    behind, ahead, aside = body
    x, y = points[:, 0], points[:, 1]
    return np.asarray((x > behind) & (x < ahead) & (np.abs(y) < aside))


def to_surfaces(semantic: np.ndarray, points: int) -> Surfaces:
    """Return what the points lie on: the semantic twin has the same rays in the same order.

    Args:
        semantic: (N,) structured returns.
        points: number of points of the twin.

    Raises:
        AttemptError: the two sweeps do not fit together.
    """
    if len(semantic) != points:
        raise AttemptError(
            "sensor_timeout",
            f"{points} returns of a LiDAR, and {len(semantic)} of its semantic twin: surfaces are"
            " known only where no return is dropped",
        )
    return Surfaces(
        semantic["tag"].astype(np.uint8),
        np.abs(semantic["cos"]),
        semantic["actor"].astype(np.int64),
    )


def _spawn_lidar(
    context: AttemptContext,
    kind: str,
    *,
    mount: LidarMount,
    period: float,
    carrier: carla.Actor | None,
    place: carla.Transform | None,
    noise_seed: int,
) -> carla.Sensor:
    blueprint = context.world.get_blueprint_library().find(kind)
    settings = {
        "channels": mount.channels,
        "range": mount.range,
        "points_per_second": mount.points_per_second,
        "rotation_frequency": 1 / context.tick_seconds,
        "upper_fov": mount.upper_fov,
        "lower_fov": mount.lower_fov,
        "sensor_tick": period,
        "atmosphere_attenuation_rate": mount.atmosphere_attenuation_rate,
        "dropoff_general_rate": mount.dropoff_general_rate,
        "dropoff_intensity_limit": mount.dropoff_intensity_limit,
        "dropoff_zero_intensity": mount.dropoff_zero_intensity,
        "noise_stddev": mount.noise_stddev,
        "noise_seed": noise_seed % 2**31,
    }
    for name, value in settings.items():
        if blueprint.has_attribute(name):
            blueprint.set_attribute(name, str(value))
    at = place or poses.to_carla_transform(
        Pose(mount.x, mount.y, mount.z, yaw=math.radians(mount.yaw))
    )
    return context.world.spawn_actor(blueprint, at, carrier)
