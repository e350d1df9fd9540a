"""`evaluate`: one table of how good weights are, undisturbed and disturbed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from agents.perception.designs import Scheme
from agents.perception.grid import Grid
from agents.perception.loading import FOLDER, file_name
from agents.training.asking import answer_of, system_of
from agents.training.cards import card_beside, note
from agents.training.judging import (
    BANDS,
    OVERLAPS,
    VISIBLE,
    Cell,
    Detector,
    Precision,
    Visible,
    judge,
)
from agents.training.layout import scenarios
from agents.training.samples import CONDITIONS, Disturbance, Samples
from harness.errors import UserError
from harness.files import write_whole
from harness.vocabulary import CLASSES

SINGLE: Scheme = "single"


@dataclass(frozen=True, slots=True)
class Trial:
    """What is to be evaluated on what."""

    scheme: Scheme
    weights: Path | None  # those that are shipped
    data: Path
    most: int  # samples, spread evenly
    out: Path | None  # where the numbers go too
    card: bool  # and into the card of the weights


def evaluate(trial: Trial) -> dict[str, dict[Cell, Precision]]:
    """Print one table, and return what is in it: a column for each condition."""
    file = trial.weights or FOLDER / file_name(trial.scheme, "lite")
    if trial.card:
        card_beside(file)
    system = system_of(trial.scheme, trial.weights)
    recorded = scenarios(trial.data)
    samples = Samples(recorded, units=False, first_moment=1)
    if not len(samples):
        raise UserError(f"{trial.data}: no vehicle in it looked twice: nothing to evaluate on")
    conditions = CONDITIONS if trial.scheme != SINGLE else {"none": CONDITIONS["none"]}
    columns = {
        name: column(
            lambda sample: answer_of(system, sample),
            samples,
            how,
            trial.most,
            system.detector.design.grid,
            name,
        )
        for name, how in conditions.items()
    }
    Console().print(drawn(columns, f"{trial.scheme}: AP, eleven-point"))
    if trial.out is not None:
        text = json.dumps(written(columns), indent=1) + "\n"
        write_whole(trial.out, text)
    if trial.card:
        note(file, trial.scheme, columns, recorded)
    return columns


def column(
    detector: Detector, samples: Samples, how: Disturbance, most: int, grid: Grid, name: str
) -> dict[Cell, Precision]:
    """Return the precision of a detector under one condition, on samples spread evenly."""
    every = math.ceil(len(samples) / most)
    numbers = track(range(0, len(samples), every), name, transient=True)
    return judge(detector, (samples.sample(number, how=how) for number in numbers), grid)


def drawn(columns: dict[str, dict[Cell, Precision]], title: str) -> Table:
    """Return a table: visible to whom, class and distance down; condition and overlap across."""
    table = Table(
        "visible\nto", "class", "metres", "n", title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for name in columns:
        for overlap in OVERLAPS:
            table.add_column("\n".join([*name.split(), f"@{overlap}"]), justify="right")
    for visible, kind, band in rows():
        cells = [
            columns[name][visible, overlap, kind, band] for name in columns for overlap in OVERLAPS
        ]
        numbers = ["-" if each.truths == 0 else f"{each.eleven_point:.3f}" for each in cells]
        table.add_row(visible, kind, band, str(cells[0].truths), *numbers)
    return table


def rows() -> Iterator[tuple[Visible, str, str]]:
    """Yield the rows of the table."""
    for visible in VISIBLE:
        for kind in CLASSES:
            for band in BANDS:
                yield visible, kind, band


def written(columns: dict[str, dict[Cell, Precision]]) -> list[dict[str, Any]]:
    """Return the table for a file, both ways of averaging named."""
    return [
        {
            "condition": name,
            "visible to": visible,
            "overlap": overlap,
            "class": kind,
            "metres": band,
            "truths": each.truths,
            "eleven-point": None if each.truths == 0 else round(each.eleven_point, 4),
            "all-point": None if each.truths == 0 else round(each.all_point, 4),
        }
        for name, cells in columns.items()
        for (visible, overlap, kind, band), each in cells.items()
    ]
