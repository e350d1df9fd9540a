"""`crucible metamorphic`: finds answers that change, but must not change, with the scene."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.terminal_lines import print_plain_line, print_stdout_line
from studies.metamorphic.catalogue import MAKERS
from studies.metamorphic.guiding.commands import add_null_options, add_select_options
from studies.metamorphic.kitti.commands import add_kitti_options
from studies.metamorphic.options import add_process_options, add_scenes_option, refuse_below_one
from studies.metamorphic.pages.commands import (
    add_pack_options,
    add_report_options,
    add_show_options,
    add_tables_options,
)
from studies.metamorphic.pictures.commands import add_natural_options
from studies.metamorphic.retraining.commands import add_retrain_options

COMMAND = CommandDeclaration(
    group="Systems",
    rank=60,
    purpose="change recorded scenes, and find answers that change but must not change",
    extra="run,learn",
    examples=(
        "crucible metamorphic list",
        "crucible metamorphic check --scenes data/test --out runs/metamorphic",
        "crucible metamorphic check --scenes data/test --out runs/late --systems late"
        " --operators latency stray_points_1000 --count 50",
        "crucible metamorphic drives runs/metamorphic-drives",
        "crucible metamorphic report runs/metamorphic",
        "crucible metamorphic generate --scenes data/train --out data/hard --operators rain"
        " insert --keep vgt:0.15",
        "crucible metamorphic climb --scenes data/train --system fcooper --out data/worse",
        "crucible metamorphic natural --scenes data/pictures --out runs/natural",
        "crucible metamorphic kitti KITTI/training --out data/kitti-inserted --count 20",
        "crucible metamorphic null studies/published/metamorphic.parquet --systems late",
        "crucible metamorphic select --scenes data/test --guide vgt_others --by early"
        " --out tests.json",
        "crucible metamorphic check --scenes data/test --tests tests.json --systems late"
        " --out runs/late-chosen",
        "crucible metamorphic retrain --scenes data/train --out runs/retrain",
        "crucible metamorphic tables runs/metamorphic --out tables.md",
        "crucible metamorphic pack runs/metamorphic --out study.parquet",
    ),
)


SYSTEMS = (
    *("single", "late", "early", "fcooper", "attfuse"),
    *("disconet", "v2vnet", "v2xvit", "codriving"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `crucible metamorphic`."""
    parser.description = __doc__
    actions = parser.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list", help="list operators, their needs and their relations")
    listing.set_defaults(run=run_list)
    add_check_options(
        actions.add_parser("check", help="run systems on recorded and changed scenes")
    )
    add_select_options(
        actions.add_parser("select", help="choose tests before any judged system answers")
    )
    add_null_options(
        actions.add_parser("null", help="judge guides where no test is harder than another")
    )
    add_drives_options(actions.add_parser("drives", help="compare a campaign's drives in pairs"))
    add_generate_options(
        actions.add_parser("generate", help="write changed scenes that `train` reads")
    )
    add_climb_options(actions.add_parser("climb", help="insert road users as long as errors grow"))
    add_natural_options(
        actions.add_parser("natural", help="measure how natural inserted road users are")
    )
    add_kitti_options(
        actions.add_parser("kitti", help="insert a car into frames in KITTI's layout")
    )
    add_retrain_options(
        actions.add_parser("retrain", help="train on the scenes that guides keep, and compare")
    )
    add_tables_options(actions.add_parser("tables", help="write all tables of a study as Markdown"))
    add_pack_options(
        actions.add_parser("pack", help="write the records of a study as one small file")
    )
    add_report_options(actions.add_parser("report", help="write a study as one HTML page"))
    add_show_options(
        actions.add_parser(
            "show", help="write a picture of a scene, the changed scene and the answers"
        )
    )


def add_check_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    add_scenes_option(parser)
    add = parser.add_argument
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the records; the same command resumes",
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
        metavar="NAME",
        help="operators of `crucible metamorphic list` (default: all; those of pictures where"
        " recordings have some)",
    )
    add(
        "--far",
        type=float,
        nargs="+",
        default=(30.0, 50.0),
        metavar="M",
        help=(
            "distances in m from which objects are far; one check for each distance"
            " (default: 30 50)"
        ),
    )
    add(
        "--count",
        type=int,
        default=200,
        metavar="N",
        help="largest number of scenes (default: 200)",
    )
    add(
        "--tests",
        type=Path,
        metavar="FILE",
        help="tests of `select`, in place of --operators, --count and --seed (default: none)",
    )
    add_process_options(parser)
    parser.set_defaults(run=run_metamorphic_check)


