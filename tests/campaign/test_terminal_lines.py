"""What people read on a terminal is broken between words; a pipe gets one line."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.common.terminal_lines import HANGING, break_between_words
from tests.conftest import ROOT
from tests.profiles import ONLY_WITH_ALL

COLUMNS = 80
REFUSED = [
    ["run", "systm=late"],
    pytest.param(["run", "system=nowhere"], marks=ONLY_WITH_ALL),
    ["nothing"],
    pytest.param(["report"], marks=ONLY_WITH_ALL),
    pytest.param(["replay", "nowhere", "--case", "x"], marks=ONLY_WITH_ALL),
    ["tables", "a/folder/with/a/long/name/that/is/not/there/and/never/was/of/any/campaign"],
]


def run_on_terminal(words: list[str], folder: Path) -> tuple[int, list[str]]:
    """Return the exit code of a command and the lines that a terminal of 80 columns gets."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    kept = {key: text for key, text in os.environ.items() if key not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [sys.executable, "-m", "crucible", *words],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), "TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            written += piece
    os.close(ours)
    return process.returncode, written.decode().replace("\r\n", "\n").splitlines()


@pytest.mark.thorough
@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_a_refusal_is_broken_between_words_on_a_terminal(words: list[str], tmp_path: Path) -> None:
    code, shown = run_on_terminal(words, tmp_path)
    piped = subprocess.run(
        [sys.executable, "-m", "crucible", *words],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert code == piped.returncode == 2
    assert piped.stderr.count("\n") == 1
    # the same words, no line too long but one that is a single word
    assert " ".join(shown).split() == piped.stderr.split()
    assert all(len(line) <= COLUMNS or " " not in line.strip() for line in shown)


@pytest.mark.thorough
@pytest.mark.parametrize("words", [["--help"], ["run", "--help"]], ids=" ".join)
def test_no_line_of_the_help_is_longer_than_the_terminal(words: list[str], tmp_path: Path) -> None:
    code, shown = run_on_terminal(words, tmp_path)
    assert code == 0
    assert len(shown) > COLUMNS
    assert max(map(len, shown)) <= COLUMNS


@given(st.lists(st.text("abc-/", min_size=1), min_size=1), st.integers(0, 6), st.integers(20, 200))
def test_broken_lines_have_the_same_words(words: list[str], indent: int, columns: int) -> None:
    line = " " * indent + " ".join(words)
    first, *rest = break_between_words(line, columns).split("\n")
    assert " ".join([first, *rest]).split() == line.split()
    assert first.startswith(" " * indent)
    assert all(piece.startswith(" " * (indent + HANGING)) for piece in rest)
    assert all(len(piece) <= columns or len(piece.split()) == 1 for piece in (first, *rest))


def test_lines_that_fit_and_their_breaks_stay() -> None:
    text = "a  b\n\n    c: 1"
    assert break_between_words(text, 20) == text


@pytest.mark.parametrize("columns", range(26, 60))
def test_a_number_stays_with_what_it_counts(columns: int) -> None:
    line = "hazards: 3 cut_in, 5 occluded_pedestrian, 46 % of 1.5 km in 4 min"
    pieces = break_between_words(line, columns).split("\n")
    assert " ".join(pieces).split() == line.split()
    assert not [piece for piece in pieces if piece[-1].isdigit()]
    assert max(map(len, pieces)) <= columns
