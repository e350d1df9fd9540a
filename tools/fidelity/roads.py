"""The ground under a record: from its own heights, from its town's map, or flat."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.towns.model import TownGround
from tools.fidelity.records import PublicDriveRecord

DATA = Path(__file__).parent / "data"
ON_ROAD = 15.0
"""Metres from a road's centre line within which a record was driven on it."""

WIDTH = 200


def find_drive_ground(drive: PublicDriveRecord, *, flat: bool) -> tuple[str, TownGround]:
    """Return a name of what is under a drive and a ground along x on which it starts at 0."""
    if flat:
        return "flat, as asked", _make_ground_strip(np.array([0.0, 1.0]), np.zeros(2), drive)
    if drive.place is not None:
        gone = _compute_travelled(drive.place)
        if drive.height is not None:
            return "its own heights", _make_ground_strip(gone, drive.height, drive)
        for path in sorted(DATA.glob("road-*.csv")):
            heights = _read_road_heights(path, drive.place)
            if heights is not None:
                return path.stem.removeprefix("road-"), _make_ground_strip(gone, heights, drive)
    return "flat", _make_ground_strip(np.array([0.0, 1.0]), np.zeros(2), drive)


def make_flat_ground() -> TownGround:
    """Return a plane at height zero, 200 m by 200 m."""
    lower = np.zeros((WIDTH, WIDTH), np.float32)
    return TownGround(
        x=-20.0, y=-0.5 * WIDTH, cell=1.0, lower=lower, upper=np.full_like(lower, np.nan),
        label=np.ones(lower.shape, np.uint8),
    )  # fmt: skip


def _compute_travelled(place: Floats) -> Floats:
    steps = np.hypot(*np.diff(place, axis=0).T)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _read_road_heights(path: Path, place: Floats) -> Floats | None:
    """Return the road's heights at these places; None unless all of them are on it."""
    road = np.loadtxt(path, delimiter=",", skiprows=1)
    x, y, z = road[np.argsort(road[:, 0])].T
    aside = np.abs(place[:, 1] - np.interp(place[:, 0], x, y))
    if place[:, 0].min() < x[0] or place[:, 0].max() > x[-1] or aside.max() > ON_ROAD:
        return None
    heights: Floats = np.interp(place[:, 0], x, z)
    return heights


def _make_ground_strip(gone: Floats, heights: Floats, drive: PublicDriveRecord) -> TownGround:
    """Return a strip of ground along x with these heights; beyond them its grade goes on."""
    longest = int(1.5 * float(np.max(drive.speed)) * float(drive.time[-1] - drive.time[0])) + 100
    x = np.arange(-20.0, min(longest, 20000) + 20.0)
    apart = np.concatenate([[True], np.diff(gone) > 1e-3])
    profile = np.interp(x, gone[apart], heights[apart])
    lower = np.ascontiguousarray(np.tile(profile, (WIDTH, 1)), dtype=np.float32)
    return TownGround(
        x=-20.0, y=-0.5 * WIDTH, cell=1.0, lower=lower, upper=np.full_like(lower, np.nan),
        label=np.ones(lower.shape, np.uint8),
    )  # fmt: skip
