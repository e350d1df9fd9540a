"""What a compensation made of late boxes: how far they were moved, and what error was left.

Boxes are those of `compensated.parquet`: of messages that were late when the system was given them,
once for each planning step. The truth of the present is in `tracks.parquet`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.attempt import read_checked_table
from analysis.collection import CampaignCollection
from analysis.tables.table import EstimatesTable, estimate_cells, make_ratio_measure
from harness.evaluation.box_residuals import UserPlaces, measure_box_residuals
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.records.schema import POSITION_UNIT
from harness.types.vocabulary import CLASSES, Integers

AGE, KNOWN, MOVED = "age, s", "with velocity, %", "moved, m"
STATED_ERROR, LEFT_ERROR = "error as stated, m", "error left, m"
EGO_ID = 0
"""The ego among the actors of records."""


def build_compensation_table(collection: CampaignCollection) -> EstimatesTable | None:
    """Return ages, distances and errors by arm and class; None where no drive has a compensation.

    Errors are of boxes that stand for a road user other than the ego, moved or not.
    """
    sums = [
        {"row": row, "class": name, **of_class}
        for row, campaign, key in collection.iterate_attempts()
        for name, of_class in sum_compensation(campaign, key)
    ]
    if not sums:
        return None
    arm = collection.factors
    attempts = collection.attempts.reset_index(drop=True)[[*arm, "cluster"]]
    joined = attempts.rename_axis("row").reset_index().merge(pd.DataFrame(sums), on="row")
    by = (*arm, "class")
    measures = {
        AGE: make_ratio_measure("age", "boxes"),
        KNOWN: make_ratio_measure("known", "boxes"),
        MOVED: make_ratio_measure("moved", "boxes"),
        STATED_ERROR: make_ratio_measure("stated_error", "true_boxes"),
        LEFT_ERROR: make_ratio_measure("left_error", "true_boxes"),
    }
    return EstimatesTable(
        name="compensation",
        title="Boxes of late messages: how far they were moved, error of position before and after",
        by=by,
        cells=estimate_cells(joined, by, measures),
        digits={KNOWN: 0, **dict.fromkeys((AGE, MOVED, STATED_ERROR, LEFT_ERROR), 2)},
        arm=len(arm),
    )


def sum_compensation(
    campaign: CampaignRecords, key: AttemptKey
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the sums of an attempt over its boxes, by class; nothing without a compensation."""
    if not campaign.has_table("compensated", key):
        return
    residuals = measure_attempt_residuals(campaign, key)
    for name in CLASSES:
        boxes = residuals[residuals["class"] == name]
        true = boxes[boxes["stated_error"].notna()]
        yield (
            name,
            {
                "boxes": float(len(boxes)),
                "age": float(boxes["age"].sum()),
                "known": 100.0 * float((boxes["velocity"] != "none").sum()),
                "moved": float(boxes["moved"].sum()),
                "true_boxes": float(len(true)),
                "stated_error": float(true["stated_error"].sum()),
                "left_error": float(true["left_error"].sum()),
            },
        )


def measure_attempt_residuals(campaign: CampaignRecords, key: AttemptKey) -> pd.DataFrame:
    """Return a row for each box of a late message at a planning step, without those of the ego.

    Args:
        campaign: its records.
        key: of an attempt with a compensation.

    Returns:
        Columns frame, class, age (s), velocity (its source), moved (m), and the errors of position
        against the truth of that planning step: stated_error and left_error (m), NaN where the box
        stands for no road user within 80 m of the ego.
    """
    boxes = read_checked_table(campaign, "compensated", key)
    users = read_users_by_frame(campaign, key)
    empty = UserPlaces(
        ids=np.zeros(0, np.int64), classes=np.zeros(0, np.int64), xy=np.zeros((0, 2))
    )
    parts = []
    for _, of_message in boxes.groupby(["frame", "capture_frame"], sort=True):
        frame, captured = (int(of_message[name].iloc[0]) for name in ("frame", "capture_frame"))
        stated = of_message[["stated_x", "stated_y"]].to_numpy(np.float64)
        moved = of_message[["moved_x", "moved_y"]].to_numpy(np.float64)
        residuals = measure_box_residuals(
            stated,
            moved,
            number_classes(of_message["class"]),
            captured=users.get(captured, empty),
            now=users.get(frame, empty),
        )
        part = of_message[["frame", "class", "age", "velocity"]].astype(
            {"class": str, "velocity": str}
        )
        part["moved"] = np.linalg.norm(moved - stated, axis=1)
        part["stated_error"], part["left_error"] = residuals.stated, residuals.moved
        parts.append(part[residuals.ids != EGO_ID])
    columns = ["frame", "class", "age", "velocity", "moved", "stated_error", "left_error"]
    return pd.concat(parts) if parts else pd.DataFrame(columns=columns)


def read_users_by_frame(campaign: CampaignRecords, key: AttemptKey) -> dict[int, UserPlaces]:
    """Return where everyone near the ego is, by tick, the ego among them."""
    tracks = read_checked_table(campaign, "tracks", key)
    actors = read_checked_table(campaign, "actors", key)
    kinds = dict(zip(actors["actor_id"], number_classes(actors["class"]), strict=True))
    return {
        int(of_tick["frame"].iloc[0]): UserPlaces(
            ids=of_tick["actor_id"].to_numpy(np.int64),
            classes=of_tick["actor_id"].map(kinds).to_numpy(np.int64),
            xy=of_tick[["x", "y"]].to_numpy(np.float64) * POSITION_UNIT,
        )
        for _, of_tick in tracks.groupby("frame")
    }


def number_classes(names: pd.Series) -> Integers:
    """Return classes as their index into CLASSES, (N,)."""
    numbers = {name: number for number, name in enumerate(CLASSES)}
    return np.array([numbers[name] for name in names.astype(str)], np.int64)