FORMATS = ("csv", "parquet")


def add_drives_options(parser: argparse.ArgumentParser) -> None:
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
        help=f"file formats: {', '.join(FORMATS)} (default: csv)",
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
    from harness.common.console import make_console  # noqa: PLC0415
    from harness.common.suggestions import describe_unknown_name  # noqa: PLC0415
    from harness.records.reading import CampaignRecords  # noqa: PLC0415
    from studies.metamorphic.drives.findings import evaluate_drive_relations  # noqa: PLC0415
    from studies.metamorphic.drives.printing import (  # noqa: PLC0415
        format_drive_lines,
        render_drive_table,
        write_drive_findings,
    )

    # what is asked for
    formats = list(dict.fromkeys(options.format.split(",")))
    for name in formats:
        if name not in FORMATS:
            raise UserError(f"--format: {describe_unknown_name('format', name, FORMATS)}")
    # the relations, written before they are printed
    findings = evaluate_drive_relations(CampaignRecords(options.folder), options.level)
    out = options.out or options.folder / "report"
    if out.is_symlink():
        raise UserError(f"{out}: is a link; remove it, or choose another --out DIR")
    write_drive_findings(findings, out, formats)
    console = make_console()
    console.print(render_drive_table(findings, options.level))
    for line in format_drive_lines(findings, options.level):
        print_plain_line(console, line)
    print_plain_line(console, f"table: {out}")


def add_generate_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `generate`."""
    add_scenes_option(parser)
    add_recording_option(parser)
    add = parser.add_argument
    add(
        "--operators",
        nargs="+",
        required=True,
        metavar="NAME",
        help="operators that change sweeps or objects",
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
        help="unit of the share: scenes (frames), or objects in scenes (default: frames)",
    )
    add_guiding_options(parser)
    add_process_options(parser)
    parser.set_defaults(run=run_generate)


def add_recording_option(parser: argparse.ArgumentParser) -> None:
    """Add where changed scenes are written."""
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the recording; the same command resumes",
    )


def add_guiding_options(parser: argparse.ArgumentParser) -> None:
    """Add who guides, and from how many scenes."""
    add = parser.add_argument
    add(
        "--system",
        default="late",
        metavar="NAME",
        help=(
            "system whose answers the guide uses, as in `check`, or NAME=WEIGHTS (default: late)"
        ),
    )
    add(
        "--count",
        type=int,
        metavar="N",
        help="largest number of scenes to start from (default: all)",
    )


def run_generate(options: argparse.Namespace) -> None:
    """Write changed scenes."""
    from harness.common.progress_bar import show_bar  # noqa: PLC0415
    from studies.metamorphic.running.generation import (  # noqa: PLC0415
        GenerationSettings,
        generate_recordings,
        parse_keep_rule,
    )

    refuse_below_one(options, "count", "workers")
    generation = GenerationSettings(
        recordings=tuple(options.scenes),
        operators=tuple(options.operators),
        keep=parse_keep_rule(options.keep, options.budget),
        system=options.system,
        scenes=options.count,
        seed=options.seed,
        keep_seed=options.seed,
        folder=options.out,
    )
    with show_bar("scenes", len(generation.select_sources()), workers=options.workers) as bar:
        best = generate_recordings(generation, options.workers, bar.advance)
    objects = sum(candidate.objects for candidate in best)
    print_stdout_line(f"{options.out}: {len(best)} changed scenes with {objects} judged objects")


def add_climb_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `climb`."""
    add_scenes_option(parser)
    add_recording_option(parser)
    add = parser.add_argument
    add_guiding_options(parser)
    add(
        "--tries",
        type=int,
        default=5,
        metavar="N",
        help="places to try for a road user (default: 5)",
    )
    add(
        "--most",
        type=int,
        default=3,
        metavar="N",
        help="largest number of road users in a scene (default: 3)",
    )
    add_process_options(parser)
    parser.set_defaults(run=run_climb)


