"""`crucible train`: the network of a fusion scheme."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from agents.commandline import refuse_less_than_one
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.loading import FOLDER, get_weight_file_name
from agents.training.scheme_options import add_scheme_options, get_scheme_option_values
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.terminal_lines import print_stdout_line

COMMAND = CommandDeclaration(
    group="Systems",
    rank=30,
    purpose="train the network of a fusion scheme",
    extra="run,learn",
    examples=(
        "crucible train --scheme single --data data/train --held-out data/validate --out training",
        "crucible train --scheme fcooper --data data/train --held-out data/validate --out"
        " training --weights mine --start mine/lite_single.safetensors --freeze",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible train` takes."""
    add_scheme_options(parser)
    add = parser.add_argument
    add(
        "--data",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="recordings to train on; a recording that is named twice counts twice",
    )
    add(
        "--held-out",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="recordings of other episodes, by which the best epoch is chosen",
    )
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the run; the same command resumes",
    )
    add(
        "--weights",
        type=Path,
        metavar="DIR",
        help=(
            "folder for the best weights (default: replace the shipped weights; for your"
            " own module, or size full: --out)"
        ),
    )
    add(
        "--start",
        type=Path,
        metavar="FILE",
        help=(
            "weights for the shared layers; the name of a scheme stands for its shipped"
            " weights (default: initialised at random)"
        ),
    )
    add(
        "--all-layers",
        action="store_true",
        help=(
            "take all layers from --start, also the fusion layers, to train the same scheme further"
        ),
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
        help="train single and early on the whole window instead of a quarter",
    )
    add(
        "--senses",
        choices=("camera", "mixed"),
        help=(
            "train with pictures: camera trains the camera branch of single on the shipped heads;"
            " mixed trains fusion of agents with LiDARs, cameras or both, from the camera branch"
            " of --start (default: LiDARs alone)"
        ),
    )
    add(
        "--size",
        choices=("lite", "full"),
        default="lite",
        help=(
            "full: V2Xverse's layers, which `crucible models export` writes for its code; for a GPU"
            " (default: lite)"
        ),
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
    from agents.training.train import get_weights_file, train_network  # noqa: PLC0415
    from agents.training.training_config import TrainingConfig  # noqa: PLC0415

    refuse_less_than_one(options, "epochs", "batch", "most", "trial")
    if not 0.0 < options.peak_rate < math.inf:
        raise UserError(f"--peak-rate {options.peak_rate:g}: must be > 0")
    if options.scheme in SCHEMES and (used := SCHEMES[options.scheme].trained_as) != options.scheme:
        raise UserError(f"--scheme {options.scheme}: uses weights of {used}; train --scheme {used}")
    if options.size == "full" and options.senses is not None:
        raise UserError("--senses: networks with cameras come in size lite only")
    if options.all_layers and options.start is None:
        raise UserError("--all-layers: needs --start, whose layers it takes")
    if str(options.start) in SCHEMES:
        options.start = FOLDER / get_weight_file_name(SCHEMES[str(options.start)])
    config = TrainingConfig(**get_scheme_option_values(options))
    train_network(config)
    print_stdout_line(f"weights: {get_weights_file(config)}")
