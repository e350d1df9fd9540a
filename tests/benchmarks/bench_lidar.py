"""LiDAR: 64 channels amid 100 actors in Crucible05, against plain numpy and Embree.

The numpy caster is a fair one: vectorised over rays and faces, each object tried only by the rays
within its azimuths and elevations, and the ground simplified to a plane, which carlite and Embree
do not get. Embree's tree is built beforehand; rebuilding it for moved actors is a separate row.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from harness.carlite import sensors, towns
from harness.carlite.arrays import Floats
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.scan import RayScan
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.sweep import LidarSweep
from tests.carlite import ray_worlds

FIRINGS = {"25 000": 391, "65 536": 1024}
REACH, CHANNELS, UPPER, LOWER = 100.0, 64, 10.0, -25.0
ROUNDS = 25
MOUNT = 2.1


def attributes(firings: int) -> dict[str, str]:
    """A turn per tick of 0.05 s, with noise and CARLA's usual losses."""
    return {
        "channels": str(CHANNELS),
        "points_per_second": str(firings * CHANNELS * 20),
        "rotation_frequency": "20",
        "range": str(REACH),
        "upper_fov": str(UPPER),
        "lower_fov": str(LOWER),
        "noise_stddev": "0.02",
    }


def milliseconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median time of some work, after one round for warmth."""
    work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def place() -> tuple[SensorScene, list[SensorPose]]:
    """The default town with the 100 nearest spawn points taken, and four sensors among them."""
    town = towns.load_town("Crucible05", None)
    middle = town.spawn_points[:, :2].mean(axis=0)
    order = np.argsort(np.hypot(*(town.spawn_points[:, :2] - middle).T), kind="stable")
    table = ray_worlds.crowd(100, seed=4)
    taken = town.spawn_points[order[4:104]]
    table.position[:], table.rotation[:] = taken[:, :3], taken[:, 3:]
    poses = [
        SensorPose((x, y, z + MOUNT), (pitch + 0.01, yaw, 0.01))
        for x, y, z, pitch, yaw, _ in town.spawn_points[order[:4]].tolist()
    ]
    return SensorScene(town, table), poses


def directions(firings: int) -> Floats:
    """Every ray in the sensor's frame, (channels, firings, 3)."""
    elevation = np.radians(np.linspace(UPPER, LOWER, CHANNELS))[:, None]
    azimuth = np.radians(np.arange(firings) * 360 / firings - 180)[None, :]
    flat = np.cos(elevation)
    parts = flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation) + 0 * azimuth
    return np.stack(parts, axis=-1)


def nearest_edge(triangles: Floats) -> float:
    """Horizontal distance of the nearest point on any edge."""
    start, end = triangles[..., :2], np.roll(triangles, -1, axis=1)[..., :2]
    along = end - start
    square = np.maximum(np.einsum("ijk,ijk->ij", along, along), 1e-12)
    share = np.clip(-np.einsum("ijk,ijk->ij", start, along) / square, 0.0, 1.0)
    return float(np.linalg.norm(start + share[..., None] * along, axis=2).min())


def numpy_cast(objects: list[Floats], rays: Floats, height: float) -> Floats:
    """Distance along each ray to triangles given object by object in the sensor's frame."""
    firings = rays.shape[1]
    with np.errstate(divide="ignore"):
        plane = np.where(rays[..., 2] < 0, -height / rays[..., 2], np.inf)
    best = np.where(plane <= REACH, plane, np.inf)
    azimuth_step = 2 * np.pi / firings
    elevations = np.arcsin(rays[:, 0, 2])
    for triangles in objects:
        a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
        normal = np.cross(b - a, c - a)
        offset = np.einsum("ij,ij->i", normal, a)
        a, b, c, normal, offset = (part[offset < 0] for part in (a, b, c, normal, offset))
        points = triangles.reshape(-1, 3)
        flat = np.hypot(points[:, 0], points[:, 1])
        middle = points.mean(axis=0)
        turn = np.arctan2(middle[1], middle[0])
        aside = np.arctan2(points[:, 1], points[:, 0]) - turn
        aside = (aside + np.pi) % (2 * np.pi) - np.pi
        first = int(np.ceil((turn + aside.min() + np.pi) / azimuth_step))
        last = int(np.floor((turn + aside.max() + np.pi) / azimuth_step))
        steep = np.arctan2(points[:, 2], nearest_edge(triangles))
        shallow = np.arctan2(points[:, 2], flat.max())
        low, high = min(steep.min(), shallow.min()), max(steep.max(), shallow.max())
        rows = np.flatnonzero((elevations >= low) & (elevations <= high))
        if last < first or not len(rows) or not len(a):
            continue
        columns = np.arange(first, last + 1) % firings
        at = np.ix_(rows, columns)
        d = rays[at]
        inside = np.ones((len(rows), len(columns), len(a)), np.bool_)
        for p, q in ((a, b), (b, c), (c, a)):
            inside &= d @ np.cross(p, q).T <= 0
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.where(inside, offset / (d @ normal.T), np.inf)
        nearest = np.where(distance > 0, distance, np.inf).min(axis=2)
        best[at] = np.minimum(best[at], np.where(nearest <= REACH, nearest, np.inf))
    return best


