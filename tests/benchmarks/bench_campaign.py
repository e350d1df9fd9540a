"""One campaign with 1, 2 and 4 workers: what they bring, and what starting and stopping takes.

Eight short drives without traffic, so that what an attempt costs besides its drive shows. With more
workers than half the cores, workers and their simulators share them.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from harness.records.ledger import find_finished_tries
from tests.campaign.tiny import command, environment, write_route

ROOT = Path(__file__).parents[2]
CHOICES = ["system=[ideal_single,ideal_late]", "interference=none", "seeds=[1,2]"]
EMPTY_ROADS = ["traffic=none", "routes.hazards=null", "progress=json"]
WORKERS = (1, 2, 4)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A campaign in seconds."""

    wall: float
    first: float  # mean of each worker's first try: with the start of its simulator
    later: float  # mean of all others
    played: float  # mean from the loaded library to the records
    driven: float  # mean from the first planning step to the end of the drive
    set_up: float  # mean of the town and all actors in it


def run() -> list[tuple[str, str]]:
    """Run the campaigns and compare them."""
    by_workers = {worker: measured(worker) for worker in WORKERS}
    alone = by_workers[1]
    rows = [("cores", str(os.cpu_count()))]
    for count, by_worker in by_workers.items():
        efficiency = alone.wall / (count * by_worker.wall)
        rows.append((f"{count} workers: whole campaign, s", f"{by_worker.wall:.1f}"))
        rows.append((f"{count} workers: efficiency", f"{100 * efficiency:.0f} %"))
    return [
        *rows,
        ("one worker: a try, s", f"{alone.later:.2f}"),
        ("of it the drive", f"{alone.driven:.2f}"),
        ("of it setting up the world", f"{alone.set_up:.2f}"),
        ("of it records", f"{alone.played - alone.set_up - alone.driven:.2f}"),
        ("of it starting and ending the process", f"{alone.later - alone.played:.2f}"),
        ("one worker: start of the simulator, s", f"{alone.first - alone.later:.2f}"),
    ]


def measured(workers: int) -> Measured:
    """Run the campaign and read what it says of itself."""
    with tempfile.TemporaryDirectory() as folder:
        routes, out = write_route(Path(folder), "hop", "bend"), Path(folder) / "out"
        line = command(routes, *CHOICES, *EMPTY_ROADS, f"out={out}", f"executor.workers={workers}")
        began = time.monotonic()
        done = subprocess.run(
            line, check=True, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True
        )
        wall = time.monotonic() - began
        events = [json.loads(line) for line in done.stdout.splitlines()]
        timings = [
            json.loads((place / "timing.json").read_text())["seconds"]
            for place in find_finished_tries(out).values()
        ]
    ended = [line for line in events if line["event"] == "ends"]
    first = [next(line for line in ended if line["worker"] == n + 1) for n in range(workers)]
    return Measured(
        wall=wall,
        first=fmean(line["seconds"] for line in first),
        later=fmean(line["seconds"] for line in ended if line not in first),
        played=fmean(timing["total"] for timing in timings),
        driven=fmean(timing["drive"] for timing in timings),
        set_up=fmean(timing["set_up"] for timing in timings),
    )
