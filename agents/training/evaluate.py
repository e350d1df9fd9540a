"""`evaluate_weights`: how well a network detects, undisturbed and disturbed.

Average precision is of all detections, whatever their score; false detections, recall and
calibration are those at the operating point, at which the system drives.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD

from agents.perception.cameras.systems import CAMERA_FOLDER, Modality, make_seeing_system
from agents.perception.designs import Size
from agents.perception.fusion.catalogue import is_shipped
from agents.perception.loading import FOLDER, get_weight_file_name
from agents.perception.systems import NetworkSystem, make_network_system
from agents.training.at_operating_point import OperatingFigures, compute_operating_figures
from agents.training.detection_metrics import (
    BANDS,
    HEADLINE,
    OVERLAPS,
    VISIBLE,
    Cell,
    DetectionOutcomes,
    DetectionPrecision,
    Visible,
    compute_outcomes,
    sample_scenario_counts,
)
from agents.training.frame_patterns import write_frame_patterns
from agents.training.fusion_names import make_fusion_module
from agents.training.inference import detect_with_messages, get_visibility, make_partner_messages
from agents.training.operating import make_zero_thresholds
from agents.training.samples import CONDITIONS, EgoSample, MessageDisturbance, RecordedSamples
from agents.training.weight_files import (
    add_evaluation,
    describe_recordings,
    hash_weights,
    read_training_facts,
    read_weight_card,
)
from harness.common.console import make_console
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.fitting_table import FittingTable
from harness.common.progress_bar import track_items
from harness.common.recordings import USUAL_INTERVAL, RecordedScenario
from harness.common.terminal_lines import print_plain_line
from harness.datasets.opening import open_recordings
from harness.types.precision import OVERLAP
from harness.types.systems import has_image_reader
from harness.types.vocabulary import CLASSES, Boxes

BOOTSTRAP_SAMPLES = 400
"""Over scenarios."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """What is to be evaluated on what."""

    scheme: str  # one of ours, or package.module:Class
    settings: tuple[str, ...] = ()  # of its fusion module, name=value
    weights: Path | None  # none: those that come with Crucible
    data: list[Path]
    most: int  # samples, spread evenly
    out: Path | None  # where the numbers go too
    card: bool  # and into the card of the weights
    frames: Path | None = None  # where the patterns of each sample go
    senses: Modality | None = None  # of a network with cameras; none: the network without them
    size: Size = "lite"


@dataclass(frozen=True, slots=True)
class ConditionColumn:
    """One condition."""

    outcomes: DetectionOutcomes
    table: dict[Cell, DetectionPrecision]
    at_operating_point: dict[str, OperatingFigures]
    message_bytes: float  # mean; NaN where there is no message


def evaluate_weights(options: EvaluationOptions) -> dict[str, dict[Cell, DetectionPrecision]]:
    """Print two tables, and return what is in the first: a column for each condition."""
    # what is evaluated
    fusion = make_fusion_module(options.scheme, options.settings)
    if options.weights is None and not is_shipped(type(fusion)):
        raise UserError("--weights FILE is needed for a fusion module of your own")
    folder = FOLDER if options.senses is None else CAMERA_FOLDER
    file = options.weights or folder / get_weight_file_name(type(fusion), options.size)
    if options.card:
        read_weight_card(file)
    weights = None if options.weights is None else str(options.weights)
    system: NetworkSystem
    if options.senses is None:
        system = make_network_system(fusion, weights, options.size)
    else:
        system = make_seeing_system(fusion, options.senses, weights)
    # on what
    recorded = [scenario for folder in options.data for scenario in open_recordings(folder)]
    # the condition `latency` is one look, and means one second
    late = count_looks_of_latency(recorded)
    samples = RecordedSamples(
        recorded, units=False, first_moment=late, pictures=has_image_reader(system)
    )
    if not len(samples):
        where = ", ".join(map(str, options.data))
        raise UserError(
            f"{where}: no vehicle in it has two sweeps {USUAL_INTERVAL:g} s apart: nothing to"
            " evaluate on"
        )
    # a column for every condition
    conditions = CONDITIONS if system.reads_messages else {"none": CONDITIONS["none"]}
    columns = {
        name: evaluate_condition(
            system,
            samples,
            how=replace(how, looks_late=how.looks_late * late),
            most=options.most,
            name=name,
        )
        for name, how in conditions.items()
    }
    tables = {name: column.table for name, column in columns.items()}
    console = make_console()
    name = options.scheme if options.senses is None else f"{options.scheme}/{options.senses}"
    console.print(to_precision_table(tables, f"{name}: AP, eleven-point"))
    console.print(make_operating_table(columns, "At the operating point"))
    # write
    if options.frames is not None:
        for line in write_frame_patterns(system, samples, options.most, options.frames):
            print_plain_line(console, line)
    if options.out is not None:
        record = {
            "scheme": options.scheme,
            "settings": list(options.settings),
            **({} if options.senses is None else {"senses": options.senses}),
            "weights": hash_weights(file),
            "training": read_training_facts(file),
            "data": describe_recordings(recorded),
            **to_evaluation_record(columns),
        }
        write_whole(options.out, json.dumps(record, indent=1) + "\n")
    if options.card:
        add_evaluation(file, name, tables, recorded)
    return tables


def count_looks_of_latency(recorded: Sequence[RecordedScenario]) -> int:
    """Return how many looks make the second of the condition `latency`."""
    first = recorded[0]
    late = round(USUAL_INTERVAL / first.interval)
    for scenario in recorded:
        if not math.isclose(late * scenario.interval, USUAL_INTERVAL):
            raise UserError(
                f"{scenario.folder}: looks are {scenario.interval:g} s apart; an evaluation needs"
                f" recordings of one interval, of which a whole number makes {USUAL_INTERVAL:g} s"
            )
    return late


def evaluate_condition(
    system: NetworkSystem,
    samples: RecordedSamples,
    *,
    how: MessageDisturbance,
    most: int,
    name: str,
) -> ConditionColumn:
    """Return what a system detects under one condition, on samples spread evenly."""
    point = system.operating_point
    sizes: list[int] = []

    # the sizes of messages are noted on the way
    def detector(sample: EgoSample) -> Boxes:
        received = make_partner_messages(system, sample)
        sizes.extend(message.payload.size_bytes for message in received)
        return detect_with_messages(system, sample, received)

    # no threshold: precision needs all scores; the operating point is applied afterwards
    every = math.ceil(len(samples) / most)
    numbers = track_items(range(0, len(samples), every), name)
    system.operating_point = make_zero_thresholds(point.calibration)
    outcomes = compute_outcomes(
        detector,
        (samples.read_sample(number, how=how) for number in numbers),
        system.detector.design.grid,
    )
    system.operating_point = point
    return ConditionColumn(
        outcomes,
        outcomes.make_precision_table(),
        compute_operating_figures(outcomes, point.thresholds, get_visibility(system)),
        float(np.mean(sizes)) if sizes else math.nan,
    )


def to_precision_table(
    columns: Mapping[str, Mapping[Cell, DetectionPrecision]], title: str
) -> FittingTable:
    """Return a table: visibility, class and distance down; condition and IoU across."""
    table = FittingTable(
        "visible\nto", "class", "metres", "n", title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    for name in columns:
        for overlap in OVERLAPS:
            table.add_column("\n".join([*name.split(), f"@{overlap}"]), justify="right")
    for visible, kind, band in iter_table_rows():
        cells = [
            columns[name][visible, overlap, kind, band] for name in columns for overlap in OVERLAPS
        ]
        numbers = ["-" if cell.truths == 0 else f"{cell.eleven_point:.3f}" for cell in cells]
        table.add_row(visible, kind, band, str(cells[0].truths), *numbers)
    return table


def iter_table_rows() -> Iterator[tuple[Visible, str, str]]:
    """Yield the rows of the table."""
    for visible in VISIBLE:
        for kind in CLASSES:
            for band in BANDS:
                yield visible, kind, band


def make_operating_table(columns: Mapping[str, ConditionColumn], title: str) -> FittingTable:
    """Return a table: condition and class down."""
    table = FittingTable("condition", "class", title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("recall", "false\na frame", "calibration\nerror", "bytes of\na message"):
        table.add_column(name, justify="right")
    for name, column in columns.items():
        sent = "-" if math.isnan(column.message_bytes) else f"{column.message_bytes:,.0f}"
        for kind, of_class in column.at_operating_point.items():
            figures = (
                f"{of_class.recall:.2f}",
                f"{of_class.false_a_frame:.2f}",
                f"{of_class.calibration_error:.3f}",
            )
            table.add_row(name, kind, *figures, sent)
    return table


def to_evaluation_record(columns: Mapping[str, ConditionColumn]) -> dict[str, Any]:
    """Return the figures for a file; with AP of resampled scenarios, to compare schemes by."""
    return {
        "samples": len(columns["none"].outcomes.scenarios),
        "scenarios": len(set(columns["none"].outcomes.scenarios)),
        "conditions": {
            name: {
                "message bytes": None
                if math.isnan(column.message_bytes)
                else round(column.message_bytes),
                "at the operating point": {
                    kind: {key: round(value, 4) for key, value in asdict(of_class).items()}
                    for kind, of_class in column.at_operating_point.items()
                },
                "resampled": resample_headlines(column.outcomes),
            }
            for name, column in columns.items()
        },
        "average precision": to_precision_records(
            {name: column.table for name, column in columns.items()}
        ),
    }


def to_precision_records(
    columns: Mapping[str, Mapping[Cell, DetectionPrecision]],
) -> list[dict[str, Any]]:
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


def resample_headlines(outcomes: DetectionOutcomes) -> dict[str, dict[str, list[float]]]:
    """Return the headline figures of a bootstrap over scenarios, by visibility and class."""
    weights = sample_scenario_counts(len(set(outcomes.scenarios)), BOOTSTRAP_SAMPLES)
    return {
        visible: {
            kind: outcomes.resample_precision((visible, OVERLAP, kind, band), weights)
            .round(4)
            .tolist()
            for kind, band in HEADLINE.items()
        }
        for visible in VISIBLE
    }
