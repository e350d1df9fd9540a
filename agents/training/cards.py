"""Cards: what a file of weights is, for whoever finds it; it lies beside the weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.perception.designs import Scheme
from agents.training.judging import PROMISED, VISIBLE, Cell, Precision
from agents.training.layout import Scenario
from agents.training.lesson import Lesson
from agents.training.weights import as_text
from harness.errors import UserError
from harness.files import write_whole
from harness.nesting import parse_json

TRIED = "AP@0.5, eleven-point"


def card_of(lesson: Lesson, recorded: Sequence[Scenario], samples: int) -> dict[str, Any]:
    """Return what a lesson was."""
    return {
        "scheme": lesson.scheme,
        "size": "lite",
        "data": {**data_of(recorded), "samples": samples},
        "command": command(lesson),
        "begun from": None if lesson.start is None else lesson.start.name,
        "epochs": lesson.epochs,
        "samples an epoch": min(lesson.most or samples, samples),
    }


def data_of(recorded: Sequence[Scenario]) -> dict[str, Any]:
    """Return what a recording is."""
    return {
        "towns": sorted({each.town for each in recorded}),
        "scenarios": len({each.folder for each in recorded}),
        "seeds": sorted({each.seed for each in recorded}),
    }


def command(lesson: Lesson) -> str:
    """Return the command of a lesson, without the places of files."""
    words = ["python -m agents.training train --scheme", lesson.scheme]
    words += ["--data", *["DIR"] * len(lesson.data)]
    words += ["--held-out", *["DIR"] * len(lesson.held_out), "--out DIR"]
    words += ["--start FILE"] if lesson.start is not None else []
    words += [f"--epochs {lesson.epochs} --batch {lesson.batch} --peak-rate {lesson.peak_rate:g}"]
    words += [f"--seed {lesson.seed} --trial {lesson.trial}"]
    words += [f"--most {lesson.most}"] if lesson.most else []
    words += [f"--{name}" for name in ("freeze", "interference") if getattr(lesson, name)]
    return " ".join(words)


def card_beside(weights: Path) -> dict[str, Any]:
    """Return the card of some weights."""
    path = weights.with_suffix(".json")
    try:
        told = parse_json(path.read_text())
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror}; no card to write into") from None
    except ValueError as problem:
        raise UserError(f"{path}: no card of weights ({problem})") from None
    if not isinstance(told, dict):
        raise UserError(f"{path}: no card of weights")
    return told


def note(
    weights: Path,
    scheme: Scheme,
    columns: dict[str, dict[Cell, Precision]],
    recorded: Sequence[Scenario],
) -> None:
    """Write into a card how good its weights are as a system: what is promised, of each column."""
    path = weights.with_suffix(".json")
    told = card_beside(weights)
    told.setdefault(TRIED, {})[scheme] = {
        "data": data_of(recorded),
        **{
            f"{name}, visible to {visible}": {
                f"{kind} {band}": round(table[visible, 0.5, kind, band].eleven_point, 3)
                for kind, band in PROMISED.items()
            }
            for name, table in columns.items()
            for visible in VISIBLE
        },
    }
    write_whole(path, as_text(told))
