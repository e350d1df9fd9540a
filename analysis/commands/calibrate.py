"""`python -m analysis calibrate`: how often the regressions cry wolf, and how often they find."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from analysis.calibration import calibrate
from analysis.commands.options import Commands
from analysis.simulation import Scene
from analysis.tables.writing import write_frame
from analysis.terminal import say, show_grid
from harness.errors import UserError


def add(commands: Commands) -> None:
    """Add `calibrate`."""
    parser = commands.add_parser("calibrate", help="how often the regressions cry wolf")
    parser.add_argument("--routes", type=int, default=19)
    parser.add_argument("--systems", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=1, help="of each system on each route")
    parser.add_argument("--campaigns", type=int, default=400, help="simulated for each scene")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, metavar="DIR", help="where calibration.csv goes")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the shares of p < 0.05."""
    size = Scene(options.routes, options.systems, options.seeds)
    if min(options.routes, options.systems, options.seeds, options.campaigns) < 1:
        raise UserError("--routes, --systems, --seeds and --campaigns: 1 or more")
    found = calibrate(size, options.campaigns, options.seed)
    head = list(found.columns[1:-1])
    for scene, own in found.groupby("scene", sort=False):
        rows = [
            [str(row["method"]), *(shown(float(row[name])) for name in head[1:])]
            for _, row in own.iterrows()
        ]
        show_grid(str(scene), head, rows)
    say(
        f"{options.campaigns} campaigns each of {options.routes} routes, {options.systems} systems,"
        f" {options.seeds} seeds; shares with p < 0.05; standard error"
        f" {math.sqrt(0.05 * 0.95 / options.campaigns):.3f} at 0.05"
    )
    if options.out:
        write_frame(found, options.out, "calibration", ["csv"])
    return 0


def shown(value: float) -> str:
    """Return a share, or nothing where there is none."""
    return f"{value:.3f}" if math.isfinite(value) else "-"
