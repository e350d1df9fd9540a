"""Sweeps of a real CARLA's LiDAR next to carlite's: the pattern of rays, and the ground."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from harness.carlite import sensors
from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Floats, Ints
from harness.carlite.errors import UserError
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.towns.model import Town, TownLanes, TownScenery
from tools.fidelity.roads import make_flat_ground

LARGEST_FILE = 256 * 1024 * 1024
APART = 0.05
"""Degrees between two channels, at least; the elevations of one channel differ by less."""

LEAST_POINTS = 1000
LEAST_IN_CHANNEL = 20
MOSTLY = 0.9
AXES = 3
TICK = 0.05
WHOLE_NUMBERS = frozenset({"channels", "points_per_second"})
LOWEST_SENSOR = 1.3
"""Metres below the sensor from which returns may be ground, not roofs and bonnets."""


@dataclass(frozen=True, kw_only=True)
class SweepPattern:
    """What a sweep shows of its sensor.

    Attributes:
        elevation: (channels,) of those with returns, degrees, from low to high.
        number: (channels,) of each, counted in even steps from the lowest one.
        returns: (channels,) of each.
        step: degrees from one channel to the next.
        uneven: largest deviation of a channel from evenly spaced ones, degrees.
        turn: degrees from one firing of a laser to the next, less than a whole turn.
        uneven_turn: largest deviation from even firings, degrees; NaN where no channel is full.
        farthest: metres.
        top_first: whether the channels come one after the other, from the uppermost down.
    """

    elevation: Floats
    number: Ints
    returns: Ints
    step: float
    uneven: float
    turn: float
    uneven_turn: float
    farthest: float
    top_first: bool


def read_sweep(path: Path, *, downward: bool) -> Floats:
    """Read an ASCII PLY or a NumPy file; UserError names file and fault.

    Args:
        path: of the file.
        downward: whether its z axis points downward, as that of CARLA up to 0.9.9.

    Returns:
        (points, 3 or 4) x, y, z in metres and the intensity, z upward.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UserError(f"{path}: larger than {LARGEST_FILE >> 20} MiB")
        if path.suffix == ".npy":
            points = np.asarray(np.load(path, allow_pickle=False), np.float64)
            points = points.T if points.ndim == 2 and len(points) in (AXES, AXES + 1) else points
        else:
            head, mark, body = path.read_text(encoding="utf-8").partition("end_header\n")
            if not mark or "format ascii" not in head:
                raise UserError(f"{path}: no ASCII PLY")
            width = head.count("property float")
            points = np.array(body.split(), np.float64).reshape(-1, max(width, 1))
    except (OSError, ValueError, EOFError) as problem:
        raise UserError(f"{path}: cannot be read: {problem}") from None
    if points.ndim != 2 or points.shape[1] not in (AXES, AXES + 1):
        raise UserError(f"{path}: points need x, y, z and at most an intensity")
    if len(points) < LEAST_POINTS or not np.isfinite(points).all():
        raise UserError(f"{path}: fewer than {LEAST_POINTS} points, or points that are no numbers")
    if downward:
        points = points * np.array([1.0, 1.0, -1.0, 1.0])[: points.shape[1]]
    return points


def measure_pattern(points: Floats) -> SweepPattern:
    """Return the pattern of one sweep's rays; UserError for points that lie in no channels."""
    distance = np.sqrt((points[:, :AXES] ** 2).sum(axis=1))
    points, distance = points[distance > 0.0], distance[distance > 0.0]
    elevation = np.degrees(np.arcsin(points[:, 2] / distance))
    # (channels,) mean elevations, from low to high
    ordered = np.sort(elevation)
    groups = np.split(ordered, np.flatnonzero(np.diff(ordered) > APART) + 1)
    groups = [group for group in groups if len(group) >= LEAST_IN_CHANNEL]
    # nearly all points of a sweep are in channels; those of a cloud of any other kind are not
    narrow = sum(len(group) for group in groups if np.ptp(group) < APART)
    if len(groups) < AXES or narrow < MOSTLY * len(points):
        raise UserError("no channels: elevations of the points are not in steps")
    means = np.array([float(group.mean()) for group in groups])
    returns: Ints = np.array([len(group) for group in groups], np.int64)
    step = float(np.median(np.diff(means)))
    number = np.round((means - means[0]) / step).astype(np.int64)
    even = np.polyval(np.polyfit(number, means, 1), number)
    # the lowest of the fullest channels, in the file's order
    channel = np.round((elevation - means[0]) / step).astype(np.int64)
    lowest = int(np.argmax(returns))
    turn, uneven_turn = measure_turn(points[channel == number[lowest]])
    return SweepPattern(
        elevation=means,
        number=number,
        returns=returns,
        step=step,
        uneven=float(np.abs(means - even).max()),
        turn=turn,
        uneven_turn=uneven_turn,
        farthest=float(distance.max()),
        top_first=bool((np.diff(channel) <= 0).all()),
    )


def measure_turn(points: Floats) -> tuple[float, float]:
    """Return the degrees between firings of a laser of which no return is lost, and how uneven."""
    azimuth = np.degrees(np.arctan2(points[:, 1], points[:, 0]))
    steps = np.remainder(np.diff(azimuth) + 180.0, 360.0) - 180.0
    usual = float(np.median(steps))
    turned = np.concatenate([[0.0], np.cumsum(steps)])
    line = np.polyval(np.polyfit(np.arange(len(turned)), turned, 1), np.arange(len(turned)))
    return abs(usual), float(np.abs(turned - line).max())


