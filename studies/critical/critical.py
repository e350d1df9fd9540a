"""`crucible critical`: at which size of a disturbance does the outcome of a drive flip?

Every attempt under `none` is driven again with the disturbance at several sizes. The sizes are
first a coarse grid, then the middle between neighbouring sizes with different outcomes, down to the
finest size that can be delivered. An outcome may flip more than once. On both sides of every flip,
placebos are driven. A placebo is a change that should not matter. A flip is confirmed if most
placebos end as the drive did.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.options import OneLineParser

if TYPE_CHECKING:
    from harness.campaign.settings.declared import CampaignSettings
    from harness.records.critical import CriticalSizes
    from harness.records.keys import AttemptKey
    from harness.records.reading import CampaignRecords
    from studies.critical.driving import CriticalPlan

COMMAND = CommandDeclaration(
    group="Campaigns",
    rank=60,
    purpose="find the size of a disturbance at which the outcome of a drive flips",
    extra="run,learn,analysis",
    examples=(
        "crucible critical runs/demo --of latency",
        "crucible critical runs/demo --of latency --system late --workers 2",
        "crucible critical runs/demo --of pose_error --sizes 0,1,2,4 --finest 0.5",
        "crucible critical runs/demo --of latency --recorded --format csv,latex",
    ),
)


def main(arguments: Sequence[str], program: str = "crucible critical") -> int:
    """Do what the command line asks for; bad input is one line and exit code 2."""
    options = build_critical_parser(program).parse_args(arguments)
    from harness.campaign.run import run_with_exit_code  # noqa: PLC0415 - takes a second

    return run_with_exit_code("critical", lambda: run_critical_command(options))


def build_critical_parser(program: str) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = OneLineParser(prog=program, description=__doc__)
    add = parser.add_argument
    add(
        "folders",
        nargs="+",
        type=Path,
        metavar="DIR",
        help=(
            "campaign folders; several folders (other towns or other routes) are searched"
            " one by one and estimated together"
        ),
    )
    add(
        "--of",
        required=True,
        metavar="NAME",
        help="disturbance, by its name in `sweep`: latency, own_latency, pose_error, loss, ...",
    )
    add(
        "--sizes",
        default=None,
        metavar="SIZE,SIZE,...",
        help="coarse grid, from 0 on (default:"
        " latency, own_latency 0,0.4,0.8,1.2,1.6,2; pose_error 0,1,2,3,4; loss 0,0.25,0.5,0.75,1)",
    )
    add(
        "--finest",
        type=float,
        default=None,
        metavar="STEP",
        help="step of the finest grid"
        " (default: latency and own_latency a planning step, pose_error 0.25, loss 0.0625, whole"
        " numbers 1)",
    )
    add(
        "--placebo",
        default="pose",
        metavar="KIND",
        help=(
            "pose: partners are wrong by 2 mm; noise: other noise of the LiDARs, for rigs"
            " with noise (default: pose)"
        ),
    )
    add(
        "--placebos",
        type=int,
        default=5,
        metavar="N",
        help="placebos on each side of a flip (default: 5)",
    )
    add(
        "--system",
        action="append",
        default=[],
        metavar="NAME",
        help=(
            "only this system; may be repeated (default: all systems that the disturbance reaches)"
        ),
    )
    add(
        "--route",
        action="append",
        default=[],
        metavar="NAME",
        help="only this route; may be repeated (default: all)",
    )
    add("--workers", type=int, default=1, metavar="N", help="attempts at a time (default: 1)")
    add(
        "--by",
        action="append",
        default=[],
        metavar="GROUPS",
        help=(
            "strata of routes, as in `compare`: town, kind, kind=KIND+KIND,KIND, or"
            " reveal=S,S for edges between reveal times; may be repeated (default:"
            " reveal=0.8,1.3,2.2, and kinds: pedestrians and cyclists, crossing vehicles)"
        ),
    )
    add(
        "--recorded",
        action="store_true",
        help="drive nothing; make tables and figures from the records (default: off)",
    )
    add(
        "--out",
        type=Path,
        default=None,
        metavar="DIR",
        help="folder for tables and figures (default: report/ in the first campaign's folder)",
    )
    add(
        "--format",
        default="csv",
        metavar="FORMAT[,FORMAT ...]",
        help="file formats of the tables: csv, parquet, latex (default: csv)",
    )
    add(
        "--trust",
        action="store_true",
        help=(
            "build all classes that the folder's settings name (default: only classes that"
            " declare safe_from_file)"
        ),
    )
    return parser


def run_critical_command(options: argparse.Namespace) -> int:
    """Search, write the critical sizes, and print what they come to."""
    from analysis.commands.options import parse_formats  # noqa: PLC0415
    from studies.critical.printing import show_critical  # noqa: PLC0415
    from studies.critical.strata import parse_strata  # noqa: PLC0415

    formats = parse_formats(options.format)
    parse_strata(options.by)
    if not options.recorded:
        for folder in options.folders:
            drive_critical_sizes(folder, options)
    return show_critical(options.folders, options.of, options.out, formats, by=options.by)


def drive_critical_sizes(folder: Path, options: argparse.Namespace) -> CriticalSizes:
    """Drive what has not been driven, and write what is known then."""
    from harness.campaign.planning.sizes import read_planning_period  # noqa: PLC0415
    from harness.campaign.printing.terminal import print_campaign_line  # noqa: PLC0415
    from harness.campaign.twins.twins import CampaignTwins  # noqa: PLC0415
    from harness.records.critical import CriticalSizes, write_critical  # noqa: PLC0415
    from harness.records.reading import CampaignRecords  # noqa: PLC0415
    from studies.critical.driving import search_critical_sizes, select_reached_attempts  # noqa: PLC0415

    for name in ("placebos", "workers"):
        if getattr(options, name) < 1:
            raise UserError(f"--{name} {getattr(options, name)}: must be ≥ 1")
    # which attempts
    campaign = CampaignRecords(folder)
    twins = CampaignTwins(folder, options.workers, "plain", options.trust)
    settings: CampaignSettings = campaign.header["settings"]
    plan = build_critical_plan(options, settings)
    keys = list_undisturbed_attempts(campaign, options.system, options.route)
    keys, left_out = select_reached_attempts(twins, keys, plan)
    for line in left_out:
        print_campaign_line(line)
    # the search drives; what is written is what it found out, with its grid
    sizes = CriticalSizes(
        of=plan.name,
        finest=plan.grid.finest,
        coarse=tuple(map(plan.grid.get_size, plan.grid.coarse)),
        placebo=plan.placebo,
        placebos=plan.placebos,
        period=read_planning_period(settings),
        searched=tuple(search_critical_sizes(twins, keys, plan, print_campaign_line)),
    )
    write_critical(folder, sizes)
    return sizes


def build_critical_plan(options: argparse.Namespace, settings: CampaignSettings) -> CriticalPlan:
    """Return what is searched."""
    from harness.campaign.twins.resized import PLACEBOS, build_size_grid  # noqa: PLC0415
    from harness.common.suggestions import describe_unknown_name  # noqa: PLC0415
    from studies.critical.driving import CriticalPlan  # noqa: PLC0415

    if options.placebo not in PLACEBOS:
        raise UserError(f"--placebo: {describe_unknown_name('placebo', options.placebo, PLACEBOS)}")
    return CriticalPlan(
        name=options.of,
        grid=build_size_grid(options.of, settings, options.sizes, options.finest),
        placebo=options.placebo,
        placebos=options.placebos,
    )


def list_undisturbed_attempts(
    campaign: CampaignRecords, systems: Collection[str], routes: Collection[str]
) -> list[AttemptKey]:
    """Return the attempts under `none`, route by route, whether they have a result or not."""
    from dataclasses import replace  # noqa: PLC0415

    from harness.records.arms import CONDITION, NONE  # noqa: PLC0415

    # names that a user asks for must be in the folder
    known = list(campaign.find_attempts())
    for option, chosen, there in (
        ("system", systems, {key.arm.system for key in known}),
        ("route", routes, {key.route for key in known}),
    ):
        if missing := sorted(set(chosen) - there):
            raise UserError(f"--{option} {missing[0]}: {campaign.folder} has no result of it")
    # the attempts under `none` of all others, so that one without a result is driven, too
    keys = {
        replace(key, arm=key.arm.replace_factors(**{CONDITION: NONE}))
        for key in known
        if (not systems or key.arm.system in systems) and (not routes or key.route in routes)
    }
    if not keys:
        raise UserError(f"{campaign.folder}: no attempt has a result")
    return sorted(keys, key=lambda key: (key.route, key.seed, key.arm))
