"""Folders of strangers whose settings would rather do something else than be looked at."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.__main__ import main
from harness.campaign.folder.campaign_folder import load_campaign_header
from harness.campaign.twins.twins import AttemptTwin, CampaignTwins
from harness.common.errors import UserError
from harness.records.twins import TWINS, TwinChange
from tests.campaign.many import finished_bend
from tests.campaign.tiny import composed
from tests.keys import key_of
from tests.v2xverse.published_folder import write_checkout

KEY = key_of("ideal_late", "latency", "bend", 1)
Settings = dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign that is finished, of one system."""
    return finished_bend(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def folder(tmp_path: Path, made: Path) -> Path:
    """Return that folder, as a stranger might have changed it."""
    return shutil.copytree(made, tmp_path / "out")


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Return where a program of theirs would leave its mark."""
    return tmp_path / "mark"


def their_v2xverse(folder: Path, mark: Path) -> Settings:
    """Return settings that start a program which lies in the folder."""
    root = write_checkout(folder / "evil", "config")
    program = root / "run"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    program.chmod(0o755)
    return {
        "_target_": "agents.v2xverse.system.V2Xverse",
        "root": str(root),
        "python": str(program),
        "agent_config": "config",
    }


def their_child(folder: Path, mark: Path) -> Settings:
    return {
        "_target_": "agents.foreign.process.Child",
        "command": ["touch", str(mark)],
        "hello": {},
        "seconds": 1.0,
    }


def their_text(folder: Path, mark: Path) -> Settings:
    nested = f"${{oc.create:{{_target_:os.mkdir,path:{mark}}}}}"
    return {"_target_": "harness.world.partners.Cooperation", "roadside": nested}


def rewrite(file: Path, change: Callable[[Settings], Mapping[str, Any]]) -> None:
    """Change the settings that a header holds."""
    header = yaml.safe_load(file.read_text())
    header["settings"].update(change(header["settings"]))
    file.write_text(yaml.safe_dump(header))


@pytest.mark.parametrize("theirs", [their_v2xverse, their_child, their_text])
@pytest.mark.parametrize("group", ["cooperation", "interference", "traffic"])
def test_status_starts_nothing(
    theirs: Callable[[Path, Path], Settings], group: str, folder: Path, mark: Path
) -> None:
    evil: Any = theirs(folder, mark)
    named = {"interference": {"latency": [evil]}, "cooperation": {"ahead": evil}}.get(group, evil)
    rewrite(folder / "campaign.yaml", lambda _: {group: named})
    assert main(["status", str(folder)]) == 0
    for command in ("twin", "attribute"):
        assert main([command, str(folder), str(KEY)]) == 2
    assert not mark.exists()


@pytest.mark.parametrize("theirs", [their_v2xverse, their_child])
@pytest.mark.parametrize("command", ["twin", "attribute"])
@pytest.mark.parametrize("nested", [False, True])
def test_twins_with_programs_are_asked_about(
    theirs: Callable[[Path, Path], Settings],
    command: str,
    nested: bool,
    folder: Path,
    mark: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    evil = theirs(folder, mark)
    late = {"_target_": "agents.perception.systems.Late", "driving": evil}
    rewrite(
        folder / "campaign.yaml",
        lambda known: {
            "system": {**known["system"], "x": late if nested else evil},
            "inputs": None,
        },
    )
    assert main([command, str(folder), str(KEY)]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "system.x" in said
    assert "--trust" in said
    assert not mark.exists()
    assert not (folder / TWINS).exists()
    assert CampaignTwins(folder, trust=True).list_disturbance_names("latency") == ["latency"]


def test_twins_are_driven_with_the_settings_that_were_looked_at(
    folder: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.campaign.twins.twins.run_work_queue", lambda *given, **named: None)
    twins, twin = CampaignTwins(folder), AttemptTwin(KEY, TwinChange(sample=1))
    twins.drive_twins([twin])
    header = folder / TWINS / "campaign.yaml"
    right = load_campaign_header(header)["settings"]
    rewrite(header, lambda _: {"system": {"ideal_late": their_v2xverse(folder, mark)}})
    twins.drive_twins([twin])
    assert load_campaign_header(header)["settings"] == right


def test_a_group_names_classes_of_its_package_only() -> None:
    with pytest.raises(
        UserError, match=r"cooperation.ahead.roadside names .*; only harness.world.partners.\*"
    ):
        composed("cooperation.ahead.roadside._target_=agents.oracle.Oracle")
