"""Record, train and evaluate perception networks."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any, TypeAlias

from agents.commandline import refuse_less_than_one, run_and_report
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.loading import FOLDER, get_weight_file_name
from agents.training.towns import TEST_TOWNS, TRAINING_TOWNS
from harness.errors import UserError
from harness.options import OneLineParser

Commands: TypeAlias = "argparse._SubParsersAction[OneLineParser]"
SCHEME = f"{', '.join(SCHEMES)}; or your own fusion module, package.module:Class"


def main(arguments: list[str] | None = None, program: str = "python -m agents.training") -> int:
    """Do what the command line asks for; bad input is one line and exit code 2."""
    parser = OneLineParser(prog=program, description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_collect(commands)
    add_train(commands)
    add_evaluate(commands)
    add_networks(commands)
    options = parser.parse_args(arguments)
    return run_and_report(lambda: options.run(options) or 0)


def add_collect(commands: Commands) -> None:
    """Add `collect`."""
    parser = commands.add_parser("collect", help="record LiDARs, poses and ground truth on carlite")
    add = parser.add_argument
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the recording; the same command again resumes it",
    )
    add(
        "--scenarios",
        type=int,
        default=150,
        metavar="N",
        help="groups of agents to record (default: 150)",
    )
    add(
        "--towns",
        nargs="+",
        metavar="TOWN",
        help=f"towns, in turn (default: {' '.join(TRAINING_TOWNS)})",
    )
    add("--seed", type=int, default=1, metavar="N", help="seed of all scenes (default: 1)")
    add(
        "--maps",
        metavar="DIR",
        help="folder with OpenDRIVE files of further towns (default: none)",
    )
    add(
        "--for-testing",
        action="store_true",
        help=f"record in {' or '.join(TEST_TOWNS)}, for evaluation only",
    )
    add(
        "--close-quarters",
        action="store_true",
        help="more cars across the kerb and people in front of vans, roadside units among them",
    )
    add(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="episodes at a time, about one and a half cores each (default: 1)",
    )
    parser.set_defaults(run=run_collect)


def run_collect(options: argparse.Namespace) -> None:
    """Record."""
    from agents.training.collect import RecordingPlan, collect_recordings  # noqa: PLC0415

    refuse_less_than_one(options, "scenarios", "workers")
    usual = TEST_TOWNS[:1] if options.for_testing else TRAINING_TOWNS
    collect_recordings(
        RecordingPlan(
            out=options.out,
            towns=tuple(options.towns or usual),
            scenarios=options.scenarios,
            seed=options.seed,
            for_testing=options.for_testing,
            maps=options.maps,
            close_quarters=options.close_quarters,
            workers=options.workers,
        )
    )


def add_scheme(parser: argparse.ArgumentParser) -> None:
    """Add what names a fusion module."""
    parser.add_argument("--scheme", required=True, metavar="SCHEME", help=SCHEME)
    parser.add_argument(
        "--settings",
        nargs="+",
        default=(),
        metavar="NAME=VALUE",
        help="settings of the fusion module (default: its own defaults)",
    )


def add_train(commands: Commands) -> None:
    """Add `train`."""
    parser = commands.add_parser("train", help="train the lite network of a scheme")
    add_scheme(parser)
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="recordings to train on; one that is named twice counts twice",
    )
    add(
        "--held-out",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="recordings of other episodes, to choose the best epoch by",
    )
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the run; the same command again resumes it",
    )
    add(
        "--weights",
        type=Path,
        metavar="DIR",
        help="folder for the best weights (default: replace ours; of your own module: --out)",
    )
    add(
        "--start",
        type=Path,
        metavar="FILE",
        help="weights to take the shared layers from; a scheme's name stands for ours"
        " (default: initialised at random)",
    )
    add(
        "--all-layers",
        action="store_true",
        help="take all layers from --start, the fusion's too: train the same scheme further",
    )
    add("--epochs", type=int, default=8, metavar="N", help="epochs (default: 8)")
    add("--batch", type=int, default=4, metavar="N", help="samples per step (default: 4)")
    add(
        "--peak-rate",
        type=float,
        default=2e-3,
        metavar="RATE",
        help="highest learning rate (default: 0.002)",
    )
    add("--seed", type=int, default=1, metavar="N", help="seed of the run (default: 1)")
    add(
        "--interference",
        action="store_true",
        help="train with late messages and pose errors, for robust weights",
    )
    add("--most", type=int, metavar="N", help="samples per epoch, at random (default: all)")
    add(
        "--freeze",
        action="store_true",
        help="train fusion and heads only, in a third of the time",
    )
    add(
        "--whole",
        action="store_true",
        help="show single and early the whole window, as other schemes see it, and not a quarter",
    )
    add(
        "--trial",
        type=int,
        default=100,
        metavar="N",
        help="held-out samples after each epoch (default: 100)",
    )
    parser.set_defaults(run=run_train)


def run_train(options: argparse.Namespace) -> None:
    """Train."""
    from agents.training.train import train_network  # noqa: PLC0415
    from agents.training.training_config import TrainingConfig  # noqa: PLC0415

    refuse_less_than_one(options, "epochs", "batch", "most", "trial")
    if not 0.0 < options.peak_rate < math.inf:
        raise UserError(f"--peak-rate {options.peak_rate:g}: must be > 0")
    if options.scheme in SCHEMES and (used := SCHEMES[options.scheme].trained_as) != options.scheme:
        raise UserError(f"--scheme {options.scheme}: uses weights of {used}; train --scheme {used}")
    if options.all_layers and options.start is None:
        raise UserError("--all-layers: needs --start, whose layers it takes")
    if str(options.start) in SCHEMES:
        options.start = FOLDER / get_weight_file_name(SCHEMES[str(options.start)])
    train_network(TrainingConfig(**get_option_values(options)))


def add_evaluate(commands: Commands) -> None:
    """Add `evaluate`."""
    parser = commands.add_parser("evaluate", help="print average precision, disturbed and not")
    add_scheme(parser)
    add = parser.add_argument
    add("--weights", type=Path, metavar="FILE", help="weights (default: ours)")
    add("--data", type=Path, nargs="+", required=True, metavar="DIR", help="recordings")
    add("--most", type=int, default=200, metavar="N", help="samples, spread evenly (default: 200)")
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the numbers to this file as JSON too (default: not written)",
    )
    add("--card", action="store_true", help="write the headline figures into the weights' card")
    parser.set_defaults(run=run_evaluate)


def run_evaluate(options: argparse.Namespace) -> None:
    """Evaluate."""
    from agents.training.evaluate import EvaluationOptions, evaluate_weights  # noqa: PLC0415

    refuse_less_than_one(options, "most")
    evaluate_weights(EvaluationOptions(**get_option_values(options)))


def add_networks(commands: Commands) -> None:
    """Add `networks`."""
    parser = commands.add_parser("networks", help="print evaluations of networks side by side")
    add = parser.add_argument
    add("files", type=Path, nargs="+", metavar="FILE", help="what `evaluate --out` wrote")
    add(
        "--against",
        default="single",
        metavar="SCHEME",
        help="scheme from which differences are taken (default: single)",
    )
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the tables to this file as Markdown too (default: not written)",
    )
    parser.set_defaults(run=run_networks)


def run_networks(options: argparse.Namespace) -> None:
    """Compare."""
    from agents.training.side_by_side import print_side_by_side  # noqa: PLC0415

    print_side_by_side(options.files, options.against, options.out)


def get_option_values(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a command."""
    values = {name: value for name, value in vars(options).items() if name != "run"}
    return {**values, "settings": tuple(values["settings"])}


if __name__ == "__main__":
    sys.exit(main())
