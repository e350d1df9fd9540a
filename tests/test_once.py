"""What is made once for all workers is made by one of them, whatever becomes of another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.once import made_once

MAKER = """
import os, signal, sys, time
from pathlib import Path
from tests.once import made_once

def make(folder):
    (folder / sys.argv[2]).touch()
    print("making", flush=True)
    if sys.argv[2] == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.readline()
    return sorted(path.name for path in folder.iterdir())

print(made_once(Path(sys.argv[1]), make))
"""


def started(place: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MAKER, str(place), name],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.thorough
def test_others_wait_and_get_the_same(tmp_path: Path) -> None:
    first = started(tmp_path / "it", "first")
    assert first.stdout
    assert first.stdout.readline() == "making\n"
    second = started(tmp_path / "it", "second")
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(0.5)
    assert first.communicate("\n")[0] == "['first']\n"
    assert second.communicate()[0] == "['first']\n"


@pytest.mark.thorough
def test_after_a_death_it_is_made_from_the_beginning(tmp_path: Path) -> None:
    assert started(tmp_path / "it", "dies").wait() == -signal.SIGKILL
    lives = started(tmp_path / "it", "lives")
    assert lives.communicate("\n")[0] == "making\n['lives']\n"


def test_what_fails_is_made_again(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        made_once(tmp_path / "it", fail)
    assert made_once(tmp_path / "it", os.listdir) == []
    assert made_once(tmp_path / "it", fail) == []
