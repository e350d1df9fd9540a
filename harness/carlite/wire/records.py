"""The shapes of what travels: each dataclass is a msgpack array, field by field.

Angles are radians here and degrees on the wire.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.carlite.wire.codec import LEVEL, Rotation, Vector, Wide


@dataclass(frozen=True)
class Transform:
    """A pose.

    Attributes:
        location: metres.
        rotation: degrees, as CARLA sends them.
    """

    location: Vector
    rotation: Rotation


@dataclass(frozen=True)
class BoundingBox:
    """A box, `extent` being half its size, in the frame of the actor it belongs to."""

    location: Vector
    extent: Vector
    rotation: Rotation = LEVEL
    actor_id: int = 0


@dataclass(frozen=True, kw_only=True)
class EpisodeSettings:
    """How the world's clock runs; what only matters to a renderer is kept and handed back."""

    synchronous_mode: bool = False
    no_rendering_mode: bool = False
    fixed_delta_seconds: float | None = None
    substepping: bool = True
    max_substep_delta_time: float = 0.01
    max_substeps: int = 10
    max_culling_distance: float = 0.0
    deterministic_ragdolls: bool = True
    tile_stream_distance: float = 3000.0
    actor_active_distance: float = 2000.0
    spectator_as_ego: bool = True


@dataclass(frozen=True, kw_only=True)
class WeatherParameters:
    """The weather, which colour cameras show."""

    cloudiness: float = 0.0
    precipitation: float = 0.0
    precipitation_deposits: float = 0.0
    wind_intensity: float = 0.0
    sun_azimuth_angle: float = 0.0
    sun_altitude_angle: float = 45.0
    fog_density: float = 2.0
    fog_distance: float = 0.75
    fog_falloff: float = 0.1
    wetness: float = 0.0
    scattering_intensity: float = 1.0
    mie_scattering_scale: float = 0.03
    rayleigh_scattering_scale: float = 0.0331
    dust_storm: float = 0.0


DEFAULT_WEATHER = WeatherParameters()


@dataclass(frozen=True)
class AttributeValue:
    """One attribute of an actor: its name, the number of its type, its value as text."""

    id: str
    type: int
    value: str


@dataclass(frozen=True)
class ActorDescription:
    """What a client asks to be spawned."""

    uid: int
    id: str
    attributes: tuple[AttributeValue, ...]


@dataclass(frozen=True, kw_only=True)
class Actor:
    """Everything about an actor that never changes; clients ask once and remember."""

    id: int
    parent_id: int
    description: ActorDescription
    bounding_box: BoundingBox
    semantic_tags: bytes
    stream_token: bytes


@dataclass(frozen=True, kw_only=True)
class AttributeDefinition:
    """One attribute of a blueprint."""

    id: str
    type: int
    value: str
    recommended: tuple[str, ...]
    modifiable: bool
    restricted: bool


@dataclass(frozen=True)
class ActorDefinition:
    """A blueprint."""

    uid: int
    id: str
    tags: str
    attributes: tuple[AttributeDefinition, ...]


@dataclass(frozen=True)
class MapInfo:
    """The map's name and where vehicles may start."""

    name: str
    spawn_points: tuple[Transform, ...]


@dataclass(frozen=True, kw_only=True)
class VehicleControl:
    """The driver's inputs."""

    throttle: float
    steer: float
    brake: float
    hand_brake: bool
    reverse: bool
    manual_gear_shift: bool
    gear: int


@dataclass(frozen=True, kw_only=True)
class AckermannControl:
    """What an Ackermann controller should reach: steering angle in radians, metres, seconds."""

    steer: float = 0.0
    steer_speed: float = 0.0
    speed: float = 0.0
    acceleration: float = 0.0
    jerk: float = 0.0


@dataclass(frozen=True, kw_only=True)
class AckermannSettings:
    """Gains of the Ackermann controller's two loops."""

    speed_kp: float = 0.15
    speed_ki: float = 0.0
    speed_kd: float = 0.25
    accel_kp: float = 0.01
    accel_ki: float = 0.0
    accel_kd: float = 0.01


@dataclass(frozen=True)
class WalkerControl:
    """Where a walker goes, and how fast."""

    direction: Vector
    speed: float
    jump: bool


@dataclass(frozen=True)
class LabelledPoint:
    """A point on a surface and what the surface belongs to."""

    location: Vector
    label: int


@dataclass(frozen=True, kw_only=True)
class EnvironmentObject:
    """A piece of scenery."""

    transform: Transform
    bounding_box: BoundingBox
    id: Wide
    name: str
    label: int


@dataclass(frozen=True, kw_only=True)
class OpendriveParameters:
    """How a mesh is made of an OpenDRIVE file; here the ground follows the lanes in any case."""

    vertex_distance: float
    max_road_length: float
    wall_height: float
    additional_width: float
    smooth_junctions: bool
    enable_mesh_visibility: bool
    enable_pedestrian_navigation: bool
