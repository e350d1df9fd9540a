"""The types that the rooms exchange: frozen, typed, named with their frames.

Frames are CARLA's: left-handed, x forward, y right, z up, yaw clockwise from above. Metres, seconds
and radians. An observer's LiDAR frame stands where its sensor stands and looks where the observer
looks: however the sensor was mounted has been undone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Integers: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

CLASSES = ("vehicle", "pedestrian", "cyclist")
VEHICLE, PEDESTRIAN, CYCLIST = range(len(CLASSES))

Kind = Literal["ego", "roadside", "vehicle"]
LightState = Literal["green", "yellow", "red", "off"]


@dataclass(frozen=True, slots=True)
class Pose:
    """Where something stands and which way it looks.

    Attributes:
        x: metres, forward; in the world frame unless a name says otherwise.
        y: metres, to the right.
        z: metres, up.
        yaw: radians, clockwise from above.
        pitch: radians, nose up.
        roll: radians.
    """

    x: float
    y: float
    z: float = 0.0
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """Road users as boxes: rows of `x y z length width height yaw` (centre, full sizes)."""

    geometry: Floats  # (N, 7)
    classes: Integers  # (N,) index into CLASSES
    scores: Floats  # (N,) 0 to 1

    def __post_init__(self) -> None:
        if self.geometry.shape != (len(self.classes), 7) or len(self.scores) != len(self.classes):
            raise ValueError(f"boxes do not fit together: {self.geometry.shape}")

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, chosen: Mask | Integers | slice) -> Boxes:
        return Boxes(self.geometry[chosen], self.classes[chosen], self.scores[chosen])

    @staticmethod
    def none() -> Boxes:
        """Return no boxes at all."""
        return Boxes(np.zeros((0, 7)), np.zeros(0, np.int64), np.zeros(0))

    @staticmethod
    def join(parts: list[Boxes]) -> Boxes:
        """Return the boxes of all parts, in order.

        Args:
            parts: all in one frame.
        """
        if not parts:
            return Boxes.none()
        return Boxes(
            np.concatenate([part.geometry for part in parts]),
            np.concatenate([part.classes for part in parts]),
            np.concatenate([part.scores for part in parts]),
        )

    @property
    def size_bytes(self) -> int:
        """Bytes on the air: seven float32, a score and a class each."""
        return len(self) * (7 * 4 + 4 + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Surfaces:
    """What the points of a sweep lie on, as a semantic LiDAR says."""

    labels: NDArray[np.uint8]  # CARLA's tags
    cosines: Singles  # of the angle between ray and normal, 0 to 1
    actors: Integers | None = None  # ids; 0: of no actor; None where this was not recorded

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, chosen: Mask | Integers) -> Surfaces:
        actors = None if self.actors is None else self.actors[chosen]
        return Surfaces(self.labels[chosen], self.cosines[chosen], actors)


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """A LiDAR sweep as it is sent: rows of `x y z intensity`.

    Attributes:
        in_lidar: metres in the sender's LiDAR frame, intensity 0 to 1.
    """

    in_lidar: Singles  # (N, 4)

    @property
    def size_bytes(self) -> int:
        """Bytes on the air: four float32 each."""
        return 16 * len(self.in_lidar)


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """What a network sends between its layers: maps of (channels, rows, columns).

    Attributes:
        maps: float32, in the sender's LiDAR frame.
    """

    maps: tuple[Singles, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes on the air: float32, as computed."""
        return 4 * sum(feature_map.size for feature_map in self.maps)


Payload: TypeAlias = Boxes | Points | Features


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlannedMotion:
    """Where a vehicle plans to be at known times; who holds a plan says in which frame.

    Attributes:
        times: (T,) seconds, ascending; who holds a plan says from which moment on.
        centre: (T, 2) metres, of the body.
        yaw: (T,) radians, of the body.
        speed: (T,) m/s.
        length: of the body, m.
        width: of the body, m.
    """

    times: Floats
    centre: Floats
    yaw: Floats
    speed: Floats
    length: float
    width: float

    @property
    def size_bytes(self) -> int:
        """Bytes on the air: five float32 for each place, two for the body."""
        return 20 * len(self.times) + 8


@dataclass(frozen=True, slots=True, eq=False)
class Intention:
    """A planned path as another vehicle has it by a message.

    Attributes:
        sender: its name, such as `ego-1`.
        motion: times count from now.
    """

    sender: str
    motion: PlannedMotion


@dataclass(frozen=True, slots=True, eq=False)
class GroundTruth:
    """What really stands round one observer: for judges and privileged systems only.

    Attributes:
        actor_ids: (N,) the simulator's ids.
        hits: (N,) LiDAR returns.
    """

    boxes_in_lidar: Boxes  # scores are 1
    actor_ids: Integers
    hits: Integers  # returns of this observer's own LiDAR on each

    def __getitem__(self, chosen: Mask | Integers) -> GroundTruth:
        return GroundTruth(self.boxes_in_lidar[chosen], self.actor_ids[chosen], self.hits[chosen])

    def __len__(self) -> int:
        return len(self.actor_ids)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CameraImage:
    """What one camera of an observer sees at one moment.

    A camera's frame is x forward, y right, z up. A point (x, y, z) in it falls on the pixel
    `intrinsics @ (y, -z, x) / x`: column, row, 1.

    Attributes:
        pixels: (rows, columns, 3) red, green, blue.
        intrinsics: (3, 3) in pixels.
        camera_in_lidar: the extrinsics: the camera in its observer's LiDAR frame.
    """

    name: str  # such as front
    pixels: NDArray[np.uint8]
    intrinsics: Floats
    camera_in_lidar: Pose
    above_road: float  # m, as it is mounted


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Observation:
    """What one observer senses by itself at one moment.

    Attributes:
        frame: the simulator's tick of capture.
        time: seconds.
    """

    sender: str  # "ego", "roadside-0", "vehicle-117"
    kind: Kind
    frame: int
    time: float  # of capture
    lidar_in_world: Pose  # as the observer believes
    points_in_lidar: Singles  # (N, 4) x y z intensity; empty unless the system reads points
    images: tuple[CameraImage, ...] = ()  # of its cameras; none unless the system reads images


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SensorReading:
    """What one of a system's own sensors gave in a tick, in the form of CARLA's Leaderboard.

    Attributes:
        name: of the sensor.
        kind: CARLA's id of the sensor.
        values: (rows, columns, 4) blue green red alpha of cameras; (N, 4) of LiDARs and radars;
            (3,) latitude longitude altitude; (7,) of inertial units; (1,) m/s of speedometers.
    """

    name: str
    kind: str
    values: NDArray[Any]


