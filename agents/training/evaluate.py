"""`evaluate`: one table of average precision, undisturbed and disturbed."""

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

from agents.perception.fusion.catalogue import is_shipped
from agents.perception.grid import Grid
from agents.perception.loading import FOLDER, file_name
from agents.perception.systems import system_of
from agents.training.detection_metrics import (
    BANDS,
    OVERLAPS,
    VISIBLE,
    Cell,
    Detector,
    Precision,
    Visible,
    evaluate_detections,
)
from agents.training.fusion_names import fusion_of
from agents.training.inference import detections
from agents.training.layout import scenarios
from agents.training.samples import CONDITIONS, Disturbance, Samples
from agents.training.weight_files import add_evaluation, card_of_weights
from harness.errors import UserError
from harness.files import write_whole
from harness.vocabulary import CLASSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What is to be evaluated on what."""

    scheme: str  # one of ours, or package.module:Class
    settings: tuple[str, ...] = ()  # of its fusion module, name=value
    weights: Path | None  # none: those that come with Crucible
    data: Path
    most: int  # samples, spread evenly
    out: Path | None  # where the numbers go too
    card: bool  # and into the card of the weights


def evaluate(options: Evaluation) -> dict[str, dict[Cell, Precision]]:
    """Print one table, and return what is in it: a column for each condition."""
    fusion = fusion_of(options.scheme, options.settings)
    if options.weights is None and not is_shipped(type(fusion)):
        raise UserError("--weights FILE is needed for a fusion module of your own")
    file = options.weights or FOLDER / file_name(type(fusion))
    if options.card:
        card_of_weights(file)
    system = system_of(fusion, None if options.weights is None else str(options.weights))
    recorded = scenarios(options.data)
    samples = Samples(recorded, units=False, first_moment=1)
    if not len(samples):
        raise UserError(f"{options.data}: no vehicle in it has two sweeps: nothing to evaluate on")
    conditions = CONDITIONS if system.reads_messages else {"none": CONDITIONS["none"]}
    columns = {
        name: column(
            lambda sample: detections(system, sample),
            samples,
            how=how,
            most=options.most,
            grid=system.detector.design.grid,
            name=name,
        )
        for name, how in conditions.items()
    }
    Console().print(as_table(columns, f"{options.scheme}: AP, eleven-point"))
    if options.out is not None:
        text = json.dumps(as_records(columns), indent=1) + "\n"
        write_whole(options.out, text)
    if options.card:
        add_evaluation(file, options.scheme, columns, recorded)
    return columns


def column(
    detector: Detector, samples: Samples, *, how: Disturbance, most: int, grid: Grid, name: str
) -> dict[Cell, Precision]:
    """Return the precision of a detector under one condition, on samples spread evenly."""
    every = math.ceil(len(samples) / most)
    numbers = track(range(0, len(samples), every), name, transient=True)
    return evaluate_detections(
        detector, (samples.sample(number, how=how) for number in numbers), grid
    )


def as_table(columns: dict[str, dict[Cell, Precision]], title: str) -> Table:
    """Return a table: visibility, class and distance down; condition and IoU across."""
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
        numbers = ["-" if cell.truths == 0 else f"{cell.eleven_point:.3f}" for cell in cells]
        table.add_row(visible, kind, band, str(cells[0].truths), *numbers)
    return table


def rows() -> Iterator[tuple[Visible, str, str]]:
    """Yield the rows of the table."""
    for visible in VISIBLE:
        for kind in CLASSES:
            for band in BANDS:
                yield visible, kind, band


def as_records(columns: dict[str, dict[Cell, Precision]]) -> list[dict[str, Any]]:
    """Return the table for a file, with both ways of averaging."""
    return [
        {
            "condition": name,
            "visible to": visible,
            "overlap": overlap,
            "class": kind,
            "metres": band,
            "truths": cell.truths,
            "eleven-point": None if cell.truths == 0 else round(cell.eleven_point, 4),
            "all-point": None if cell.truths == 0 else round(cell.all_point, 4),
        }
        for name, cells in columns.items()
        for (visible, overlap, kind, band), cell in cells.items()
    ]
