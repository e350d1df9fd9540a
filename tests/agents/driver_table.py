"""Violations, driving score and mean speed by driver: `python -m tests.agents.driver_table`.

`oracle` drives a few routes of `routes=town05_sudden` and of `study=paper_text` under each driver,
without disturbance. A folder that is there already is resumed, and then read.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from rich.console import Console

from harness.common.errors import UserError
from harness.common.fitting_table import FittingTable
from harness.records.reading import CampaignRecords, read_stored_table
from tests.conftest import ROOT

DRIVERS = ("default", "cautious", "bold", "idm")
SETS = {
    "town05_sudden": ("routes=town05_sudden",),
    "paper_text": ("study=paper_text", "cooperation=ahead"),
}
"""What is driven, by the name of its folder."""
FIRST_ROUTES = {"town05_sudden": ("0", "1", "2", "3"), "paper_text": ("0", "1", "2", "3")}


def main() -> int:
    """Drive what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the campaigns lie, or are driven")
    parser.add_argument("--most", type=int, default=2, help="routes of each set (default: 2)")
    parser.add_argument("--read", action="store_true", help="drive nothing (default: drive)")
    options = parser.parse_args()
    table = FittingTable("routes", "driver", "attempts", "violations", "driving score", "m/s")
    for name in SETS:
        place = options.folder / name
        if not options.read:
            drive_set(name, place, options.most)
        for row in list_driver_rows(place) if (place / "campaign.yaml").exists() else ():
            table.add_row(name, *row)
    Console(width=100).print(table)
    return 0


def drive_set(name: str, place: Path, most: int) -> None:
    """Drive the first routes of a set under each driver."""
    only = ",".join(FIRST_ROUTES[name][:most])
    words = [
        *("system=oracle", "interference=none", "seeds=[1]", "progress=plain"),
        *(f"driver=[{','.join(DRIVERS)}]", f"out={place}"),
    ]
    subprocess.run(
        [sys.executable, "run_campaign.py", *SETS[name], f"routes.only=[{only}]", *words],
        check=False,
        cwd=ROOT,
        env=dict(os.environ),
    )


def list_driver_rows(folder: Path) -> list[tuple[str, ...]]:
    """Return a row for each driver: attempts, violations, mean score, mean speed over all steps.

    Only routes that all drivers have finished count.
    """
    campaign = CampaignRecords(folder)
    places = campaign.find_attempts()
    routes: dict[str, set[str]] = defaultdict(set)
    for key in places:
        routes[key.arm["driver"]].add(key.route)
    if not routes:
        raise UserError(f"{folder}: no finished attempt")
    common = set.intersection(*routes.values())
    rows: list[tuple[str, ...]] = []
    for driver in [
        *(name for name in DRIVERS if name in routes),
        *sorted(routes.keys() - {*DRIVERS}),
    ]:
        keys = [key for key in places if key.arm["driver"] == driver and key.route in common]
        results = [campaign.read_result(key)["crucible"] for key in keys]
        frames = [read_stored_table(places[key] / "frames.parquet", "frames") for key in keys]
        violations = sum(result["violation"] is not None for result in results)
        score = float(np.mean([result["driving_score"] for result in results])) if keys else 0.0
        speed = float(np.concatenate([table["speed"] for table in frames]).mean()) if keys else 0.0
        rows.append((driver, str(len(keys)), str(violations), f"{score:.1f}", f"{speed:.2f}"))
    return rows


if __name__ == "__main__":
    sys.exit(main())
