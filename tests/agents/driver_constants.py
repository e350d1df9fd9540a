"""The tracker's constants, weighed by driving: how often errors of perception brake the car.

    python -m tests.agents.driver_constants DIR

DIR is a campaign on development towns. At every recorded moment the driver is asked twice what to
do, once with the recorded detections and once with the ground truth that was visible, and nothing
depends on whether the drive ended well. A *phantom* brakes harder than `HARD` where ground truth
asks for next to nothing, a *miss* is the opposite; *roughness* is the root mean square of the
change from step to step. One constant is changed at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table

from agents.driving import tracking
from agents.driving.driver import Driver
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.types.vocabulary import CLASSES, Boxes, EgoObservation, Floats, Pose, Route
from harness.world.rig import read_rig
from tests.agents.little_world import route_along

HARD, NEXT_TO_NOTHING = -3.0, -1.0
"""m/s² asked for."""
ROLLING = 1.0
"""m/s below which braking is no news."""
CHANGES: dict[str, tuple[str, object]] = {
    "as it is": ("CONFIRMED", tracking.CONFIRMED),
    "confirmed at the first detection": ("CONFIRMED", 1),
    "confirmed at the third": ("CONFIRMED", 3),
    "moves from the second detection": ("MOVING", 2),
    "moves from the fourth": ("MOVING", 4),
    "nothing rests": ("JITTER_DISTANCE", np.zeros(3)),
    "rests within twice the distance": ("JITTER_DISTANCE", 2 * tracking.JITTER_DISTANCE),
    "survives 1 step without detection": ("MAX_MISSED", 1),
    "survives 6 steps": ("MAX_MISSED", 6),
}


class Asked(Driver):
    """A driver that shows what acceleration it asks for."""

    def reset(self, route: Route) -> None:
        """Start a route."""
        super().reset(route)
        plan = self._planner.plan_speed

        def kept(*arguments: Any, **others: Any) -> Any:
            made = plan(*arguments, **others)
            self.asked = made.acceleration
            return made

        self._planner.plan_speed = kept  # type: ignore[method-assign]


@dataclass(frozen=True, slots=True, eq=False)
class Drive:
    """What was recorded of an attempt, step by step."""

    route: Route
    observations: list[EgoObservation]
    detections: list[Boxes]
    truth: list[Boxes]


def main() -> None:
    """Print a table: constants down, what they do to each system across."""
    campaign = CampaignRecords(Path(sys.argv[1]))
    keys = sorted(campaign.find_attempts(), key=str)
    systems = sorted({key.arm["system"] for key in keys})
    grid = Table(*("constant", "system", "moments", "phantoms", "misses", "roughness"))
    drives = {
        system: [drive_of(campaign, key) for key in keys if key.arm["system"] == system]
        for system in systems
    }
    references = {
        system: [asked(drive, drive.truth) for drive in track(drives[system], system)]
        for system in systems
    }
    for name, (constant, value) in CHANGES.items():
        before = getattr(tracking, constant)
        setattr(tracking, constant, value)
        for system in systems:
            parts = [asked(drive, drive.detections) for drive in drives[system]]
            grid.add_row(name, system, *figures(drives[system], parts, references[system]))
        setattr(tracking, constant, before)
    Console().print(grid)


def figures(drives: list[Drive], asked: list[Floats], truth: list[Floats]) -> Iterator[str]:
    """Yield the figures of a system with a constant."""
    speed = np.concatenate([[step.speed for step in drive.observations] for drive in drives])
    ours, right = np.concatenate(asked), np.concatenate(truth)
    rolls = speed > ROLLING
    phantoms = (ours <= HARD) & (right > NEXT_TO_NOTHING) & rolls
    misses = (right <= HARD) & (ours > NEXT_TO_NOTHING) & rolls
    changes = np.concatenate([np.diff(part) for part in asked])
    yield str(int(rolls.sum()))
    yield f"{100 * phantoms.sum() / rolls.sum():.1f} %"
    yield f"{100 * misses.sum() / rolls.sum():.1f} %"
    yield f"{np.sqrt(np.mean(changes**2)):.2f} m/s²"


def asked(drive: Drive, boxes: list[Boxes]) -> Floats:
    """Return the acceleration asked for at each step, with these boxes."""
    driver = Asked()
    driver.reset(drive.route)
    values = []
    for observation, seen in zip(drive.observations, boxes, strict=True):
        driver.step(observation, seen)
        values.append(driver.asked)
    return np.array(values)


def drive_of(campaign: CampaignRecords, key: AttemptKey) -> Drive:
    """Read an attempt."""
    lines, frames, boxes = (
        campaign.read_attempt_table(name, key) for name in ("map", "frames", "boxes")
    )
    route = lines[lines["kind"] == "route"]
    by_frame = dict(tuple(boxes.groupby("frame")))
    nothing = boxes.iloc[:0]
    there = [by_frame.get(frame, nothing) for frame in frames["frame"]]
    return Drive(
        route_along(route[["x", "y"]].to_numpy()),
        [observed(row) for row in frames.to_dict("records")],
        [as_boxes(rows[rows["source"] == "cooperative"]) for rows in there],
        [as_boxes(rows[(rows["source"] == "truth") & rows["counted"]]) for rows in there],
    )


def observed(row: Mapping[Hashable, Any]) -> EgoObservation:
    """Return what the ego knew of itself."""
    pose = Pose(*(row[f"ego_{name}"] for name in ("x", "y", "z", "yaw", "pitch", "roll")))
    return EgoObservation(
        sender="ego",
        kind="ego",
        frame=int(row["frame"]),
        time=row["time"],
        lidar_in_world=pose,
        points_in_lidar=np.zeros((0, 4), np.float32),
        vehicle_in_world=pose,
        lidar_in_vehicle=read_rig().ego.pose_in_carrier,
        speed=row["speed"],
        lights=(),
    )


def as_boxes(rows: pd.DataFrame) -> Boxes:
    """Return boxes of a table."""
    geometry = rows[["x", "y", "z", "length", "width", "height", "yaw"]].to_numpy(np.float64)
    classes = np.array([CLASSES.index(name) for name in rows["class"]], np.int64)
    return Boxes(geometry, classes, rows["score"].to_numpy(np.float64))


if __name__ == "__main__":
    main()
