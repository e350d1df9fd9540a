"""`crucible replay DIR`: one drive again, as pictures, a film, a recording, clouds."""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path

from analysis.broken import describe_left_out
from analysis.campaign_notes import WARNING_PREFIX
from analysis.cases import list_violation_cases
from analysis.collection import CampaignCollection, collect_campaigns
from analysis.commands.options import describe_command
from analysis.drive import RecordedDrive, build_snapshot, read_recorded_drive
from analysis.replay.clouds import load_open3d, open_cloud_window, write_clouds
from analysis.replay.film import MOVING, UNIT, can_encode_h264, make_film, write_film
from analysis.replay.recording import open_rerun_viewer, write_rerun_recording
from analysis.replay.scene import Sweeps, read_kept_sweeps
from analysis.replay.sheet import write_hazard_sheet
from analysis.replay.stills import write_stills
from analysis.report.html import format_counted_noun
from analysis.terminal import console, print_escaped_line
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.progress_bar import show_bar
from harness.records.arms import NONE
from harness.records.cases import find_case as attempt_named
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.records.writing import FILMS

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=100,
    purpose="show one attempt: pictures, film, Rerun recording, point clouds",
    extra="analysis",
    examples=(
        "crucible replay runs/demo --list",
        "crucible replay runs/demo --case 3",
        "crucible replay runs/demo --case 3 --film case.webp --dark --layout column",
        "crucible replay runs/demo --attempt late/ahead/latency/0-s1 --rerun drive.rrd",
    ),
)


DESCRIPTION = """Show one recorded drive: as an image, a film, a Rerun recording or point clouds.
It needs no simulator."""
ON_SCREEN = Path()
"""Stands for a viewer on the screen, where a file could have been named."""
FIRST = 10.0
"""Seconds before the end at which a film begins."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible replay` takes."""
    describe_command(parser, DESCRIPTION)
    parser.add_argument("folder", type=Path, metavar="DIR", help="campaign folder")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true", help="list violations with their numbers")
    what.add_argument("--case", type=int, metavar="N", help="number of a violation (see --list)")
    what.add_argument(
        "--attempt",
        metavar="NAME",
        help="an attempt as ARM/ROUTE-sSEED, such as late/ahead/latency/7-s1",
    )
    what.add_argument(
        "--sheet",
        type=Path,
        metavar="FILE",
        help="write one picture of the campaign's hazards: two of each kind, from above, 11 m"
        " before the meeting",
    )
    parser.add_argument(
        "--png",
        type=Path,
        metavar="FILE",
        help="write bird's-eye views 4, 2 and 0 s before the end (default: not written)",
    )
    parser.add_argument(
        "--film",
        type=Path,
        metavar="FILE",
        help="write a film of the last seconds as .mp4, which needs PyAV, .webp or .gif"
        " (default: films/NAME.mp4 in the campaign's folder, NAME.webp without PyAV, unless"
        " another output is chosen)",
    )
    parser.add_argument(
        "--alone",
        action="store_true",
        help="film only this drive (default: next to the same drive under 'none')",
    )
    parser.add_argument(
        "--layout",
        choices=("row", "column"),
        default="row",
        help="two drives in a film: side by side or one above the other (default: %(default)s)",
    )
    parser.add_argument(
        "--before",
        type=float,
        default=FIRST,
        metavar="SECONDS",
        help="start of the film, seconds before the end (default: %(default)g)",
    )
    parser.add_argument(
        "--rerun",
        type=Path,
        nargs="?",
        const=ON_SCREEN,
        metavar="FILE",
        help="write a recording for the Rerun viewer; without FILE: open the viewer"
        " (default: neither)",
    )
    parser.add_argument(
        "--open3d",
        type=Path,
        nargs="?",
        const=ON_SCREEN,
        metavar="FILE",
        help="write point clouds and boxes as .ply; without FILE: open a window (default: neither)",
    )
    parser.add_argument(
        "--at",
        type=float,
        metavar="SECONDS",
        help="time for --open3d, seconds since the start of the attempt (default: the end)",
    )
    parser.add_argument(
        "--dark",
        action="store_true",
        help="dark background for pictures and films (default: light)",
    )
    parser.set_defaults(run=run_replay_command)


def run_replay_command(options: argparse.Namespace) -> int:
    """List the cases, or show all hazards or one drive."""
    # of a whole campaign
    if options.list:
        return print_cases(collect_campaigns([options.folder], partners=True))
    if options.sheet:
        count = write_hazard_sheet(CampaignRecords(options.folder), options.sheet, options.dark)
        print_escaped_line(f"{options.sheet}: {count} hazards")
        return 0
    # of one drive: a film unless another output is asked for
    campaign, drive, name = find_chosen_drive(options)
    print_escaped_line(f"{name}{drive.title}")
    print_escaped_line(drive.what)
    if options.png:
        write_stills(drive, name, options.png, options.dark)
        print_escaped_line(f"{options.png}")
    if options.film or (options.png, options.rerun, options.open3d) == (None, None, None):
        film_drive(campaign, drive, name, options)
    if options.rerun is not None or options.open3d is not None:
        sweeps = read_kept_sweeps(drive)
        if options.rerun is not None:
            record_drive(drive, sweeps, options.rerun)
        if options.open3d is not None:
            export_point_cloud(drive, sweeps, options)
    return 0


