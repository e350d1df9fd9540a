"""One attempt of `ideal_late`: what of a tick is the simulator's, the system's, the harness's.

A route of ours with its hazard, V2Xverse's traffic, one roadside unit, planning at 5 Hz. The
harness's own share is all that is neither the simulator's tick nor the system under test: reading
sensors, truth, the channel, evaluation, records.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
CHOICES = [
    "system=ideal_late",
    "interference=none",
    "routes=sudden",
    "routes.only=['0']",
    "progress=quiet",
]


def run() -> list[tuple[str, str]]:
    """Run the attempt through the command line and read what its timing says."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / "run_campaign.py"), *CHOICES, f"out={folder}/bench"]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        timing = json.loads(next(Path(folder).rglob("timing.json")).read_text())
    seconds, ticks = timing["seconds"], timing["ticks"]
    harness_seconds = seconds["drive"] - seconds["simulator"] - seconds["system"]
    parts = {
        "simulator's tick": seconds["simulator"],
        "system under test": seconds["system"],
        "harness": harness_seconds,
        "of it reading sensors and truth": seconds["sensors"],
        "of it evaluation and recording": seconds["evaluation"],
    }
    rows = [(f"{name}, ms a tick", f"{1000 * value / ticks:.2f}") for name, value in parts.items()]
    simulated = ticks * 0.05
    return [
        *rows,
        ("harness's share of the drive", f"{100 * harness_seconds / seconds['drive']:.0f} %"),
        ("simulated seconds a second of driving", f"{simulated / seconds['drive']:.1f}"),
        ("the try besides, s", f"{seconds['total'] - seconds['drive']:.1f}"),
    ]
