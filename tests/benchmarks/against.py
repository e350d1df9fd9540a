"""Campaigns of this revision next to an older one's: `python -m tests.benchmarks.against REVISION`.

Both run whole campaigns in turn, each on its own routes, and count the processor seconds of all
their processes: starting, setting up, driving, writing. A first round, which compiles, is not
counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.benchmarks.bench_budget import TICK, children_seconds

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a campaign did and took."""

    simulated: float  # s
    processor: float  # s
    attempts: int
    wall: float  # s

    @property
    def speed(self) -> float:
        """Simulated seconds for each processor second."""
        return self.simulated / self.processor


def main() -> None:
    """Run both in turn and print their speeds and ratios."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.against", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("revision", metavar="REVISION", help="older one, as git names it")
    parser.add_argument("--here", default="study=demo", help="settings here (default: study=demo)")
    parser.add_argument("--there", help="settings there (default: as here)")
    parser.add_argument("--rounds", type=int, default=2, help="rounds that count (default: 2)")
    given = parser.parse_args()
    table = Table("round", "here", "there", "ratio", "attempts/h here", "attempts/h there")
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder) / "there"
        subprocess.run(
            ["git", "worktree", "add", "--detach", str(there), given.revision],
            cwd=ROOT, check=True, capture_output=True,
        )  # fmt: skip
        try:
            for number in range(given.rounds + 1):
                new = campaign(ROOT, given.here, Path(folder) / f"here-{number}")
                old = campaign(there, given.there or given.here, Path(folder) / f"there-{number}")
                if number:
                    table.add_row(
                        str(number),
                        f"{new.speed:.2f}",
                        f"{old.speed:.2f}",
                        f"{new.speed / old.speed:.2f}",
                        f"{3600 * new.attempts / new.wall:.0f}",
                        f"{3600 * old.attempts / old.wall:.0f}",
                    )
        finally:
            subprocess.run(
                ["git", "worktree", "remove", "--force", str(there)], cwd=ROOT, check=True
            )
    table.title = "simulated seconds for each processor second"
    Console().print(table)


def campaign(root: Path, settings: str, out: Path) -> Ran:
    """Run a campaign with the code of a checkout."""
    command = [sys.executable, str(root / "run_campaign.py"), *settings.split(), f"out={out}"]
    before, began = children_seconds(), time.monotonic()
    subprocess.run(
        [*command, "progress=quiet"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        check=True,
    )
    wall, processor = time.monotonic() - began, children_seconds() - before
    ticks = [json.loads(file.read_text())["ticks"] for file in out.rglob("timing.json")]
    return Ran(simulated=TICK * sum(ticks), processor=processor, attempts=len(ticks), wall=wall)


if __name__ == "__main__":
    main()
