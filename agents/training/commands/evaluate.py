"""`crucible evaluate`: average precision of a network, with disturbances and without."""

from __future__ import annotations

import argparse
from pathlib import Path

from agents.commandline import refuse_less_than_one
from agents.training.scheme_options import add_scheme_options, get_scheme_option_values
from harness.common.command_registry import CommandDeclaration

COMMAND = CommandDeclaration(
    group="Systems",
    rank=40,
    purpose="measure the average precision of weights, with and without disturbances",
    extra="run,learn",
    examples=(
        "crucible evaluate --scheme fcooper --data data/test",
        "crucible evaluate --scheme fcooper --data data/test --weights"
        " mine/lite_fcooper.safetensors",
        "crucible evaluate --scheme late --data opv2v/test --frames patterns.json",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible evaluate` takes."""
    add_scheme_options(parser)
    add = parser.add_argument
    add("--weights", type=Path, metavar="FILE", help="weights (default: the shipped weights)")
    add(
        "--data",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="recordings, or OPV2V's layout",
    )
    add(
        "--senses",
        choices=("lidar", "camera", "mixed", "both"),
        help=(
            "evaluate the network with cameras, and what its agents perceive with (default: the"
            " network without cameras)"
        ),
    )
    add(
        "--size",
        choices=("lite", "full"),
        default="lite",
        help="size of the network; full needs --weights (default: lite)",
    )
    add("--most", type=int, default=200, metavar="N", help="samples, spread evenly (default: 200)")
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the numbers to this file as JSON too (default: not written)",
    )
    add(
        "--frames",
        type=Path,
        metavar="FILE",
        help=(
            "write the six error patterns of each sample, and average precision as OpenCOOD"
            " computes it, to this file as JSON (default: not written)"
        ),
    )
    add("--card", action="store_true", help="write the main results into the card of the weights")
    parser.set_defaults(run=run_evaluate)


def run_evaluate(options: argparse.Namespace) -> None:
    """Evaluate."""
    from agents.training.evaluate import EvaluationOptions, evaluate_weights  # noqa: PLC0415

    refuse_less_than_one(options, "most")
    evaluate_weights(EvaluationOptions(**get_scheme_option_values(options)))
