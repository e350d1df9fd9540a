"""One moment of a drive as point clouds and boxes for Open3D.

Everything is in the frame of the ego's LiDAR at that moment, with y turned round: right-handed, as
Open3D's world is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import ImageColor

from analysis.drawing.palette import COLOURS, HUES, get_error_colour
from analysis.drive import DriveSnapshot, RecordedDrive, build_recorded_boxes
from analysis.replay.scene import Sweeps, select_source_boxes, transform_sweep_to_ego_lidar
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.records.schema import SOURCES
from harness.types.vocabulary import Boxes, Floats
from harness.viewing.scene import BOX_COLOURS, convert_to_right_handed

if TYPE_CHECKING:
    import open3d

CORNERS = np.array([[a, b, c] for a in (-0.5, 0.5) for b in (-0.5, 0.5) for c in (-0.5, 0.5)])
EDGES = np.array([[a, b] for a in range(8) for b in range(8) if a < b and (a ^ b) in (1, 2, 4)])
"""Of a box: corners that differ along one axis are joined."""


def load_open3d() -> None:
    """Load Open3D, whose wheels need libraries that a server may lack (libusb, libGL)."""
    try:
        import open3d  # noqa: F401
    except ModuleNotFoundError:
        raise
    except ImportError as problem:
        raise UserError(f"open3d: {problem}") from None


def write_clouds(snapshot: DriveSnapshot, sweeps: Sweeps, file: Path) -> Path:
    """Write the points as `file` and the boxes to a second file; return its path.

    Args:
        snapshot: one planning step.
        sweeps: points of all LiDARs by frame and sender.
        file: ends in `.ply`.
    """
    import open3d

    outlines = file.with_name(f"{file.stem}-boxes.ply")
    if file.suffix != ".ply":
        raise UserError(f"{file}: clouds are written as .ply")
    cloud, lines = build_point_cloud(snapshot, sweeps), build_box_outlines(snapshot)
    write_whole(file, lambda to: check_open3d_write(open3d.io.write_point_cloud(str(to), cloud)))
    write_whole(outlines, lambda to: check_open3d_write(open3d.io.write_line_set(str(to), lines)))
    return outlines


def check_open3d_write(written: bool) -> None:
    """Raise if Open3D reports a failure."""
    if not written:
        raise OSError(0, "Open3D could not write it: is the disk full?")


def open_cloud_window(drive: RecordedDrive, snapshot: DriveSnapshot, sweeps: Sweeps) -> None:
    """Show points and boxes until the window is closed.

    Args:
        drive: of which the title is shown.
        snapshot: the planning step.
        sweeps: points by planning step and agent, as recorded.
    """
    import open3d

    title = f"{drive.title}, {snapshot.time:.1f} s"
    both = [build_point_cloud(snapshot, sweeps), build_box_outlines(snapshot)]
    open3d.visualization.draw_geometries(both, window_name=title)


def build_point_cloud(snapshot: DriveSnapshot, sweeps: Sweeps) -> open3d.geometry.PointCloud:
    """Return what every LiDAR saw, each in a colour of its own."""
    import open3d

    frame = int(snapshot.state["frame"])
    senders = sorted(name for at, name in sweeps if at == frame)
    # (points, 3) by LiDAR, in the frame of the ego's
    seen = [transform_sweep_to_ego_lidar(snapshot, name, sweeps) for name in senders]
    hues = [
        parse_rgb_shares(COLOURS[HUES[number % len(HUES)]][0]) for number in range(len(senders))
    ]
    cloud = open3d.geometry.PointCloud()
    if seen:
        points = convert_to_right_handed(np.concatenate(seen).astype(np.float64))
        cloud.points = open3d.utility.Vector3dVector(points)
        colours = np.repeat(hues, [len(points) for points in seen], axis=0)
        cloud.colors = open3d.utility.Vector3dVector(colours)
    return cloud


def build_box_outlines(snapshot: DriveSnapshot) -> open3d.geometry.LineSet:
    """Return all boxes that a recording has too, in its colours."""
    import open3d

    # (corners, 3) and (edges, 3) of all sources
    points, colours = [np.zeros((0, 3))], [np.zeros((0, 3))]
    for source in SOURCES:
        boxes, _ = select_source_boxes([snapshot], source)
        points.append(
            convert_to_right_handed(
                compute_box_corners_3d(build_recorded_boxes(boxes)).reshape(-1, 3)
            )
        )
        patterns = boxes["pattern"].astype(str)
        codes = [
            get_error_colour(pattern) if pattern else COLOURS[BOX_COLOURS[source]][0]
            for pattern in patterns
        ]
        colours += [np.tile(parse_rgb_shares(code), (len(EDGES), 1)) for code in codes]
    # edges by numbers of corners: (edges, 2)
    every = np.concatenate(points)
    firsts = np.arange(0, len(every), len(CORNERS))
    lines = open3d.geometry.LineSet()
    lines.points = open3d.utility.Vector3dVector(every)
    edges = (firsts[:, None, None] + EDGES).reshape(-1, 2)
    lines.lines = open3d.utility.Vector2iVector(edges.astype(np.int32))
    lines.colors = open3d.utility.Vector3dVector(np.concatenate(colours))
    return lines


def compute_box_corners_3d(boxes: Boxes) -> Floats:
    """Return the (N, 8, 3) corners of boxes, in their frame."""
    x, y, z = np.moveaxis(CORNERS * boxes.geometry[:, None, 3:6], 2, 0)
    cos, sin = np.cos(boxes.geometry[:, 6:7]), np.sin(boxes.geometry[:, 6:7])
    turned = np.stack([x * cos - y * sin, x * sin + y * cos, z], axis=2)
    return turned + boxes.geometry[:, None, :3]


def parse_rgb_shares(code: str) -> Floats:
    """Return a colour as shares of red, green and blue."""
    return np.array(ImageColor.getrgb(code)[:3]) / 255
