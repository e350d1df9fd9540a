"""`crucible modes`: one vehicle or one roadside unit as partner, on recordings."""

from __future__ import annotations

import argparse
from pathlib import Path

from agents.commandline import refuse_less_than_one
from agents.perception.fusion.catalogue import SCHEMES
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError

COMMAND = CommandDeclaration(
    group="Systems",
    rank=45,
    purpose="count error patterns on recordings, by cooperation mode and distance",
    extra="run,learn",
    examples=(
        "crucible modes --schemes early late fcooper v2xvit --data data/test",
        "crucible modes --schemes fcooper --data data/test --rule exists --out modes.json",
    ),
)
RULES = ("max", "exists", "pairs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible modes` takes."""
    add = parser.add_argument
    add(
        "--schemes",
        nargs="+",
        required=True,
        metavar="SCHEME",
        help=f"{', '.join(SCHEMES)}; or your own fusion module, package.module:Class",
    )
    add("--data", type=Path, nargs="+", required=True, metavar="DIR", help="recordings")
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
    parser.set_defaults(run=run_modes)


def run_modes(options: argparse.Namespace) -> None:
    """Compare."""
    from agents.training.cooperation_modes import ModeOptions, compare_cooperation_modes  # noqa: PLC0415

    refuse_less_than_one(options, "most")
    if not 0 <= options.tau < 1:
        raise UserError(f"--tau {options.tau:g}: must be ≥ 0 and < 1")
    compare_cooperation_modes(
        ModeOptions(
            schemes=tuple(options.schemes),
            data=options.data,
            most=options.most,
            rule=options.rule,
            tau=options.tau,
            out=options.out,
        )
    )
