"""`crucible new`: the package that it writes passes its own test and `crucible check`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crucible.new import KIND_NAMES, build_package_files
from crucible.plugin_templates import TEMPLATES
from crucible.study_templates import PROGRAMS, STUDY_FILES
from crucible.subcommands import dispatch_subcommand
from tests.conftest import ROOT


def run_python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a module with the checkout and the new package on the path."""
    path = os.pathsep.join([str(ROOT), str(folder)])
    return subprocess.run(
        [sys.executable, "-m", *words],
        check=False, cwd=folder, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


QUICK = ("metric", "disturbance", "export", "sampler", "study")
OTHERS = [pytest.param(kind, marks=pytest.mark.thorough) for kind in TEMPLATES if kind not in QUICK]


@pytest.mark.parametrize("kind", [*QUICK, *OTHERS])
def test_its_test_passes(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "package"
    assert dispatch_subcommand(["new", kind, f"own_{kind}", "--out", str(folder)]) == 0
    tested = run_python(folder, "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "1 passed" in tested.stdout


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.parametrize("kind", ["metric", "disturbance"])
def test_the_command_that_it_prints_checks_it(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "package"
    assert dispatch_subcommand(["new", kind, f"own_{kind}", "--out", str(folder)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "crucible check" in line]
    checked = run_python(folder, *line.split())
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "failed" not in checked.stdout


@pytest.mark.parametrize("kind", sorted(KIND_NAMES))
def test_its_entry_point_names_its_class(kind: str) -> None:
    files = build_package_files(kind, "near_blind")
    module = TEMPLATES[kind].module
    group = '[project.entry-points."crucible.plugins"]'
    point = f'near_blind = "near_blind.{module}:NearBlind"'
    assert f"{group}\n{point}\n" in files["pyproject.toml"]
    assert "class NearBlind" in files[f"near_blind/{module}.py"]
    assert not [name for name, text in files.items() if "@" in text.replace("@property", "")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["metric", "Near"], "Near: a package's name is a lower-case letter, then lower-case"),
        (["metric", "near-blind"], "near-blind: a package's name is a lower-case letter"),
        (["metric", "9x"], "9x: a package's name is a lower-case letter, then"),
        (["metric", "class"], "class: a package's name"),
        (["metric", "numpy"], "numpy: a package of this name is installed; choose another"),
        (["metric", "harness"], "harness: a package of this name is installed; choose another"),
    ],
)
def test_a_name_that_cannot_be_imported_is_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch_subcommand(["new", *words, "--out", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(said)
    assert printed.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_no_file_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "own_metric" / "metric.py"
    file.parent.mkdir()
    file.write_text("# mine\n")
    assert dispatch_subcommand(["new", "metric", "own_metric", "--out", str(tmp_path)]) == 2
    assert f"{file}: exists" in capsys.readouterr().err
    assert file.read_text() == "# mine\n"
    assert not (tmp_path / "pyproject.toml").exists()


def test_a_new_study_has_a_protocol_and_programs(tmp_path: Path) -> None:
    folder = tmp_path / "near"
    assert dispatch_subcommand(["new", "study", "own_near", "--out", str(folder)]) == 0
    for name in STUDY_FILES:
        assert "@NAME@" not in (folder / name).read_text()
    for name in PROGRAMS:
        assert os.access(folder / name, os.X_OK)


@pytest.mark.thorough
def test_a_new_study_is_driven_packed_and_verified(tmp_path: Path) -> None:
    folder = tmp_path / "near"
    assert dispatch_subcommand(["new", "study", "own_near", "--out", str(folder)]) == 0
    programs = Path(sys.executable).parent
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": path}
    small = ("progress=plain", "routes=short", "traffic=few", "seeds=[1]")
    for words in (["./drive", *small], ["./analyse"]):
        done = subprocess.run(
            words, check=False, cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "packed" / "part-1.parquet").exists()
    assert list((folder / "tables").glob("*.csv"))
    # a clone of what is published
    published = tmp_path / "published"
    shutil.copytree(folder, published, ignore=shutil.ignore_patterns("runs", "build"))
    verified = run_python(published, "crucible", "verify", "reference.json", "--sample", "2")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "2 of 2" in verified.stdout
