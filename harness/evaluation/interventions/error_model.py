"""How often a system errs, how far and for how long: measured on drives, injected into others.

A model is a small JSON file, which `crucible errors` writes. Errors are tracks: an actor that is
missed at one planning step is missed at the next one with the probability `stay`. Shares are of
true boxes that count, by distance band: `L...` of those that the ego alone detects, `C...` of the
others. CADE is not among the errors: it repeats a false detection of the ego alone, and ego-alone
boxes are never changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import UserError
from harness.files import at_home
from harness.nesting import parse_json
from harness.vocabulary import BANDS, CLASSES, Floats

VERSION = 1
OF_BOXES = ("LCME", "LCLE", "CCME", "CCLE")
"""Patterns of true boxes."""
GHOSTS = "LADE"
INJECTABLE = (*OF_BOXES, GHOSTS)
OFFSET = ("along", "across", "yaw", "length", "width", "score")
"""A mislocalised box: its shift in lengths and widths of the true box, its turn in radians, its
size over the true one, its score."""
GHOST = ("x", "y", "z", "length", "width", "height", "yaw", "score")
"""An additional detection in the ego's LiDAR frame."""
SIZES = ("length", "width", "height")
MOST_KEPT = 60
"""Offsets of a class, and ghosts of a class, that a file holds."""
BROKEN = (OSError, ValueError, KeyError, TypeError, RecursionError)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ErrorModel:
    """Shares, persistence, sizes and places of errors."""

    source: Mapping[str, Any]  # system, condition, ground truth, attempts, steps: for readers
    period: float  # s between planning steps
    share: Mapping[str, Floats]  # by pattern of true boxes: of those boxes, by band
    stay: Mapping[str, float]  # by pattern: probability that an error lasts another step
    offsets: Mapping[int, Floats]  # by class: rows as OFFSET has them
    ghosts_a_step: float  # additional detections at a planning step, on average
    ghosts: Mapping[int, Floats]  # by class: rows as GHOST has them

    def record(self) -> dict[str, Any]:
        """Return what a file holds."""
        return {
            "crucible_error_model": VERSION,
            "source": dict(self.source),
            "period": self.period,
            "share": {
                name: dict(zip(BANDS, rounded(self.share[name]), strict=True)) for name in OF_BOXES
            },
            "stay": {name: round(self.stay[name], 6) for name in INJECTABLE},
            "offsets": {
                "columns": list(OFFSET),
                **{CLASSES[n]: [rounded(row) for row in rows] for n, rows in self.offsets.items()},
            },
            "ghosts_a_step": round(self.ghosts_a_step, 6),
            "ghosts": {
                "columns": list(GHOST),
                **{CLASSES[n]: [rounded(row) for row in rows] for n, rows in self.ghosts.items()},
            },
        }

    def text(self) -> str:
        """Return the file's text, a row of numbers on each line."""
        text = json.dumps(self.record(), indent=1, allow_nan=False)
        return one_line_rows(text) + "\n"


def rounded(values: Floats) -> list[float]:
    """Return numbers with six digits behind the point."""
    return [round(float(value), 6) for value in values]


def one_line_rows(text: str) -> str:
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
    """Return the model in a file; anything wrong with it is one line."""
    path = at_home(str(file), "model")
    try:
        record = parse_json(path.read_bytes())
        if record["crucible_error_model"] != VERSION:
            raise ValueError(f"version {record['crucible_error_model']}, not {VERSION}")
        return model_of(record)
    except BROKEN as problem:
        reason = (problem.strerror or "") if isinstance(problem, OSError) else str(problem)
        reason = " ".join(reason.split())
        raise UserError(f"{path}: not a model of errors ({reason})") from None


def model_of(record: Mapping[str, Any]) -> ErrorModel:
    """Return the model of a file's contents; ValueError, KeyError or TypeError if it is none."""
    share = {
        name: np.array([probability(record["share"][name][band]) for band in BANDS])
        for name in OF_BOXES
    }
    for missed, poor in (("LCME", "LCLE"), ("CCME", "CCLE")):
        if (share[missed] + share[poor] > 1 + 1e-6).any():
            raise ValueError(f"{missed} and {poor} have shares above 1 together")
    stay = {name: probability(record["stay"][name]) for name in INJECTABLE}
    return ErrorModel(
        source=dict(record["source"]),
        period=positive(record["period"]),
        share=share,
        stay=stay,
        offsets=rows_by_class(record["offsets"], OFFSET),
        ghosts_a_step=positive(record["ghosts_a_step"], least=0.0),
        ghosts=rows_by_class(record["ghosts"], GHOST),
    )


def rows_by_class(part: Mapping[str, Any], columns: Sequence[str]) -> dict[int, Floats]:
    """Return rows of numbers by class."""
    if part["columns"] != list(columns):
        raise ValueError(f"columns are {part['columns']}; {list(columns)} is needed")
    tables = {}
    for name, rows in part.items():
        if name != "columns":
            table = np.array(rows, np.float64).reshape(len(rows), len(columns))
            if not np.isfinite(table).all():
                raise ValueError(f"{name}: a number is not finite")
            sizes = [columns.index(size) for size in SIZES if size in columns]
            if (table[:, sizes] <= 0).any():
                raise ValueError(f"{name}: a size is not above 0")
            tables[CLASSES.index(name)] = table
    return tables


def probability(value: Any) -> float:
    """Return a number from 0 to 1."""
    number = float(value)
    if not 0 <= number <= 1:
        raise ValueError(f"{number} is no probability")
    return number


def positive(value: Any, least: float = 1e-6) -> float:
    """Return a finite number that is not too small."""
    number = float(value)
    if not (math.isfinite(number) and number >= least):
        raise ValueError(f"{number}: must be ≥ {least:g}")
    return number
