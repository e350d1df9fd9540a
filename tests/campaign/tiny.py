"""The smallest campaign there is, run as people run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.records.keys import AttemptKey
from tests.conftest import ROOT

WAY = ((136.7, 196.6, 0.9), (212.5, 174.1, 1.5))
"""Start and goal of 83 m without a junction, in Crucible05."""
HAZARD = {"route": "bend", "kind": "occluded_pedestrian", "station": 45.0}


def write_route(folder: Path, *names: str) -> Path:
    """Write the one way, under every name."""
    points = "".join(
        f'<waypoint x="{x}" y="{y}" z="{z}" pitch="0" roll="0" yaw="0"/>' for x, y, z in WAY
    )
    routes = "".join(
        f'<route id="{name}" town="Crucible05">{points}</route>' for name in names or ("bend",)
    )
    (folder / "routes.xml").write_text(f"<routes>{routes}</routes>")
    (folder / "hazards.json").write_text(json.dumps({"version": 1, "hazards": [HAZARD]}))
    return folder


def command(routes: Path, *settings: str) -> list[str]:
    """Return the command line of a campaign on that route, with a few others on the roads."""
    return [
        sys.executable,
        "run_campaign.py",
        f"routes.file={routes / 'routes.xml'}",
        f"routes.hazards={routes / 'hazards.json'}",
        "routes.only=null",
        "seeds=[1]",
        "traffic=few",
        "progress=plain",
        *settings,
    ]


def run(routes: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    """Run a campaign to its end."""
    return subprocess.run(
        command(routes, *settings),
        check=False,
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=400,
    )


def environment() -> dict[str, str]:
    """Return the environment in which the systems of these tests may be named."""
    return {**os.environ, "CRUCIBLE_PACKAGES": "tests", "OMP_NUM_THREADS": "1"}


def ledger(folder: Path) -> list[dict[str, str]]:
    """Return the lines of a campaign's ledger."""
    return [json.loads(line) for line in (folder / "ledger.jsonl").read_text().splitlines()]


def files(folder: Path) -> Iterator[Path]:
    """Yield every file of a campaign's episodes, as it is called in the folder."""
    for path in sorted((folder / "episodes").rglob("*")):
        if path.is_file():
            yield path.relative_to(folder)


def place(folder: Path, system: str, condition: str) -> Path:
    """Return where the first try of an attempt lies."""
    return folder / "episodes" / AttemptKey(system, condition, "bend", 1).path / "try1"
