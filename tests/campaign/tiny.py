"""The smallest campaign there is, run as people run it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hydra import compose, initialize_config_dir

from harness.campaign.planning.plan import plan_campaign
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.settings.config import resolve_settings
from harness.campaign.settings.declared import CampaignSettings
from harness.common.errors import UserError
from harness.records.reading import read_stored_table
from tests.conftest import ROOT
from tests.keys import key_of
from tests.warm import run_warm

START = (136.7, 196.6, 0.9)
GOALS = {"bend": (212.5, 174.1, 1.5), "hop": (166.7, 196.6, 0.9), "step": (156.7, 196.6, 0.9)}
"""In Crucible05, after 83, 30 and 20 m without a junction."""
HAZARD = {
    "route": "bend",
    "kind": "occluded_pedestrian",
    "station": 45.0,
    "parameters": {"speed": 2.4, "depth": 2.1, "gap": 0.5, "hides": "lorry"},
}
"""Seen by the ego at the last moment, by a roadside unit earlier."""


def write_route(folder: Path, *names: str) -> Path:
    """Write the routes of these names; `hop-3` is a hop; names of no goal go along the bend."""
    routes = "".join(
        f'<route id="{name}" town="Crucible05">{point(START)}'
        f"{point(GOALS.get(name.partition('-')[0], GOALS['bend']))}</route>"
        for name in names or ("bend",)
    )
    (folder / "routes.xml").write_text(f"<routes>{routes}</routes>")
    (folder / "hazards.json").write_text(json.dumps({"version": 1, "hazards": [HAZARD]}))
    return folder


def point(place: tuple[float, float, float]) -> str:
    """Return a point of a route as files have it."""
    x, y, z = place
    return f'<waypoint x="{x}" y="{y}" z="{z}" pitch="0" roll="0" yaw="0"/>'


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
    """Run a campaign to its end; its command need not import."""
    return run_warm(command(routes, *settings)[1:], environment=environment(), timeout=400)


def complaints(stderr: str) -> list[str]:
    """Return what was said, but for servers that say they start slowly."""
    return [line for line in stderr.splitlines() if not line.startswith("carlite: ")]


def environment() -> dict[str, str]:
    """Return the environment in which the systems of these tests may be named."""
    return {**os.environ, "CRUCIBLE_PACKAGES": "tests", "OMP_NUM_THREADS": "1"}


def ledger(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of a campaign's ledger."""
    return [json.loads(line) for line in (folder / "ledger.jsonl").read_text().splitlines()]


def files(folder: Path) -> Iterator[Path]:
    """Yield every file of a campaign's episodes, as it is called in the folder."""
    for path in sorted((folder / "episodes").rglob("*")):
        if path.is_file():
            yield path.relative_to(folder)


def place(folder: Path, system: str, condition: str) -> Path:
    """Return where the first try of an attempt lies."""
    return folder / "episodes" / key_of(system, condition, "bend", 1).path / "try1"


def truth(attempt: Path, until: float = math.inf) -> pd.DataFrame:
    """Return who truly stood where, up to a frame."""
    boxes = read_stored_table(attempt / "boxes.parquet", "boxes")
    true = boxes[(boxes.source == "truth") & (boxes.frame <= until)].astype({"class": str})
    return true.drop(columns=["pattern", "pattern_count"]).reset_index(drop=True)


def controls(attempt: Path) -> pd.DataFrame:
    """Return what the ego did."""
    return read_stored_table(attempt / "frames.parquet", "frames")[
        ["frame", "throttle", "steer", "brake"]
    ]


def composed(*settings: str) -> CampaignSettings:
    """Return the settings that a command line means."""
    with initialize_config_dir(version_base="1.3", config_dir=str(ROOT / "conf")):
        return resolve_settings(compose("config", list(settings)))


def plan_arms(routes: Path, *settings: str) -> list[str]:
    """Return the names of the arms that a campaign without hazards would drive, in order."""
    files = ("routes.hazards=null", "routes.only=null")
    plan = plan_campaign(composed(f"routes.file={routes / 'routes.xml'}", *files, *settings))
    return list(dict.fromkeys(str(key.arm) for key in plan.attempts))


def assert_refused_in_one_line(settings: list[str], words: str) -> None:
    """Compose a campaign that is refused; the refusal is one line that matches the words."""
    with pytest.raises(UserError, match=words) as raised:
        refuse_misshapen(composed(*settings))
    assert "\n" not in str(raised.value)
