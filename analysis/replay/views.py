"""What front cameras of the ego and of a partner see, with ground truth and detections as boxes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw

from analysis.drawing.canvas import trim_text
from analysis.drawing.palette import ERROR_COLOURS
from analysis.drawing.picture import get_rgb_colour, load_film_font
from analysis.drive import DriveSnapshot, RecordedDrive, get_recorded_pose
from harness.records.pictures import read_kept_pictures
from harness.types.vocabulary import CameraImage, Floats
from harness.viewing.front_view import FRONT, compute_world_in_camera, project_box_edges

VIEW_WIDTH, VIEW_HEIGHT = 312, 234
"""Pixels of a view."""
WORLD_BOX = ["world_x", "world_y", "world_z", "length", "width", "height", "world_yaw"]

Pictures: TypeAlias = Mapping[tuple[int, str], CameraImage]
"""By frame and sender."""


def read_front_pictures(drive: RecordedDrive) -> Pictures:
    """Return what front cameras saw; empty where no pictures were kept."""
    return read_kept_pictures(drive.folder, FRONT)


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
    world_in_camera = compute_world_in_camera(lidar, image)
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