def run_climb(options: argparse.Namespace) -> None:
    """Search from every scene, write those that were made worse, and print what they hold."""
    from harness.common.console import make_console  # noqa: PLC0415
    from harness.common.progress_bar import show_bar  # noqa: PLC0415
    from studies.metamorphic.running.climbing import (  # noqa: PLC0415
        ClimbSettings,
        build_climb_sheet,
        build_guidance_sheet,
        run_climbing,
    )
    from studies.metamorphic.tables.printing import to_rich_table  # noqa: PLC0415

    refuse_below_one(options, "count", "workers")
    refuse_below_one(options, "tries", "most")
    climbing = ClimbSettings(
        recordings=tuple(options.scenes),
        system=options.system,
        scenes=options.count,
        seed=options.seed,
        folder=options.out,
        tries=options.tries,
        most=options.most,
    )
    with show_bar("scenes", len(climbing.select_sources()), workers=options.workers) as bar:
        rows = run_climbing(climbing, options.workers, bar.advance)
    console = make_console()
    console.print(to_rich_table(build_climb_sheet(climbing, rows)))
    console.print(to_rich_table(build_guidance_sheet(climbing, rows)))
    worse = sum(row["accepted"] > 0 for row in rows)
    print_plain_line(console, f"{options.out}: {worse} scenes")


def run_list(options: argparse.Namespace) -> None:
    """Print all operators."""
    from harness.common.console import make_console  # noqa: PLC0415
    from studies.metamorphic.tables.printing import build_operator_listing  # noqa: PLC0415

    console = make_console()
    console.print(build_operator_listing(console.width))


def list_usual_operators(scenes: list[Path]) -> tuple[str, ...]:
    """Return all operators, those of pictures only where recordings have pictures."""
    from studies.metamorphic.scenes.scene import list_scene_sources  # noqa: PLC0415

    source = next(iter(list_scene_sources(scenes)), None)
    shown = source is not None and source.scenario.read_images(source.ego, f"{source.moment:06}")
    return tuple(
        name for name, make in MAKERS.items() if shown or "pictures" not in make().operator.needs
    )


def run_metamorphic_check(options: argparse.Namespace) -> None:
    """Ask systems, and print what came out."""
    from harness.common.console import make_console  # noqa: PLC0415
    from harness.common.progress_bar import show_bar  # noqa: PLC0415
    from studies.metamorphic.catalogue import select_catalogue_entries  # noqa: PLC0415
    from studies.metamorphic.guiding.saved_tests import read_saved_tests  # noqa: PLC0415
    from studies.metamorphic.running.study import (  # noqa: PLC0415
        OfflineStudy,
        compute_system_digest,
        run_study,
    )
    from studies.metamorphic.tables.printing import render_study_tables  # noqa: PLC0415

    refuse_below_one(options, "count", "workers")
    if options.operators is None:
        options.operators = list_usual_operators(options.scenes)
    select_catalogue_entries(tuple(options.operators))
    if not all(0 < beyond < math.inf for beyond in options.far):
        raise UserError(f"--far {' '.join(map(str, options.far))}: must be > 0")
    saved = None if options.tests is None else read_saved_tests(options.tests)
    if saved is not None:
        saved.refuse_judged({name: compute_system_digest(name) for name in options.systems})
    study = OfflineStudy(
        recordings=tuple(options.scenes),
        systems=tuple(options.systems),
        operators=tuple(options.operators) if saved is None else saved.operators,
        scenes=options.count,
        seed=options.seed if saved is None else saved.seed,
        folder=options.out,
        far=tuple(options.far),
        saved=saved,
    )
    # parts of a scene say what all takes before the first scene is done
    count = len(study.select_sources())
    units = count * study.scene_parts
    with show_bar("scenes", count, units=units, workers=options.workers) as bar:
        run_study(study, options.workers, bar.advance_shown, bar.advance_work)
    console = make_console()
    for table in render_study_tables(options.out):
        console.print(table)
    print_plain_line(console, f"records: {options.out}")
