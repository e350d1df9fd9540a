"""What stands between two antennas: buildings and vehicles as boxes, cut by the straight path."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.types.vocabulary import PEDESTRIAN, Floats, Integers, Mask, Pose

ROOF = 0.02
"""Metres of the antenna over the highest point of its vehicle (CARLA 0.9.16, PathLossModel.cpp)."""
LOS, NLOSV, NLOS = SIGHTS = ("LOS", "NLOSv", "NLOS")
"""Nothing in between; vehicles only; a building or anything else that is no vehicle."""


@dataclass(frozen=True, slots=True, eq=False)
class AirSurroundings:
    """What the paths of one moment may meet; boxes as rows of `x y z length width height yaw`.

    Attributes:
        ego_lidar_in_world: the true pose of the receiver's LiDAR.
        users: (N, 7) road users in the world, sender and ego among them.
        classes: (N,) of the road users.
        fixed: (M, 7) buildings, walls and parked scenery in the world.
    """

    ego_lidar_in_world: Pose
    users: Floats
    classes: Integers
    fixed: Floats


@dataclass(frozen=True, slots=True)
class Antenna:
    """Where an antenna is.

    Attributes:
        ground: metres, height of the ground that its carrier stands on.
    """

    x: float
    y: float
    z: float
    ground: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PathView:
    """The path between the ego's antenna and a sender's.

    Attributes:
        sight: LOS, NLOSv or NLOS.
        obstacles: of each vehicle in between, metres to the ego's antenna and to the sender's, both
            horizontal, and the height of its top over the lower of the two grounds.
    """

    ego: Antenna
    sender: Antenna
    sight: str
    obstacles: tuple[tuple[float, float, float], ...] = ()

    @property
    def distance(self) -> float:
        """Metres between the antennas."""
        ends = (self.ego, self.sender)
        first, second = ((end.x, end.y, end.z) for end in ends)
        return math.dist(first, second)

    @property
    def heights(self) -> tuple[float, float]:
        """Metres of the ego's antenna and of the sender's over the lower of the two grounds."""
        ground = min(self.ego.ground, self.sender.ground)
        return self.ego.z - ground, self.sender.z - ground


def view_path(surroundings: AirSurroundings, sender_lidar_in_world: Pose) -> PathView:
    """Return what stands between the ego and a sender.

    A vehicle's antenna is on its roof, a roadside unit's where its LiDAR is. Terrain and plants are
    not considered.
    """
    users = surroundings.users
    ego_carrier = find_carrier(users, surroundings.ego_lidar_in_world)
    sender_carrier = find_carrier(users, sender_lidar_in_world)
    ego = place_antenna(users, ego_carrier, surroundings.ego_lidar_in_world, None)
    sender = place_antenna(users, sender_carrier, sender_lidar_in_world, ego.ground)
    # the two carriers do not stand in their own way
    hit = find_cut_boxes(users, ego, sender)
    for carrier in (ego_carrier, sender_carrier):
        if carrier is not None:
            hit[carrier] = False
    ground = min(ego.ground, sender.ground)
    vehicles = users[hit & (surroundings.classes != PEDESTRIAN)]
    obstacles = tuple(
        (
            math.hypot(box[0] - ego.x, box[1] - ego.y),
            math.hypot(box[0] - sender.x, box[1] - sender.y),
            float(box[2] + box[5] / 2 + ROOF - ground),
        )
        for box in vehicles
    )
    blocked = bool((hit & (surroundings.classes == PEDESTRIAN)).any())
    blocked = blocked or bool(find_cut_boxes(surroundings.fixed, ego, sender).any())
    sight = NLOS if blocked else NLOSV if obstacles else LOS
    return PathView(ego=ego, sender=sender, sight=sight, obstacles=obstacles)


def find_carrier(users: Floats, lidar_in_world: Pose) -> int | None:
    """Return the row of the road user that a LiDAR is mounted on, if there is one.

    It is the one whose box, seen from above, has the LiDAR in it, half a metre of tolerance
    included; of several the nearest in height.
    """
    if not len(users):
        return None
    ahead, aside = turn_into_boxes(users, lidar_in_world.x, lidar_in_world.y)
    inside = (np.abs(ahead) <= users[:, 3] / 2 + 0.5) & (np.abs(aside) <= users[:, 4] / 2 + 0.5)
    # a roadside unit's LiDAR hangs metres above the road users that pass below
    gap = np.abs(users[:, 2] + users[:, 5] / 2 - lidar_in_world.z)
    inside &= gap <= 2.0
    if not inside.any():
        return None
    return int(np.argmin(np.where(inside, gap, np.inf)))


def place_antenna(
    users: Floats, carrier: int | None, lidar_in_world: Pose, ground: float | None
) -> Antenna:
    """Return the antenna of a road user, or of a roadside unit on this ground."""
    if carrier is None:
        below = lidar_in_world.z if ground is None else ground
        return Antenna(lidar_in_world.x, lidar_in_world.y, lidar_in_world.z, below)
    x, y, z = users[carrier, :3].tolist()
    half = float(users[carrier, 5]) / 2
    return Antenna(x, y, z + half + ROOF, z - half)


def turn_into_boxes(boxes: Floats, x: float, y: float) -> tuple[Floats, Floats]:
    """Return where a point is in the frame of each box, ahead and to the right: metres."""
    east, south = x - boxes[:, 0], y - boxes[:, 1]
    cosine, sine = np.cos(boxes[:, 6]), np.sin(boxes[:, 6])
    return cosine * east + sine * south, cosine * south - sine * east


def find_cut_boxes(boxes: Floats, start: Antenna, end: Antenna) -> Mask:
    """Return which boxes the straight path between two antennas goes through: the slab method.

    Source: Kay and Kajiya 1986, "Ray tracing complex scenes", section 3.
    """
    if not len(boxes):
        return np.zeros(0, bool)
    starts = np.stack([*turn_into_boxes(boxes, start.x, start.y), start.z - boxes[:, 2]])
    ends = np.stack([*turn_into_boxes(boxes, end.x, end.y), end.z - boxes[:, 2]])
    half = boxes[:, 3:6].T / 2
    along = ends - starts
    # a path in parallel to a slab is in it all the way or never
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (-half - starts) / along, (half - starts) / along
    flat = np.abs(along) < 1e-12
    inside = np.abs(starts) <= half
    enters = np.where(flat, np.where(inside, -np.inf, np.inf), np.minimum(first, second))
    leaves = np.where(flat, np.where(inside, np.inf, -np.inf), np.maximum(first, second))
    cut: Mask = np.maximum(enters.max(0), 0.0) <= np.minimum(leaves.min(0), 1.0)
    return cut
