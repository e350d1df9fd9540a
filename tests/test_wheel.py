"""What the wheel has in it, and that it works outside a checkout, next to CARLA's `agents`."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from harness.doctor.packages import STUBS, read_requirements
from tests.conftest import ROOT
from tests.once import once
from tests.wheel import built, carla_like, crucible, unpacked

pytestmark = pytest.mark.thorough

TOP = {"harness", "agents", "analysis", "studies", "crucible"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "wheel", built)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "installed", lambda folder: unpacked(wheel, folder))


def test_the_packages_and_nothing_else_are_at_the_top(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == TOP


@pytest.mark.parametrize("folder", sorted([*TOP, "conf", "routes"]))
def test_every_file_of_the_checkout_comes_along(folder: str, installed: Path) -> None:
    there = installed / "crucible" if folder in ("conf", "routes") else installed
    files = [
        file.relative_to(ROOT)
        for file in (ROOT / folder).rglob("*")
        if file.is_file()
        and not {"__pycache__", "published", "packed", "distribution"} & set(file.parts)
    ]
    assert files
    for file in files:
        assert (there / file).read_bytes() == (ROOT / file).read_bytes()


@pytest.mark.parametrize("package", sorted(TOP))
def test_packages_are_typed(package: str, installed: Path) -> None:
    assert (installed / package / "py.typed").is_file()


def test_the_doctor_reads_every_requirement_of_the_wheel(installed: Path) -> None:
    """Each package that is here loads under the name that the doctor imports it by."""
    (text,) = (file.read_text() for file in installed.glob("*.dist-info/METADATA"))
    lines = re.findall(r"^Requires-Dist: (.+)$", text, re.MULTILINE)
    read = list(read_requirements(lines))
    ours = [line for line in lines if line.startswith("v2x-crucible")]
    assert len(read) == len(lines) - len(ours)
    assert [one.name for one in read if not one.extra] == ["numpy"]
    here = [one for one in read if one.find_problem() is None and not STUBS.fullmatch(one.name)]
    assert {"carlite", "run", "learn", "analysis", "replay", "dev"} <= {one.extra for one in here}
    absent = {one.name for one in here if find_spec(one.module) is None}
    assert absent <= {"rerun-sdk"}  # found by a .pth file of its own, if at all


def test_run_uses_the_files_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    path = [carla_like(tmp_path), installed]
    done = crucible("run", "--info", "searchpath", path=path, cwd=tmp_path)
    assert str(installed / "crucible" / "conf") in done.stdout
    assert str(ROOT) not in done.stdout
    done = crucible("run", "study=demo", "dry_run=true", path=path, cwd=tmp_path)
    assert done.stderr == ""
    assert done.returncode == 0
    assert "20 attempts" in " ".join(done.stdout.split())


def test_files_of_the_user_take_the_place_of_shipped_ones(installed: Path, tmp_path: Path) -> None:
    user_files = tmp_path / "mine"
    (user_files / "traffic").mkdir(parents=True)
    shipped = (installed / "crucible" / "conf" / "traffic" / "few.yaml").read_text()
    (user_files / "traffic" / "few.yaml").write_text(shipped.replace("vehicles: 12", "vehicles: 7"))
    (user_files / "traffic" / "many.yaml").write_text(
        shipped.replace("vehicles: 12", "vehicles: 99")
    )
    for option, choice, vehicles in (
        (["--config-dir", "mine"], "few", 7),
        (["--config-dir=mine"], "many", 99),
        ([], "few", 12),
    ):
        words = ["run", *option, f"traffic={choice}", "--cfg", "job"]
        done = crucible(*words, path=[installed], cwd=tmp_path)
        assert yaml.safe_load(done.stdout)["traffic"]["vehicles"] == vehicles
    done = crucible("run", "--config-dir", "none", path=[installed], cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_another_agents_would_be_noticed(installed: Path, tmp_path: Path) -> None:
    other = carla_like(tmp_path)
    code = "import agents.driving"
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": f"{other}:{installed}"},
    )  # fmt: skip
    assert "these are the agents of CARLA" in done.stderr
