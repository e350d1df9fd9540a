"""`crucible train-flow`: the flow network of a scheme, which moves late feature maps."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from agents.commandline import refuse_less_than_one
from agents.perception.fusion.catalogue import INTERMEDIATE
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.terminal_lines import print_stdout_line

COMMAND = CommandDeclaration(
    group="Systems",
    rank=35,
    purpose="train the flow network by which compensate=features moves a scheme's late maps",
    extra="run,learn",
    examples=(
        "crucible train-flow --scheme fcooper --data data/moving --held-out data/held",
        "crucible train-flow --scheme fcooper --data data/moving --held-out data/held --weights"
        " mine --network mine/lite_fcooper.safetensors",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible train-flow` takes."""
    add = parser.add_argument
    add("--scheme", required=True, metavar="SCHEME", help=", ".join(INTERMEDIATE))
    add(
        "--data",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="recordings to train on: of `crucible collect --interval 0.1 --looks 16`",
    )
    add(
        "--held-out",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="recordings of other episodes, on which the error of moved maps is measured",
    )
    add(
        "--network",
        type=Path,
        metavar="FILE",
        help="weights of the scheme whose maps are moved (default: the shipped weights)",
    )
    add(
        "--weights",
        type=Path,
        metavar="DIR",
        help="folder for the flow network (default: replace the shipped one)",
    )
    add("--steps", type=int, default=600, metavar="N", help="steps of training (default: 600)")
    add("--batch", type=int, default=8, metavar="N", help="parts of maps a step (default: 8)")
    add(
        "--peak-rate",
        type=float,
        default=3e-3,
        metavar="RATE",
        help="highest learning rate (default: 0.003)",
    )
    add(
        "--senders",
        type=int,
        default=2,
        metavar="N",
        help="agents of each scenario whose maps are used, roadside units first (default: 2)",
    )
    add("--seed", type=int, default=1, metavar="N", help="seed of the run (default: 1)")
    add(
        "--trial",
        type=int,
        default=60,
        metavar="N",
        help="held-out maps for each age (default: 60)",
    )
    parser.set_defaults(run=run_train_flow)


def run_train_flow(options: argparse.Namespace) -> None:
    """Train."""
    from agents.training.train_flow import FlowTrainingConfig, train_flow  # noqa: PLC0415

    refuse_less_than_one(options, "steps", "batch", "senders", "trial")
    if not 0.0 < options.peak_rate < math.inf:
        raise UserError(f"--peak-rate {options.peak_rate:g}: must be > 0")
    values = {name: value for name, value in vars(options).items() if name != "run"}
    print_stdout_line(f"flow network: {train_flow(FlowTrainingConfig(**values))}")
