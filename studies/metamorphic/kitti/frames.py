"""Frames in KITTI's layout: `image_2`, `velodyne`, `calib` and `label_2`, read and written.

Inside, points and boxes are in Crucible's axes (x forward, y right, z up) of the Velodyne; KITTI's
Velodyne has y to the left, its cameras x right, y down, z forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.pictures import NOT_A_PICTURE, read_pixels
from harness.common.safe_reading import NUMPY_ARRAY, STUDY_RECORD, open_regular
from harness.types.vocabulary import Floats, Singles

FOLDERS = ("image_2", "velodyne", "calib", "label_2")
NEEDED = {"P2": (3, 4), "R0_rect": (3, 3), "Tr_velo_to_cam": (3, 4)}
UNREADABLE = (OSError, ValueError, KeyError, TypeError, IndexError, OverflowError)
BOX = ("height", "width", "length", "x", "y", "z", "rotation_y")
"""Words 9 to 15 of a label."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KittiCalibration:
    """Where camera 2 stands for the Velodyne, and the text that says so."""

    projection: Floats  # (3, 4) P2
    from_velodyne: Floats  # (4, 4) from Crucible's axes at the Velodyne to rectified camera axes
    text: str

    @property
    def camera_in_velodyne(self) -> Floats:
        """Return the (3,) place of camera 2 in Crucible's axes at the Velodyne."""
        middle = -np.linalg.inv(self.projection[:, :3]) @ self.projection[:, 3]
        return np.asarray((np.linalg.inv(self.from_velodyne) @ [*middle, 1.0])[:3])

    def project(self, points: Floats) -> Floats:
        """Return (N, 3) column, row and depth in m of points at the Velodyne."""
        rectified = points @ self.from_velodyne[:3, :3].T + self.from_velodyne[:3, 3]
        seen = np.column_stack([rectified, np.ones(len(points))]) @ self.projection.T
        depth = np.where(np.abs(seen[:, 2:]) < 1e-6, 1e-6, seen[:, 2:])
        return np.column_stack([seen[:, :2] / depth, seen[:, 2]])

    def compute_rays(self, columns: Floats, rows: Floats) -> Floats:
        """Return (N, 3) unit vectors of pixels, from camera 2, in Crucible's axes."""
        pixels = np.column_stack([columns, rows, np.ones(len(columns))])
        rays = pixels @ np.linalg.inv(self.projection[:, :3]).T @ self.from_velodyne[:3, :3]
        return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KittiFrame:
    """One frame."""

    name: str
    pixels: NDArray[np.uint8]  # (rows, columns, 3)
    points: Singles  # (N, 4) at the Velodyne in Crucible's axes, and reflectance
    calibration: KittiCalibration
    labels: tuple[str, ...]  # lines of label_2


def list_kitti_frames(folder: Path) -> list[str]:
    """Return the names of all frames that have a picture, points and a calibration.

    Raises:
        UserError: there are none.
    """
    names = [
        {file.stem for file in (folder / part).glob(f"*{ending}")}
        for part, ending in (("image_2", ".png"), ("velodyne", ".bin"), ("calib", ".txt"))
    ]
    common = sorted(set.intersection(*names))
    if not common:
        raise UserError(
            f"{folder}: no frame with image_2/NAME.png, velodyne/NAME.bin and calib/NAME.txt"
        )
    return common


def read_kitti_frame(folder: Path, name: str) -> KittiFrame:
    """Read a frame; labels may be absent.

    Raises:
        UserError: a file is missing or broken.
    """
    picture, sweep = folder / "image_2" / f"{name}.png", folder / "velodyne" / f"{name}.bin"
    try:
        pixels = read_pixels(picture, folder)
    except NOT_A_PICTURE as problem:
        raise UserError(f"{picture}: not a picture ({first_line(problem)})") from None
    try:
        with open_regular(sweep, NUMPY_ARRAY, within=folder) as opened:
            points = np.frombuffer(opened.read(), "<f4").reshape(-1, 4)
        if not np.isfinite(points).all():
            raise ValueError("a number is not finite")
    except UNREADABLE as problem:
        raise UserError(f"{sweep}: not a sweep of KITTI ({first_line(problem)})") from None
    return KittiFrame(
        name=name,
        pixels=pixels,
        points=points * np.array([1, -1, 1, 1], np.float32),
        calibration=read_calibration(folder, folder / "calib" / f"{name}.txt"),
        labels=read_labels(folder, folder / "label_2" / f"{name}.txt"),
    )


def first_line(problem: BaseException) -> str:
    """Return what a problem says, in short."""
    return str(problem).partition("\n")[0][:100]


def read_calibration(folder: Path, file: Path) -> KittiCalibration:
    """Read `P2`, `R0_rect` and `Tr_velo_to_cam`."""
    try:
        with open_regular(file, STUDY_RECORD, within=folder) as opened:
            text = opened.read().decode()
        rows = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        known = {
            name: np.array(rows[name].split(), np.float64).reshape(shape)
            for name, shape in NEEDED.items()
        }
        if not all(np.isfinite(matrix).all() for matrix in known.values()):
            raise ValueError("a number is not finite")
        velodyne = np.vstack([known["Tr_velo_to_cam"], [0.0, 0.0, 0.0, 1.0]])
        rectify = np.eye(4)
        rectify[:3, :3] = known["R0_rect"]
        from_velodyne = rectify @ velodyne @ np.diag([1.0, -1.0, 1.0, 1.0])
        np.linalg.inv(from_velodyne)
        np.linalg.inv(known["P2"][:, :3])
    except (*UNREADABLE, np.linalg.LinAlgError) as problem:
        raise UserError(
            f"{file}: not a calibration of KITTI with {', '.join(NEEDED)} ({first_line(problem)})"
        ) from None
    return KittiCalibration(projection=known["P2"], from_velodyne=from_velodyne, text=text)


def read_labels(folder: Path, file: Path) -> tuple[str, ...]:
    """Read the lines of labels; none if there is no file."""
    if not file.exists():
        return ()
    try:
        with open_regular(file, STUDY_RECORD, within=folder) as opened:
            lines = tuple(line for line in opened.read().decode().splitlines() if line.strip())
        for line in lines:
            parse_rectangle(line)
            if len(np.array(line.split()[8:15], np.float64)) != len(BOX):
                raise ValueError("a label has fewer than 15 words")
    except UNREADABLE as problem:
        raise UserError(f"{file}: not labels of KITTI ({first_line(problem)})") from None
    return lines


def parse_rectangle(line: str) -> Floats:
    """Return left, top, right, bottom of a label."""
    return np.array(line.split()[4:8], np.float64).reshape(4)


def write_kitti_frame(folder: Path, frame: KittiFrame) -> None:
    """Write a frame; its labels come last, with them it counts as whole."""
    for part in FOLDERS:
        (folder / part).mkdir(parents=True, exist_ok=True)
    points = (frame.points * np.array([1, -1, 1, 1], np.float32)).astype("<f4")
    write_whole(
        folder / "image_2" / f"{frame.name}.png",
        lambda file: Image.fromarray(frame.pixels).save(file, "PNG"),
    )
    write_whole(
        folder / "velodyne" / f"{frame.name}.bin", lambda file: file.write_bytes(points.tobytes())
    )
    write_whole(folder / "calib" / f"{frame.name}.txt", frame.calibration.text)
    write_whole(
        folder / "label_2" / f"{frame.name}.txt", "".join(f"{line}\n" for line in frame.labels)
    )
