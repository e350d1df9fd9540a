"""Commands whose reader goes, and options that are given twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.__main__ import main
from tests.analysis.little import write_little
from tests.conftest import ROOT


@pytest.mark.thorough
def test_tables_are_written_before_they_are_printed(tmp_path: Path) -> None:
    """`analysis tables DIR | head` leaves all files, not those before the pipe broke."""
    campaign = write_little(tmp_path / "c", [("late", "none")], ["0", "1"], [1])
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "analysis", "tables", str(campaign), "--format=csv,latex"],
            check=False,
            cwd=ROOT,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")
    result = tmp_path / "whole"
    assert main(["tables", str(campaign), "--format=csv,latex", "--out", str(result)]) == 0
    files = {path.name: path.read_bytes() for path in result.iterdir()}
    assert {path.name: path.read_bytes() for path in (campaign / "report").iterdir()} == files
    assert len(files) > 10


def test_differences_that_are_given_one_by_one_are_all_looked_at(
    capsys: pytest.CaptureFixture[str],
) -> None:
    few = ["power", "--routes", "8", "--seeds", "1", "--campaigns", "5"]
    assert main([*few, "--difference", "0.2", "--difference", "0.3,0.4"]) == 0
    apart = capsys.readouterr().out
    assert all(name in apart for name in ("30 % against 50 %", "against 60 %", "against 70 %"))
    assert main([*few, "--difference", "0.2,0.3,0.4"]) == 0
    assert capsys.readouterr().out == apart
