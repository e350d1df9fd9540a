"""One made-up drive to replay, with a LiDAR that neither stands at the origin nor looks along x."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.records.points import pack_points, unpack_points
from harness.records.reading import read_stored_table
from harness.records.schema import POINTS
from harness.types.vocabulary import Floats
from tests.analysis.little import Drive, write_little
from tests.keys import key_of

HIT = key_of("late", "latency", "0", 1)
CLEAN = key_of("late", "latency", "1", 1)
YAW = 0.7
AWAY = {"x": 30.0, "y": -20.0, "z": 1.8}
SECONDS = 12


@dataclass(frozen=True)
class Replayed:
    """A campaign of two drives, and the tables of the one that ended in a collision."""

    campaign: Path
    attempt: Path
    sweeps: Mapping[tuple[int, str], Floats]

    def table(self, name: str) -> pd.DataFrame:
        """Return one of its tables."""
        return read_stored_table(self.attempt / f"{name}.parquet", name)

    def world(self, frame: int, place: Any) -> tuple[float, float, float]:
        """Return where a place in the ego's LiDAR frame is in CARLA's world."""
        poses = self.table("poses")
        ego = poses[(poses["frame"] == frame) & (poses["kind"] == "ego")].iloc[0]
        x, y, z = map(float, place)
        return (
            ego["true_x"] + x * math.cos(YAW) - y * math.sin(YAW),
            ego["true_y"] + x * math.sin(YAW) + y * math.cos(YAW),
            ego["true_z"] + z,
        )


def replayed(folder: Path) -> Replayed:
    """Write the campaign; the ego's LiDAR is moved and turned, and sweeps are kept."""
    drives = {HIT: Drive(SECONDS, "collision_vehicle"), CLEAN: Drive(SECONDS)}
    arm = (HIT.arm.system, HIT.arm.condition)
    campaign = write_little(folder / "campaign", [arm], ["0", "1"], [1], drives=drives)
    attempt = campaign / "episodes" / HIT.path / "try1"
    poses = pq.read_table(attempt / "poses.parquet")
    ego = np.array([kind == "ego" for kind in poses["kind"].to_pylist()])
    for axis, away in {**AWAY, "yaw": YAW}.items():
        moved = poses[f"true_{axis}"].to_numpy() + away * ego
        at = poses.schema.get_field_index(f"true_{axis}")
        poses = poses.set_column(at, poses.schema.field(at), pa.array(moved))
    pq.write_table(poses, attempt / "poses.parquet", write_page_checksum=True)
    return Replayed(campaign, attempt, write_sweeps(attempt))


def write_sweeps(attempt: Path) -> dict[tuple[int, str], Floats]:
    """Write a few points of all agents at every planning step; return x, y and z as kept."""
    random = np.random.default_rng(3)
    names = [(20 * step, name) for step in range(SECONDS) for name in ("ego", "roadside-1")]
    kept = [
        pack_points(
            np.column_stack([random.uniform(-40, 40, (9, 3)), np.ones(9)]).astype(np.float32)
        )
        for _ in names
    ]
    frames, senders = zip(*names, strict=True)
    columns = {
        "frame": pa.array(frames, pa.int64()),
        "sender": pa.array(senders).dictionary_encode(),
        "points": pa.array(kept, pa.binary()),
    }
    pq.write_table(pa.table(columns, POINTS), attempt / "points.parquet", write_page_checksum=True)
    return {
        name: unpack_points(item)[:, :3].astype(np.float64)
        for name, item in zip(names, kept, strict=True)
    }
