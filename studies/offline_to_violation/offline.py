"""`crucible offline DIR`: which offline failures predict violations, and which cause them?"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.campaign.run import DONE, run_with_exit_code
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from studies.offline_to_violation.plan import (
    OPERATORS,
    OfflinePlan,
    read_written_plan,
    take_routes_in_turn,
)

if TYPE_CHECKING:
    from studies.offline_to_violation.block_findings import BlockFindings

COMMAND = CommandDeclaration(
    group="Systems",
    rank=70,
    purpose="test systems on scenes of routes and drive them: what predicts and causes violations",
    extra="run,learn,analysis",
    examples=(
        "crucible offline runs/offline",
        "crucible offline runs/offline --routes town05 crucible05 --count 60",
        "crucible offline runs/offline --analyse",
        "crucible offline runs/more --packed studies/offline_to_violation/packed --pack packed",
    ),
)

SYSTEMS = ("late", "early", "fcooper")
GROUPS = ("town05", "crucible05")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible offline` takes."""
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="folder of the study; the same command resumes")
    add(
        "--routes",
        nargs="+",
        default=GROUPS,
        metavar="GROUP",
        help=f"groups of routes, in turn (default: {' '.join(GROUPS)})",
    )
    add("--count", type=int, default=60, metavar="N", help="largest number of routes (default: 60)")
    add(
        "--systems",
        nargs="+",
        default=SYSTEMS,
        metavar="NAME",
        help=f"shipped systems that read messages (default: {' '.join(SYSTEMS)})",
    )
    add(
        "--operators",
        nargs="+",
        default=OPERATORS,
        metavar="NAME",
        help="operators of `crucible metamorphic list` (default: those of the four papers)",
    )
    add(
        "--scenes",
        type=int,
        default=6,
        metavar="N",
        help="largest number of scenes of a route (default: 6)",
    )
    add("--seed", type=int, default=1, metavar="N", help="seed of all samples (default: 1)")
    add(
        "--settings",
        nargs="+",
        default=(),
        metavar="NAME=VALUE",
        help="further settings of all drives, as of `crucible run` (default: none)",
    )
    add(
        "--repairs",
        choices=("all", "none"),
        default="all",
        help="repaired patterns, driven after all routes without (default: all)",
    )
    add(
        "--analyse",
        action="store_true",
        help="drive nothing; print the table of the routes that are there",
    )
    add(
        "--packed",
        type=Path,
        metavar="DIR",
        help="packed routes of the same study, which are not computed again (default: none)",
    )
    add(
        "--pack",
        type=Path,
        metavar="DIR",
        help="write what all routes came to into a small folder, for --packed (default: none)",
    )
    parser.set_defaults(
        run=lambda options: run_with_exit_code("offline", lambda: run_offline_command(options))
    )


def run_offline_command(options: argparse.Namespace) -> int:
    """Compute what is left of a study, then write and print its table and figure."""
    if options.analyse:
        plan = read_written_plan(options.folder if options.packed is None else options.packed)
        return analyse_study(plan, options.folder, read_packed(plan, options), pack=options.pack)
    for name in ("count", "scenes"):
        if getattr(options, name) < 1:
            raise UserError(f"--{name} {getattr(options, name)}: must be 1 or more")
    plan = make_study_plan(options)
    plan.write_or_compare(options.folder)
    packed = read_packed(plan, options)
    compute_study(plan, options.folder, packed, repairs=options.repairs == "all")
    return analyse_study(plan, options.folder, packed, pack=options.pack)


def read_packed(plan: OfflinePlan, options: argparse.Namespace) -> Mapping[str, BlockFindings]:
    """Return packed routes, where some are named; they have to be of the same study."""
    from studies.offline_to_violation.block_findings import unpack_findings  # noqa: PLC0415

    if options.packed is None:
        return {}
    read_written_plan(options.packed)  # there is one
    plan.write_or_compare(options.packed)
    return unpack_findings(options.packed)


def make_study_plan(options: argparse.Namespace) -> OfflinePlan:
    """Return the plan that options ask for; routes, systems and operators are checked."""
    from studies.metamorphic.catalogue import select_catalogue_entries  # noqa: PLC0415
    from studies.metamorphic.running.systems import build_named_system  # noqa: PLC0415
    from studies.offline_to_violation.driven import list_group_specs  # noqa: PLC0415

    select_catalogue_entries(tuple(options.operators))
    for name in options.systems:
        if not build_named_system(name).reads_messages:
            raise UserError(f"--systems {name}: reads no messages")
    groups = [
        (name, [spec.id for spec in list_group_specs(name, options.settings)])
        for name in options.routes
    ]
    return OfflinePlan(
        routes=take_routes_in_turn(groups, options.count),
        systems=tuple(options.systems),
        operators=tuple(options.operators),
        scenes=options.scenes,
        seed=options.seed,
        settings=tuple(options.settings),
    )


