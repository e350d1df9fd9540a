"""`crucible calibrate`: how often tests on campaigns without any effect find one."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.commands.options import Commands
from analysis.simulation.calibration import ALPHA, HEADLINE, METHODS, calibrate
from analysis.simulation.campaigns import Scene
from analysis.simulation.report_pages import calibrate_pages
from analysis.tables.writing import write_frame
from analysis.terminal import say, show_grid
from harness.errors import UserError

NULL = "nothing matters"


def add(commands: Commands) -> None:
    """Add `calibrate`."""
    parser = commands.add_parser("calibrate", help="rates of false alarms, by simulation")
    parser.add_argument("--routes", type=int, default=19)
    parser.add_argument("--systems", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=1, help="of each system on each route")
    parser.add_argument("--campaigns", type=int, default=400, help="simulated for each scene")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--methods", default=",".join(METHODS), help="of the regressions, by comma; default all"
    )
    parser.add_argument(
        "--pages", action="store_true", help="whole report pages instead of single regressions"
    )
    parser.add_argument("--scenes", default="", help="only those whose names have these words")
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit with 1 if the headline's rate is significantly above 5 %%",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where calibration.csv goes")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the shares of p < 0.05."""
    size = Scene(options.routes, options.systems, options.seeds)
    if min(options.routes, options.systems, options.seeds, options.campaigns) < 1:
        raise UserError("--routes, --systems, --seeds and --campaigns: 1 or more")
    return of_pages(size, options) if options.pages else of_regressions(size, options)


def of_regressions(size: Scene, options: argparse.Namespace) -> int:
    """Print how often each regression finds what is not there, and what is."""
    methods = options.methods.split(",")
    if unknown := [each for each in methods if each not in METHODS]:
        raise UserError(f"--methods: unknown {', '.join(unknown)}; valid: {', '.join(METHODS)}")
    found = calibrate(size, options.campaigns, options.seed, methods, options.scenes)
    if found.empty:
        raise UserError(f"--scenes: no scene's name has {options.scenes!r}")
    show(found)
    say(
        f"{options.campaigns} campaigns each of {options.routes} routes, {options.systems} systems,"
        f" {options.seeds} seeds; shares with p < 0.05; low and high: Clopper and Pearson's 95 %"
        " interval of false, any, Holm"
    )
    if options.out:
        write_frame(found, options.out, "calibration", ["csv"])
    null = found[found["scene"].str.startswith(NULL) & (found["method"] == HEADLINE)]
    return verdict(null["scene"].tolist(), null["low"].tolist()) if options.check else 0


def of_pages(size: Scene, options: argparse.Namespace) -> int:
    """Print how often report pages have a false sentence."""
    found = calibrate_pages(size, options.campaigns, options.seed, options.scenes)
    if found.empty:
        raise UserError(f"--scenes: no page's name has {options.scenes!r}")
    numbers = [str(name) for name in found if name not in ("scene", "pages")]
    rows = [
        [str(row["scene"]), *(shown(float(row[name])) for name in numbers)]
        for _, row in found.iterrows()
    ]
    show_grid("Report pages", ["scene", *numbers], rows)
    say(
        f"{options.campaigns} pages each of {options.routes} routes, {options.systems} systems"
        f" under 2 conditions, {options.seeds} seeds; low and high: Clopper and Pearson's"
        " 95 % interval of a false sentence"
    )
    if options.out:
        write_frame(found, options.out, "calibration_pages", ["csv"])
    return verdict(found["scene"].tolist(), found["low"].tolist()) if options.check else 0


def show(found: pd.DataFrame) -> None:
    """Print a grid for each scene."""
    head = list(found.columns[1:-1])
    for scene, own in found.groupby("scene", sort=False):
        rows = [
            [str(row["method"]), *(shown(float(row[name])) for name in head[1:])]
            for _, row in own.iterrows()
        ]
        show_grid(str(scene), head, rows)


def verdict(names: Sequence[str], lows: Sequence[float]) -> int:
    """Print which rates are above the level, and return the exit code."""
    above = [name for name, low in zip(names, lows, strict=True) if low > ALPHA]
    for name in above:
        say(f"above {ALPHA:.0%}: {name}")
    if not above:
        say(f"no rate is significantly above {ALPHA:.0%}")
    return 1 if above else 0


def shown(value: float) -> str:
    """Return a share, or nothing where there is none."""
    return f"{value:.3f}" if math.isfinite(value) else "-"
