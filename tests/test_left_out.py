"""What a run leaves out is named at its end, and no room is left out whole."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.left_out import MARK, describe_left_out

TWO = """
import pytest

@pytest.mark.thorough
def test_long() -> None: ...

def test_short() -> None: ...
"""
ROOMS = sorted({file.parent for file in (ROOT / "tests").rglob("test_*.py")})


def run_two(folder: Path, *options: str) -> list[str]:
    """Run the two tests with one worker of pytest-xdist; return the lines of the summary."""
    (folder / "little").mkdir()
    (folder / "little" / "test_two.py").write_text(TWO)
    command = [sys.executable, "-m", "pytest", "-n", "1", f"--rootdir={ROOT}"]
    plugins = ["-c", str(ROOT / "pyproject.toml"), "-p", "tests.conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *plugins, *options, str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.thorough
def test_the_summary_names_what_was_left_out(tmp_path: Path) -> None:
    printed = run_two(tmp_path)
    lines = [line for line in printed if "left to" in line]
    assert lines == ["tests left to `make test-all`: 1 (little 1)"]
    assert printed[-1].startswith("1 passed")


@pytest.mark.thorough
def test_where_nothing_is_left_out_there_is_no_such_line(tmp_path: Path) -> None:
    printed = run_two(tmp_path, "-m", "")
    assert printed[-1].startswith("2 passed")
    assert not [line for line in printed if "left to" in line]


def test_rooms_are_listed_with_their_counts() -> None:
    line = describe_left_out({"world": 2, "agents": 1})
    assert line == "tests left to `make test-all`: 3 (agents 1, world 2)"


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_every_room_has_tests_that_are_not_left_out(room: Path) -> None:
    assert any(list_quick_tests(file) for file in room.glob("test_*.py"))


def list_quick_tests(file: Path) -> list[str]:
    """Return the names of a file's tests that bear no mark, nor their file."""
    tree = ast.parse(file.read_text())
    marks = [
        ast.unparse(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "pytestmark"
    ]
    if any(f"mark.{MARK}" in mark for mark in marks):
        return []
    return [
        function.name
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
        and function.name.startswith("test_")
        and not any(MARK in ast.unparse(decorator) for decorator in function.decorator_list)
    ]
