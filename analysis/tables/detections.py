"""Right and wrong detections of whole campaigns, for the average precision of any pool of them.

Scores are sorted over a pool, so that a pool's precision is not a mean of its drives': the boxes of
`boxes.parquet` are matched again, frame by frame, by the judges' own rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.checked import checked_table
from analysis.collection import Collection
from harness.errors import UserError
from harness.evaluation.frame_evaluation import TABLE, Judged, bands_of
from harness.evaluation.matching import MatchTable, frame_matches
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from harness.vocabulary import CLASSES, Boxes, Floats, Integers, Mask

SOURCES = ("cooperative", "ego_alone")
PARTS = 10
"""Equal parts of a route, in the figure along it."""
AXES = ["x", "y", "z", "length", "width", "height", "yaw"]


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """A row for each detection of one source, and how many true boxes there were."""

    attempts: Integers  # row in the table of attempts
    scores: Floats
    correct: Mask
    classes: Integers
    bands: Integers  # index into BANDS; len(BANDS) beyond
    parts: Integers  # of the route, 0 to PARTS - 1
    truths: Integers  # (attempts, classes, bands and beyond, parts)


def read_detections(found: Collection) -> dict[str, Detections]:
    """Match the boxes of every attempt; return the detections by source."""
    pieces: dict[str, list[tuple[int, int, MatchTable]]] = {source: [] for source in SOURCES}
    truths = np.zeros((len(found.attempts), *TABLE, PARTS), np.int64)
    for row, campaign, key in found.each():
        length = float(found.attempts["route_length"].iloc[row])
        for part, tables in matched_frames(campaign, key, length):
            truths[row, :, :, part] += tables[SOURCES[0]].truths
            for source, table in tables.items():
                pieces[source].append((row, part, table))
    return {source: joined(own, truths) for source, own in pieces.items()}


def joined(pieces: list[tuple[int, int, MatchTable]], truths: Integers) -> Detections:
    """Return many frames' detections as one."""
    sizes = [len(table.scores) for _, _, table in pieces]
    table = MatchTable.join(each for _, _, each in pieces)
    return Detections(
        np.repeat(np.array([row for row, _, _ in pieces], np.int64), sizes),
        table.scores,
        table.correct,
        table.classes,
        table.bands,
        np.repeat(np.array([part for _, part, _ in pieces], np.int64), sizes),
        truths,
    )


def matched_frames(
    campaign: Campaign, key: AttemptKey, length: float
) -> Iterator[tuple[int, dict[str, MatchTable]]]:
    """Yield for each frame its part of the route, and the matches of both sources."""
    frames, boxes = checked_table(campaign, "frames", key), checked_table(campaign, "boxes", key)
    share = frames["station"].to_numpy(np.float64) / length
    parts = np.clip((share * PARTS).astype(np.int64), 0, PARTS - 1)
    part_of = dict(zip(frames["frame"].tolist(), parts.tolist(), strict=True))
    sources = boxes["source"].to_numpy(str)
    everything = judged_boxes(boxes)
    numbers = boxes["frame"].to_numpy(np.int64)
    order = np.argsort(numbers, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else ():
        frame = int(numbers[rows[0]])
        if frame not in part_of:
            raise UserError(f"{campaign.file_of(key).parent}: boxes of frame {frame}, no such row")
        truth = chosen(everything, rows[sources[rows] == "truth"])
        yield (
            part_of[frame],
            {
                source: frame_matches(truth, chosen(everything, rows[sources[rows] == source]))
                for source in SOURCES
            },
        )


def judged_boxes(boxes: pd.DataFrame) -> Judged:
    """Return boxes as the judges left them; their patterns are not asked for."""
    geometry = boxes[AXES].to_numpy(np.float64)
    number = {name: index for index, name in enumerate(CLASSES)}
    classes = np.array([number[name] for name in boxes["class"].to_numpy(str)], np.int64)
    nothing = np.zeros(len(boxes), np.int64)
    return Judged(
        Boxes(geometry, classes, boxes["score"].to_numpy(np.float64)),
        boxes["counted"].to_numpy(np.bool_),
        bands_of(geometry),
        nothing - 1,
        nothing,
    )


def chosen(judged: Judged, rows: Integers) -> Judged:
    """Return some of the boxes."""
    return Judged(
        judged.boxes[rows],
        judged.counted[rows],
        judged.bands[rows],
        judged.pattern[rows],
        judged.times[rows],
    )
