"""Jams of background traffic, without an ego: `python -m tests.carlite.jams --help`.

V2Xverse's amounts, spawned as for an attempt, by the real client; the server itself is watched.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from harness.common.errors import AttemptError
from harness.world.flow import TICK, make_traffic_context
from harness.world.session import CarlaSession, open_session
from harness.world.traffic import Traffic

READY = re.compile(r"carlite (\S+) ready on (\S+):(\d+), town (\S+)\n")
TOWNS = "Crucible05,CrucibleHill,CrucibleOld,CrucibleRing"
TRIES = 5


@contextmanager
def watched(town: str, maps: str | None, log: Path) -> Iterator[tuple[str, int]]:
    """Run a server that reports to a file; its host and port."""
    command = [sys.executable, "-m", "tests.carlite.jam_server", str(log), "--port", "0"]
    command += ["--town", town, *(["--maps", maps] if maps else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            ready = READY.fullmatch(process.stdout.readline())
            if ready is None:
                raise SystemExit(f"{town}: no server")
            yield ready[2], int(ready[3])
        finally:
            process.terminate()


@contextmanager
def session(host: str, port: int, town: str, seed: int) -> Iterator[CarlaSession]:
    """Open a session; on a busy machine the library gives the Traffic Manager too little time."""
    for again in range(TRIES):
        stack = ExitStack()
        try:
            opened = stack.enter_context(
                open_session(host, port, town=town, tick_seconds=TICK, seed=seed)
            )
            break
        except (AttemptError, RuntimeError):
            if again == TRIES - 1:
                raise
            time.sleep(TRIES)
    with stack:
        yield opened


def drive(opened: CarlaSession, town: str, seed: int, options: argparse.Namespace) -> None:
    """Let traffic go about its business."""
    population = Traffic(
        vehicles=options.vehicles, bicycles=options.bicycles, walkers=options.walkers
    ).spawn_population(make_traffic_context(opened, town, seed), [])
    for _ in range(round(options.minutes * 60.0 / TICK)):
        opened.world.tick()
    population.destroy_population()


def printed(town: str, seed: int, row: dict[str, Any], every: bool) -> float:
    """Print what was seen; return the mutual jams in an hour of one vehicle."""
    hours = row["vehicles"] * row["seconds"] / 3600.0
    jams = float((row["jammed"] - row["queued"]) / hours)
    print(
        f"{town} {seed}: {row['vehicles']} vehicles, {row['seconds']:.0f} s; per vehicle-hour "
        f"{jams:.2f} jams, {row['queued'] / hours:.2f} long waits before lights, "
        f"{row['collisions'] / hours:.2f} collisions among them; "
        f"{row['jammed'] - row['queued']} jams, longest stand {row['longest']:.0f} s, "
        f"{row['walked_into']} walkers hit; "
        f"{row['speed']:.2f} m/s, {100.0 * row['standing']:.0f} % of the time standing",
        flush=True,
    )
    for line in (*row["chains"], *row["touches"]) if every else ():
        print(f"   {line}", flush=True)
    return jams


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.carlite.jams", description=__doc__)
    parser.add_argument("--towns", default=TOWNS, help="default: %(default)s")
    parser.add_argument("--maps", default=os.environ.get("CRUCIBLE_MAPS"), help="further towns")
    parser.add_argument("--seeds", default="1", help="default: %(default)s")
    parser.add_argument("--minutes", type=float, default=10.0, help="simulated; default: 10")
    parser.add_argument("--vehicles", type=int, default=120, help="default: %(default)s")
    parser.add_argument("--bicycles", type=int, default=120, help="default: %(default)s")
    parser.add_argument("--walkers", type=int, default=120, help="default: %(default)s")
    parser.add_argument("--most-hit", type=int, help="walkers hit above which it fails")
    parser.add_argument("--most", type=float, help="jams per vehicle-hour above which it fails")
    parser.add_argument("--every", action="store_true", help="print every jam, and every touch")
    options = parser.parse_args()
    if options.minutes < 1.0:
        parser.error(f"--minutes {options.minutes:g}: the server reports each minute; ask for one")
    return options


def main(options: argparse.Namespace) -> int:
    """Print a line for each town and seed.

    Each town has a process of its own: the library remembers by port who manages traffic there.
    """
    towns = options.towns.split(",")
    if len(towns) > 1:
        module = [sys.executable, "-m", "tests.carlite.jams", *sys.argv[1:]]
        codes = [
            subprocess.run([*module, "--towns", town], check=False).returncode for town in towns
        ]
        return max(codes)
    (town,) = towns
    worst, hit = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with watched(town, options.maps, log) as (host, port):
            for seed in map(int, options.seeds.split(",")):
                with session(host, port, town, seed) as opened:
                    drive(opened, town, seed, options)
                row = json.loads(log.read_text().splitlines()[-1])
                worst = max(worst, printed(town, seed, row, options.every))
                hit = max(hit, row["walked_into"])
    too_many_hit = options.most_hit is not None and hit > options.most_hit
    return int(too_many_hit or (options.most is not None and worst > options.most))


if __name__ == "__main__":
    sys.exit(main(arguments()))
