"""Tables of all commands have one width through a pipe."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain

import pytest

from tests.conftest import ROOT

HOUSES = ("agents", "analysis", "crucible", "harness", "studies")
WIDTH = "from harness.common.console import make_console; print(make_console().width)"


@pytest.mark.parametrize(("columns", "width"), [(None, 200), ("80", 200), ("260", 260)])
def test_a_pipe_has_room_for_a_table(
    columns: str | None, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    said = subprocess.check_output([sys.executable, "-c", WIDTH], text=True, cwd=ROOT)
    assert said.split() == [str(width)]


def test_no_command_makes_another_console() -> None:
    files = chain.from_iterable((ROOT / name).rglob("*.py") for name in HOUSES)
    made = {str(file.relative_to(ROOT)) for file in files if "Console()" in file.read_text()}
    assert made == {"harness/common/console.py"}
