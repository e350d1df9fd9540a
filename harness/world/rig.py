"""LiDAR mounts, and a scanner: points if they are read, hits always."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue

import carla
import numpy as np
import yaml

from harness.common.errors import AttemptError, UserError
from harness.common.installation import CONF
from harness.common.sensitivity import LidarSensitivity
from harness.types.geometry import build_pose_matrix, get_matrix_pose
from harness.types.vocabulary import Kind, Mask, Pose, Singles, Surfaces
from harness.world import poses
from harness.world.attempt_context import AttemptContext

SEMANTIC_RETURN = np.dtype(
    [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("cos", "<f4"), ("actor", "<u4"), ("tag", "<u4")]
)
PATIENCE = 30.0
"""Seconds to wait for a frame that is due."""
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

    def get_mount(self, kind: Kind) -> LidarMount:
        """Return the LiDAR of a kind of agent."""
        return {"ego": self.ego, "roadside": self.roadside, "vehicle": self.vehicle}[kind]

    @property
    def mounts(self) -> tuple[LidarMount, ...]:
        """All of them."""
        return self.ego, self.roadside, self.vehicle


@cache
def read_rig(file: Path = CONF / "rig" / "v2xverse.yaml") -> Rig:
    """Return the rig of a file in `conf/rig`."""
    given = yaml.safe_load(file.read_text())
    mounts = {
        name: LidarMount(**{key: value for key, value in mount.items() if key != "_target_"})
        for name, mount in given.items()
        if isinstance(mount, dict)
    }
    return Rig(
        **mounts,
        roadside_height=given["roadside_height"],
        roadside_distance=given["roadside_distance"],
    )


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


class ScanningPost:
    """A LiDAR, and its semantic twin with the same rays: ground truth needs the actors hit.

    It sweeps once in a planning period, a full turn in one tick. Posts that are put up before the
    same tick sweep in the same ticks, if they listen when the first of those is due.

    Args:
        context: of the attempt.
        mount: numbers of the LiDAR.
        period: seconds between sweeps.
        reads_points: whether points are needed, or hits only.
        reads_surfaces: whether it must be known what points lie on.
        carrier: vehicle that carries it; None for a pole.
        place: where it stands; None: as mounted on the carrier.
        noise_seed: of its noise.
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
    ) -> None:
        kinds = ["sensor.lidar.ray_cast_semantic"]
        if reads_points:
            kinds.append("sensor.lidar.ray_cast")
        self.mount = mount
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
        self._queues: list[SimpleQueue[carla.SensorData]] = [SimpleQueue() for _ in kinds]

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
        for sensor in self._sensors:
            sensor.set_transform(place)

    def collect_scan(self, frame: int) -> LidarScan:
        """Return the scan of this frame; it is late only if something is wrong.

        Args:
            frame: the tick in which it swept.

        Returns:
            Points and hits in the LiDAR's frame.
        """
        # the semantic sweep, then that with points if it is read
        data = [_wait_for_frame(queue, frame) for queue in self._queues]
        semantic = np.frombuffer(data[0].raw_data, SEMANTIC_RETURN)
        actors = semantic["actor"]
        # returns by actor, for ground truth
        hit, counts = np.unique(actors[actors > 0], return_counts=True)  # most are of the town
        # without the points of the car that carries it
        points, surfaces = np.zeros((0, 4), np.float32), None
        if len(data) > 1:
            points = self._undo_mount_yaw(
                np.frombuffer(data[1].raw_data, np.float32).reshape(-1, 4)
            )
            if self._reads_surfaces:
                surfaces = to_surfaces(semantic, len(points))
            if self._on_vehicle:
                others = ~find_carrier_points(points)
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
        )

    def has_sweep_in_frame(self, frame: int) -> bool:
        """Return whether this frame is one in which it sweeps."""
        try:
            data = self._queues[0].get(timeout=FIRST_PATIENCE)
        except Empty:
            return False
        self._queues[0].put(data)
        return bool(data.frame == frame)

    def destroy_sensors(self) -> None:
        """Leave the world."""
        self.stop_scanning()
        for sensor in self._sensors:
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


def find_carrier_points(points: Singles) -> Mask:
    """Return which points are the car that carries the LiDAR.

    Args:
        points: (N, 4) in the LiDAR's frame.

    Returns:
        (N,)
    """
    behind, ahead, aside = CARRIER_BODY
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


def _wait_for_frame(queue: SimpleQueue[carla.SensorData], frame: int) -> carla.SensorData:
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
