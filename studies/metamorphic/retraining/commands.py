"""`crucible metamorphic retrain`: does training on what a guide keeps help?"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harness.common.errors import UserError
from harness.common.terminal_lines import print_stdout_line
from studies.metamorphic.options import refuse_below_one

if TYPE_CHECKING:
    from studies.metamorphic.running.generation import Done

TRAINED_ON = (
    *("rain", "snow", "fog", "wet_ground"),
    *("insert", "delete", "scale", "rotate", "translate"),
)
TESTED_OPERATORS = ("latency", "pose_error", "global_loss", "channel_loss", *TRAINED_ON)
DEFAULT_GUIDES = ("random", "vgt", "v2xgen")


def add_retrain_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `retrain`."""
    add = parser.add_argument
    add(
        "--scenes",
        type=Path,
        required=True,
        metavar="DIR",
        help=("recording of a training town; every second scenario is for the test"),
    )
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the experiment; the same command resumes",
    )
    add("--scheme", default="fcooper", metavar="NAME", help="fusion scheme (default: fcooper)")
    add(
        "--guides",
        nargs="+",
        default=DEFAULT_GUIDES,
        metavar="NAME",
        help=f"guides that choose scenes (default: {' '.join(DEFAULT_GUIDES)})",
    )
    add(
        "--operators",
        nargs="+",
        default=TRAINED_ON,
        metavar="NAME",
        help=f"operators of the training scenes (default: {' '.join(TRAINED_ON)})",
    )
    add(
        "--tested",
        nargs="+",
        default=TESTED_OPERATORS,
        metavar="NAME",
        help=f"operators of the test (default: {' '.join(TESTED_OPERATORS)})",
    )
    add(
        "--share",
        type=float,
        default=0.15,
        metavar="S",
        help="share of scenes to keep (default: 0.15)",
    )
    add(
        "--seeds",
        type=int,
        nargs="+",
        default=(1, 2, 3),
        metavar="N",
        help="seeds of training and of random sets (default: 1 2 3)",
    )
    add("--epochs", type=int, default=2, metavar="N", help="epochs (default: 2)")
    add(
        "--peak-rate",
        type=float,
        default=3e-4,
        metavar="RATE",
        help="highest learning rate (default: 0.0003)",
    )
    add(
        "--count",
        type=int,
        default=200,
        metavar="N",
        help="number of scenes to change (default: 200)",
    )
    add(
        "--test-count",
        type=int,
        default=100,
        metavar="N",
        help="number of scenes to test (default: 100)",
    )
    add(
        "--trial",
        type=int,
        default=40,
        metavar="N",
        help="held-out samples after each epoch (default: 40)",
    )
    add("--workers", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.set_defaults(run=run_retrain)


def run_retrain(options: argparse.Namespace) -> None:
    """Carry out the experiment, and print and write its table."""
    from harness.common.console import make_console  # noqa: PLC0415
    from harness.common.files import write_whole  # noqa: PLC0415
    from studies.metamorphic.retraining.comparison import build_comparison_sheet  # noqa: PLC0415
    from studies.metamorphic.retraining.experiment import RetrainingExperiment, run_experiment  # noqa: PLC0415
    from studies.metamorphic.tables.printing import to_rich_table  # noqa: PLC0415
    from studies.metamorphic.tables.sheets import format_markdown  # noqa: PLC0415
    from studies.metamorphic.tables.summary import StudyTables  # noqa: PLC0415

    for name in ("epochs", "count", "test_count", "trial", "workers"):
        refuse_below_one(options, name)
    if not 0.0 < options.peak_rate < math.inf:
        raise UserError(f"--peak-rate {options.peak_rate:g}: must be > 0")
    experiment = RetrainingExperiment(
        recordings=options.scenes,
        scheme=options.scheme,
        guides=tuple(options.guides),
        operators=tuple(options.operators),
        tested=tuple(options.tested),
        share=options.share,
        seeds=tuple(options.seeds),
        epochs=options.epochs,
        peak_rate=options.peak_rate,
        count=options.count,
        test_count=options.test_count,
        trial=options.trial,
        workers=options.workers,
        folder=options.out,
    )
    sheet = build_comparison_sheet(
        experiment, StudyTables(run_experiment(experiment, show_stage_progress))
    )
    write_whole(options.out / "retraining.md", format_markdown(sheet))
    make_console().print(to_rich_table(sheet))
    print_stdout_line(str(options.out / "retraining.md"))


@contextmanager
def show_stage_progress(stage: str, scenes: int) -> Iterator[Done]:
    """Show how many scenes of a stage are done; training shows itself how far it is."""
    from harness.common.progress_bar import show_bar  # noqa: PLC0415

    with show_bar(stage, scenes) as bar:
        yield bar.advance
