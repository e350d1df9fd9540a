"""Campaigns whose processes are killed: `python -m tests.campaign.chaos ROUNDS` prints a tally.

A round is one `kill -9`, at a random moment, of a random process: the runner, a worker, a server or
a server's keeper. A campaign that has exited is started again with the same command until it
reports that all is done; then its records must be those of an undisturbed campaign.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from harness.records.ledger import find_finished_tries, iter_ledger_lines
from tests.campaign.tiny import command, environment, write_route
from tests.conftest import ROOT

SETTINGS = (
    "system=[ideal_single,ideal_late]",
    "interference=[none]",
    "traffic=none",
    "routes.hazards=null",
    "attempts_per_route=1000",
    "executor.workers=2",
)
MARK = "CRUCIBLE_CHAOS"
SIGNS = {
    "keeper.py": "keeper",
    "harness.campaign.attempt.attempt_process": "worker",
    "harness.campaign.attempt.fork_server": "fork server",
    "harness.carlite": "server",
    "run_campaign.py": "runner",
}
KINDS = tuple(SIGNS.values())
CHILDREN = {"fork server": "worker"}
"""What the children of a kind are, which have its command line."""
WHOLE, PART = 0.5, 0.2
"""Longest wait before the runner's end and before another's, as shares of a whole campaign."""
LOOK = 0.05
RESUMES = 50
"""Times the command may be repeated after the last kill."""


@dataclass
class Tally:
    """What was killed, and when."""

    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    campaigns: int = 0
    resumes: int = 0
    codes: Counter[int] = field(default_factory=Counter)

    @property
    def rounds(self) -> int:
        return self.kills.total()


class Chaos:
    """Campaigns on the shortest routes, in a folder of their own."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.tally = Tally()
        self.mark = uuid.uuid4().hex
        self._chance = random.Random(seed)
        self._kinds: list[str] = []
        self._routes = write_route(folder, "hop", "step")
        began = time.monotonic()
        self.undisturbed = folder / "undisturbed"
        with self.started(self.undisturbed) as runner:
            assert runner.wait() == 0
        self._span = time.monotonic() - began

    def kill(self, rounds: int) -> None:
        """Kill that many processes, and compare every campaign that comes to its end."""
        while self.tally.rounds < rounds:
            out = self.folder / f"disturbed-{self.tally.campaigns}"
            self.tally.campaigns += 1
            if self._disturb(out, rounds) != 0:
                self.finish(out)
            self.compare(out)

    def _disturb(self, out: Path, rounds: int) -> int:
        """Run the same command again and again, killing; return how it ended at last."""
        code = -1
        while code != 0 and self.tally.rounds < rounds:
            with self.started(out) as runner:
                while runner.poll() is None and self.tally.rounds < rounds:
                    self._kill_one(runner, out)
                code = runner.wait()
            self._ended(code)
        return code

    def _kill_one(self, runner: subprocess.Popen[bytes], out: Path) -> None:
        """Wait for a process of the next kind, then for a random moment, and kill it.

        Kinds take turns in random order, so that a few rounds kill each.
        """
        if not self._kinds:
            self._kinds = self._chance.sample(KINDS, len(KINDS))
        what = self._kinds[-1]
        share = WHOLE if what == "runner" else PART
        while not processes(runner.pid, what):
            if runner.poll() is not None:
                return
            time.sleep(LOOK)
        with suppress(subprocess.TimeoutExpired):
            runner.wait(self._chance.uniform(0, share * self._span))
        there = processes(runner.pid, what)
        if there and runner.poll() is None:
            when = phase(out, runner.pid)
            with suppress(psutil.NoSuchProcess):
                self._chance.choice(there).kill()
                self.tally.kills[what, when] += 1
                self._kinds.pop()

    def finish(self, out: Path) -> None:
        """Repeat the command until it says that all is done."""
        for _ in range(RESUMES):
            with self.started(out) as runner:
                code = runner.wait()
            self._ended(code)
            if code == 0:
                return
        raise AssertionError(f"not done after {RESUMES} repetitions")

    def compare(self, out: Path) -> None:
        """See that nothing is missing, double, different, left over, or still running."""
        expected, others = find_finished_tries(self.undisturbed), find_finished_tries(out)
        assert set(others) == set(expected)
        for key, place in others.items():
            assert contents(place) == contents(expected[key]), key
            assert list(place.parent.iterdir()) == [place], key
        done = Counter(
            (line["arm"]["system"], line["arm"]["condition"], line["route"], line["seed"])
            for line in iter_ledger_lines(out)
            if line["outcome"] == "done"
        )
        assert set(done.values()) == {1}
        assert len(done) == len(expected)
        hidden = [path for path in out.rglob(".*") if path.name != ".lock"]
        assert hidden == []
        _, alive = psutil.wait_procs(list(self.running()), timeout=10)
        assert alive == []

    def running(self) -> Iterator[psutil.Process]:
        """Yield every process that was started by these campaigns."""
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get(MARK) == self.mark:
                    yield process

    @contextmanager
    def started(self, out: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Start the campaign."""
        with (self.folder / "runner.log").open("ab") as log:
            runner = subprocess.Popen(
                command(self._routes, *SETTINGS, f"out={out}"),
                cwd=ROOT,
                env={**environment(), MARK: self.mark},
                stdout=log,
                stderr=log,
            )
            try:
                yield runner
            finally:
                runner.kill()
                runner.wait()

    def _ended(self, code: int) -> None:
        self.tally.codes[code] += 1
        self.tally.resumes += code != 0


def processes(runner: int, kind: str) -> list[psutil.Process]:
    """Return a campaign's processes of one kind."""
    with suppress(psutil.Error):
        family = [psutil.Process(runner), *psutil.Process(runner).children(recursive=True)]
        return [actor for actor in family if kind_of(actor) == kind]
    return []


def kind_of(process: psutil.Process) -> str:
    """Return what a process of a campaign is."""
    with suppress(psutil.Error):
        kind, parent = kind_by_command(process), process.parent()
        forked = parent is not None and kind_by_command(parent) == kind
        return CHILDREN.get(kind, kind) if forked else kind
    return ""


def kind_by_command(process: psutil.Process) -> str:
    """Return what a process was started as, or the one that it was forked from."""
    words = " ".join(process.cmdline())
    return next((name for sign, name in SIGNS.items() if sign in words), "")


def phase(out: Path, runner: int) -> str:
    """Return what a campaign is about."""
    workers = {str(process.pid) for process in processes(runner, "worker")}
    if workers & {path.name.rsplit(".")[-1] for path in out.glob("episodes/*/*/*/*/.try*")}:
        return "writing"
    if workers:
        return "driving"
    return "server starting" if processes(runner, "server") else "beginning"


def contents(place: Path) -> dict[str, bytes]:
    """Return the records of a try, but for what may differ."""
    return {path.name: path.read_bytes() for path in place.iterdir() if path.name != "timing.json"}


def show(tally: Tally, seconds: float) -> None:
    """Print what was killed, and when."""
    table = Table(title=f"{tally.rounds} processes killed in {seconds:.0f} s")
    table.add_column("in phase")
    for name in KINDS:
        table.add_column(name, justify="right")
    for when in ("beginning", "server starting", "driving", "writing"):
        table.add_row(when, *(str(tally.kills[name, when]) for name in KINDS))
    out = Console()
    out.print(table)
    out.print(
        f"{tally.campaigns} campaigns, each compared with the undisturbed one; "
        f"{tally.resumes} resumes; exit codes {dict(sorted(tally.codes.items()))}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.chaos")
    parser.add_argument("rounds", nargs="?", type=int, default=300)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(2), "big"))
    asked = parser.parse_args()
    print(f"seed {asked.seed}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        chaos = Chaos(Path(folder), asked.seed)
        chaos.kill(asked.rounds)
        show(chaos.tally, time.monotonic() - began)


if __name__ == "__main__":
    main()
