"""What may import what: import-linter's contracts in `pyproject.toml`, and that they notice.

The contracts say what docs/ARCHITECTURE.md draws. `make lint` checks them, too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_house import CARLITE, HOUSES, ROOT

AUTHORING = ROOT / "harness" / "authoring"
BAD_IMPORTS = (
    ("harness.evaluation.scoring", "analysis.sweeps"),
    ("analysis.report.page", "studies.critical.printing"),
    ("harness.channel.channel", "harness.records.arms"),
    ("harness.types.geometry", "harness.common.files"),
    ("harness.campaign.folder.inputs", "harness.campaign.running.runner"),
    ("harness.world.rig", "harness.carlite.angles"),
    ("crucible.run", "harness.authoring.geometry"),
    ("harness.doctor.packages", "harness.viewing.layout"),
    ("agents.perception.pillars", "agents.training.losses"),
    ("harness.carlite.server", "carla"),
    ("harness.carlite.dynamics.tyres", "harness.carlite.bodies.model"),
    ("analysis.sweeps", "harness.campaign.run"),
    ("agents.oracle", "harness.world.rig"),
    ("tools.fidelity.__init__", "harness.common.locks"),
    ("studies.critical.printing", "agents.oracle"),
    ("studies.critical.printing", "studies.space"),
    ("studies.metamorphic.pages.page", "analysis.sweeps"),
)
"""Modules, and what they must not import: something for every contract."""


def check_contracts(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the modules in a folder against the contracts of its `pyproject.toml`."""
    code = (
        "import sys; from importlinter.cli import lint_imports;"
        "sys.exit(lint_imports(no_cache=True, no_logo=True))"
    )
    return subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
    )  # fmt: skip


def test_imports_keep_the_contracts() -> None:
    done = check_contracts(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
def test_bad_imports_are_reported_with_their_lines(tmp_path: Path) -> None:
    """Each is the last line of a module in a copy of the sources."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for house in HOUSES:
        for path in (ROOT / house).rglob("*.py"):
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    expected = set()
    for importer, imported in BAD_IMPORTS:
        path = tmp_path.joinpath(*importer.split(".")).with_suffix(".py")
        path.write_text(f"{path.read_text()}\nimport {imported}\n")
        line = len(path.read_text().splitlines())
        expected.add((importer.removesuffix(".__init__"), imported, str(line)))
    done = check_contracts(tmp_path)
    assert done.returncode == 1
    reported = re.findall(r"(\S+) -> (\S+) \(l\.(\d+)", done.stdout)
    assert expected - set(reported) == set(), done.stdout


def test_no_text_imports_carlite() -> None:
    """Code in texts, such as that of a process of its own, is no import that contracts know."""
    outside = [
        path
        for folder in ("harness", "agents", "analysis", "studies")
        for path in (ROOT / folder).rglob("*.py")
        if not {CARLITE, AUTHORING} & set(path.parents)
    ]
    assert outside
    for path in outside:
        assert not re.search(r"(from|import) harness\.carlite", path.read_text()), path


def test_every_study_has_a_page() -> None:
    folder = ROOT / "studies"
    studies = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert {path.parent.name for path in folder.glob("*/README.md")} == {*studies, "published"}
    assert {path.stem for path in folder.glob("*.py")} == {"__init__", "space"}
