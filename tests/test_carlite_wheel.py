"""The distribution `carlite`: the server under its own name, and nothing else of the house.

`.ci/wheel` installs it alone, and a client drives on it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT
from tests.once import once
from tests.wheel import unpacked

pytestmark = pytest.mark.thorough

SOURCE = ROOT / "harness" / "carlite"
DISTRIBUTION = SOURCE / "distribution"
WORKFLOW = ROOT / "docs" / "how-to" / "carlite-workflow.yml"
OURS = "import backend as hooks"
PLAIN = "from setuptools import build_meta as hooks"
SHIM = f"""#!/bin/sh
echo $$ > server.pid
PYTHONPATH={ROOT} exec {sys.executable} -m harness.carlite "$@" --port 0
"""
DRIVE = """
import carla, re
host, port, _ = re.search(r"on (.*):(.*), town (.*)", open("ready.txt").read()).groups()
print(carla.Client(host, int(port)).get_world().get_map().name)
"""


def build(hook: str, source: Path, target: Path, backend: str) -> Path:
    """Return the file that a hook of a build backend makes."""
    target.mkdir(exist_ok=True)
    call = f"{backend}; print('built', hooks.{hook}({str(target)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", call], check=True, cwd=source, capture_output=True, text=True
    )
    return target / done.stdout.split("built ")[-1].strip()


def build_both_ways(folder: Path) -> tuple[Path, Path]:
    """Return the wheel from the checkout, and the one from its source archive alone."""
    wheel = build("build_wheel", DISTRIBUTION, folder / "direct", OURS)
    archive = build("build_sdist", DISTRIBUTION, folder, OURS)
    shutil.unpack_archive(archive, folder / "unpacked")  # ours; older Pythons know no filter
    (source,) = (folder / "unpacked").iterdir()
    return wheel, build("build_wheel", source, folder / "again", PLAIN)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return once(tmp_path_factory, "carlite-wheels", build_both_ways)


@pytest.fixture(scope="module")
def installed(wheels: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "carlite-installed", lambda folder: unpacked(wheels[0], folder))


def test_a_source_archive_makes_the_same_wheel(wheels: tuple[Path, Path]) -> None:
    contents = []
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            contents.append({name: archive.read(name) for name in archive.namelist()})
    assert contents[0] == contents[1]


def test_it_has_every_file_of_the_server_and_nothing_else(installed: Path) -> None:
    files = {
        file.relative_to(SOURCE): file.read_bytes().replace(b"harness.carlite", b"carlite")
        for file in SOURCE.rglob("*")
        if file.is_file() and not {"__pycache__", "distribution"} & set(file.parts)
    }
    package = installed / "carlite"
    theirs = {
        file.relative_to(package): file.read_bytes()
        for file in package.rglob("*")
        if file.is_file()
    }
    assert theirs.pop(Path("py.typed")) == b""
    assert theirs == files
    assert {path.name for path in installed.iterdir()} == {"carlite", "carlite-0.1.0.dist-info"}


def test_it_needs_three_packages(installed: Path) -> None:
    text = (installed / "carlite-0.1.0.dist-info" / "METADATA").read_text()
    needed = re.findall(r"^Requires-Dist: ([\w-]+)", text, re.MULTILINE)
    assert sorted(needed) == ["msgpack", "numba", "numpy"]
    assert "Computer Vision Center" in text


def test_pytest_finds_the_fixtures_by_itself(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:dash", "--fixtures", "--markers"],
        check=True, cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )  # fmt: skip
    assert "@pytest.mark.carlite(town=None" in done.stdout


def test_an_import_of_the_house_fails_the_build(tmp_path: Path) -> None:
    code = f"{OURS}; hooks.check_imports('carlite/x.py', 'from harness.common import errors')"
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=DISTRIBUTION, capture_output=True, text=True
    )
    assert "carlite/x.py imports harness.common, which carlite does not have" in done.stderr


def test_the_job_of_the_page_runs_a_script_against_a_server(tmp_path: Path) -> None:
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["drive"]["steps"]
    scripts = {step["name"]: step["run"] for step in steps if "run" in step}
    (tmp_path / "carlite").write_text(SHIM)
    (tmp_path / "carlite").chmod(0o755)
    (tmp_path / "drive.py").write_text(DRIVE)
    path = os.pathsep.join([str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]])
    with (tmp_path / "out").open("w+") as out:
        done = subprocess.run(
            ["bash", "-e", "-c", scripts["Drive"]], check=False, cwd=tmp_path, stdout=out,
            env={**os.environ, "PATH": path},
        )  # fmt: skip
        os.kill(int((tmp_path / "server.pid").read_text()), signal.SIGTERM)
    assert done.returncode == 0
    assert (tmp_path / "out").read_text() == "Carla/Maps/Town05\n"