def simulate_sweep(pattern: SweepPattern, height: float) -> Floats:
    """Return carlite's sweep on flat ground with a pattern's channels, range and firings.

    Args:
        pattern: as recorded.
        height: of the sensor above the ground, metres.

    Returns:
        (points, 4) metres and the intensity.
    """
    channels, firings = int(pattern.number[-1]) + 1, int(pattern.returns.max())
    attributes = {
        "channels": channels,
        "upper_fov": pattern.elevation[0] + pattern.step * (channels - 1),
        "lower_fov": pattern.elevation[0],
        "range": math.ceil(pattern.farthest),
        "points_per_second": channels * firings / TICK,
        "rotation_frequency": pattern.turn * firings / 360.0 / TICK,
        "dropoff_general_rate": 0.0,
        "dropoff_intensity_limit": 0.0,
    }
    texts = {
        name: str(round(value) if name in WHOLE_NUMBERS else value)
        for name, value in attributes.items()
    }
    sensor = sensors.make_sensor("sensor.lidar.ray_cast", texts, 1, 1)
    pose = SensorPose((50.0, 0.0, height), (0.0, 0.0, 0.0))
    frame = sensor.capture(SensorScene(_make_flat_town(), ActorTable()), pose, 1, TICK)
    body = b"" if frame is None else frame[8 + 4 * channels :]
    return np.frombuffer(body, np.float32).reshape(-1, AXES + 1).astype(np.float64)


def _make_flat_town() -> Town:
    nothing: Any = np.zeros(0, np.int32)
    empty = np.zeros((0, AXES))
    return Town(
        name="flat",
        opendrive="",
        lanes=TownLanes(**{field.name: nothing for field in fields(TownLanes)}),
        ground=make_flat_ground(),
        signals=(),
        scenery=TownScenery(
            centre=empty,
            extent=empty,
            yaw=np.zeros(0),
            shape=np.zeros(0, np.uint8),
            body=nothing,
            label=np.zeros(0, np.uint8),
            solid=np.zeros(0, np.bool_),
        ),
        spawn_points=np.zeros((0, 6)),
        crosswalks=(),
    )


def fit_ground(points: Floats, below: float) -> tuple[float, float]:
    """Return the height of the sensor above the ground under it, and the ground's roughness.

    The ground is the plane through returns between 4 and 15 m away that are lower than `below`.

    Args:
        points: (points, 3 or 4) metres, z upward.
        below: metres under the sensor; what is higher is no ground.

    Returns:
        Metres, and the median deviation of a return from the plane in metres; NaN without ground.
    """
    flat = np.hypot(points[:, 0], points[:, 1])
    chosen = points[(flat > 4.0) & (flat < 15.0) & (points[:, 2] < -below)]
    if len(chosen) < LEAST_POINTS // 10:
        return math.nan, math.nan
    system = np.column_stack([chosen[:, 0], chosen[:, 1], np.ones(len(chosen))])
    for _ in range(5):
        plane = np.linalg.lstsq(system, chosen[:, 2], rcond=None)[0]
        off = np.abs(chosen[:, 2] - system @ plane)
        # kerbs, pavements and bodies leave, half a metre at first
        kept = off < max(3.0 * float(np.median(off)), 0.02)
        system, chosen = system[kept], chosen[kept]
    return float(-plane[2]), float(np.median(np.abs(chosen[:, 2] - system @ plane)))


def print_sweep(path: Path, *, downward: bool) -> None:
    """Print one sweep's pattern and ground next to carlite's with the same settings."""
    points = read_sweep(path, downward=downward)
    try:
        ours = theirs = measure_pattern(points)
        height, rough = fit_ground(points, LOWEST_SENSOR)
        if math.isnan(height):
            raise UserError("no ground around the sensor")
        simulated = simulate_sweep(theirs, height)
        ours = measure_pattern(simulated)
    except UserError as problem:
        raise UserError(f"{path}: {problem}") from None
    # channels that have returns in both
    _, here, there = np.intersect1d(theirs.number, ours.number, return_indices=True)
    off = float(np.abs(theirs.elevation[here] - ours.elevation[there]).max())
    our_height, our_rough = fit_ground(simulated, LOWEST_SENSOR)
    print(f"{path.name}: {len(points)} points, recorded | carlite on flat ground")
    rows = {
        "channels with returns": (f"{len(theirs.number)}", f"{len(ours.number)}"),
        "lowest, highest, deg": tuple(
            f"{one.elevation[0]:.3f}, {one.elevation[-1]:.3f}" for one in (theirs, ours)
        ),
        "off even steps, deg": (f"{theirs.uneven:.4f}", f"{ours.uneven:.4f}"),
        "channels differ by, deg": (f"{off:.4f}", ""),
        "channels from above": (str(theirs.top_first), str(ours.top_first)),
        "firings of a laser": (f"{theirs.returns.max()}", f"{ours.returns.max()}"),
        "step of a firing, deg": (f"{theirs.turn:.4f}", f"{ours.turn:.4f}"),
        "off even firings, deg": (f"{theirs.uneven_turn:.4f}", f"{ours.uneven_turn:.4f}"),
        "sensor above ground, m": (f"{height:.3f}", f"{our_height:.3f}"),
        "ground off a plane, m": (f"{rough:.4f}", f"{our_rough:.4f}"),
        "farthest return, m": (f"{theirs.farthest:.3f}", f"{ours.farthest:.3f}"),
        "intensity": ("yes" if points.shape[1] > AXES else "no", "yes"),
    }
    for name, (recorded, simulated_text) in rows.items():
        print(f"  {name:<24} {recorded:>20} | {simulated_text}")
