"""The rasteriser against Embree: the same triangles, the same rays, the same first hits."""

from __future__ import annotations

import numpy as np
import pytest

from harness.carlite.arrays import Floats
from harness.carlite.labels import Label
from harness.carlite.sensors.protocol import Pose
from harness.carlite.sensors.scene import Scene
from harness.carlite.sensors.semantic_lidar import POINT, SemanticLidar
from harness.carlite.towns.model import Town
from tests.carlite import ray_worlds

CHANNELS, FIRINGS, REACH = 48, 512, 90.0
ATTRIBUTES = {
    "channels": str(CHANNELS),
    "points_per_second": str(CHANNELS * FIRINGS * 20),
    "rotation_frequency": "20",
    "range": str(REACH),
    "upper_fov": "15",
    "lower_fov": "-40",
}


def directions(upper: float, lower: float) -> Floats:
    """Every ray of a scan in the sensor's frame, channel by channel."""
    elevation = np.radians(np.linspace(upper, lower, CHANNELS))[:, None]
    azimuth = np.radians(np.arange(FIRINGS) * 360 / FIRINGS - 180)[None, :]
    return np.stack(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation) * np.ones_like(azimuth),
        ],
        axis=-1,
    ).reshape(-1, 3)


def scan(scene: Scene, pose: Pose, **attributes: str) -> tuple[Floats, np.ndarray]:
    """Distance (inf if none) and the returned point of every ray of a semantic scan."""
    settings = {**ATTRIBUTES, **attributes}
    body = SemanticLidar(settings, 0, 0).capture(scene, pose, 1, 0.05)
    assert body is not None
    counts = np.frombuffer(body, np.uint32, CHANNELS, 8)
    points = np.frombuffer(body, POINT, offset=8 + 4 * CHANNELS)
    assert counts.sum() == len(points)
    rays = directions(float(settings["upper_fov"]), float(settings["lower_fov"]))
    where = np.stack([points["x"], points["y"], points["z"]], axis=1).astype(np.float64)
    reach = np.linalg.norm(where, axis=1)
    distance = np.full(len(rays), np.inf)
    found = np.zeros(len(rays), POINT)
    start = 0
    for channel, count in enumerate(counts):
        own = slice(start, start + count)
        azimuth = np.degrees(np.arctan2(where[own, 1], where[own, 0]))
        firing = np.rint((azimuth + 180) * FIRINGS / 360).astype(int) % FIRINGS
        assert len(np.unique(firing)) == count
        distance[channel * FIRINGS + firing] = reach[own]
        found[channel * FIRINGS + firing] = points[own]
        start += count
    return distance, found


POSES = {
    "upright": Pose((0, 0, 2.4), (0, 0.3, 0)),
    "on a slope": Pose((3, -2, 2.4), (0.06, 2.0, -0.04)),
    "tilted": Pose((1, 4, 5.0), (-0.35, -1.2, 0.2)),
    "on a mast": Pose((-2, 1, 9.0), (-0.9, 0.5, 0.0)),
    "on its side": Pose((0, 3, 4.0), (0.1, 0.7, 1.4)),
    "looking up": Pose((0, 0, 3.0), (1.5, 0.7, 0.0)),
    "low": Pose((0, -3, 0.3), (0.02, 3.0, 0.01)),
}
PLACES = {
    "flat": ray_worlds.town(),
    "hilly": ray_worlds.town(hills=2.0, deck=True),
    "crowded": ray_worlds.town(hills=0.5, pieces=1200, seed=5),
}


def disagreement(town: Town, pose: Pose, clear: float = 6.0, **attributes: str) -> float:
    """Compare one scan with Embree; returns the share of rays told differently."""
    table = ray_worlds.crowd(60, seed=7, clear=clear)
    distance, found = scan(Scene(town, table), pose, **attributes)
    upper, lower = attributes.get("upper_fov", "15"), attributes.get("lower_fov", "-40")
    rays = directions(float(upper), float(lower)) @ ray_worlds.turned(np.array(pose.rotation)).T
    triangles = ray_worlds.triangles_of(town, table).seen_from(np.array(pose.position))
    expected, which = ray_worlds.embree_hits(
        ray_worlds.embree_scene(triangles), np.array(pose.position), rays
    )
    reach = float(attributes.get("range", REACH))
    which = np.where(expected <= reach, which, -1)
    expected = np.where(expected <= reach, expected, np.inf)
    with np.errstate(invalid="ignore"):
        same = (np.abs(distance - expected) < 0.01) | (distance == expected)
    label = np.where(which >= 0, triangles.label[which], 0)
    same_label = (found["label"] == label) | (label == Label.ROAD) | (label == Label.TERRAIN)
    same_actor = found["actor"] == np.where(which >= 0, triangles.actor[which], 0)
    assert (distance < np.inf).mean() > 0.1
    return float(1 - (same & same_label & same_actor).mean())


@pytest.mark.parametrize("pose", POSES.values(), ids=POSES.keys())
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_embree_finds_the_same_hits(place: Town, pose: Pose) -> None:
    assert disagreement(place, pose) < 0.001
