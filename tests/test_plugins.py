"""Plug-ins of installed distributions: read from entry points, listed, limited by trust."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.campaign.settings.config import build_part, find_class
from harness.campaign.settings.trust import refuse_untrusted
from harness.common.errors import UserError
from harness.common.plugins import describe_plugin_origin, list_installed_plugins
from studies.search.making import find_sampler
from tests.conftest import ROOT

METRIC = """
from crucible.api import Metric, StepData


class Standing(Metric):
    def step(self, data: StepData) -> float | None:
        return float(data.speed < 0.1)


class Declared(Standing):
    safe_from_file = True
"""
SAMPLER = """
class Unsafe:
    libraries = ()

    def __init__(self, settings): ...
    def ask(self, count): ...
    def report(self, outcomes): ...


class Safe(Unsafe):
    safe_from_file = True
"""
HAZARD = """
from crucible.api import Hazard


class Barrier(Hazard):
    kind = "barrier"
"""
POINTS = """[crucible.plugins]
standing = standing_lab.metric:Standing
near = standing_lab.sampler:Safe
escape = subprocess:Popen
inside = harness.carlite.server:CarliteServer

[crucible.hazards]
barrier = standing_lab.hazard:Barrier
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder on the path with a package and the metadata of its distribution."""
    package, metadata = tmp_path / "standing_lab", tmp_path / "standing_lab-0.3.dist-info"
    for folder in (package, metadata):
        folder.mkdir()
    (package / "__init__.py").write_text("")
    (package / "metric.py").write_text(METRIC)
    (package / "sampler.py").write_text(SAMPLER)
    (package / "hazard.py").write_text(HAZARD)
    (package / "other.py").write_text("class Other: ...\n")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: standing-lab\nVersion: 0.3\n")
    (metadata / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    list_installed_plugins.cache_clear()
    yield tmp_path
    list_installed_plugins.cache_clear()
    for name in [name for name in sys.modules if name.startswith("standing_lab")]:
        del sys.modules[name]


def test_entry_points_are_read_with_their_distribution(installed: Path) -> None:
    plugins = {plugin.name: plugin for plugin in list_installed_plugins()}
    standing = plugins["standing"]
    assert (standing.distribution, standing.version) == ("standing-lab", "0.3")
    assert standing.target == "standing_lab.metric.Standing"


def test_no_entry_point_opens_the_standard_library_or_the_house(installed: Path) -> None:
    assert {"escape", "inside"}.isdisjoint(plugin.name for plugin in list_installed_plugins())
    for target in ("subprocess.Popen", "harness.carlite.server.CarliteServer"):
        with pytest.raises(UserError, match="may be named by _target_ there"):
            find_class(target, "metrics.mine")


def test_a_campaign_builds_a_class_of_an_installed_plug_in(installed: Path) -> None:
    metric = build_part({"_target_": "standing_lab.metric.Standing"}, "metrics.standing")
    assert type(metric).__name__ == "Standing"


def test_the_module_that_an_entry_point_names_is_open_and_no_other(installed: Path) -> None:
    with pytest.raises(UserError, match="may be named by _target_ there") as refused:
        find_class("standing_lab.other.Other", "metrics.mine")
    assert "CRUCIBLE_PACKAGES=standing_lab allows it" in str(refused.value)


def test_without_its_metadata_the_package_is_refused(installed: Path) -> None:
    (installed / "standing_lab-0.3.dist-info" / "entry_points.txt").unlink()
    list_installed_plugins.cache_clear()
    with pytest.raises(UserError, match="may be named by _target_ there"):
        find_class("standing_lab.metric.Standing", "metrics.standing")


def test_a_folder_may_name_only_what_is_declared_safe(installed: Path) -> None:
    def settings(name: str) -> dict[str, object]:
        return {"metrics": {"mine": {"_target_": f"standing_lab.metric.{name}"}}}

    refuse_untrusted(Path("runs/x"), settings("Declared"))
    with pytest.raises(UserError, match="not declared safe to be built from a file"):
        refuse_untrusted(Path("runs/x"), settings("Standing"))


def test_a_sampler_is_built_if_it_is_declared_safe(installed: Path) -> None:
    assert find_sampler("standing_lab.sampler.Safe").__name__ == "Safe"
    with pytest.raises(UserError, match="must declare safe_from_file = True"):
        find_sampler("standing_lab.sampler.Unsafe")
    with pytest.raises(UserError, match=r"unknown sampler tpee; did you mean tpe\?"):
        find_sampler("tpee")


def test_an_unknown_name_says_which_package_brings_it(installed: Path) -> None:
    assert describe_plugin_origin("standing") == (
        "; standing-lab 0.3 brings it as standing_lab.metric.Standing"
    )
    assert describe_plugin_origin("nothing") == ""
    for target in (
        "os.system",
        "numpy.f2py.main",
        "harness.common.files.write_whole",
        "__main__.X",
        "a",
    ):
        assert describe_plugin_origin(target) == ""


def crucible(folder: Path, *words: str, packages: str = "") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), str(folder)])
    environment = {"PYTHONPATH": path, "CRUCIBLE_PACKAGES": packages, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "crucible", *words],
        check=False, cwd=folder, capture_output=True, text=True, env=os.environ | environment,
    )  # fmt: skip


@pytest.mark.thorough
def test_plugins_lists_kind_name_and_origin(installed: Path) -> None:
    listed = crucible(installed, "plugins", "--others", packages="standing_lab")
    assert listed.returncode == 0, listed.stderr
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in listed.stdout.splitlines()
        if "│" in line
    ]
    assert ["a metric", "standing: standing_lab.metric.Standing", "standing-lab 0.3"] in rows
    assert ["a hazard", "barrier: standing_lab.hazard.Barrier", "standing-lab 0.3"] in rows
    assert ["a sampler", "near: standing_lab.sampler.Safe", "standing-lab 0.3"] in rows
    assert ["a metric", "standing_lab.metric.Declared", "CRUCIBLE_PACKAGES"] in rows


@pytest.mark.thorough
def test_a_choice_that_a_package_brings_is_named(installed: Path) -> None:
    refused = crucible(installed, "run", "metrics=[standing]")
    assert refused.returncode == 2
    assert refused.stderr.endswith("; standing-lab 0.3 brings it as standing_lab.metric.Standing\n")
    assert refused.stderr.count("\n") == 1