@dataclass(frozen=True, slots=True)
class LightAhead:
    """A traffic light on the route.

    Attributes:
        clear_station: metres along the route.
        state: what it shows now.
    """

    station: float  # of its stop line, metres along the route
    clear_station: float  # where the junction behind it has been left
    state: LightState


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EgoObservation(Observation):
    """What the ego knows besides its sensors: its own state, and the lights on its route.

    Its own way it finds by `vehicle_in_world`; `lidar_in_world` is what it believes when it puts
    its own and others' data together, and what a pose error disturbs.

    Attributes:
        vehicle_in_world: the vehicle, as it truly stands.
        speed: m/s.
        lights: those on the route ahead.
        readings: of the sensors that the system brings; none for other systems.
        intentions: planned paths of other vehicles, as received: in the ego's LiDAR frame, moved
            on to now by their own times.
    """

    vehicle_in_world: Pose
    lidar_in_vehicle: Pose  # where the LiDAR is mounted
    speed: float
    lights: tuple[LightAhead, ...]
    readings: tuple[SensorReading, ...] = ()
    intentions: tuple[Intention, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CarrierState:
    """What a connected vehicle knows of itself at a capture.

    Attributes:
        box_in_lidar: x y z length width height yaw of the vehicle in its LiDAR's frame.
    """

    box_in_lidar: Floats  # (7,)
    speed: float  # m/s, forward
    yaw_rate: float  # rad/s, to the left


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a message that stands for itself: one message on the air."""

    number: int  # from 1
    octets: bytes
    objects: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Message:
    """What one partner shared, stamped when it was captured.

    Attributes:
        sender: such as `roadside-0` or `vehicle-117`.
        capture_frame: the simulator's tick of capture.
        capture_time: seconds.
        payload: boxes or points in the sender's LiDAR frame, or feature maps.
        octets: the message as a standard's format writes it; None: the payload as it is. Of a
            message in segments: the bytes of all of them.
        segments: of a message that was too large for one; each is sent and received on its own.
        part: of what a sender sends at one capture, as links are given it: empty for a message or
            its first segment, `segment 2` and so on for others.
        velocities_in_world: (N, 2) m/s in x and y of each box, NaN where the message states none;
            None where its format has no velocities.
        intention: the sender's planned path in its LiDAR frame, its times from the capture on; None
            where none is sent.
    """

    sender: str
    kind: Kind
    capture_frame: int
    capture_time: float
    lidar_in_world: Pose  # as believed by the sender at capture
    payload: Payload
    octets: bytes | None = None
    velocities_in_world: Floats | None = None
    segments: tuple[Segment, ...] = ()
    part: str = ""
    intention: PlannedMotion | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes on the air, without the header."""
        planned = 0 if self.intention is None else self.intention.size_bytes
        return planned + (self.payload.size_bytes if self.octets is None else len(self.octets))


@dataclass(frozen=True, slots=True, eq=False)
class Control:
    """Pedals and wheel, as CARLA takes them."""

    throttle: float = 0.0  # 0 to 1
    steer: float = 0.0  # -1 (left) to 1
    brake: float = 0.0  # 0 to 1
    reverse: bool = field(default=False, kw_only=True)  # the gear; no driver of ours uses it
    hand_brake: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What a system makes of one moment; boxes stand in the ego's LiDAR frame.

    Attributes:
        control: what the vehicle does until the next planning step.
        cooperative: detections with the messages; they are evaluated.
        ego_alone: detections without the messages, for the error patterns.
    """

    control: Control
    cooperative: Boxes
    ego_alone: Boxes


@dataclass(frozen=True, slots=True, eq=False)
class Perceived:
    """What a system detects at one moment, in the ego's LiDAR frame: a step without its control.

    Attributes:
        cooperative: detections with the messages.
        ego_alone: detections without the messages.
    """

    cooperative: Boxes
    ego_alone: Boxes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Route:
    """A way through a town, one row for each metre.

    Attributes:
        name: unique in a campaign.
        town: the map's name, such as `Town05`.
        xyz: metres.
        yaw: radians, of the lane's direction.
        station: metres.
        lane_width: metres.
    """

    name: str
    town: str
    xyz: Floats  # (N, 3) lane centres in the world
    yaw: Floats  # (N,)
    station: Floats  # (N,) arc length from the start
    lane_width: Floats  # (N,)
    speed_limit: Floats  # (N,) m/s
    in_junction: Mask  # (N,)
    lane_change: Mask  # (N,) between two lanes, where the centre is neither's

    @property
    def length(self) -> float:
        """Metres from start to goal."""
        return float(self.station[-1])
