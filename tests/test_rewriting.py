"""Rewritten test files are kept where pytest finds them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.rewriting import keep_rewritten_file

FILE = "def test_sum() -> None:\n    parts = [1, 2]\n    assert sum(parts) == 3\n"
BYTECODE = "test_sum.*-pytest-*.pyc"


@pytest.mark.thorough
def test_pytest_keeps_what_it_rewrites_where_python_keeps_no_bytecode(tmp_path: Path) -> None:
    (tmp_path / "test_sum.py").write_text(FILE)
    settings = [
        "-c",
        str(ROOT / "pyproject.toml"),
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
    ]
    command = [sys.executable, "-B", "-m", "pytest", "-n", "0", *settings, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((tmp_path / "__pycache__").glob(BYTECODE))) == 1


def test_a_file_is_rewritten_once(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "test_sum.py"
    path.write_text(FILE)
    keep_rewritten_file(request.config, path)
    (kept,) = (tmp_path / "__pycache__").glob(BYTECODE)
    before = kept.stat()
    keep_rewritten_file(request.config, path)
    assert kept.stat().st_ino == before.st_ino
    # changed text is rewritten again
    path.write_text(FILE.replace("[1, 2]", "[1, 1, 1]"))
    keep_rewritten_file(request.config, path)
    assert kept.stat().st_ino != before.st_ino
