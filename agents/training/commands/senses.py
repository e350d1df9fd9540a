"""`crucible senses`: LiDARs, cameras, or each agent one of the two, on recordings."""

from __future__ import annotations

import argparse
from pathlib import Path

from agents.commandline import refuse_less_than_one
from agents.training.commands.modes import RULES
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError

ASKED = ("single", "early", "late", "attfuse", "disconet", "fcooper", "v2xvit")
COMMAND = CommandDeclaration(
    group="Systems",
    rank=46,
    purpose="count error patterns on recordings, by what agents perceive with",
    extra="run,learn",
    examples=(
        "crucible senses --data data/test",
        "crucible senses --schemes single late fcooper --data data/test --out senses.json",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible senses` takes."""
    add = parser.add_argument
    add(
        "--schemes",
        nargs="+",
        choices=ASKED,
        default=ASKED,
        metavar="SCHEME",
        help=f"of {', '.join(ASKED)} (default: all)",
    )
    add(
        "--data",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="recordings with pictures: of `crucible collect --rig v2xverse_cameras`",
    )
    add(
        "--weights",
        type=Path,
        metavar="DIR",
        help="folder of networks with cameras (default: the shipped weights)",
    )
    add("--most", type=int, default=200, metavar="N", help="samples, spread evenly (default: 200)")
    add(
        "--rule",
        choices=RULES,
        default="max",
        help="how mislocalisations are counted (default: max)",
    )
    add(
        "--tau",
        type=float,
        default=0.5,
        metavar="X",
        help="least overlap of a detection, 0 to 1 (default: 0.5)",
    )
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the numbers to this file as JSON too (default: not written)",
    )
    parser.set_defaults(run=run_senses)


def run_senses(options: argparse.Namespace) -> None:
    """Compare."""
    from agents.training.sense_patterns import SenseOptions, compare_senses  # noqa: PLC0415

    refuse_less_than_one(options, "most")
    if not 0 <= options.tau < 1:
        raise UserError(f"--tau {options.tau:g}: must be ≥ 0 and < 1")
    if options.weights is not None and not options.weights.is_dir():
        raise UserError(f"--weights {options.weights}: no such folder")
    compare_senses(
        SenseOptions(
            schemes=tuple(options.schemes),
            weights=options.weights,
            data=options.data,
            most=options.most,
            rule=options.rule,
            tau=options.tau,
            out=options.out,
        )
    )
