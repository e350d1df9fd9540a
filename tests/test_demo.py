from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.slow
def test_the_demo_comes_home_without_a_scratch() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "harness.demo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {
        name.strip(): value.strip()
        for _, name, value, _ in (
            line.split("│") for line in done.stdout.splitlines() if line.count("│") == 3
        )
    }
    assert rows["back at the start"] == "yes"
    assert rows["collisions"] == "none"
    assert int(rows["distance"].removesuffix(" m")) > 200
    assert int(rows["mean distance from the lane's centre"].removesuffix(" cm")) < 30
    assert int(rows["LiDAR points a scan"].split()[0]) > 1000
