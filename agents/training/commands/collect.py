"""`crucible collect`: recorded scenes, with ground truth, to train on."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from agents.commandline import refuse_less_than_one
from agents.training.towns import TEST_TOWNS, TRAINING_TOWNS
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError

if TYPE_CHECKING:
    from harness.common.pictures import PictureSettings

SIZE = re.compile(r"(\d{1,4})x(\d{1,4})")
COMMAND = CommandDeclaration(
    group="Systems",
    rank=20,
    purpose="record training scenes",
    extra="run,learn",
    examples=(
        "crucible collect --out data/train",
        "crucible collect --out data/validate --scenarios 18 --seed 2",
        "crucible collect --out data/latency --interval 0.1 --scenarios 18 --for-testing",
        "crucible collect --out data/pictures --rig v2xverse_cameras --picture-size 256x192",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible collect` takes."""
    add = parser.add_argument
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the recording; the same command resumes",
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
        help=(
            "record situations of hazards: cars across the kerb, road users in front of"
            " vans, roadside units near road users"
        ),
    )
    add(
        "--looks",
        type=int,
        default=4,
        metavar="N",
        help="moments that a group of agents is recorded at (default: 4)",
    )
    add(
        "--interval",
        type=float,
        default=1.0,
        metavar="S",
        help=(
            "seconds between these moments, a multiple of 0.05 (default: 1); 0.1 for latencies"
            " of 100, 200 and 300 ms"
        ),
    )
    add(
        "--rig",
        default="v2xverse",
        metavar="NAME",
        help=(
            "rig of conf/rig; a rig with cameras records their pictures and depths"
            " (default: v2xverse, without cameras)"
        ),
    )
    add(
        "--picture-size",
        default="256x192",
        metavar="WxH",
        help="pixels of recorded pictures, means of the camera's pixels (default: 256x192)",
    )
    add(
        "--jpeg",
        type=int,
        metavar="QUALITY",
        help="write images as JPEG of this quality, 1 to 95 (default: PNG, without loss)",
    )
    add(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="episodes at a time; an episode uses about one and a half cores (default: 1)",
    )
    parser.set_defaults(run=run_collect)


def run_collect(options: argparse.Namespace) -> None:
    """Record."""
    from agents.training.collect import RecordingPlan, collect_recordings  # noqa: PLC0415

    refuse_less_than_one(options, "scenarios", "looks", "workers")
    pictures = make_picture_settings(options.rig, options.picture_size, options.jpeg)
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
            looks=options.looks,
            interval=options.interval,
            workers=options.workers,
            rig=options.rig,
            pictures=pictures,
        )
    )


def make_picture_settings(rig: str, size: str, jpeg: int | None) -> PictureSettings | None:
    """Return how pictures are recorded; None for a rig without cameras.

    Raises:
        UserError: no such rig, or no size.
    """
    from harness.common.pictures import PictureSettings  # noqa: PLC0415
    from harness.world.rig import RIGS, read_rig  # noqa: PLC0415

    known = sorted(file.stem for file in RIGS.glob("*.yaml"))
    if rig not in known:
        raise UserError(f"--rig {rig}: unknown; valid: {', '.join(known)}")
    if (match := SIZE.fullmatch(size)) is None:
        raise UserError(f"--picture-size {size}: WIDTHxHEIGHT is needed, such as 256x192")
    width, height = map(int, match.groups())
    if jpeg is None:
        pictures = PictureSettings(width=width, height=height)
    else:
        pictures = PictureSettings(width=width, height=height, format="jpeg", quality=jpeg)
    return pictures if read_rig(RIGS / f"{rig}.yaml").has_cameras else None
