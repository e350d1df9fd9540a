"""A command in a process that has imported ends and says as one in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaign.tiny import environment
from tests.conftest import ROOT
from tests.warm import run_warm

ENDINGS = {
    "raises": "1 / 0",
    "words": "import sys\nsys.exit('no such thing')",
    "code": "import sys\nprint('said', file=sys.stderr)\nraise SystemExit(3)",
    "last": "import atexit\natexit.register(print, 'the last')\nprint('first')",
    "name": "import sys\nprint(__name__, __file__, sys.argv)",
    "signal": "import os\nprint('lost')\nos.kill(os.getpid(), 9)",
}
"""Ends of a program."""


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_ends_as_in_a_fresh_process(ending: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(ENDINGS[ending] + "\n")
    words = [str(program), "an argument"]
    warm = run_warm(words, environment=environment(), timeout=60)
    cold = subprocess.run(
        [sys.executable, *words],
        check=False, cwd=ROOT, env=environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert (warm.returncode, warm.stdout) == (cold.returncode, cold.stdout)
    # but for the frames above the program
    assert warm.stderr.splitlines()[-1:] == cold.stderr.splitlines()[-1:]


def test_what_is_refused_is_one_line() -> None:
    done = run_warm(["run_campaign.py", "system=none"], environment=environment(), timeout=60)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_what_takes_too_long_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import time\ntime.sleep(600)\n")
    with pytest.raises(subprocess.TimeoutExpired):
        run_warm([str(program)], environment=environment(), timeout=2)


def test_a_command_has_its_environment(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os\nprint(os.environ.get('COLOUR'))\n")
    for colour in ("red", "green", "blue", "red"):
        given = {**environment(), "COLOUR": colour}
        assert run_warm([str(program)], environment=given, timeout=60).stdout == f"{colour}\n"
