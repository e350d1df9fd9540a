"""What a LiDAR sees of a town, from a car in its traffic at a crossing: a picture of one sweep."""

from __future__ import annotations

import math
from itertools import count
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from harness.carlite.actors import ActorKind
from harness.carlite.arrays import Floats
from harness.carlite.blueprints import build_blueprint_library
from harness.carlite.errors import CallError
from harness.carlite.labels import SemanticLabel
from harness.carlite.randomness import make_random_stream
from harness.carlite.sensors import SensorPose, make_sensor
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.semantic_lidar import POINT
from harness.carlite.towns.model import LaneKind, Town
from harness.carlite.wire.codec import Rotation
from harness.carlite.wire.records import ActorDescription, Transform
from harness.carlite.world.episode import WorldEpisode
from tools.authoring.plan_view import compute_lane_edges, save_picture

VEHICLES, WALKERS = 60, 25
SECONDS, STEP = 12.0, 0.05
MOUNT = 2.1
CHANNELS = 64
LIDAR = {
    "channels": str(CHANNELS),
    "points_per_second": str(CHANNELS * 2048 * 20),
    "rotation_frequency": "20",
    "range": "90",
    "upper_fov": "8",
    "lower_fov": "-26",
}
NIGHT, UNSEEN = "#0c0f16", "#ff4d4d"
EYE, TILT = np.array([-34.0, 0.0, 15.0]), math.radians(15)
"""From where the perspective looks, in the sensor's frame, and how far down."""
COLORS = {
    SemanticLabel.ROAD: "#56606f",
    SemanticLabel.SIDEWALK: "#8b7f6c",
    SemanticLabel.TERRAIN: "#3f4a3c",
    SemanticLabel.ROAD_LINE: "#c9c9b8",
    SemanticLabel.BUILDING: "#9b8fd0",
    SemanticLabel.WALL: "#8d7aa8",
    SemanticLabel.FENCE: "#8d7aa8",
    SemanticLabel.VEGETATION: "#55a868",
    SemanticLabel.POLE: "#e0d25a",
    SemanticLabel.TRAFFIC_LIGHT: "#ff9f40",
    SemanticLabel.TRAFFIC_SIGN: "#ff9f40",
    SemanticLabel.PEDESTRIAN: "#ff6bf0",
    SemanticLabel.STATIC: "#c9895a",
}
VEHICLE_COLOR = "#45c8ff"
VEHICLE_LABELS = (
    SemanticLabel.CAR,
    SemanticLabel.TRUCK,
    SemanticLabel.BUS,
    SemanticLabel.MOTORCYCLE,
    SemanticLabel.BICYCLE,
    SemanticLabel.RIDER,
)


def run_busy_episode(town: Town) -> WorldEpisode:
    """Fill a town with traffic and walkers, and let it run a while."""
    episode = WorldEpisode(0, town, 0, count(1))
    rng = make_random_stream(0, "portrait", town.name)
    models = [b.id for b in build_blueprint_library().values() if b.kind == ActorKind.VEHICLE]
    driven = []
    # vehicles; a place may be taken
    for x, y, z, pitch, yaw, roll in town.spawn_points[:VEHICLES].tolist():
        model = str(rng.choice(models))
        described = ActorDescription(0, model, ())
        try:
            driven.append(
                episode.spawn_resident(
                    described, Transform((x, y, z), Rotation((pitch, yaw, roll)))
                ).id
            )
        except CallError:
            continue
    # walkers on sidewalks
    walks = np.flatnonzero((town.lanes.kind == LaneKind.SIDEWALK) & (town.lanes.count > 8))
    for lane in rng.choice(walks, WALKERS).tolist():
        k = int(town.lanes.first[lane] + rng.integers(2, town.lanes.count[lane] - 2))
        x, y, z = town.lanes.points[k].tolist()
        described = ActorDescription(0, f"walker.pedestrian.{int(rng.integers(1, 53)):04d}", ())
        place = Transform((x, y, z + 1.0), Rotation((0.0, float(town.lanes.yaw[k]), 0.0)))
        try:
            episode.spawn_resident(described, place)
        except CallError:
            continue
    # let them drive
    episode.traffic.register_vehicle(driven)
    for _ in range(int(SECONDS / STEP)):
        episode.advance(STEP)
    return episode


