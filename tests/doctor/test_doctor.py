"""What the doctor finds: here, where things are missing, and where they are broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.common.environments import AT_START
from harness.common.installation import install_command
from harness.doctor import machine, simulation
from harness.doctor.finding import DoctorFinding, DoctorPlaces, get_worst_verdict
from harness.doctor.machine import (
    check_client_threads,
    check_disk,
    check_gpu,
    is_port_free,
)
from harness.doctor.packages import (
    PackageRequirement,
    check_extra,
    find_unloadable_modules,
    read_requirements,
)
from harness.doctor.simulation import check_cache, check_carla, check_files, check_maps
from harness.world.maps import SHIPPED_TOWNS
from tests.conftest import ROOT

MISSING = {
    *("carla", "hydra", "msgpack", "numba", "omegaconf", "rich"),
    *("matplotlib", "mkdocs", "optuna", "pandas", "pyarrow", "ray", "submitit"),
}
"""Packages of all extras; the second row's load slowly."""
BLOCKER = (
    f"NAMES = {MISSING}"
    + """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in NAMES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""
)
"""As if only the base packages were installed."""


def doctor(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", "doctor", *options],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.mark.thorough
def test_here_a_campaign_can_run(tmp_path: Path) -> None:
    done = doctor("--json", "--out", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    findings = {load["name"]: load for load in json.loads(done.stdout)}
    assert {"python", "packages [run]", "disk", "ports", "carlite", "GPU"} <= set(findings)
    assert findings["carlite"]["details"].startswith("carlite 0.9.16, Crucible05, ready in")
    assert "carla 0.9.16" in findings["packages [run]"]["details"]
    assert "fault" not in {finding["verdict"] for finding in findings.values()}
    assert not (tmp_path / "runs").exists()


@pytest.mark.thorough
def test_with_base_packages_alone_it_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCKER)
    done = doctor(PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (1, "")
    *lines, last = done.stdout.splitlines()
    assert last.startswith("a campaign on carlite cannot run: ")
    assert last.endswith("packages [run], carlite")
    (line,) = (line for line in lines if line.startswith("packages [run]"))
    assert line.split()[2] == "fault"
    assert "carla does not load" in " ".join(lines)
    assert install_command("run") in " ".join(" ".join(lines).split())


@pytest.mark.parametrize("command", ["twin", "status"])
def test_other_commands_name_what_they_need(command: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCKER)
    done = subprocess.run(
        [sys.executable, "-m", "harness", command, "."],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"python -m harness {command}: ")
    assert line.endswith(f" is not installed: {install_command('run')}")


def test_requirements_are_read_as_metadata_has_them() -> None:
    lines = ['carla==0.9.16; extra == "run"', "numpy>=1.26", 'ray; extra == "ray"']
    lines += ['v2x-crucible[draw,run]; extra == "dev"']
    lines += ['open3d>=0.19; sys_platform != "linux" and extra == "clouds"']
    lines += ['optuna<6,>=4.5; extra == "search"', 'ribs>=0.9,<0.13; extra == "search"']
    assert list(read_requirements(lines)) == [
        PackageRequirement(name="carla", rule="==", version="0.9.16", extra="run"),
        PackageRequirement(name="numpy", rule=">=", version="1.26", extra=""),
        PackageRequirement(name="ray", rule="", version="", extra="ray"),
        PackageRequirement(
            name="open3d", rule=">=", version="0.19", extra="clouds", some_platforms=True
        ),
        PackageRequirement(name="optuna", rule=">=", version="4.5", extra="search", below="6"),
        PackageRequirement(name="ribs", rule=">=", version="0.9", extra="search", below="0.13"),
    ]


@pytest.mark.parametrize(
    ("requirement", "problem"),
    [
        (PackageRequirement(name="carla", rule="==", version="0.9.16", extra="run"), None),
        (
            PackageRequirement(name="carla", rule="==", version="0.9.15", extra="run"),
            "carla is 0.9.16, needed is ==0.9.15",
        ),
        (PackageRequirement(name="numpy", rule=">=", version="1.9", extra=""), None),
        (PackageRequirement(name="numpy", rule=">=", version="99", extra=""), ", needed is >=99"),
        (PackageRequirement(name="numpy", rule=">=", version="1", extra="", below="99"), None),
        (
            PackageRequirement(name="numpy", rule=">=", version="1", extra="", below="1.20"),
            ", needed is <1.20",
        ),
        (
            PackageRequirement(name="no-such-thing", rule="", version="", extra=""),
            "no-such-thing is missing",
        ),
    ],
)
def test_versions_are_compared(requirement: PackageRequirement, problem: str | None) -> None:
    line = requirement.find_problem()
    assert line is None if problem is None else line is not None and line.endswith(problem)


def test_a_package_that_ends_its_process_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deadly.py").write_text("import os; os.abort()")
    monkeypatch.setitem(AT_START, "PYTHONPATH", str(tmp_path))
    assert (
        find_unloadable_modules(["json", "deadly", "csv"])
        == "deadly does not load: ended by signal 6"
    )
    assert find_unloadable_modules(["json", "csv"]) is None


def test_an_unneeded_extra_may_be_missing_but_not_in_part() -> None:
    missing = PackageRequirement(name="no-such-thing", rule="", version="", extra="ray")
    assert check_extra("ray", [missing]).verdict == "ok"
    half = check_extra(
        "ray", [missing, PackageRequirement(name="numpy", rule="", version="", extra="ray")]
    )
    assert (half.verdict, half.details) == ("warning", "no-such-thing is missing")
    assert check_extra("run", [missing]).verdict == "fault"


def test_of_packages_for_different_platforms_one_is_enough() -> None:
    here = PackageRequirement(
        name="numpy", rule="", version="", extra="clouds", some_platforms=True
    )
    elsewhere = PackageRequirement(
        name="no-such-thing", rule="", version="", extra="clouds", some_platforms=True
    )
    assert check_extra("clouds", [here, elsewhere]).details.startswith("numpy ")
    assert check_extra("clouds", [elsewhere]).details.startswith("not installed")


def test_files_that_were_not_shipped_are_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_files().verdict == "ok"
    monkeypatch.setattr(simulation, "SHIPPED", tmp_path)
    bare = check_files()
    assert bare.verdict == "fault"
    assert bare.details == f"none in {tmp_path}: configuration files, route files"


def test_a_disk_that_takes_nothing_is_a_fault(tmp_path: Path) -> None:
    assert check_disk(DoctorPlaces(tmp_path / "a" / "b")).verdict in ("ok", "warning")
    assert list(tmp_path.iterdir()) == []
    full = check_disk(DoctorPlaces(Path("/proc/runs")))
    assert full.verdict == "fault"
    assert full.details.startswith("/proc: ")


@pytest.mark.parametrize(("processors", "has_cure"), [(2, True), (64, False)])
def test_few_threads_of_a_client_are_reported_with_the_cure(
    monkeypatch: pytest.MonkeyPatch, processors: int, has_cure: bool
) -> None:
    monkeypatch.setattr(machine, "count_processors", lambda: processors)
    line = check_client_threads()
    assert line.details.startswith(f"{processors} in each carla.Client")
    assert ("carla.Client(host, port, 32)" in line.cure) is has_cure


def test_a_cache_that_takes_nothing_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/cache")
    assert check_cache().verdict == "warning"


def test_a_taken_port_is_not_free() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert not is_port_free(port)
    assert is_port_free(port)


def install(folder: Path, version: str | None, mode: int = 0o755) -> DoctorPlaces:
    """Make what looks like an install of CARLA."""
    (folder / "CarlaUE4.sh").write_text("#!/bin/sh\n")
    (folder / "CarlaUE4.sh").chmod(mode)
    if version is not None:
        (folder / "VERSION").write_text(f"{version}\n")
    return DoctorPlaces(folder, carla=folder)


@pytest.mark.parametrize(
    ("version", "says"),
    [("0.9.16", "CarlaUE4.sh: 0.9.16"), (None, "no VERSION file"), ("0.9.15", "is CARLA 0.9.15")],
)
def test_an_install_of_carla(version: str | None, says: str, tmp_path: Path) -> None:
    line = check_carla(install(tmp_path, version))
    assert says in line.details
    right = version != "0.9.15" and os.geteuid() != 0
    assert line.verdict == ("ok" if right else "warning")


def test_no_install_of_carla(tmp_path: Path) -> None:
    assert "CarlaUE4.sh is missing" in check_carla(DoctorPlaces(tmp_path, carla=tmp_path)).details
    assert (
        "folder not found"
        in check_carla(DoctorPlaces(tmp_path, carla=tmp_path / "nowhere")).details
    )
    assert check_carla(DoctorPlaces(tmp_path)).verdict == "ok"


def test_places_that_cannot_be_looked_at_cost_no_other_check(tmp_path: Path) -> None:
    hidden = tmp_path / ("x" * 300)
    assert check_disk(DoctorPlaces(hidden)).verdict in ("ok", "warning")
    for check in (check_maps, check_carla):
        line = check(DoctorPlaces(tmp_path, carla=hidden, maps=hidden))
        assert (line.verdict, line.details) == ("warning", f"{hidden}: File name too long")


def test_maps(tmp_path: Path) -> None:
    assert check_maps(DoctorPlaces(tmp_path)).verdict == "ok"
    assert "no OpenDRIVE file" in check_maps(DoctorPlaces(tmp_path, maps=tmp_path)).details
    (tmp_path / "Town05.xodr").write_text("<OpenDRIVE/>")
    assert "cannot be read" in check_maps(DoctorPlaces(tmp_path, maps=tmp_path)).details
    town = (SHIPPED_TOWNS / "CrucibleRing.xodr").read_text()
    (tmp_path / "Town05.xodr").write_text(town)
    assert check_maps(DoctorPlaces(tmp_path, maps=tmp_path)).verdict == "ok"


@pytest.mark.parametrize(
    ("script", "verdict", "says"),
    [
        ("echo 'NVIDIA H200, 143771 MiB, 570.86'", "ok", "NVIDIA H200, 143771 MiB, 570.86"),
        ("echo broken; exit 9", "warning", "exit status 9"),
        (None, "warning", "none reported by nvidia-smi"),
    ],
)
def test_a_gpu(
    script: str | None, verdict: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script is not None:
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    first = next(iter(check_gpu()))
    assert first.verdict == verdict
    assert says in first.details


def test_the_worst_counts() -> None:
    ok, warning, fault = (DoctorFinding("", name, "") for name in ("ok", "warning", "fault"))
    assert [
        get_worst_verdict([]),
        get_worst_verdict([ok]),
        get_worst_verdict([ok, warning]),
        get_worst_verdict([fault, ok]),
    ] == [
        "ok",
        "ok",
        "warning",
        "fault",
    ]
