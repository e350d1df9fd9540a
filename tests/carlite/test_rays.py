"""The rasteriser against Embree: the same triangles, the same rays, the same first hits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.carlite import towns
from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Floats
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.fan import make_ray_fan
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.rasterise import rasterise_things
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.semantic_lidar import POINT, SemanticLidar
from harness.carlite.sensors.things import PlacedThings
from harness.carlite.towns.model import Town
from tests.carlite import ray_worlds
from tests.profiles import ONLY_WITH_ALL

pytestmark = pytest.mark.thorough

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


def scan(scene: SensorScene, pose: SensorPose, **attributes: str) -> tuple[Floats, np.ndarray]:
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
    points_hit = np.zeros(len(rays), POINT)
    start = 0
    for channel, count in enumerate(counts):
        part = slice(start, start + count)
        azimuth = np.degrees(np.arctan2(where[part, 1], where[part, 0]))
        firing = np.rint((azimuth + 180) * FIRINGS / 360).astype(int) % FIRINGS
        assert len(np.unique(firing)) == count
        distance[channel * FIRINGS + firing] = reach[part]
        points_hit[channel * FIRINGS + firing] = points[part]
        start += count
    return distance, points_hit


POSES = {
    "upright": SensorPose((0, 0, 2.4), (0, 0.3, 0)),
    "on a slope": SensorPose((3, -2, 2.4), (0.06, 2.0, -0.04)),
    "tilted": SensorPose((1, 4, 5.0), (-0.35, -1.2, 0.2)),
    "on a mast": SensorPose((-2, 1, 9.0), (-0.9, 0.5, 0.0)),
    "on its side": SensorPose((0, 3, 4.0), (0.1, 0.7, 1.4)),
    "looking up": SensorPose((0, 0, 3.0), (1.5, 0.7, 0.0)),
    "upside down": SensorPose((0, 0, 3.0), (0.02, 0.7, 3.1)),
    "low": SensorPose((0, -3, 0.3), (0.02, 3.0, 0.01)),
    "above the roofs": SensorPose((20, 10, 30.0), (0.0, 0.1, 0.02)),
}
PLACES = {
    "flat": ray_worlds.town(),
    "hilly": ray_worlds.town(hills=2.0, deck=True),
    "crowded": ray_worlds.town(hills=0.5, pieces=1200, seed=5),
}
GROUNDS = (
    SemanticLabel.ROAD,
    SemanticLabel.TERRAIN,
    SemanticLabel.SIDEWALK,
    SemanticLabel.ROAD_LINE,
)
WRONG = 0.0003


def disagreement(town: Town, table: ActorTable, pose: SensorPose, **attributes: str) -> float:
    """Compare one scan with Embree; returns the share of rays that differ."""
    distance, points_hit = scan(SensorScene(town, table), pose, **attributes)
    upper, lower = (float(attributes.get(k, ATTRIBUTES[k])) for k in ("upper_fov", "lower_fov"))
    origin = np.array(pose.position)
    rays = directions(upper, lower) @ ray_worlds.turned(np.array(pose.rotation)).T
    reach = float(attributes.get("range", REACH))
    triangles = ray_worlds.triangles_of(town, table, origin, reach).seen_from(origin)
    expected, which = ray_worlds.embree_hits(ray_worlds.embree_scene(triangles), origin, rays)
    hit = expected <= reach
    expected[~hit] = np.inf
    label, actor = (
        np.where(hit, column[which], 0) for column in (triangles.label, triangles.actor)
    )
    with np.errstate(invalid="ignore"):
        same = (np.abs(distance - expected) < 0.01) | (distance == expected)
    same_label = (points_hit["label"] == label) | (
        np.isin(label, GROUNDS) & np.isin(points_hit["label"], GROUNDS)
    )
    assert hit.any()
    return float(1 - (same & same_label & (points_hit["actor"] == actor)).mean())


@pytest.mark.parametrize("pose", POSES.values(), ids=POSES.keys())
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
def test_embree_finds_the_same_hits(place: Town, pose: SensorPose) -> None:
    assert disagreement(place, ray_worlds.crowd(60, seed=7), pose) < WRONG


def test_embree_agrees_beyond_the_edge_of_the_ground() -> None:
    outside = SensorPose((-125, 10, 6.0), (0.0, 0.1, 0.02))
    assert disagreement(PLACES["flat"], ray_worlds.crowd(60, seed=7), outside) < WRONG


@pytest.mark.parametrize("reach", ["5", "20", "400"])
def test_embree_agrees_on_what_is_within_reach(reach: str) -> None:
    table = ray_worlds.crowd(60, seed=8)
    assert disagreement(PLACES["hilly"], table, POSES["on a slope"], range=reach) < WRONG


def test_embree_agrees_straight_up_and_down() -> None:
    table = ray_worlds.crowd(60, seed=9)
    upright = SensorPose((0, 5, 3.0), (0.0, 0.4, 0.0))
    fields = {"upper_fov": "90", "lower_fov": "-90"}
    distance, _ = scan(SensorScene(PLACES["flat"], table), upright, **fields)
    assert distance[-FIRINGS:] == pytest.approx(3.0, abs=1e-6)
    steep = {"upper_fov": "89.5", "lower_fov": "-89.5"}
    assert disagreement(PLACES["flat"], table, upright, **steep) < WRONG


def test_embree_agrees_in_the_midst_of_things() -> None:
    """Among touching cars, against a wall, and inside a car, whose backs are not seen."""
    table = ray_worlds.crowd(60, seed=10, clear=0.0, reach=12.0)
    for slot in range(6):
        x, y, z = table.position[slot]
        pose = SensorPose((x + 0.2, y + 0.1, z + 0.9), (0.03, float(slot), -0.02))
        assert disagreement(PLACES["flat"], table, pose) < WRONG


@pytest.mark.parametrize(
    "name",
    [
        *("CrucibleHill", "Town05"),
        *(pytest.param(name, marks=ONLY_WITH_ALL) for name in ("Crucible05", "Town01")),
    ],
)
def test_embree_agrees_in_real_towns(name: str) -> None:
    town = towns.load_town(name, None)
    table = ray_worlds.parked(town, 80)
    for n, lean in ((11, 0.0), (60, 0.04)):
        x, y, z, pitch, yaw, roll = map(float, town.spawn_points[n])
        pose = SensorPose((x, y, z + 2.1), (pitch + lean, yaw, roll - lean))
        assert disagreement(town, table, pose) < WRONG


@pytest.mark.parametrize("name", ["upright", "tilted", "above the roofs"])
def test_nothing_is_hidden_that_could_be_seen(name: str) -> None:
    """All things rasterised together give what the nearest of them, each alone, would give."""
    scene = SensorScene(PLACES["crowded"], ray_worlds.crowd(60, seed=7))
    scene.refresh_actors(1)
    pose = POSES[name]
    rotation, origin = ray_worlds.turned(np.array(pose.rotation)), np.array(pose.position, float)
    azimuth = np.linspace(-np.pi, np.pi, 700, endpoint=False)
    slopes = np.tan(np.radians(np.linspace(-40, 15, 60)))
    fan, _ = make_ray_fan(np.cos(azimuth), np.sin(azimuth), np.ones(700), slopes)

    def rasterised(things: PlacedThings) -> Floats:
        nearness, source = np.full((700, 60), 1 / REACH), np.zeros((700, 60), np.int32)
        rasterise_things(things, scene.meshes, rotation, origin, REACH, fan, nearness, source)
        return nearness

    together = rasterised(scene.things)
    alone = np.full_like(together, 1 / REACH)
    for n in range(len(scene.things.mesh)):
        one = PlacedThings._make(column[n : n + 1] for column in scene.things)
        np.maximum(alone, rasterised(one), out=alone)
    np.testing.assert_array_equal(together, alone)


def test_moving_and_turning_everything_changes_nothing() -> None:
    table = ray_worlds.crowd(40, seed=3, reach=50.0)
    place = ray_worlds.town(pieces=100)
    pose = SensorPose((1, 2, 2.4), (0.05, 0.4, -0.03))
    before, points = scan(SensorScene(place, table), pose, range="40")
    turn, shift = 0.8, np.array([12.0, -7.0, 0.0])
    matrix = ray_worlds.turned(np.array([0.0, turn, 0.0]))
    table.position[:] = table.position @ matrix.T + shift
    table.rotation[:, 1] += turn
    centre = place.scenery.centre @ matrix.T + shift
    scenery = replace(place.scenery, centre=centre, yaw=place.scenery.yaw + turn)
    moved = replace(place, scenery=scenery)
    x, y, z = np.array(pose.position) @ matrix.T + shift
    there = SensorPose((x, y, z), (0.05, 0.4 + turn, -0.03))
    after, points_after = scan(SensorScene(moved, table), there, range="40")
    np.testing.assert_allclose(after, before, atol=1e-4)
    np.testing.assert_array_equal(points_after["actor"], points["actor"])


def test_a_longer_range_only_adds_points() -> None:
    scene = SensorScene(PLACES["hilly"], ray_worlds.crowd(60, seed=7))
    near, _ = scan(scene, POSES["tilted"], range="25")
    far, _ = scan(scene, POSES["tilted"], range="80")
    seen = np.isfinite(near)
    np.testing.assert_array_equal(near[seen], far[seen])
    assert near[seen].max() <= 25.001
    assert (far[~seen] > 24.999).all()
    assert np.isfinite(far).sum() > seen.sum()
