"""The tracker's constants, weighed by drives of `oracle`, which perceives the ground truth.

    python -m tests.agents.driver_outcomes --maps TOWNS --routes ROUTES --out DIR [--workers N]

TOWNS has the OpenDRIVE files of development towns, ROUTES one folder or several of `crucible routes
generate`. Every route is driven once with each of the constants of `driver_constants`, without
disturbances. A violation of `oracle`, hard braking without a reason and jerk are the driver's own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import yaml
from rich.console import Console
from rich.table import Table

from agents.driving import tracking
from agents.oracle import Oracle
from analysis.collection import collect_campaigns
from analysis.surrogates import GOAL, SURROGATE_MEASURES
from tests.agents.driver_constants import CHANGES
from tests.conftest import ROOT

PHANTOM, HARD, JERK = (
    SURROGATE_MEASURES[name]
    for name in ("hard braking without reason", "hard braking", "RMS jerk, m/s³")
)
OTHER = "tests.agents.driver_outcomes.OtherConstants"


class OtherConstants(Oracle):
    """`oracle` whose tracker has one constant changed, for as long as its process lives."""

    def __init__(self, change: str) -> None:
        super().__init__()
        constant, value = CHANGES[change]
        setattr(tracking, constant, value)


def main() -> None:
    """Drive what is not driven yet, and print a row for each constant."""
    parser = argparse.ArgumentParser(prog="python -m tests.agents.driver_outcomes")
    parser.add_argument("--maps", type=Path, required=True)
    parser.add_argument("--routes", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    names = {f"constants_{number}": change for number, change in enumerate(CHANGES)}
    systems = options.out / "conf" / "system"
    systems.mkdir(parents=True, exist_ok=True)
    for name, change in names.items():
        system = {
            name: {"_target_": "tests.agents.driver_outcomes.OtherConstants", "change": change}
        }
        (systems / f"{name}.yaml").write_text(yaml.safe_dump(system))
    folders = [
        driven(number, routes, options, list(names)) for number, routes in enumerate(options.routes)
    ]
    Console().print(table_of(collect_campaigns(folders).attempts, names))


def driven(number: int, routes: Path, options: argparse.Namespace, names: list[str]) -> Path:
    """Run, or resume, the campaign on the routes of a folder."""
    out: Path = options.out.absolute() / f"drives-{number}"
    command = [
        *(sys.executable, "run_campaign.py", "study=recommended", "routes=crucible05"),
        *(
            f"routes.file={routes.absolute()}/routes.xml",
            f"simulator.maps={options.maps.absolute()}",
        ),
        *(f"routes.hazards={routes.absolute()}/hazards.json", f"system=[{','.join(names)}]"),
        *("interference=none", "seeds=[1]", f"executor.workers={options.workers}", f"out={out}"),
        *("--config-dir", str(options.out.absolute() / "conf")),
    ]
    ours = {"PYTHONPATH": str(ROOT), "CRUCIBLE_PACKAGES": "tests"}
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **ours})
    return out


def table_of(attempts: pd.DataFrame, names: dict[str, str]) -> Table:
    """Return a row for each constant: sums and means over its drives, and what differs."""
    columns = ("constant", "drives", "violations", "hard braking", "without reason", "RMS jerk")
    grid = Table(*columns, "time to goal, s", "routes that end otherwise")
    by_system = {
        name: rows.set_index(["source", "route"]) for name, rows in attempts.groupby("system")
    }
    first = by_system[next(iter(names))]["violated"].astype(bool)
    for name, change in names.items():
        rows = by_system[name]
        violated = rows["violated"].astype(bool)
        grid.add_row(
            *(change, str(len(rows)), str(int(violated.sum())), f"{rows[HARD].sum():.0f}"),
            *(f"{rows[PHANTOM].sum():.0f}", f"{rows[JERK].mean():.2f}", f"{rows[GOAL].mean():.1f}"),
            str(int((violated != first.reindex(violated.index)).sum())),
        )
    return grid


if __name__ == "__main__":
    main()
