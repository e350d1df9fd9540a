"""A few seconds of a real drive: a campaign of one route, driven by the scribe on carlite."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from agents.conformance.moments import Recording, read
from harness.errors import AttemptError

ROOT = Path(__file__).parents[2]
ROUTE = """<routes><route id="street" town="Crucible05">
<waypoint x="136.7" y="196.6" z="0.9" pitch="0" roll="0" yaw="0"/>
<waypoint x="166.7" y="196.6" z="0.9" pitch="0" roll="0" yaw="0"/>
</route></routes>"""
SCRIBE = "agents.conformance.scribe.Scribe"


def recorded(file: Path | None) -> Recording:
    """Return the recording in a file; it is made if it is not there, or if none is named."""
    if file is not None:
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            record(file)
        return read(file)
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder) / "moments.npz")
        return read(Path(folder) / "moments.npz")


def record(file: Path) -> None:
    """Drive the street once, with a unit and vehicles as partners."""
    with tempfile.TemporaryDirectory() as folder:
        route = Path(folder) / "street.xml"
        route.write_text(ROUTE)
        command = [
            sys.executable,
            str(ROOT / "run_campaign.py"),
            f"routes.file={quoted(route)}",
            "routes.hazards=null",
            "routes.only=null",
            "seeds=[1]",
            "system=[]",
            f"+system.scribe._target_={SCRIBE}",
            f"+system.scribe.file={quoted(file.absolute())}",
            "interference=none",
            "cooperation=mixed",
            "progress=plain",
            f"out={quoted(Path(folder) / 'out')}",
        ]
        done = subprocess.run(
            command, check=False, cwd=ROOT, env=os.environ.copy(), capture_output=True, text=True
        )
    if not file.exists():
        told = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise AttemptError("agent_exception", " ".join(["the street was not recorded:", *told]))


def quoted(path: Path) -> str:
    """Return a path as Hydra takes any: brackets, commas and accents mean something to it."""
    return "'" + str(path).replace("'", r"\'") + "'"
