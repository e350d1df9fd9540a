"""How often LiDARs hit each road user: before and after what disturbs their sweeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from harness.types.vocabulary import GroundTruth, Integers
from harness.world.rig import LidarScan


def compute_most_hits(truth: GroundTruth, scans: Iterable[tuple[LidarScan, int]]) -> Integers:
    """Return the most returns of the ego or of one of some LiDARs, each with its carrier."""
    hits = truth.hits.copy()
    for scan, carrier in scans:
        hits = np.maximum(hits, count_hits_by_lidar(truth, scan, carrier))
    return hits


def count_remaining_hits(truth: GroundTruth, scan: LidarScan, carrier: int) -> Integers:
    """Return how many points of a sensed scan are left on each."""
    if scan.surfaces is None or scan.surfaces.actors is None:
        return np.zeros(len(truth), np.int64)  # nothing was scanned
    actors, counts = np.unique(scan.surfaces.actors, return_counts=True)
    left = dict(zip(actors.tolist(), counts.tolist(), strict=True))
    return count_hits_by_lidar(truth, replace(scan, hits=left), carrier)


def count_hits_by_lidar(truth: GroundTruth, scan: LidarScan, carrier: int) -> Integers:
    """Return the hits of a LiDAR on each road user; hits on the LiDAR's carrier count as zero."""
    hits = np.array([scan.hits.get(int(actor_id), 0) for actor_id in truth.actor_ids], np.int64)
    return np.asarray(hits * (truth.actor_ids != carrier))
