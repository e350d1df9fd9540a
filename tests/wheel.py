"""The wheel, built from this checkout and unpacked where nothing of the checkout is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tests.conftest import ROOT

FOLDERS = ("harness", "agents", "analysis", "studies", "crucible", "conf", "routes")
FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
OTHER_AGENTS = "raise ImportError('these are the agents of CARLA')\n"


def built(folder: Path) -> Path:
    """Build sdist and, from it alone, the wheel; return the wheel."""
    source = folder / "source"
    skipped = shutil.ignore_patterns(
        "__pycache__", "published"
    )  # data of studies: not in the wheel
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=skipped)
    for name in FILES:
        shutil.copy(ROOT / name, source)
    made = "from setuptools import build_meta; print(build_meta.build_sdist('..'))"
    run(sys.executable, "-c", made, cwd=source)
    (archive,) = folder.glob("*.tar.gz")
    shutil.unpack_archive(archive, folder / "unpacked")  # ours; older Pythons know no filter
    (source,) = (folder / "unpacked").iterdir()
    made = "from setuptools import build_meta; print(build_meta.build_wheel('../..'))"
    run(sys.executable, "-c", made, cwd=source)
    (wheel,) = folder.glob("*.whl")
    return wheel


def unpacked(wheel: Path, folder: Path) -> Path:
    """Unpack a wheel as an installation does."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def carla_like(folder: Path) -> Path:
    """Make a folder like CARLA's own PythonAPI/carla: with another package `agents`."""
    agents = folder / "PythonAPI" / "carla" / "agents"
    agents.mkdir(parents=True)
    (agents / "__init__.py").write_text(OTHER_AGENTS)
    return agents.parent


def crucible(*words: str, path: Sequence[Path], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `crucible` as the console command does, with these folders as PYTHONPATH."""
    code = "from crucible.commandline import entry; entry()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        check=False, cwd=cwd, env=environment, capture_output=True, text=True,
    )  # fmt: skip


def run(*words: str, cwd: Path) -> None:
    """Run a command that must succeed."""
    subprocess.run(words, check=True, cwd=cwd, capture_output=True)
