"""`crucible replay DIR`: one drive again, as pictures, a film, a recording, clouds."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.cases import Case, cases_of
from analysis.collection import collect
from analysis.commands.options import Commands
from analysis.drawing.canvas import Canvas
from analysis.drawing.picture import below, beside, picture, write_png
from analysis.drive import Drive, drive_of, moment_of
from analysis.figures.birds_eye import draw_strip, story_of
from analysis.replay.clouds import load_open3d, open_window, write_clouds
from analysis.replay.film import film_of, write_film
from analysis.replay.recording import open_viewer, write_recording
from analysis.replay.scene import Sweeps, sweeps_of
from analysis.terminal import progress, say
from harness.errors import UserError
from harness.records.cases import case as attempt_named
from harness.records.reading import Campaign

SCALE = 3.0
"""Pixels for each unit of a drawing."""
WINDOW = Path()
"""Stands for a viewer on the screen, where a file could have been named."""
FIRST = 10.0
"""Seconds before the end at which a film begins."""


def add(commands: Commands) -> None:
    """Add `replay`."""
    parser = commands.add_parser("replay", help="one drive again: pictures, film, recording")
    parser.add_argument("folder", type=Path, metavar="DIR", help="a campaign's folder")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true", help="say which violations there are")
    what.add_argument("--case", type=int, metavar="N", help="the number of a violation")
    what.add_argument(
        "--attempt",
        metavar="ARM/ROUTE-sSEED",
        help="any attempt, by its name: late/ahead/latency/7-s1",
    )
    parser.add_argument("--png", type=Path, metavar="FILE", help="draw its last three moments")
    parser.add_argument("--mp4", type=Path, metavar="FILE", help="film its last seconds (PyAV)")
    parser.add_argument(
        "--before",
        type=float,
        default=FIRST,
        metavar="SECONDS",
        help="how long before the end the film begins; 10 unless told",
    )
    parser.add_argument(
        "--rerun",
        type=Path,
        nargs="?",
        const=WINDOW,
        metavar="FILE",
        help="record all of it for the Rerun viewer; without FILE: open the viewer",
    )
    parser.add_argument(
        "--open3d",
        type=Path,
        nargs="?",
        const=WINDOW,
        metavar="FILE",
        help="point clouds and boxes at one moment as .ply; without FILE: in a window",
    )
    parser.add_argument(
        "--at", type=float, metavar="SECONDS", help="the moment for --open3d; else the end"
    )
    parser.add_argument("--dark", action="store_true", help="pictures and film on dark ground")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List the cases, or show one drive."""
    if options.list:
        list_cases(cases_of(collect([options.folder])))
        return 0
    drive, name = chosen(options)
    say(f"{name}{drive.title}")
    say(drive.what)
    if options.png:
        draw(drive, name, options.png, options.dark)
        say(f"{options.png}")
    if options.mp4:
        film(drive, name, options)
    if options.rerun is not None or options.open3d is not None:
        sweeps = sweeps_of(drive)
        if options.rerun is not None:
            record(drive, sweeps, options.rerun)
        if options.open3d is not None:
            cloud(drive, sweeps, options)
    return 0


def chosen(options: argparse.Namespace) -> tuple[Drive, str]:
    """Return the drive that is asked for, and what to call it besides its own name."""
    if options.attempt is not None:
        campaign = Campaign(options.folder)
        key, name = attempt_named(campaign, options.attempt), ""
    else:
        cases = cases_of(collect([options.folder]))
        case = next((each for each in cases if each.number == options.case), None)
        if case is None:
            there = f"there are 1 to {len(cases)}" if cases else "no drive ended in a violation"
            raise UserError(f"{options.folder}: no case {options.case}; {there}")
        campaign, key, name = case.campaign, case.key, f"Case {case.number}: "
    drive = drive_of(campaign, key)
    if drive is None:
        raise UserError(f"{key}: it ended before the first planning step: nothing to show")
    return drive, name


def list_cases(cases: Sequence[Case]) -> None:
    """Print every case."""
    for each in cases:
        say(f"{each.number:4}  {each.title}: {each.what}")
    say(f"{len(cases)} violations")


def draw(drive: Drive, name: str, file: Path, dark: bool) -> None:
    """Draw a drive's last three moments in a row, under its title."""
    row = beside([picture(each, SCALE, dark) for each in draw_strip(story_of(drive))], 12, dark)
    title = Canvas(row.width / SCALE, 40, "title")
    title.words((6, 16), f"{name}{drive.title}", bold=True)
    title.words((6, 31), drive.what, colour="quiet")
    write_png(below([picture(title, SCALE, dark), row], dark), file)


def film(drive: Drive, name: str, options: argparse.Namespace) -> None:
    """Film a drive's last seconds."""
    if not options.before > 0:
        raise UserError("--before: a film begins some seconds before the end")
    made = film_of(drive, name, options.before, options.dark)
    with progress() as bar:
        task = bar.add_task("pictures", total=made.pictures)
        write_film(made, options.mp4, lambda: bar.advance(task))
    say(f"{options.mp4}: {made.pictures / float(made.rate):.1f} s, {made.pictures} pictures")


def record(drive: Drive, sweeps: Sweeps, file: Path) -> None:
    """Record a drive for Rerun, or show it there."""
    if file == WINDOW:
        needs_display("--rerun FILE.rrd writes what `rerun FILE.rrd` shows")
        open_viewer(drive, sweeps)
        return
    write_recording(drive, sweeps, file)
    say(f"{file}: {'with' if sweeps else 'without'} LiDAR sweeps; `rerun {file}` shows it")


def cloud(drive: Drive, sweeps: Sweeps, options: argparse.Namespace) -> None:
    """Show or write the clouds of one moment."""
    load_open3d()
    if not sweeps:
        raise UserError(f"{drive.folder}: no sweeps are kept; record.points=true keeps them")
    moment = moment_of(drive, drive.row_at(drive.end if options.at is None else options.at))
    if options.open3d == WINDOW:
        needs_display("--open3d FILE.ply writes what it would show")
        open_window(drive, moment, sweeps)
        return
    outlines = write_clouds(moment, sweeps, options.open3d)
    say(f"{options.open3d} and {outlines}, at {moment.time:.1f} s")


def needs_display(instead: str) -> None:
    """Refuse to open a window where nobody could see it."""
    if sys.platform.startswith("linux") and not {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ):
        raise UserError(f"there is no display here; {instead}")
