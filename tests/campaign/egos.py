"""Scenarios of two egos on our own town, in InterDrive's form, and campaigns that drive them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness.world.routes.scenario_sets import InterDriveRoutes
from tests.campaign.tiny import environment
from tests.warm import run_warm
from tests.world.little_checkout import write

TOWN = "Crucible05"
PATIENCE = 600.0
Way = tuple[tuple[float, float], ...]


def write_scenario(folder: Path, name: str, *ways: Way) -> Path:
    """Write a scenario with an ego for each way; return the checkout's folder."""
    for number, way in enumerate(ways):
        inside = "".join(
            f'<waypoint pitch="0.0" roll="0.0" x="{x}" y="{y}" yaw="0.0" z="0.0" />' for x, y in way
        )
        file = folder / InterDriveRoutes.folder / name / f"{name}_{number}.xml"
        write(file, f'<routes><route id="145" town="{TOWN}">{inside}</route></routes>')
    return folder


def command(checkout: Path, out: Path, *more: str) -> list[str]:
    """Return the command line of a campaign that drives all egos of a checkout's scenarios."""
    return [
        *(sys.executable, "run_campaign.py", "system=oracle", "routes=interdrive"),
        *(f"routes.checkout={checkout}", f"routes.source.town={TOWN}", "routes.repeats=true"),
        *("routes.source.driven=all", "interference=[none]", "traffic=none", "seeds=[1]"),
        *("executor.workers=1", "progress=plain", f"out={out}", *more),
    ]


def run(checkout: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run a campaign to its end."""
    arguments = command(checkout, out, *more)[1:]
    return run_warm(arguments, environment=environment(), timeout=PATIENCE)


def find_try(out: Path) -> Path:
    """Return the folder of the only try of a campaign."""
    (place,) = (out / "episodes").rglob("try1")
    return place


def read_result(folder: Path) -> dict[str, Any]:
    """Return our part of the result in a folder."""
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())["crucible"]
    return result
