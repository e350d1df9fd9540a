"""Drive Bench2Drive routes on carlite with PDM-Lite; scores next to the published ones.

CHECKOUT is autonomousvision/carla_garage, branch leaderboard_2. Its leaderboard and its
scenario_runner drive, in the Python of --python. Nothing is fetched and no file of CHECKOUT is
changed. Each route has a server of its own. A route with a result in --out is not driven again:
an interrupted run goes on where it was. Of --routes, "first" is the first route of each town in the
order of the file, "all" is every route whose town has a file NAME.xodr in --maps.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from harness.carlite.background import ServerStartError
from harness.carlite.errors import UserError
from tools.planners.drive import PlannerSetup, check_planner_setup, drive_route
from tools.planners.results import read_route_results, write_route_result
from tools.planners.routes import BenchmarkRoute, choose_routes, read_benchmark_routes
from tools.planners.table import (
    format_page_section,
    format_result_table,
    order_results,
    write_page_section,
)

ROUTES_FILE = Path("leaderboard", "data", "bench2drive220.xml")


def run_planners_command(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code."""
    options = _parse(arguments)
    try:
        setup, routes = _prepare(options)
        for route in routes:
            if route.id in read_route_results(setup.out):
                continue
            result = drive_route(setup, route)
            write_route_result(setup.out, result)
            print(f"route {route.id}, {route.town}: {result.outcome}", flush=True)
        results = order_results(read_route_results(setup.out), [route.id for route in routes])
        print(format_result_table(results))
        if options.page is not None:
            causes = _read_causes(setup.out / "causes.json")
            write_page_section(options.page, format_page_section(results, causes))
    except (UserError, ServerStartError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.planners",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--garage", type=Path, required=True, metavar="CHECKOUT", help="checkout of carla_garage")
    add("--python", type=Path, required=True, metavar="FILE", help="Python of the checkout")
    add("--agents", type=Path, required=True, metavar="DIR", help="folder with CARLA's `agents`")
    add("--maps", type=Path, required=True, metavar="DIR", help="folder of towns as NAME.xodr")
    add("--out", type=Path, required=True, metavar="DIR", help="folder of results")
    add("--routes-file", type=Path, metavar="FILE",
        help=f"file of routes (default: {ROUTES_FILE} in CHECKOUT)")  # fmt: skip
    add("--routes", default="first", metavar="WHICH",
        help='"first", "all" or ids with commas (default: first)')  # fmt: skip
    add("--limit", type=float, default=1800.0, metavar="S",
        help="seconds of a clock for a route (default: 1800)")  # fmt: skip
    add("--page", type=Path, metavar="FILE",
        help="page whose section is written from the results and from causes.json in --out, "
        "an object of route and cause")  # fmt: skip
    return parser.parse_args(arguments)


def _prepare(options: argparse.Namespace) -> tuple[PlannerSetup, list[BenchmarkRoute]]:
    if not (math.isfinite(options.limit) and options.limit > 0.0):
        raise UserError(f"--limit: {options.limit:g}: must be a positive number")
    garage = options.garage.absolute()
    routes_file = options.routes_file or garage / ROUTES_FILE
    towns = {path.stem for path in options.maps.glob("*.xodr")}
    if not towns:
        raise UserError(f"--maps: {options.maps}: no file NAME.xodr")
    routes = choose_routes(read_benchmark_routes(routes_file), towns, options.routes)
    if not routes:
        raise UserError(f"{routes_file}: no route in a town of {options.maps}")
    setup = PlannerSetup(
        garage=garage,
        python=options.python.absolute(),
        agents=options.agents.absolute(),
        routes_file=routes_file.absolute(),
        maps=options.maps.absolute(),
        out=options.out.absolute(),
        limit=options.limit,
        revision=_get_revision(),
    )
    check_planner_setup(setup)
    try:
        setup.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out: {options.out}: {error.strerror}") from None
    return setup, routes


def _get_revision() -> str:
    """Return the commit of this checkout, with + if a file of carlite is changed."""
    folder = Path(__file__).parent
    commit = _ask_git(folder, ["rev-parse", "--short=7", "HEAD"])
    changed = _ask_git(folder, ["status", "--porcelain", "--", ":/harness/carlite"])
    return f"{commit or 'unknown'}{'+' if changed else ''}"


def _ask_git(folder: Path, words: list[str]) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, env=os.environ, check=False, capture_output=True, text=True
        )
    except OSError:
        return ""
    return done.stdout.strip()


def _read_causes(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    try:
        causes = json.loads(path.read_text())
    except ValueError as error:
        raise UserError(f"{path}: no JSON: {error}") from None
    if not isinstance(causes, dict) or not all(isinstance(cause, str) for cause in causes.values()):
        raise UserError(f"{path}: expected an object of route and cause")
    return causes


if __name__ == "__main__":
    sys.exit(run_planners_command())