def find_chosen_drive(options: argparse.Namespace) -> tuple[CampaignRecords, RecordedDrive, str]:
    """Return the drive that is asked for with its campaign, and what stands before its name."""
    if options.attempt is not None:
        campaign = CampaignRecords(options.folder)
        key, name = attempt_named(campaign, options.attempt), ""
    else:
        cases = list_violation_cases(collect_campaigns([options.folder], partners=True))
        case = next((case for case in cases if case.number == options.case), None)
        if case is None:
            there = f"valid: 1 to {len(cases)}" if cases else "no drive ended in a violation"
            raise UserError(f"{options.folder}: --case {options.case} not found; {there}")
        campaign, key, name = case.campaign, case.key, f"Case {case.number}: "
    drive = read_recorded_drive(campaign, key)
    if drive is None:
        raise UserError(f"{key}: it ended before the first planning step")
    return campaign, drive, name


def print_cases(collection: CampaignCollection) -> int:
    """Print every case, and broken records."""
    for line in describe_left_out(collection.left_out):
        print_escaped_line(f"{WARNING_PREFIX} {line}")
    cases = list_violation_cases(collection)
    for case in cases:
        print_escaped_line(f"{case.number:4}  {case.title}: {case.what}")
    print_escaped_line(format_counted_noun(len(cases), "violation"))
    return collection.exit_code


def film_drive(
    campaign: CampaignRecords, drive: RecordedDrive, name: str, options: argparse.Namespace
) -> None:
    """Film a drive's last seconds, next to the same drive without disturbance."""
    if not 0 < options.before < math.inf:
        raise UserError(f"--before {options.before:g} s: must be > 0 and finite")
    suffix = ".mp4" if can_encode_h264() else ".webp"
    file = options.film or campaign.folder / FILMS / f"{make_film_name(name, drive)}{suffix}"
    if file.suffix not in (".mp4", *MOVING):
        raise UserError(f"{file}: films are written as .mp4, .webp or .gif")
    other = None if options.alone else find_undisturbed_drive(campaign, drive)
    drives = [drive] if other is None else [drive, other]
    made = make_film(drives, name, before=options.before, layout=options.layout, dark=options.dark)
    work = made.list_work(file.suffix)
    with show_bar("pictures", made.pictures, units=work, seconds=UNIT, console=console) as bar:

        def note_picture(units: int) -> None:
            bar.advance_shown()
            bar.advance_work(units)

        write_film(made, file, note_picture)
    print_escaped_line(
        f"{file}: {made.pictures / float(made.rate):.1f} s, {made.pictures} pictures"
    )


def make_film_name(name: str, drive: RecordedDrive) -> str:
    """Return a film's name: case-3, or the attempt's own with its parts joined."""
    case = name.removesuffix(": ").lower().replace(" ", "-")
    return case or "-".join(drive.key.path.parts)


def find_undisturbed_drive(campaign: CampaignRecords, drive: RecordedDrive) -> RecordedDrive | None:
    """Return the same drive under `none`; if there is none, print so."""
    key = AttemptKey(drive.key.arm.replace_factors(condition=NONE), drive.key.route, drive.key.seed)
    if key == drive.key:
        print_escaped_line("filmed alone: it is a drive without disturbance")
    elif (
        key not in campaign.find_attempts() or (other := read_recorded_drive(campaign, key)) is None
    ):
        print_escaped_line(f"filmed alone: no result of {key} to show next to it")
    else:
        print_escaped_line(f"next to {other.title}: {other.what}")
        return other
    return None


def record_drive(drive: RecordedDrive, sweeps: Sweeps, file: Path) -> None:
    """Record a drive for Rerun, or show it there."""
    if file == ON_SCREEN:
        refuse_without_display("use --rerun FILE.rrd")
        open_rerun_viewer(drive, sweeps)
        return
    write_rerun_recording(drive, sweeps, file)
    print_escaped_line(
        f"{file}: {'with' if sweeps else 'without'} LiDAR sweeps; `rerun {file}` shows it"
    )


def export_point_cloud(drive: RecordedDrive, sweeps: Sweeps, options: argparse.Namespace) -> None:
    """Show or write the point clouds at one time."""
    load_open3d()
    if not sweeps:
        raise UserError(
            f"{drive.folder}: no LiDAR sweeps recorded; run the campaign with record.points=true"
        )
    snapshot = build_snapshot(
        drive, drive.find_step_row(drive.end if options.at is None else options.at)
    )
    if options.open3d == ON_SCREEN:
        refuse_without_display("use --open3d FILE.ply")
        open_cloud_window(drive, snapshot, sweeps)
        return
    outlines = write_clouds(snapshot, sweeps, options.open3d)
    print_escaped_line(f"{options.open3d} and {outlines}, at {snapshot.time:.1f} s")


def refuse_without_display(instead: str) -> None:
    """Refuse to open a window without a display."""
    if sys.platform.startswith("linux") and not {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ):
        raise UserError(f"no display; {instead}")
