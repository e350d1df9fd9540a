"""`crucible metamorphic kitti`: a car more in frames of KITTI."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.common.terminal_lines import print_stdout_line
from studies.metamorphic.options import refuse_below_one


def add_kitti_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kitti`."""
    add = parser.add_argument
    add(
        "folder",
        type=Path,
        metavar="DIR",
        help="folder with image_2, velodyne, calib and label_2, such as KITTI's training",
    )
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the changed frames; the same command resumes (default: none)",
    )
    add(
        "--count",
        type=int,
        metavar="N",
        help="largest number of frames, in order (default: all)",
    )
    add("--seed", type=int, default=1, metavar="N", help="seed of all samples (default: 1)")
    parser.set_defaults(run=run_kitti)


def run_kitti(options: argparse.Namespace) -> None:
    """Write frames with a car more, and print how many there are."""
    from harness.common.errors import UserError  # noqa: PLC0415
    from harness.common.progress_bar import show_bar  # noqa: PLC0415
    from harness.common.randomness import make_named_stream  # noqa: PLC0415
    from studies.metamorphic.kitti.frames import (  # noqa: PLC0415
        list_kitti_frames,
        read_kitti_frame,
        write_kitti_frame,
    )
    from studies.metamorphic.kitti.insertion import insert_into_frame  # noqa: PLC0415
    from studies.metamorphic.scenes.operator import DoesNotApplyError  # noqa: PLC0415
    from studies.metamorphic.storage.records import begin_records  # noqa: PLC0415

    refuse_below_one(options, "count")
    names = list_kitti_frames(options.folder)[: options.count]
    if options.out.resolve() == options.folder.resolve():
        raise UserError(f"--out {options.out}: is the folder that is read; choose another")
    begin_records(options.out, {"frames": names, "seed": options.seed})
    skipped = []
    with show_bar("frames", len(names)) as bar:
        for name in names:
            if not (options.out / "label_2" / f"{name}.txt").is_file():
                frame = read_kitti_frame(options.folder, name)
                random = make_named_stream(options.seed, "kitti", name)
                try:
                    write_kitti_frame(options.out, insert_into_frame(frame, random))
                except DoesNotApplyError as why:
                    skipped.append(str(why))
            bar.advance(1)
    for reason in skipped:
        print_stdout_line(f"left out: {reason}")
    print_stdout_line(
        f"{options.out}: {len(names) - len(skipped)} of {len(names)} frames with a car more"
    )
