"""`crucible errors DIR`: a model of a system's errors, to inject them into other drives."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.attempt import read_checked_table
from analysis.collection import CampaignCollection, get_campaign_settings
from analysis.commands.options import (
    add_folders_argument,
    add_mixing_option,
    describe_command,
    read_collection,
)
from analysis.commands.progress import show_passes
from analysis.comparison import find_named_arm
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.evaluation.frame_evaluation import EvaluationSettings
from harness.evaluation.interventions.error_model import COPIES, OF_BOXES, ErrorModel
from harness.records.arms import NONE, Arm
from harness.types.record_names import BANDS
from studies.interventions.arms import INTERVENTION
from studies.interventions.measure import measure_errors

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=70,
    purpose="measure the errors of a system under a condition, for injections",
    extra="analysis",
    examples=("crucible errors runs/demo --system late --condition latency --out late.json",),
)


DESCRIPTION = """Measure the errors of a system under a condition: frequency, size and duration.
Write the errors as a small JSON file for intervention=inject_doses."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible errors` takes."""
    describe_command(parser, DESCRIPTION)
    add_folders_argument(parser)
    parser.add_argument("--system", required=True, metavar="NAME", help="system to measure")
    parser.add_argument(
        "--condition",
        default=NONE,
        metavar="NAME",
        help="condition of the measured drives (default: %(default)s)",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="file to write")
    add_mixing_option(parser)
    parser.set_defaults(run=run_errors_command)


def run_errors_command(options: argparse.Namespace) -> int:
    """Measure and write."""
    collection = read_collection(options, whole=False)
    attempts = collection.attempts
    # drives with an intervention do not show the system's errors
    plain = attempts
    if INTERVENTION in attempts:
        plain = attempts[attempts[INTERVENTION] == NONE]
    arm = find_named_arm(f"{options.system}/{options.condition}", plain)
    settings = read_pattern_settings(collection)
    source = {
        "arm": str(arm),
        "truth_filter": settings.truth_filter,
        "rule": settings.rule,
        "folders": [campaign.folder.resolve().name for campaign in collection.campaigns],
    }
    with show_passes(collection) as watched:
        model = measure_errors(iterate_arm_drives(watched, arm), settings, source)
    write_whole(options.out, lambda file: file.write_text(model.format_text(), encoding="ascii"))
    show_error_model(model)
    print_escaped_line(f"{options.out} is written")
    return collection.exit_code


def read_pattern_settings(collection: CampaignCollection) -> EvaluationSettings:
    """Return how the campaigns counted patterns; they must have counted alike."""
    parts: list[Any] = [get_campaign_settings(one).get("patterns") for one in collection.campaigns]
    for campaign, part in zip(collection.campaigns, parts, strict=True):
        if not isinstance(part, dict):
            raise UserError(f"{campaign.folder / 'campaign.yaml'}: has no settings of patterns")
        if part != parts[0]:
            raise UserError(f"{campaign.folder}: counts patterns by other settings than the first")
    given = {str(name): value for name, value in parts[0].items() if name != "_target_"}
    try:
        return EvaluationSettings(**given)
    except (TypeError, ValueError) as problem:
        raise UserError(f"{collection.folder / 'campaign.yaml'}: patterns: {problem}") from None


def iterate_arm_drives(
    collection: CampaignCollection, arm: Arm
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]]:
    """Yield frames, boxes and poses of the attempts of an arm."""
    rows = collection.attempts["arm"].tolist()
    for row, campaign, key in collection.iterate_attempts():
        if rows[row] == str(arm):
            frames, boxes, poses = (
                read_checked_table(campaign, name, key) for name in ("frames", "boxes", "poses")
            )
            yield frames, boxes, poses


def show_error_model(model: ErrorModel) -> None:
    """Print shares and persistence."""
    bands = [f"{band.replace('_', ' to ')} m" for band in BANDS]
    head = ["pattern", *(f"{band}, %" for band in bands), *(f"{band}, steps" for band in bands)]
    rows = [
        [
            name,
            *(f"{100 * share:.1f}" for share in model.share[name]),
            *map(format_persistence, model.stay[name]),
        ]
        for name in (*OF_BOXES, COPIES)
    ]
    truth = f"ground truth {model.source['truth_filter']}"
    title = f"{model.source['arm']}: {model.source['attempts']} attempts, {truth}"
    show_grid(
        f"{title}; errors, of true boxes that the ego alone detects (L) or not (C), and of the ego"
        " alone's additional boxes (CADE); and the steps that they last",
        head,
        rows,
    )
    print_escaped_line(
        f"LADE: {model.ghosts_a_step:.2f} a step, lasting {format_persistence(model.ghosts_stay)}"
        " steps"
    )


def format_persistence(stay: float) -> str:
    """Return how many steps an error lasts on average."""
    return f"{1 / (1 - stay):.1f}" if stay < 1 else "always"
