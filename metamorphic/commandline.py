"""`crucible metamorphic`: what must not change in a system's answers when a scene is changed."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.errors import AttemptError, UserError
from harness.options import Parser
from metamorphic.catalogue import MAKERS
from metamorphic.options import add_processes, add_scenes, refuse_below_one
from metamorphic.pages.commands import add_pack, add_report, add_show, add_tables
from metamorphic.retraining.commands import add_retrain

BAD_INPUT, NO_GROUND = 2, 3
SYSTEMS = (
    *("single", "late", "early", "fcooper", "attfuse"),
    *("disconet", "v2vnet", "v2xvit", "codriving"),
)


PURPOSE = "change recorded scenes, and find what must not change in the answers"


def main(arguments: Sequence[str], program: str = "crucible") -> int:
    """Do what the command line asks for; bad input is one line and exit code 2."""
    parser = Parser(prog=program, description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    metamorphic = commands.add_parser("metamorphic", help=PURPOSE, description=__doc__)
    actions = metamorphic.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list", help="list operators, what they need, their relations")
    listing.set_defaults(run=run_list)
    add_check(actions.add_parser("check", help="ask systems about recorded and changed scenes"))
    add_drives(actions.add_parser("drives", help="compare a campaign's drives in pairs"))
    add_generate(actions.add_parser("generate", help="write changed scenes that `train` reads"))
    add_climb(actions.add_parser("climb", help="insert road users as long as errors grow"))
    add_retrain(actions.add_parser("retrain", help="train on what guides keep, and compare"))
    add_tables(actions.add_parser("tables", help="write all tables of a study as Markdown"))
    add_pack(actions.add_parser("pack", help="write the records of a study as one small file"))
    add_report(actions.add_parser("report", help="write a study as one HTML page"))
    add_show(actions.add_parser("show", help="picture of a scene, changed and not, and answers"))
    options = parser.parse_args(list(arguments))
    try:
        return int(options.run(options) or 0)
    except UserError as problem:
        print(problem, file=sys.stderr)
        return BAD_INPUT
    except AttemptError as problem:
        print(problem, file=sys.stderr)
        return NO_GROUND


def add_check(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    add_scenes(parser)
    add = parser.add_argument
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the records; the same command again goes on (default: none)",
    )
    add(
        "--systems",
        nargs="+",
        default=SYSTEMS,
        metavar="NAME",
        help=f"shipped systems, or package.module:Class (default: {' '.join(SYSTEMS)})",
    )
    add(
        "--operators",
        nargs="+",
        default=tuple(MAKERS),
        metavar="NAME",
        help="operators of `crucible metamorphic list` (default: all)",
    )
    add(
        "--far",
        type=float,
        nargs="+",
        default=(30.0, 50.0),
        metavar="M",
        help="distances from which on objects are far, each a check (default: 30 50)",
    )
    add("--count", type=int, default=200, metavar="N", help="scenes at most (default: 200)")
    add_processes(parser)
    parser.set_defaults(run=run_check)


FORMATS = ("csv", "parquet")


def add_drives(parser: argparse.ArgumentParser) -> None:
    """Add the options of `drives`."""
    add = parser.add_argument
    add(
        "folder",
        type=Path,
        metavar="DIR",
        help="a campaign of `crucible run study=metamorphic`",
    )
    add(
        "--level",
        type=float,
        default=0.05,
        metavar="L",
        help="false discovery rate, and level of bands (default: 0.05)",
    )
    add(
        "--format",
        default="csv",
        metavar="FORMAT[,FORMAT ...]",
        help=f"file formats, of {', '.join(FORMATS)} (default: csv)",
    )
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder to write to (default: report/ in the campaign folder)",
    )
    parser.set_defaults(run=run_drives)


def run_drives(options: argparse.Namespace) -> None:
    """Write and print the relations over a campaign's drives."""
    from rich.console import Console  # noqa: PLC0415

    from harness.records.reading import Campaign  # noqa: PLC0415
    from harness.suggestions import unknown  # noqa: PLC0415
    from metamorphic.drives.findings import findings_of  # noqa: PLC0415
    from metamorphic.drives.printing import drive_table, lines, write  # noqa: PLC0415

    formats = list(dict.fromkeys(options.format.split(",")))
    for name in formats:
        if name not in FORMATS:
            raise UserError(f"--format: {unknown('format', name, FORMATS)}")
    findings = findings_of(Campaign(options.folder), options.level)
    out = options.out or options.folder / "report"
    if out.is_symlink():
        raise UserError(f"{out}: is a link; remove it, or choose another --out DIR")
    write(findings, out, formats)
    console = Console()
    console.print(drive_table(findings, options.level))
    for line in lines(findings, options.level):
        console.print(line, highlight=False, markup=False)
    console.print(f"table: {out}", highlight=False)


