"""A campaign's numbers once more, attempt by attempt from its files, without the analysis."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.evaluation.slowly import eleven_point, iou

CLASSES = ("vehicle", "pedestrian", "cyclist")
AXES = ["x", "y", "z", "length", "width", "height", "yaw"]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One folder with a result."""

    folder: Path
    system: str
    condition: str
    route: str
    seed: int
    result: dict[str, Any]

    @property
    def ours(self) -> dict[str, Any]:
        result: dict[str, Any] = self.result["crucible"]
        return result

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_parquet(self.folder / f"{name}.parquet")


def attempts(campaign: Path) -> list[Attempt]:
    attempts_read = []
    for file in sorted(campaign.glob("episodes/*/*/*/*/try1/result.json")):
        result = json.loads(file.read_text())
        attempt = result["crucible"]["attempt"]
        attempts_read.append(
            Attempt(
                folder=file.parent,
                system=attempt["arm"]["system"],
                condition=attempt["arm"]["condition"],
                route=attempt["route"],
                seed=attempt["seed"],
                result=result,
            )
        )
    return attempts_read


def mean(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else math.nan


@dataclass(frozen=True)
class Row:
    """A detection, or a true box, somewhere along the route and some way off."""

    kind: str
    share: float
    distance: float
    _: KW_ONLY
    score: float = 0.0
    right: bool = False


def precision(rows: list[Row], truths: list[Row], inside: Callable[[float, float], bool]) -> float:
    """11-point precision of what is inside, mean over classes."""
    result = []
    for kind in CLASSES:
        part = [row for row in rows if row.kind == kind and inside(row.share, row.distance)]
        there = [
            truth for truth in truths if truth.kind == kind and inside(truth.share, truth.distance)
        ]
        if there:
            result.append(eleven_point([(item.score, item.right) for item in part], len(there)))
    return mean(result)


def matched(
    some: list[Attempt], source: str, last: float = math.inf
) -> tuple[list[Row], list[Row]]:
    """Every detection that counts, and every true box that does, of the last seconds or of all.

    A right detection is as far off as what it found.
    """
    rows: list[Row] = []
    truths: list[Row] = []
    for attempt in some:
        frames, boxes = attempt.table("frames"), attempt.table("boxes")
        early = frames["frame"][frames["time"] <= attempt.result["meta"]["duration_game"] - last]
        boxes = boxes[~boxes["frame"].isin(early)]
        shares = frames["station"] / attempt.result["meta"]["route_length"]
        share_of = dict(zip(frames["frame"], shares, strict=True))
        for (frame, kind), here in boxes.groupby(["frame", "class"], observed=True):
            row = here.to_dict("records")
            one_frame(row, source, str(kind), share_of[frame], rows, truths)
    return rows, truths


def one_frame(
    boxes: list[dict[Any, Any]],
    source: str,
    kind: str,
    share: float,
    rows: list[Row],
    truths: list[Row],
) -> None:
    """Match one class in one frame, the best score first."""
    there = [box for box in boxes if box["source"] == "truth"]
    truths += [Row(kind, share, away(item)) for item in there if item["counted"]]
    detections = [box for box in boxes if box["source"] == source]
    taken: set[int] = set()
    for box in sorted(detections, key=lambda detection: -detection["score"]):
        overlaps = [iou(as_row(true), as_row(box)) for true in there]
        best = max(range(len(there)), key=overlaps.__getitem__, default=-1)
        if best >= 0 and overlaps[best] < 0.5:
            best = -1
        right = best >= 0 and best not in taken
        taken |= {best} if right else set()
        if (best >= 0 and not there[best]["counted"]) or not (right or box["counted"]):
            continue
        distance = away(there[best] if right else box)
        rows.append(Row(kind, share, distance, score=box["score"], right=right))


def as_row(box: dict[Any, Any]) -> Any:
    return np.array([box[name] for name in AXES])


def away(box: dict[Any, Any]) -> float:
    return math.hypot(box["x"], box["y"])
