"""`crucible power`: how many routes and seeds find which difference in violations."""

from __future__ import annotations

import argparse
import math
from dataclasses import replace

from analysis.commands.options import describe_command
from analysis.simulation.power import PairedDesign, estimate_power
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=80,
    purpose="estimate the power of a comparison by numbers of routes and seeds",
    extra="analysis",
    examples=(
        "crucible power",
        "crucible power --routes 16,32 --seeds 1,3 --difference 0.1,0.2",
    ),
)


DIFFERENCES = "0.1,0.15,0.2,0.3"
DESCRIPTION = """Estimate the statistical power of a paired comparison of violation rates: the
share of simulated campaigns in which the test over routes has p < 0.05."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible power` takes."""
    describe_command(parser, DESCRIPTION)
    parser.add_argument(
        "--routes",
        default="10,19,32,64,128",
        metavar="N[,N ...]",
        help="numbers of routes (default: %(default)s)",
    )
    parser.add_argument(
        "--seeds",
        default="1,3,5",
        metavar="N[,N ...]",
        help="numbers of seeds for each route (default: %(default)s)",
    )
    parser.add_argument(
        "--difference",
        action="append",
        metavar="SHARE[,SHARE ...]",
        help="differences between the violation rates of two arms, each between 0 and 1; may be"
        f" repeated (default: {DIFFERENCES})",
    )
    parser.add_argument(
        "--base-rate",
        type=float,
        default=0.3,
        metavar="SHARE",
        help="violation rate of the first arm, between 0 and 1 (default: %(default)s)",
    )
    parser.add_argument(
        "--route-sd",
        type=float,
        default=1.0,
        metavar="SD",
        help="standard deviation between routes, in standard deviations between drives of one"
        " route (default: %(default)s)",
    )
    parser.add_argument(
        "--correlation",
        type=float,
        default=0.5,
        metavar="R",
        help="correlation between the two drives of a pair, given the route, from 0 to 1"
        " (default: %(default)s)",
    )
    parser.add_argument(
        "--campaigns",
        type=int,
        default=1000,
        metavar="N",
        help="simulated campaigns for each cell (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="seed of the simulation (default: %(default)s)",
    )
    parser.set_defaults(run=run_power_command)


def run_power_command(options: argparse.Namespace) -> int:
    """Print the power of every design."""
    # what is asked for
    routes, seeds = (
        parse_positive_integers(options.routes, "routes"),
        parse_positive_integers(options.seeds, "seeds"),
    )
    differences = [
        share for text in options.difference or [DIFFERENCES] for share in parse_share_list(text)
    ]
    levels = [options.base_rate, *(options.base_rate + difference for difference in differences)]
    if not (all(0 < level < 1 for level in levels) and 0 <= options.correlation <= 1):
        raise UserError(
            "--base-rate, also plus --difference, must be between 0 and 1;"
            " --correlation from 0 to 1"
        )
    if not 0 <= options.route_sd < math.inf or options.campaigns < 1:
        raise UserError("--route-sd must be >= 0 and --campaigns >= 1")
    # a design that the grid varies
    base = PairedDesign(
        routes=1,
        seeds=1,
        base=options.base_rate,
        difference=0.0,
        route_sd=options.route_sd,
        alike=options.correlation,
    )
    # a table for every number of seeds
    for seed_count in seeds:
        rows = []
        for route_count in routes:
            powers = [
                estimate_power(
                    replace(base, routes=route_count, seeds=seed_count, difference=difference),
                    options.campaigns,
                    options.seed,
                )
                for difference in differences
            ]
            attempts = str(2 * route_count * seed_count)
            rows.append([str(route_count), attempts, *(f"{value:.2f}" for value in powers)])
        title = (
            f"Power: share of campaigns with p < 0.05, {seed_count} seed{'s' * (seed_count > 1)}"
        )
        head = ["routes", "attempts"]
        head += [
            f"{100 * low:.0f} % against {100 * (low + difference):.0f} %"
            for low in [options.base_rate]
            for difference in differences
        ]
        show_grid(title, head, rows)
    print_escaped_line("sign-flip test over routes; both arms have the same routes and seeds")
    return 0


def parse_positive_integers(text: str, what: str) -> list[int]:
    """Return the whole numbers in a list, one or more each."""
    try:
        whole = [int(number) for number in text.split(",")]
    except ValueError:
        whole = []
    if not whole or min(whole) < 1:
        raise UserError(
            f"--{what} {text!r}: must be positive integers separated by commas, such as 19,32"
        )
    return whole


def parse_share_list(text: str) -> list[float]:
    """Return the shares in a list."""
    try:
        values = [float(share) for share in text.split(",")]
    except ValueError:
        raise UserError(
            f"--difference {text!r}: must be numbers separated by commas, such as 0.1,0.2"
        ) from None
    return values
