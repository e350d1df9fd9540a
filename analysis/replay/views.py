"""What front cameras of the ego and of a partner see, with ground truth and detections as boxes."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw

from analysis.drawing.canvas import trim_text
from analysis.drawing.palette import ERROR_COLOURS
from analysis.drawing.picture import get_rgb_colour, load_film_font
from analysis.drive import DriveSnapshot, RecordedDrive, get_recorded_pose
from harness.records.pictures import read_kept_pictures
from harness.types.geometry import build_pose_matrix, compose_poses
from harness.types.vocabulary import CameraImage, Floats

FRONT = "front"
"""The camera that is shown."""
VIEW_WIDTH, VIEW_HEIGHT = 312, 234
"""Pixels of a view."""
NEAREST, FARTHEST = 0.3, 70.0
"""Metres before the camera of what is shown in."""
EDGES = (
    *((0, 1), (1, 2), (2, 3), (3, 0)),
    *((4, 5), (5, 6), (6, 7), (7, 4)),
    *((0, 4), (1, 5), (2, 6), (3, 7)),
)
"""Corners that edges of a box join: four below, four above, four upright."""
WORLD_BOX = ["world_x", "world_y", "world_z", "length", "width", "height", "world_yaw"]

Pictures: TypeAlias = Mapping[tuple[int, str], CameraImage]
"""By frame and sender."""


def read_front_pictures(drive: RecordedDrive) -> Pictures:
    """Return what front cameras saw; empty where no pictures were kept."""
    return read_kept_pictures(drive.folder, FRONT)


def compute_box_corners(box: Floats) -> Floats:
    """Return (8, 3) corners of x, y, z, length, width, height, yaw in the same frame."""
    x, y, z, length, width, height, yaw = box
    ahead = np.array([0.5, 0.5, -0.5, -0.5] * 2) * length
    aside = np.array([-0.5, 0.5, 0.5, -0.5] * 2) * width
    up = np.repeat([-0.5, 0.5], 4) * height
    cos, sin = math.cos(yaw), math.sin(yaw)
    corners: Floats = np.stack(
        [x + cos * ahead - sin * aside, y + sin * ahead + cos * aside, z + up], axis=1
    )
    return corners


def project_box_edges(box: Floats, world_in_camera: Floats, intrinsics: Floats) -> Iterator[Floats]:
    """Yield the edges of a box before a camera, (2, 2) columns and rows of their ends.

    Args:
        box: x, y, z, length, width, height, yaw in the world.
        world_in_camera: (4, 4), x forward, y right, z up.
        intrinsics: (3, 3) in pixels.
    """
    corners = compute_box_corners(box) @ world_in_camera[:3, :3].T + world_in_camera[:3, 3]
    if not corners[:, 0].max() > NEAREST or corners[:, 0].min() > FARTHEST:
        return
    for first, second in EDGES:
        ends = corners[[first, second]]
        depths = ends[:, 0]
        if depths.max() <= NEAREST:
            continue
        # what lies behind the camera is cut off
        if depths.min() < NEAREST:
            behind = int(depths.argmin())
            share = (NEAREST - depths[behind]) / (depths[1 - behind] - depths[behind])
            ends[behind] += share * (ends[1 - behind] - ends[behind])
        rays = np.stack([ends[:, 1], -ends[:, 2], ends[:, 0]], axis=1) / ends[:, :1]
        yield (rays @ intrinsics.T)[:, :2]


def render_camera_view(
    snapshot: DriveSnapshot, sender: str, image: CameraImage, dark: bool
) -> Image.Image:
    """Draw what an agent's camera saw, with boxes of ground truth and detections that count.

    Args:
        snapshot: the planning step.
        sender: the agent.
        image: of its camera at this step.
        dark: colours for dark pages.
    """
    rows, columns = image.pixels.shape[:2]
    size = VIEW_WIDTH, round(VIEW_WIDTH * rows / columns)
    view = Image.fromarray(image.pixels).resize(size, Image.Resampling.LANCZOS)
    brush = ImageDraw.Draw(view)
    scale = np.diag([size[0] / columns, size[1] / rows, 1.0])
    intrinsics: Floats = scale @ image.intrinsics
    poses = snapshot.poses[snapshot.poses["sender"].astype(str) == sender]
    lidar = get_recorded_pose(poses.iloc[0], "true_")
    camera = compose_poses(lidar, image.camera_in_lidar)
    world_in_camera: Floats = np.asarray(np.linalg.inv(build_pose_matrix(camera)), np.float64)
    for boxes, hue in list_shown_boxes(snapshot.boxes):
        for box, name in zip(boxes, hue, strict=True):
            ink = get_rgb_colour(name, dark)
            for ends in project_box_edges(box, world_in_camera, intrinsics):
                brush.line([tuple(end) for end in ends.tolist()], ink, 1)
    return fit_view(view, dark)


def list_shown_boxes(boxes: pd.DataFrame) -> list[tuple[Floats, Sequence[str]]]:
    """Return ground truth and cooperative detections that count, with the hue of each."""
    sources, patterns = (boxes[name].astype(str) for name in ("source", "pattern"))
    shown: list[tuple[Floats, Sequence[str]]] = []
    for source, plain in (("truth", "truth"), ("cooperative", "cooperative")):
        chosen = (sources == source) & boxes["counted"]
        hues = [ERROR_COLOURS.get(name, plain) for name in patterns[chosen]]
        shown.append((boxes.loc[chosen, WORLD_BOX].to_numpy(np.float64), hues))
    return shown


def fit_view(view: Image.Image, dark: bool) -> Image.Image:
    """Return a view of the usual size: higher pictures lose rows, lower ones get margins."""
    fitted = Image.new("RGB", (VIEW_WIDTH, VIEW_HEIGHT), get_rgb_colour("line", dark))
    fitted.paste(view, (0, (VIEW_HEIGHT - view.height) // 2))
    return fitted


def render_front_views(
    snapshot: DriveSnapshot, pictures: Pictures, *, width: int, dark: bool
) -> Image.Image:
    """Draw what the ego's front camera sees, and next to it that of the nearest partner.

    Args:
        snapshot: the planning step.
        pictures: of the drive.
        width: pixels.
        dark: colours for dark pages.
    """
    frame = int(snapshot.state["frame"])
    strip = Image.new("RGB", (width, VIEW_HEIGHT), get_rgb_colour("paper", dark))
    brush = ImageDraw.Draw(strip)
    senders = [name for name in list_senders_by_distance(snapshot) if (frame, name) in pictures]
    for number, left in enumerate((0, width - VIEW_WIDTH)):
        if number < len(senders):
            sender = senders[number]
            view = render_camera_view(snapshot, sender, pictures[frame, sender], dark)
            words = f"{sender}, {FRONT} camera"
        else:
            view = fit_view(Image.new("RGB", (1, 1), get_rgb_colour("line", dark)), dark)
            words = "no partner with a picture"
        strip.paste(view, (left, 0))
        brush.rectangle([left, 0, left + VIEW_WIDTH - 1, 21], get_rgb_colour("paper", dark))
        brush.text(
            (left + 4, 11),
            trim_text(words, VIEW_WIDTH - 8, 15),
            get_rgb_colour("ink", dark),
            load_film_font(15),
            anchor="lm",
        )
    return strip


def render_view_files(
    snapshots: Iterable[DriveSnapshot], pictures: Pictures, width: int = 2 * VIEW_WIDTH + 8
) -> list[bytes]:
    """Return what front cameras see at some moments, JPEG; nothing where no pictures were kept."""
    files = []
    for snapshot in snapshots if pictures else ():
        coded = io.BytesIO()
        strip = render_front_views(snapshot, pictures, width=width, dark=False)
        strip.save(coded, "JPEG", quality=80)
        files.append(coded.getvalue())
    return files


def list_senders_by_distance(snapshot: DriveSnapshot) -> list[str]:
    """Return all agents, the nearest to the ego's LiDAR first: the ego itself."""
    here = snapshot.lidar_in_world
    places = snapshot.poses[["true_x", "true_y"]].to_numpy(np.float64) - [here.x, here.y]
    senders: list[str] = snapshot.poses["sender"].astype(str).tolist()
    return [senders[row] for row in np.argsort(np.hypot(*places.T), kind="stable").tolist()]
