"""Estimates of the time that is left: their errors at a quarter, half and three quarters.

Ten commands run one after another on a terminal that is made up, 80 columns wide. Each line that
says what is left is noted with the time at which it was printed. When the command has ended, the
estimate nearest to a quarter, half and three quarters of the displayed work's time is compared with
what was left then. The error is (estimated - left) / left; a plus says that the estimate was too
long. Where the display said nothing yet (`?`), so does the table.

Displays show whole seconds. A reading is right within `TOLERANCE` of what was left, or within
`ROUNDING` seconds.

The machine's load changes while a command runs, which no estimate knows: the last row says how many
processes wanted a core at the beginning and at the end.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

SHARES = (0.25, 0.5, 0.75)
LEFT = re.compile(r"(?:at most )?(?:about )?(\?|(?:\d+:)?\d+:\d\d) left")
COLUMNS = "80"
TOLERANCE, ROUNDING = 0.3, 1.0
Shown = list[tuple[float, float | None]]
"""Seconds since the command began, and the seconds that are left by the display."""


def list_commands(folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield ten commands by name; later ones read what earlier ones wrote."""
    data, first, search = folder / "data", folder / "first", folder / "search"
    recorded = ["--scenes", str(data), "--systems", "single"]
    here = ["--towns", "Crucible05", "--for-testing", "--scenarios", "24"]
    yield "collect", ["collect", *here, f"--out={data}"]
    yield "evaluate", ["evaluate", "--scheme", "single", "--data", str(data)]
    yield "metamorphic", ["metamorphic", "check", *recorded, "--count=40", f"--out={folder / 'mr'}"]
    yield "export", ["export-dataset", "--format=opv2v", str(data), str(folder / "opv2v")]
    yield "run", ["run", "study=first_look", f"out={first}"]
    yield "report", ["report", str(first), f"--out={folder / 'report'}"]
    yield "replay", ["replay", str(first), "--case=1", f"--film={folder / 'film.webp'}"]
    small = ["system=ideal_late", "search.budget=20", "search.startup=4"]
    yield "search", ["search", "latency_cut_in", *small, f"out={search}"]
    yield "confirm", ["confirm", str(search), "--redraws=4", "--most=2"]
    yield (
        "run, two workers",
        ["run", "study=first_look", "executor.workers=2", f"out={folder / 'two'}"],
    )


def follow_command(words: Sequence[str]) -> tuple[Shown, float, int]:
    """Run a command on a terminal; return what it displayed, its seconds and its exit code."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": COLUMNS, "LINES": "40", "TERM": "xterm"}
    began, shown, text = time.monotonic(), Shown(), ""
    with subprocess.Popen(
        [sys.executable, "-m", "crucible", *words],
        cwd=ROOT,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.STDOUT,
    ) as process:
        os.close(theirs)
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the command has closed its end
                break
            if not part:
                break
            text = text[-400:] + part.decode(errors="replace")
            for line in LEFT.finditer(text):
                shown.append((time.monotonic() - began, read_clock(line[1])))
            text = text[text.rfind("left") + 4 :] if "left" in text else text
        code = process.wait()
    os.close(ours)
    return shown, time.monotonic() - began, code


def read_clock(text: str) -> float | None:
    """Return seconds; None for a question mark."""
    if text == "?":
        return None
    seconds = 0.0
    for part in text.split(":"):
        seconds = 60 * seconds + float(part)
    return seconds


@dataclass(frozen=True, slots=True)
class EstimateReading:
    """What a display said at a time, and what was left then; seconds."""

    estimated: float | None
    left: float

    @property
    def right(self) -> bool:
        """Whether it was near enough."""
        if self.estimated is None:
            return False
        return abs(self.estimated - self.left) <= max(TOLERANCE * self.left, ROUNDING)

    def __str__(self) -> str:
        if self.estimated is None:
            return "?"
        error = f"{100 * (self.estimated / self.left - 1):+.0f} %"
        return error if self.right else f"{error} of {self.left:.0f} s, wrong"


def read_display(shown: Shown) -> list[EstimateReading]:
    """Return the readings at each share; the display's first and last time are its span."""
    first, last = shown[0][0], shown[-1][0]
    readings = []
    for share in SHARES:
        at = first + share * (last - first)
        _, estimated = min(shown, key=lambda one: abs(one[0] - at))
        readings.append(EstimateReading(estimated, (1 - share) * (last - first)))
    return readings


def run() -> list[tuple[str, str]]:
    """Return the readings of every command, and how many of them were right."""
    rows, readings, before = [], list[EstimateReading](), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        for name, words in list_commands(Path(folder)):
            shown, seconds, code = follow_command(words)
            if code or len(shown) < 2:
                rows.append((name, f"exit code {code}, {len(shown)} estimates"))
                continue
            of_command = read_display(shown)
            readings += of_command
            rows.append((f"{name} ({seconds:.0f} s)", ", ".join(map(str, of_command))))
            print(rows[-1], file=sys.stderr, flush=True)
    right = sum(reading.right for reading in readings)
    rows.append(
        (f"within {100 * TOLERANCE:.0f} % or {ROUNDING:g} s", f"{right} of {len(readings)}")
    )
    rows.append(("processes that want a core", f"{before:.1f}, {os.getloadavg()[0]:.1f}"))
    return rows
