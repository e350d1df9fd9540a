"""Networks of one's own: record, train, evaluate."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TypeAlias

from agents.commandline import at_least_one, ended
from agents.perception.designs import SCHEMES
from agents.perception.loading import FOLDER, learns_as
from agents.training.towns import TEST_TOWNS, TRAINING_TOWNS
from harness.errors import UserError

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(arguments: list[str] | None = None, program: str = "python -m agents.training") -> int:
    """Do what the command line asks for; bad input is one line and exit code 2."""
    parser = argparse.ArgumentParser(prog=program, description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_collect(commands)
    add_train(commands)
    add_evaluate(commands)
    options = parser.parse_args(arguments)
    return ended(lambda: options.run(options) or 0)


def add_collect(commands: Commands) -> None:
    """Add `collect`."""
    parser = commands.add_parser("collect", help="record LiDARs, poses and truth from carlite")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="goes on from there")
    parser.add_argument("--scenarios", type=int, default=150, help="groups of agents; 150")
    parser.add_argument("--towns", nargs="+", help=f"default: {' '.join(TRAINING_TOWNS)}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--maps", metavar="DIR", help="OpenDRIVE files of further towns")
    parser.add_argument(
        "--for-testing", action="store_true", help=f"in {' or '.join(TEST_TOWNS)} only"
    )
    parser.add_argument(
        "--close", action="store_true", help="cars across, people before vans, units among them"
    )
    parser.set_defaults(run=run_collect)


def run_collect(options: argparse.Namespace) -> None:
    """Record."""
    from agents.training.collecting import Collection, collect  # noqa: PLC0415

    at_least_one(options, "scenarios")
    usual = TEST_TOWNS[:1] if options.for_testing else TRAINING_TOWNS
    collect(
        Collection(
            options.out,
            tuple(options.towns or usual),
            options.scenarios,
            options.seed,
            options.for_testing,
            options.maps,
            options.close,
        )
    )


def add_train(commands: Commands) -> None:
    """Add `train`."""
    parser = commands.add_parser("train", help="train the lite network of a scheme")
    own = [scheme for scheme in SCHEMES if learns_as(scheme) == scheme]
    parser.add_argument("--scheme", choices=own, required=True)
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="recordings; one that is named twice counts twice",
    )
    parser.add_argument(
        "--held-out",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="others, of other episodes",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="goes on from there")
    parser.add_argument(
        "--weights",
        type=Path,
        default=FOLDER,
        metavar="DIR",
        help="default: where systems look, in place of those shipped",
    )
    parser.add_argument(
        "--start", type=Path, metavar="FILE", help="weights to take the shared layers from"
    )
    parser.add_argument("--epochs", type=int, default=8, help="8")
    parser.add_argument("--batch", type=int, default=4, help="samples a step; 4")
    parser.add_argument("--peak-rate", type=float, default=2e-3, help="highest step size; 0.002")
    parser.add_argument("--seed", type=int, default=1, help="what is drawn follows from it; 1")
    parser.add_argument(
        "--interference",
        action="store_true",
        help="messages are late and misplaced: robust weights",
    )
    parser.add_argument("--most", type=int, metavar="N", help="samples an epoch; default: all")
    parser.add_argument(
        "--freeze", action="store_true", help="learn fusion and heads only: three times as fast"
    )
    parser.add_argument(
        "--trial", type=int, default=100, help="held-out samples each epoch, or more; 100"
    )
    parser.set_defaults(run=run_train)


def run_train(options: argparse.Namespace) -> None:
    """Train."""
    from agents.training.learn import train  # noqa: PLC0415
    from agents.training.lesson import Lesson  # noqa: PLC0415

    at_least_one(options, "epochs", "batch", "most", "trial")
    if not 0.0 < options.peak_rate < math.inf:
        raise UserError(f"--peak-rate {options.peak_rate:g}: must be above 0")
    told = {name: value for name, value in vars(options).items() if name != "run"}
    train(Lesson(**told))


def add_evaluate(commands: Commands) -> None:
    """Add `evaluate`."""
    parser = commands.add_parser("evaluate", help="print how good weights are, disturbed or not")
    parser.add_argument("--scheme", choices=SCHEMES, required=True)
    parser.add_argument("--weights", type=Path, metavar="FILE", help="default: those shipped")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="a recording")
    parser.add_argument("--most", type=int, default=200, help="samples, spread evenly; 200")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the numbers as JSON too")
    parser.add_argument("--card", action="store_true", help="and into the card of the weights")
    parser.set_defaults(run=run_evaluate)


def run_evaluate(options: argparse.Namespace) -> None:
    """Evaluate."""
    from agents.training.evaluating import Trial, evaluate  # noqa: PLC0415

    at_least_one(options, "most")
    told = {name: value for name, value in vars(options).items() if name != "run"}
    evaluate(Trial(**told))


if __name__ == "__main__":
    sys.exit(main())
