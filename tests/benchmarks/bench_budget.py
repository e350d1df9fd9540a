"""Where a campaign's time goes: `study=demo` on one route, with one worker.

Processor seconds are of whole processes: the simulator's, those of attempts (networks, driver,
harness, client library), and the rest (imports, plan, printing). The parts of an attempt are
seconds on the clock; while the simulator ticks, the attempt waits.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from subprocess import Popen
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]
CHOICES = [
    "study=demo",
    "routes=sudden",
    "routes.only=['1']",
    "executor.workers=1",
    "progress=quiet",
]
TICK = 0.05
EVERY = 0.1
"""Seconds between two looks at the processes."""
PARTS = ("set_up", "simulator", "system", "sensors", "evaluation")


def run() -> list[tuple[str, str]]:
    """Run the campaign; return what each part of it takes for a simulated second."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "bench"
        before, began = children_seconds(), time.monotonic()
        by_part = watched([sys.executable, str(ROOT / "run_campaign.py"), *CHOICES, f"out={out}"])
        wall, processor = time.monotonic() - began, children_seconds() - before
        timings = [json.loads(file.read_text()) for file in sorted(out.rglob("timing.json"))]
    simulated = TICK * sum(timing["ticks"] for timing in timings)
    by_part["the rest"] = processor - sum(by_part.values())
    return [
        ("attempts", str(len(timings))),
        ("attempts an hour", f"{3600 * len(timings) / wall:.0f}"),
        ("simulated seconds a processor second", f"{simulated / processor:.2f}"),
        *(
            (f"processor, {part}, ms a simulated second", f"{1e3 * seconds / simulated:.0f}")
            for part, seconds in by_part.items()
        ),
        *(
            (f"clock, {part}, ms a simulated second", f"{1e3 * seconds / simulated:.0f}")
            for part, seconds in clock_parts(timings).items()
        ),
    ]


def children_seconds() -> float:
    """Return the processor seconds of all children that have ended, theirs included."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def watched(command: list[str]) -> dict[str, float]:
    """Run a command; return the processor seconds of its simulators and of its attempts."""
    spent: dict[int, tuple[str, float]] = {}
    with Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as campaign:
        process = psutil.Process(campaign.pid)
        while campaign.poll() is None:
            for child in descendants(process):
                part, seconds = reading(child, spent.get(child.pid, ("", 0.0)))
                spent[child.pid] = (part, seconds)
            time.sleep(EVERY)
        if campaign.returncode:
            raise RuntimeError(f"{' '.join(command)} exited with {campaign.returncode}")
    totals: dict[str, float] = defaultdict(float)
    for part, seconds in spent.values():
        if part:
            totals[part] += seconds
    return dict(totals)


def descendants(process: psutil.Process) -> list[psutil.Process]:
    """Return the processes that a process has started, as far as they still run."""
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def reading(process: psutil.Process, before: tuple[str, float]) -> tuple[str, float]:
    """Return which part of a campaign a process is, and its processor seconds."""
    try:
        used = process.cpu_times()
        line = " ".join(process.cmdline())
    except psutil.Error:
        return before
    part = before[0]
    if "harness.carlite" in line and "keeper" not in line:
        part = "simulator"
    elif "fork_server" in line:
        part = "attempts"
    return part, used.user + used.system


def clock_parts(timings: list[dict[str, Any]]) -> dict[str, float]:
    """Return the seconds of all attempts by part."""
    seconds = {part: sum(timing["seconds"][part] for timing in timings) for part in PARTS}
    total = sum(timing["seconds"]["total"] for timing in timings)
    drive = sum(timing["seconds"]["drive"] for timing in timings)
    seconds["harness while driving"] = drive - sum(seconds[part] for part in PARTS[1:])
    seconds["records"] = total - drive - seconds["set_up"]
    return seconds