def objects_about(scene: SensorScene, pose: SensorPose) -> list[Floats]:
    """The triangles of each thing in reach, in the sensor's frame, as numpy and Embree get them."""
    origin = np.array(pose.position)
    triangles = ray_worlds.triangles_of(scene.town, scene.table, origin, REACH)
    solid = triangles.solid
    piece = triangles.piece[solid]
    local = (triangles.corners[solid] - origin) @ ray_worlds.turned(np.array(pose.rotation))
    starts = np.flatnonzero(np.diff(piece)) + 1
    parts = np.split(local, starts)
    return [part for part in parts if np.linalg.norm(part, axis=2).min() < REACH]


def run() -> list[tuple[str, str]]:
    """Measure; returns what was measured and the result."""
    scene, poses = place()
    rows = [("scene refreshed, 100 actors", f"{milliseconds(scene.refresh_actors):.3f} ms")]
    frame = iter(range(1_000_000_000))
    for name, firings in FIRINGS.items():
        lidars = [
            sensors.make_sensor("sensor.lidar.ray_cast", attributes(firings), 0, 0) for _ in poses
        ]

        def scan(count: int, lidars: list[sensors.Sensor] = lidars) -> None:
            now = next(frame)
            for sensor, pose in zip(lidars[:count], poses, strict=False):
                sensor.capture(scene, pose, now, 0.05)

        one, four = milliseconds(lambda: scan(1)), milliseconds(lambda: scan(4))
        rows += [
            (f"{name} points, noise, losses, packing: one sensor", f"{one:.2f} ms"),
            (f"{name} points, noise, losses, packing: four sensors", f"{four:.2f} ms"),
        ]
        rows += compared(scene, poses[0], name, firings)
    return rows


def check(scan: RayScan, plain: Floats, rays: Floats) -> None:
    """Hold the numpy caster to the same distances, wherever no ground is in the way."""
    at = np.ix_(scan.row, scan.place)
    on_thing = scan.source.T[at] >= 0
    distance = 1 / scan.nearness.T[at] / np.hypot(rays[..., 0], rays[..., 1])
    assert (np.abs(distance - plain)[on_thing] < 0.01).mean() > 0.999


def compared(
    scene: SensorScene, pose: SensorPose, name: str, firings: int
) -> list[tuple[str, str]]:
    """Cast the same rays with numpy and Embree."""
    sweep = LidarSweep(attributes(firings))
    carlite_ms = milliseconds(lambda: sweep.scan_scene(scene, pose, 1, 0.05))
    rays = directions(firings)
    objects = objects_about(scene, pose)
    check(sweep.scan_scene(scene, pose, 1, 0.05), numpy_cast(objects, rays, np.inf), rays)
    plain = milliseconds(lambda: numpy_cast(objects, rays, MOUNT), rounds=5)
    origin = np.array(pose.position)
    triangles = ray_worlds.triangles_of(scene.town, scene.table, origin, REACH).seen_from(origin)
    start = time.perf_counter()
    tree = ray_worlds.embree_scene(triangles)
    rebuild = 1e3 * (time.perf_counter() - start)
    world = rays.reshape(-1, 3) @ ray_worlds.turned(np.array(pose.rotation)).T
    embree = milliseconds(lambda: ray_worlds.embree_hits(tree, origin, world))
    return [
        (f"{name} rays, cast only", f"{carlite_ms:.2f} ms"),
        (f"{name} rays, plain numpy", f"{plain:.1f} ms, {plain / carlite_ms:.1f} times as long"),
        (
            f"{name} rays, Embree",
            f"{embree:.1f} ms, {embree / carlite_ms:.1f} times as long (tree: {rebuild:.0f} ms)",
        ),
    ]
