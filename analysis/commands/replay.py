"""`python -m analysis replay DIR`: violations one by one, as strips without a viewer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from analysis.cases import Case, cases_of
from analysis.collection import collect
from analysis.commands.options import Commands
from analysis.drawing.canvas import Canvas
from analysis.drawing.picture import below, beside, picture, write_png
from analysis.figures.moments import story_of
from analysis.figures.strips import draw_strip
from analysis.terminal import say
from harness.errors import UserError

SCALE = 3.0
"""Pixels for each unit of a drawing."""


def add(commands: Commands) -> None:
    """Add `replay`."""
    parser = commands.add_parser("replay", help="violations one by one")
    parser.add_argument("folder", type=Path, metavar="DIR", help="a campaign's folder")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true", help="say which cases there are")
    what.add_argument("--case", type=int, metavar="N", help="the number of a violation")
    parser.add_argument("--png", type=Path, metavar="FILE", help="draw it at three moments")
    parser.add_argument("--dark", action="store_true", help="on dark ground")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List the cases, or show one."""
    cases = cases_of(collect([options.folder]))
    if options.list:
        list_cases(cases)
        return 0
    case = next((each for each in cases if each.number == options.case), None)
    if case is None:
        there = f"there are 1 to {len(cases)}" if cases else "no drive ended in a violation"
        raise UserError(f"{options.folder}: no case {options.case}; {there}")
    say(f"Case {case.number}: {title_of(case)}")
    say(case.what)
    if options.png:
        draw(case, options.png, options.dark)
        say(f"{options.png}")
    return 0


def list_cases(cases: Sequence[Case]) -> None:
    """Print every case."""
    for each in cases:
        say(f"{each.number:4}  {title_of(each)}: {each.what}")
    say(f"{len(cases)} violations")


def title_of(case: Case) -> str:
    """Return which attempt a case is of."""
    key = case.key
    return f"{key.system} / {key.condition}, route {key.route}, seed {key.seed}"


def draw(case: Case, file: Path, dark: bool) -> None:
    """Draw a case's three moments in a row, under its title."""
    story = story_of(case.campaign, case.key)
    if story is None:
        raise UserError(f"case {case.number}: it ended before the first planning step")
    row = beside([picture(each, SCALE, dark) for each in draw_strip(story)], 12, dark)
    title = Canvas(row.width / SCALE, 40, "title")
    title.words((6, 16), f"Case {case.number}: {title_of(case)}", bold=True)
    title.words((6, 31), case.what, colour="quiet")
    write_png(below([picture(title, SCALE, dark), row], dark), file)
