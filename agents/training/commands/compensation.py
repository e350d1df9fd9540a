"""`crucible compensation`: late messages on recordings, as they are and compensated."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from agents.commandline import refuse_less_than_one
from agents.perception.fusion.catalogue import SCHEMES
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError

COMMAND = CommandDeclaration(
    group="Systems",
    rank=47,
    purpose="compare late messages with compensated ones on recordings: precision, error patterns",
    extra="run,learn",
    examples=(
        "crucible compensation --schemes late ideal_late --data data/latency",
        "crucible compensation --schemes late fcooper --data data/latency --latencies 0.2 0.5",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible compensation` takes."""
    add = parser.add_argument
    add(
        "--schemes",
        nargs="+",
        required=True,
        metavar="SCHEME",
        help=f"{', '.join(SCHEMES)}; ideal_late; or your own fusion module, package.module:Class",
    )
    add(
        "--data",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="recordings with several looks a second: of `crucible collect --interval 0.1`",
    )
    add(
        "--latencies",
        type=float,
        nargs="+",
        default=(0.1, 0.2, 0.3, 0.5),
        metavar="S",
        help="seconds by which messages are late (default: 0.1 0.2 0.3 0.5)",
    )
    add("--most", type=int, default=200, metavar="N", help="samples, spread evenly (default: 200)")
    add(
        "--motion",
        choices=("constant_velocity", "constant_turn"),
        default="constant_velocity",
        help="model of motion (default: constant_velocity)",
    )
    add(
        "--longest",
        type=float,
        metavar="S",
        help="seconds for which a box or map is moved at most (default: 2; of maps 1)",
    )
    add(
        "--certainty",
        type=float,
        default=2.0,
        metavar="X",
        help=(
            "standard deviations; an estimated velocity below is taken to be 0, and the box stays"
            " (default: 2)"
        ),
    )
    add(
        "--flow",
        type=Path,
        metavar="FILE",
        help="flow network of `crucible train-flow`, for one scheme (default: the shipped ones)",
    )
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the numbers to this file as JSON too (default: not written)",
    )
    parser.set_defaults(run=run_compensation)


def run_compensation(options: argparse.Namespace) -> None:
    """Compare."""
    from agents.training.compensation import compare_compensation  # noqa: PLC0415
    from agents.training.compensation_tables import CompensationOptions  # noqa: PLC0415

    refuse_less_than_one(options, "most")
    for latency in options.latencies:
        if not 0 <= latency < math.inf:
            raise UserError(f"--latencies {latency:g}: must be ≥ 0")
    compare_compensation(
        CompensationOptions(
            schemes=tuple(options.schemes),
            data=options.data,
            latencies=tuple(dict.fromkeys(options.latencies)),
            most=options.most,
            settings={
                "motion": options.motion,
                "longest": 2.0 if options.longest is None else options.longest,
                "certainty": options.certainty,
            },
            flow_settings={
                "weights": None if options.flow is None else str(options.flow),
                "longest": 1.0 if options.longest is None else options.longest,
            },
            out=options.out,
        )
    )