def choose_ego_slot(episode: WorldEpisode) -> int:
    """Choose the car that sees most: with a crossing just ahead and many others around."""
    table, lanes = episode.table, episode.town.lanes
    cars = np.flatnonzero(table.kind == ActorKind.VEHICLE)
    # (points, 2) in junctions
    crossing = lanes.points[np.repeat(lanes.junction >= 0, lanes.count), :2]
    best, chosen = -math.inf, int(cars[0])
    for slot in cars.tolist():
        x, y, _ = table.position[slot]
        yaw = float(table.rotation[slot, 1])
        # a place 18 m ahead: close to a crossing, with many others round it
        ahead = np.array([x + 18 * math.cos(yaw), y + 18 * math.sin(yaw)])
        distance = float(np.hypot(*(crossing - ahead).T).min())
        others = np.hypot(*(table.position[cars, :2] - ahead).T)
        score = float((others < 35).sum()) - 2 * distance
        if score > best and 1.3 < 2 * table.extent[slot, 2] < 1.8 and table.extent[slot, 0] > 2:
            best, chosen = score, slot
    return chosen


def capture_sweep(episode: WorldEpisode, slot: int) -> tuple[SensorPose, NDArray[np.void]]:
    """Scan once round from a car's roof."""
    table = episode.table
    x, y, z = table.position[slot].tolist()
    yaw = float(table.rotation[slot, 1])
    pose = SensorPose((x, y, z + MOUNT), (0.0, yaw, 0.0), parent=int(table.id[slot]))
    scene = SensorScene(episode.town, table)
    scene.refresh_actors()
    body = make_sensor("sensor.lidar.ray_cast_semantic", LIDAR, 0, 1).capture(scene, pose, 1, STEP)
    return pose, np.frombuffer(body or b"", POINT, offset=8 + 4 * CHANNELS)


def render_sweep_view(town: Town, path: Path) -> None:
    """Draw one sweep twice: in perspective from behind the car, and from above."""
    episode = run_busy_episode(town)
    slot = choose_ego_slot(episode)
    _, points = capture_sweep(episode, slot)
    from_ego = points["actor"] == episode.table.id[slot]
    points = points[~from_ego]
    figure = Figure(figsize=(15, 6.6), dpi=100, facecolor=NIGHT)
    _render_perspective(figure.add_axes((0.0, 0.0, 0.6, 0.93)), points)
    _render_sweep_plan(figure.add_axes((0.605, 0.0, 0.395, 0.93)), episode, slot, points)
    title = f"{town.name}: one sweep of a {CHANNELS}-channel LiDAR, {len(points):,} returns"
    figure.text(0.012, 0.955, title, color="white", fontsize=13, weight="bold")
    _render_legend(figure)
    save_picture(figure, path, rare=True)


def _render_legend(figure: Figure) -> None:
    shown = {
        "vehicles": VEHICLE_COLOR,
        "walkers": COLORS[SemanticLabel.PEDESTRIAN],
        "buildings": COLORS[SemanticLabel.BUILDING],
        "vegetation": COLORS[SemanticLabel.VEGETATION],
        "poles": COLORS[SemanticLabel.POLE],
        "road": "#76839a",
        "sidewalk": COLORS[SemanticLabel.SIDEWALK],
        "vehicle out of sight": UNSEEN,
    }
    x = 0.55
    for name, color in shown.items():
        figure.text(x, 0.958, name, color=color, fontsize=8.5, weight="bold")
        x += 0.0047 * len(name) + 0.012


def _choose_point_colours(points: NDArray[np.void]) -> Floats:
    """Colour points by label, the ground a little by distance."""
    table = np.full((256, 3), 0.5)
    for label, color in COLORS.items():
        table[label] = mpl.colors.to_rgb(color)
    for label in VEHICLE_LABELS:
        table[label] = mpl.colors.to_rgb(VEHICLE_COLOR)
    return np.asarray(table[points["label"]])