def add_generate(parser: argparse.ArgumentParser) -> None:
    """Add the options of `generate`."""
    add_scenes(parser)
    add_recording(parser)
    add = parser.add_argument
    add(
        "--operators",
        nargs="+",
        required=True,
        metavar="NAME",
        help="operators that change sweeps or objects (default: none)",
    )
    add(
        "--keep",
        default="random:1",
        metavar="GUIDE:SHARE",
        help="random, vgt, vgt_published, v2xgen or multitest, and a share (default: random:1)",
    )
    add(
        "--budget",
        choices=("frames", "objects"),
        default="frames",
        help="of what the share is: scenes or objects in them (default: frames)",
    )
    add_guiding(parser)
    add_processes(parser)
    parser.set_defaults(run=run_generate)


def add_recording(parser: argparse.ArgumentParser) -> None:
    """Add where changed scenes are written."""
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the recording; the same command again goes on (default: none)",
    )


def add_guiding(parser: argparse.ArgumentParser) -> None:
    """Add who guides, and from how many scenes."""
    add = parser.add_argument
    add(
        "--system",
        default="late",
        metavar="NAME",
        help="system whose answers guide, as in `check`, or NAME=WEIGHTS (default: late)",
    )
    add("--count", type=int, metavar="N", help="scenes to start from at most (default: all)")


def run_generate(options: argparse.Namespace) -> None:
    """Write changed scenes."""
    from rich.progress import MofNCompleteColumn, Progress  # noqa: PLC0415

    from metamorphic.generation import Generation, generate, keep_of  # noqa: PLC0415

    refuse_below_one(options, "count", "workers")
    generation = Generation(
        recordings=tuple(options.scenes),
        operators=tuple(options.operators),
        keep=keep_of(options.keep, options.budget),
        system=options.system,
        scenes=options.count,
        seed=options.seed,
        keep_seed=options.seed,
        folder=options.out,
    )
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn()) as progress:
        bar = progress.add_task("scenes", total=len(generation.chosen()))
        best = generate(generation, options.workers, lambda n: progress.advance(bar, n))
    objects = sum(candidate.objects for candidate in best)
    print(f"{options.out}: {len(best)} changed scenes with {objects} judged objects")


def add_climb(parser: argparse.ArgumentParser) -> None:
    """Add the options of `climb`."""
    add_scenes(parser)
    add_recording(parser)
    add = parser.add_argument
    add_guiding(parser)
    add("--tries", type=int, default=5, metavar="N", help="places for a road user (default: 5)")
    add("--most", type=int, default=3, metavar="N", help="road users at most (default: 3)")
    add_processes(parser)
    parser.set_defaults(run=run_climb)


def run_climb(options: argparse.Namespace) -> None:
    """Search from every scene, write those that were made worse, and print what they hold."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import MofNCompleteColumn, Progress  # noqa: PLC0415

    from metamorphic.climbing import Climbing, run, sheet  # noqa: PLC0415
    from metamorphic.printing import rich_table  # noqa: PLC0415

    refuse_below_one(options, "count", "workers")
    refuse_below_one(options, "tries", "most")
    climbing = Climbing(
        recordings=tuple(options.scenes),
        system=options.system,
        scenes=options.count,
        seed=options.seed,
        folder=options.out,
        tries=options.tries,
        most=options.most,
    )
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn()) as progress:
        bar = progress.add_task("scenes", total=len(climbing.chosen()))
        rows = run(climbing, options.workers, lambda scenes: progress.advance(bar, scenes))
    console = Console()
    console.print(rich_table(sheet(climbing, rows)))
    worse = sum(row["accepted"] > 0 for row in rows)
    console.print(f"{options.out}: {worse} scenes", highlight=False)


def run_list(options: argparse.Namespace) -> None:
    """Print all operators."""
    from rich.console import Console  # noqa: PLC0415

    from metamorphic.printing import listing  # noqa: PLC0415

    Console().print(listing())


def run_check(options: argparse.Namespace) -> None:
    """Ask systems, and print what came out."""
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import MofNCompleteColumn, Progress  # noqa: PLC0415

    from metamorphic.catalogue import entries  # noqa: PLC0415
    from metamorphic.printing import tables  # noqa: PLC0415
    from metamorphic.study import Study, run  # noqa: PLC0415

    refuse_below_one(options, "count", "workers")
    entries(tuple(options.operators))
    if not all(0 < beyond < math.inf for beyond in options.far):
        raise UserError(f"--far {' '.join(map(str, options.far))}: must be > 0")
    study = Study(
        recordings=tuple(options.scenes),
        systems=tuple(options.systems),
        operators=tuple(options.operators),
        scenes=options.count,
        seed=options.seed,
        folder=options.out,
        far=tuple(options.far),
    )
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn()) as progress:
        bar = progress.add_task("scenes", total=len(study.chosen()))
        run(study, options.workers, lambda scenes: progress.advance(bar, scenes))
    console = Console()
    for table in tables(options.out):
        console.print(table)
    console.print(f"records: {options.out}")
