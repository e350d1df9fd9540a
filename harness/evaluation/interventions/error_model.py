"""How often a system errs, how far and for how long: measured on drives, injected into others.

A model is a small JSON file, which `crucible errors` writes. Errors are tracks: an actor that is
missed at one planning step is missed at the next one with the probability `stay`. Shares are of
true boxes that count: `L...` of those that the ego alone detects, `C...` of the others. Those of
CADE, which repeats a false detection of the ego alone, are of these false detections. Shares,
persistence and offsets are by distance band; additional boxes are by their places.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.errors import UserError
from harness.common.files import expand_home
from harness.common.safe_reading import read_json_within
from harness.types.record_names import BANDS
from harness.types.vocabulary import CLASSES, Boxes, Floats

VERSION = 2
OF_BOXES = ("LCME", "LCLE", "CCME", "CCLE")
"""Patterns of true boxes."""
GHOSTS, COPIES = "LADE", "CADE"
IN_BANDS = (*OF_BOXES, COPIES)
"""Patterns with shares and persistence by distance band."""
OFFSET = ("along", "across", "yaw", "length", "width", "score")
"""A mislocalised box: its shift in lengths and widths of the true box, its turn in radians, its
size over the true one, its score."""
GHOST = ("x", "y", "z", "length", "width", "height", "yaw", "score")
"""An additional detection in the ego's LiDAR frame."""
SIZES = ("length", "width", "height")
MOST_KEPT = 60
"""Offsets of a class in a band, and ghosts of a class, that a file holds."""
SAME_DETECTION = 2.5
"""Metres in the world between additional boxes of two successive steps that are one."""
BROKEN = (OSError, ValueError, KeyError, TypeError, RecursionError)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ErrorModel:
    """Shares, persistence, sizes and places of errors."""

    source: Mapping[str, Any]  # system, condition, ground truth, attempts, steps: for readers
    period: float  # s between planning steps
    share: Mapping[str, Floats]  # by pattern but LADE: of the boxes that can show it, by band
    stay: Mapping[str, Floats]  # the same: probability that an error lasts another step
    offsets: Mapping[tuple[int, int], Floats]  # by class and band: rows as OFFSET has them
    ghosts_a_step: float  # LADE at a planning step, on average
    ghosts_stay: float  # probability that one lasts another step
    ghosts: Mapping[int, Floats]  # by class: rows as GHOST has them

    def to_record(self) -> dict[str, Any]:
        """Return what a file holds."""
        return {
            "crucible_error_model": VERSION,
            "source": dict(self.source),
            "period": self.period,
            "share": group_by_band(self.share),
            "stay": group_by_band(self.stay),
            "offsets": {"columns": list(OFFSET), **name_offsets(self.offsets)},
            "ghosts_a_step": round(self.ghosts_a_step, 6),
            "ghosts_stay": round(self.ghosts_stay, 6),
            "ghosts": {
                "columns": list(GHOST),
                **{
                    CLASSES[n]: [round_values(row) for row in rows]
                    for n, rows in self.ghosts.items()
                },
            },
        }

    def format_text(self) -> str:
        """Return the file's text, a row of numbers on each line."""
        text = json.dumps(self.to_record(), indent=1, allow_nan=False)
        return format_one_line_rows(text) + "\n"


def round_values(values: Floats) -> list[float]:
    """Return numbers with six digits behind the point."""
    return [round(float(value), 6) for value in values]


def group_by_band(values: Mapping[str, Floats]) -> dict[str, dict[str, float]]:
    """Return numbers by the names of patterns and bands."""
    return {name: dict(zip(BANDS, round_values(values[name]), strict=True)) for name in IN_BANDS}


def name_offsets(
    offsets: Mapping[tuple[int, int], Floats],
) -> dict[str, dict[str, list[list[float]]]]:
    """Return offsets by the names of classes and bands."""
    named: dict[str, dict[str, list[list[float]]]] = {}
    for (of_class, band), rows in sorted(offsets.items()):
        named.setdefault(CLASSES[of_class], {})[BANDS[band]] = [round_values(row) for row in rows]
    return named


def format_one_line_rows(text: str) -> str:
    """Return JSON in which lists without lists or objects in them stand on one line."""
    parts = []
    rest = text
    while rest:
        head, bracket, rest = rest.partition("[")
        parts.append(head + bracket)
        inner, end, behind = rest.partition("]")
        if bracket and not set("[{") & set(inner):
            parts.append(" ".join(inner.split()) + end)
            rest = behind
    return "".join(parts)