def _render_perspective(axes: Axes, points: NDArray[np.void]) -> None:
    """Look over the car from behind and above."""
    # (points, 3) from the eye, turned downwards
    offset = np.column_stack([points["x"], points["y"], points["z"]]) - EYE
    depth = offset[:, 0] * math.cos(TILT) - offset[:, 2] * math.sin(TILT)
    up = offset[:, 0] * math.sin(TILT) + offset[:, 2] * math.cos(TILT)
    # near ones over far ones
    kept = np.flatnonzero(depth > 6)
    kept = kept[np.argsort(-depth[kept], kind="stable")]
    axes.scatter(
        offset[kept, 1] / depth[kept],
        up[kept] / depth[kept],
        s=np.clip(70 / depth[kept], 0.5, 3.5),
        c=_choose_point_colours(points[kept]),
        linewidths=0,
    )
    axes.set(xlim=(-0.86, 0.86), ylim=(-0.46, 0.215), xticks=[], yticks=[])
    axes.axis("off")


def _render_sweep_plan(
    axes: Axes, episode: WorldEpisode, slot: int, points: NDArray[np.void]
) -> None:
    """Show where the returns lie, and the boxes of all vehicles, seen and unseen."""
    # the sweep in the frame of its carrier, over lanes
    table = episode.table
    x, y, _ = table.position[slot].tolist()
    yaw = float(table.rotation[slot, 1])
    axes.add_collection(
        PolyCollection(_list_lane_surfaces(episode.town, x, y, yaw), facecolors="#1a202b")
    )
    axes.scatter(
        points["y"], points["x"], s=0.55, c=_choose_point_colours(points), linewidths=0, zorder=2
    )
    # (vehicles, 4, 2) corners of boxes in the world
    vehicles = np.flatnonzero(table.kind == ActorKind.VEHICLE)
    corners = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1)])
    boxes = corners * table.extent[vehicles, None, :2]
    boxes = (
        _rotate_points(boxes, table.rotation[vehicles, 1, None])
        + table.position[vehicles, None, :2]
    )
    # a vehicle with few returns is unseen
    hits = np.array([(points["actor"] == table.id[k]).sum() for k in vehicles])
    edges = [
        "white" if k == slot or n >= 5 else UNSEEN for k, n in zip(vehicles, hits, strict=True)
    ]
    axes.add_collection(
        PolyCollection(
            list(_transform_to_view(boxes, x, y, yaw)),
            facecolors="none",
            edgecolors=edges,
            linewidths=1.0,
            zorder=3,
        )
    )
    axes.plot(0, 0, marker="^", color="white", markersize=5, zorder=4)
    axes.set(xlim=(-46, 46), ylim=(-34, 66), xticks=[], yticks=[], aspect="equal")
    axes.axis("off")


def _rotate_points(points: Floats, angle: Floats | float) -> Floats:
    """Rotate points (..., 2) by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    x, y = points[..., 0], points[..., 1]
    return np.stack([x * c - y * s, x * s + y * c], axis=-1)


def _transform_to_view(points: Floats, x: float, y: float, yaw: float) -> Floats:
    """Bring world points (..., 2) into a car's frame, its right first: the picture's axes."""
    return _rotate_points(points - np.array([x, y]), -yaw)[..., ::-1]


def _list_lane_surfaces(town: Town, x: float, y: float, yaw: float) -> list[Floats]:
    """Return the surfaces of the driving lanes around."""
    left, right = compute_lane_edges(town.lanes)
    lane = np.repeat(np.arange(len(town.lanes.first)), town.lanes.count)
    start = np.flatnonzero(
        (lane[:-1] == lane[1:])
        & (town.lanes.kind[lane[:-1]] == LaneKind.DRIVING)
        & (np.hypot(*(left[:-1] - np.array([x, y])).T) < 90)
    )
    quads = np.stack([left[start], left[start + 1], right[start + 1], right[start]], axis=1)
    return list(_transform_to_view(quads, x, y, yaw))