def compute_study(
    plan: OfflinePlan, folder: Path, packed: Mapping[str, BlockFindings], *, repairs: bool
) -> None:
    """Compute all blocks without repairs, then the repairs; print the plan and a line for each."""
    from analysis.terminal import console  # noqa: PLC0415
    from harness.campaign.printing.tables import show_note  # noqa: PLC0415
    from harness.common.progress_bar import show_bar  # noqa: PLC0415
    from studies.offline_to_violation.blocks import (  # noqa: PLC0415
        RouteBlock,
        compute_route_block,
        repair_route_block,
    )
    from studies.offline_to_violation.expecting import (  # noqa: PLC0415
        describe_study,
        describe_work_left,
        estimate_route_seconds,
    )

    blocks = [RouteBlock.of_route(folder, route) for route in plan.routes]
    # what is about to be done
    show_note("plan", describe_study(plan, repairs=repairs))
    left = [one for one in blocks if one.route.name not in packed and not one.is_computed(plan)]
    repaired = [one for one in blocks if repairs and one.may_be_repaired(plan, packed)]
    expected = estimate_route_seconds(plan) if left or repaired else None
    if len(left) < len(blocks):
        show_note("done", f"{len(blocks) - len(left)} of {len(blocks)} routes are done already")
    if expected:
        show_note("left", describe_work_left(len(left), len(repaired), expected))
    show_note("folder", str(folder))
    # route by route
    stages: list[
        tuple[str, float | None, Callable[[OfflinePlan, RouteBlock, BlockFindings | None], str]]
    ] = [("routes", expected.offline if expected else None, compute_route_block)]
    if repairs:
        stages.append(("repairs", expected.repairs if expected else None, repair_route_block))
    for title, seconds, compute in stages:
        with show_bar(title, len(blocks), seconds=seconds, console=console) as bar:
            for number, block in enumerate(blocks, 1):
                outcome = compute(plan, block, packed.get(block.route.name))
                bar.advance()
                print_block_line(f"{number}/{len(blocks)} {block.route.name}: {outcome}")


def print_block_line(text: str) -> None:
    """Print a line at once, also into a file."""
    from analysis.terminal import console, print_escaped_line  # noqa: PLC0415

    print_escaped_line(text)
    console.file.flush()


def analyse_study(
    plan: OfflinePlan, folder: Path, packed: Mapping[str, BlockFindings], *, pack: Path | None
) -> int:
    """Write and print the tables and the figure of all routes that are whole."""
    from analysis.drawing.picture import render_canvas, write_png  # noqa: PLC0415
    from analysis.drawing.svg import render_svg_file  # noqa: PLC0415
    from analysis.tables.writing import write_frame, write_text  # noqa: PLC0415
    from analysis.terminal import console, show_grid  # noqa: PLC0415
    from harness.common.progress_bar import show_bar  # noqa: PLC0415
    from studies.offline_to_violation.block_findings import pack_findings  # noqa: PLC0415
    from studies.offline_to_violation.blocks import read_all_findings  # noqa: PLC0415
    from studies.offline_to_violation.figure import render_findings_figure  # noqa: PLC0415
    from studies.offline_to_violation.measuring import read_measured_study  # noqa: PLC0415
    from studies.offline_to_violation.table import (  # noqa: PLC0415
        HEAD,
        SCORE_HEAD,
        list_score_rows,
        list_table_rows,
    )
    from studies.offline_to_violation.verdicts import (  # noqa: PLC0415
        build_score_table,
        judge_findings,
    )

    findings = read_all_findings(plan, folder, packed)
    if pack is not None:
        pack_findings(plan, findings, pack)
    reading = read_measured_study(plan, findings)
    study = reading.study
    with show_bar("findings", len(study.findings), console=console) as bar:
        table = judge_findings(study, bar.advance)
    scores = build_score_table(study)
    # written before it is printed
    write_frame(table, folder, "findings", ["csv"])
    write_frame(scores, folder, "models", ["csv"])
    canvas = render_findings_figure(table)
    write_text(render_svg_file(canvas), folder / "figure.svg")
    write_png(render_canvas(canvas), folder / "figure.png")
    show_grid("models of violations, on held-out routes", SCORE_HEAD, list_score_rows(scores))
    show_grid("findings; p of one family, all systems together", HEAD, list_table_rows(table))
    print_notes([*reading.notes, f"findings.csv, models.csv, figure.svg: {folder}"])
    return DONE


def print_notes(notes: Sequence[str]) -> None:
    """Print lines below the tables."""
    from analysis.terminal import print_escaped_line  # noqa: PLC0415

    for note in notes:
        print_escaped_line(note)