def read_error_model(file: Path | str) -> ErrorModel:
    """Return the model in a file; anything wrong with it is one line.

    Args:
        file: JSON that `crucible errors` wrote; `~` is the home folder.

    Raises:
        UserError: the file cannot be read, or is not a model of this version.
    """
    path = expand_home(str(file), "model")
    try:
        record = read_json_within(path, follow=True)
        if record["crucible_error_model"] != VERSION:
            version = record["crucible_error_model"]
            raise ValueError(f"version {version}, not {VERSION}: measure with `crucible errors`")
        return parse_error_model(record)
    except BROKEN as problem:
        reason = (problem.strerror or "") if isinstance(problem, OSError) else str(problem)
        reason = " ".join(reason.split())
        raise UserError(f"{path}: not a model of errors ({reason})") from None


def parse_error_model(record: Mapping[str, Any]) -> ErrorModel:
    """Return the model of a file's contents; ValueError, KeyError or TypeError if it is none."""
    share, stay = (parse_probabilities(record[part]) for part in ("share", "stay"))
    for missed, poor in (("LCME", "LCLE"), ("CCME", "CCLE")):
        if (share[missed] + share[poor] > 1 + 1e-6).any():
            raise ValueError(f"{missed} and {poor} have shares above 1 together")
    return ErrorModel(
        source=dict(record["source"]),
        period=parse_positive(record["period"]),
        share=share,
        stay=stay,
        offsets={
            (of_class, BANDS.index(band)): parse_rows(rows, OFFSET)
            for of_class, bands in parse_by_class(record["offsets"], OFFSET)
            for band, rows in bands.items()
        },
        ghosts_a_step=parse_positive(record["ghosts_a_step"], least=0.0),
        ghosts_stay=parse_probability(record["ghosts_stay"]),
        ghosts={
            of_class: parse_rows(rows, GHOST)
            for of_class, rows in parse_by_class(record["ghosts"], GHOST)
        },
    )


def parse_probabilities(part: Mapping[str, Any]) -> dict[str, Floats]:
    """Return numbers from 0 to 1 by pattern, in the order of bands."""
    return {
        name: np.array([parse_probability(part[name][band]) for band in BANDS]) for name in IN_BANDS
    }


def parse_by_class(part: Mapping[str, Any], columns: Sequence[str]) -> Iterator[tuple[int, Any]]:
    """Yield what a part holds of each class, if its columns are these."""
    if part["columns"] != list(columns):
        raise ValueError(f"columns are {part['columns']}; {list(columns)} is needed")
    for name, rows in part.items():
        if name != "columns":
            yield CLASSES.index(name), rows


def parse_rows(rows: Sequence[Any], columns: Sequence[str]) -> Floats:
    """Return rows of numbers, with sizes above 0."""
    table = np.array(rows, np.float64).reshape(len(rows), len(columns))
    if not np.isfinite(table).all():
        raise ValueError(f"{', '.join(columns)}: a number is not finite")
    if (table[:, [columns.index(size) for size in SIZES if size in columns]] <= 0).any():
        raise ValueError(f"{', '.join(columns)}: a size is not above 0")
    return table


def parse_probability(value: Any) -> float:
    """Return a number from 0 to 1."""
    number = float(value)
    if not 0 <= number <= 1:
        raise ValueError(f"{number} is no probability")
    return number


def parse_positive(value: Any, least: float = 1e-6) -> float:
    """Return a finite number that is not too small."""
    number = float(value)
    if not (math.isfinite(number) and number >= least):
        raise ValueError(f"{number}: must be ≥ {least:g}")
    return number


def match_additional_boxes(before: Boxes, now: Boxes) -> list[tuple[int, int]]:
    """Return which additional boxes of two steps are one: one to one, the nearest first.

    Both stand in the world; only boxes of one class can be the same.

    Args:
        before: K boxes of one planning step, in the world.
        now: M boxes of the next planning step, in the world.

    Returns:
        Pairs of rows of `before` and `now`, at most 2.5 m apart.
    """
    # (K, M) metres between the centres; infinite between classes
    away = np.linalg.norm(before.geometry[:, None, :2] - now.geometry[None, :, :2], axis=2)
    away[before.classes[:, None] != now.classes[None, :]] = np.inf
    pairs = []
    # greedy: the nearest pair leaves the table with its row and its column
    while away.size and away.min() <= SAME_DETECTION:
        row, column = divmod(int(away.argmin()), len(now))
        away[row, :] = away[:, column] = np.inf
        pairs.append((row, column))
    return pairs
