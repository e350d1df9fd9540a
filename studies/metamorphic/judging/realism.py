"""How much sweeps of changed scenes look like recorded ones: a Fréchet distance, but not FRD.

FRD (V2XGen, MultiTest) compares activations of RangeNet++ with weights trained on KITTI. Here the
same distance between two normal distributions is taken over a few plain statistics of a sweep's
range image, which need no weights. Its numbers cannot be compared with FRD's.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.types.vocabulary import Floats
from studies.metamorphic.geometry.rays import fit_beam_grid, get_lidar_mount
from studies.metamorphic.scenes.scene import AgentView

RANGE_STATISTICS = (
    "returns",  # share of beams that come back
    "log_range",  # mean of the logarithm of ranges
    "log_range_spread",  # its standard deviation
    "along",  # mean step of it between neighbours of a ring
    "across",  # and of a column
    "jumps",  # share of neighbours of a ring whose ranges are more than JUMP apart
    "roughness",  # mean bend of ranges along a ring, m, of at most JUMP
    "holes",  # share of beams without a return between two neighbours with one
    "intensity",  # mean difference from what the range leaves of it
)
JUMP = 0.5
"""Metres."""
LOST, NOISE = 0.05, 0.05
"""Of the control: share of points that are lost, and metres of noise along the ray."""


def measure_range_statistics(view: AgentView) -> Floats:
    """Return the statistics of a sweep's range image, by `RANGE_STATISTICS`."""
    # (rings, columns) m; NaN where nothing came back
    grid = fit_beam_grid(view)
    ranges = np.linalg.norm(view.points_in_lidar[:, :3].astype(np.float64), axis=1)
    image = np.full((len(grid.elevations), grid.columns), np.nan)
    image[grid.rings, grid.column_of] = ranges
    logs = np.log(np.maximum(image, 1e-3))
    back = np.isfinite(image)
    # neighbours to the right, all the way round, and below
    right, left = np.roll(image, -1, axis=1), np.roll(image, 1, axis=1)
    steps = np.abs(np.roll(logs, -1, axis=1) - logs)
    bends = np.minimum(np.abs(left - 2 * image + right), JUMP)
    holes = ~back & np.isfinite(left) & np.isfinite(right)
    left_over = np.exp(-get_lidar_mount(view).atmosphere_attenuation_rate * ranges)
    gaps = np.abs(right - image)
    return np.array(
        [
            back.mean(),
            average_known(logs),
            float(np.nanstd(logs)) if back.any() else 0.0,
            average_known(steps),
            average_known(np.abs(np.diff(logs, axis=0))),
            average_known(np.where(np.isfinite(gaps), gaps > JUMP, np.nan)),
            average_known(bends),
            holes.mean(),
            average_known(np.abs(view.points_in_lidar[:, 3] - left_over)),
        ]
    )


def average_known(values: Floats) -> float:
    """Return the mean of what is no NaN, 0 if nothing is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else 0.0


def corrupt_view(view: AgentView, random: np.random.Generator) -> AgentView:
    """Return a sweep that no LiDAR of the rig would record: the control of the distance."""
    kept = random.random(len(view.points_in_lidar)) >= LOST
    points = view.points_in_lidar[kept].copy()
    away = np.linalg.norm(points[:, :3], axis=1, keepdims=True)
    points[:, :3] *= 1 + random.normal(0.0, NOISE, (len(points), 1)) / np.maximum(away, 1.0)
    surfaces = None if view.surfaces is None else view.surfaces[kept]
    return replace(view, points_in_lidar=points.astype(np.float32), surfaces=surfaces)


def compute_frechet_distance(one: Floats, other: Floats, scale: Floats) -> float:
    """Return the Fréchet distance of two sets of sweeps, as normal distributions.

    Args:
        one: (n, statistics).
        other: (m, statistics).
        scale: (statistics,) what each is divided by: its spread in recorded sweeps.

    Returns:
        In units of that spread squared. NaN where a set has fewer sweeps than twice the
        statistics: its covariance is not known.
    """
    if min(len(one), len(other)) < 2 * one.shape[1]:
        return float("nan")
    a, b = one / scale, other / scale
    first, second = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    # tr sqrt(first second) is that of the symmetric root(first) second root(first)
    values, vectors = np.linalg.eigh(first)
    root = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T
    shared = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ second @ root), 0)).sum()
    means = ((a.mean(axis=0) - b.mean(axis=0)) ** 2).sum()
    return float(max(means + np.trace(first) + np.trace(second) - 2 * shared, 0.0))
