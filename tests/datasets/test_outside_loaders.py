"""Other programs' own loaders over an export; each is skipped without its checkout or Python.

OPENCOOD_ROOT=DIR OPENCOOD_PYTHON=FILE V2XVERSE_ROOT=DIR V2XVERSE_PYTHON=FILE DEVKIT_PYTHON=FILE \
    pytest -m '' tests/datasets/test_outside_loaders.py
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness.datasets.export import export_dataset
from tests.datasets.pictured import write_pictured_recording

HOUSE = Path(__file__).parents[2]
pytestmark = pytest.mark.thorough


def compare_outside(tmp_path: Path, layout: str, module: str, names: tuple[str, ...]) -> None:
    """Export a made-up recording with pictures, and let another Python compare it."""
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        pytest.skip(f"needs {' and '.join(names)}")
    python, *checkout = [os.environ[name] for name in names]
    recorded, out = tmp_path / "recorded", tmp_path / "out"
    write_pictured_recording(recorded)
    export_dataset(recorded, out, layout)
    program = [python, "-m", f"tests.datasets.{module}", *checkout, str(out), str(recorded)]
    environment = {**os.environ, "PYTHONPATH": str(HOUSE)}
    done = subprocess.run(
        program, cwd=HOUSE, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_points_boxes_and_pictures_of_heal_or_opencood(tmp_path: Path) -> None:
    compare_outside(tmp_path, "opv2v", "outside_loaders", ("OPENCOOD_PYTHON", "OPENCOOD_ROOT"))


def test_scenes_of_v2xverse(tmp_path: Path) -> None:
    compare_outside(tmp_path, "v2xverse", "outside_v2xverse", ("V2XVERSE_PYTHON", "V2XVERSE_ROOT"))


def test_samples_of_nuscenes(tmp_path: Path) -> None:
    compare_outside(tmp_path, "nuscenes", "outside_nuscenes", ("DEVKIT_PYTHON",))


def test_messages_of_mcap(tmp_path: Path) -> None:
    compare_outside(tmp_path, "mcap", "outside_mcap", ("DEVKIT_PYTHON",))
