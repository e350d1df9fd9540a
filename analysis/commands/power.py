"""`crucible power`: how many routes and seeds find which difference in violations."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace

from analysis.commands.options import Commands
from analysis.simulation.power import Duel, power
from analysis.terminal import say, show_grid
from harness.errors import UserError

DIFFERENCES = "0.1,0.15,0.2,0.3"


def add(commands: Commands) -> None:
    """Add `power`."""
    parser = commands.add_parser("power", help="how many routes and seeds find which difference")
    parser.add_argument("--routes", default="10,19,32,64,128", help="numbers of routes")
    parser.add_argument("--seeds", default="1,3,5", help="numbers of seeds")
    parser.add_argument(
        "--difference",
        action="append",
        metavar="SHARE[,SHARE ...]",
        help="between two shares; all that are named, here or by repeating (0.1,0.15,0.2,0.3)",
    )
    parser.add_argument("--base", type=float, default=0.3, help="share of violations in one arm")
    parser.add_argument(
        "--route-sd", type=float, default=1.0, help="routes' spread, in SDs of a drive's own luck"
    )
    parser.add_argument(
        "--alike", type=float, default=0.5, help="how much of its luck a pair shares, 0 to 1"
    )
    parser.add_argument("--campaigns", type=int, default=1000, help="simulated for each cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the power of every design."""
    routes, seeds = numbers(options.routes, "routes"), numbers(options.seeds, "seeds")
    differences = [each for text in options.difference or [DIFFERENCES] for each in shares(text)]
    levels = [options.base, *(options.base + each for each in differences)]
    if not (all(0 < each < 1 for each in levels) and 0 <= options.alike <= 1):
        raise UserError("--base, --base plus --difference and --alike are shares, from 0 to 1")
    if not 0 <= options.route_sd < math.inf or options.campaigns < 1:
        raise UserError("--route-sd is a number not below 0, --campaigns 1 or more")
    base = Duel(1, 1, options.base, 0.0, options.route_sd, options.alike)
    for seed_count in seeds:
        rows = []
        for route_count in routes:
            found = [
                power(
                    replace(base, routes=route_count, seeds=seed_count, difference=each),
                    options.campaigns,
                    options.seed,
                )
                for each in differences
            ]
            attempts = str(2 * route_count * seed_count)
            rows.append([str(route_count), attempts, *(f"{each:.2f}" for each in found)])
        title = (
            f"Share of campaigns that find it (p < 0.05), {seed_count} seed{'s' * (seed_count > 1)}"
        )
        head = ["routes", "attempts"]
        head += [f"{options.base:.0%} against {options.base + each:.0%}" for each in differences]
        show_grid(title, head, rows)
    say("sign-flip test over routes; both arms meet the same routes and seeds")
    return 0


def numbers(text: str, what: str) -> list[int]:
    """Return the whole numbers in a list, one or more each."""
    try:
        found = [int(each) for each in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise UserError(f"--{what} {text!r}: whole numbers by comma, as 19,32")
    return found


def shares(text: str) -> list[float]:
    """Return the shares in a list."""
    try:
        found = [float(each) for each in text.split(",")]
    except ValueError:
        raise UserError(f"--difference {text!r}: shares by comma, as 0.1,0.2") from None
    return found
