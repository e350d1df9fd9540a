"""HEAL's and OpenCOOD's own loaders over an export; skipped without a checkout and its Python.

OPENCOOD_ROOT=DIR OPENCOOD_PYTHON=FILE pytest -m '' tests/datasets/test_outside_loaders.py
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness.datasets.export import export_dataset
from tests.training.made_up import write_recording

HOUSE = Path(__file__).parents[2]
ROOT, PYTHON = os.environ.get("OPENCOOD_ROOT"), os.environ.get("OPENCOOD_PYTHON")


@pytest.mark.thorough
@pytest.mark.skipif(not (ROOT and PYTHON), reason="needs OPENCOOD_ROOT and OPENCOOD_PYTHON")
def test_their_points_and_boxes_are_ours(tmp_path: Path) -> None:
    recorded, out = tmp_path / "recorded", tmp_path / "out"
    write_recording(recorded, "testing")
    export_dataset(recorded, out, "opv2v")
    program = [str(PYTHON), "-m", "tests.datasets.outside_loaders", str(ROOT), str(out)]
    environment = {**os.environ, "PYTHONPATH": str(HOUSE)}
    done = subprocess.run(
        [*program, str(recorded)], cwd=HOUSE, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
