"""Campaigns from Python: run in processes of their own, read without what drives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import crucible
from analysis.collection import CampaignCollection, collect_campaigns
from crucible.campaigns import as_choice_list, format_override_value, split_system_choice
from harness.common.errors import UserError
from harness.records.arms import Arm
from tests.analysis.little import write_little
from tests.campaign.tiny import write_route
from tests.conftest import ROOT
from tests.once import once
from tests.pages import replaced

NOTEBOOK = ROOT / "docs" / "tutorials" / "notebook.ipynb"
THEIRS = "import sys; sys.path.insert(0, {theirs!r}); import agents; assert agents.CARLA; "
READ = (
    "import crucible; campaign = crucible.open_campaign({folder!r}); "
    "print(len(campaign.attempts), len(campaign.frames()), "
    "[name for name in sys.modules if name.startswith(('agents.', 'carla', 'torch'))])"
)
MINE = """
from agents.oracle import Oracle


class Mine(Oracle):
    pass
"""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> crucible.Campaign:
    return once(tmp_path_factory, "api", drive_hop)


def drive_hop(folder: Path) -> crucible.Campaign:
    routes = write_route(folder, "hop")
    return crucible.run_campaign(
        folder / "out",
        system="ideal_late",
        interference=["none", "latency"],
        seeds=[1],
        settings={
            "routes.file": routes / "routes.xml",
            "routes.hazards": None,
            "routes.only": None,
            "traffic": "few",
        },
        show=False,
    )


@pytest.mark.thorough
def test_attempts_and_their_tables_are_frames(campaign: crucible.Campaign) -> None:
    attempts = campaign.attempts
    assert sorted(attempts["condition"]) == ["latency", "none"]
    assert set(attempts["system"]) == {"ideal_late"}
    assert campaign.missing.empty
    assert campaign.settings["seeds"] == [1]
    late = campaign.messages(condition="latency")
    assert set(late["condition"]) == {"latency"}
    assert late["age_measured"].max() > campaign.messages(condition="none")["age_measured"].max()
    both = campaign.boxes(route=["hop"], seed=1)
    assert set(both["condition"]) == {"latency", "none"}
    assert len(campaign.frames()) == len(campaign.table("frames"))
    assert campaign.frames(condition="no such").empty
    assert crucible.open_campaign(str(campaign.folder)).attempts.equals(attempts)


def test_arms_without_effect_are_left_out_with_a_warning(tmp_path: Path) -> None:
    folder = write_little(tmp_path / "little", routes=("0",), seeds=(1,))
    campaign = crucible.open_campaign(folder)
    whole = len(campaign.attempts)
    assert campaign.faults.empty
    for file in folder.glob("**/latency/**/result.json"):
        result = json.loads(file.read_text())
        result["crucible"]["messages"]["used"] = 0
        file.write_text(json.dumps(result))
    with pytest.warns(UserWarning, match="latency.*: the system was given no message") as warned:
        left = campaign.attempts
    assert len(warned) == 1
    assert len(left) == whole - 1
    with pytest.warns(UserWarning, match="arm without effect, in no table"):
        assert campaign.missing.empty
    faults = campaign.faults
    assert [Arm.parse_name(arm).condition for arm in faults["arm"]] == ["latency"]
    assert faults["reason"].tolist() == ["the system was given no message in its one attempt"]


@pytest.mark.thorough
def test_an_attempt_may_finish_while_tables_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_little(tmp_path / "little", routes=("0",), seeds=(1, 2))
    place = next(folder.glob("**/late/**/latency/**/*-s2"))
    place.rename(tmp_path / "running")

    def finishing(*arguments: Any, **further: Any) -> CampaignCollection:
        if not place.exists():
            (tmp_path / "running").rename(place)
        return collect_campaigns(*arguments, **further)

    monkeypatch.setattr("crucible.campaigns.collect_campaigns", finishing)
    campaign = crucible.open_campaign(folder)
    frames = campaign.frames()
    assert set(frames["seed"]) == {1, 2}
    assert len(frames) == len(campaign.frames())


@pytest.mark.thorough
def test_what_is_unknown_is_refused_in_one_line(
    campaign: crucible.Campaign, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="unknown column of `attempts` rute; did you mean route"):
        campaign.frames(rute="hop")
    with pytest.raises(UserError, match="unknown table boxen; did you mean boxes"):
        campaign.table("boxen")
    with pytest.raises(UserError, match="not a campaign folder"):
        crucible.open_campaign(tmp_path)
    with pytest.raises(crucible.CampaignError, match="no route 77"):
        crucible.run_attempt(tmp_path / "out", system="oracle", route="77", show=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
def test_a_notebook_with_carlas_agents_reads_records(
    campaign: crucible.Campaign, tmp_path: Path
) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("CARLA = True\n")
    code = THEIRS.format(theirs=str(tmp_path)) + READ.format(folder=str(campaign.folder))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["2", str(len(campaign.frames())), "[]"]


@pytest.mark.thorough
def test_a_class_in_a_file_drives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mylab_api.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    from mylab_api import Mine  # type: ignore[import-not-found]

    routes = write_route(tmp_path, "hop")
    campaign = crucible.run_attempt(
        tmp_path / "out",
        system=Mine,
        route="hop",
        settings={
            "routes.file": routes / "routes.xml",
            "routes.hazards": None,
            "traffic": "none",
            "cooperation": "ahead",
        },
        show=False,
    )
    assert list(campaign.attempts["system"]) == ["mine"]
    assert list(campaign.attempts["completion"]) == [1.0]


def test_a_class_that_no_other_process_can_import_is_refused() -> None:
    class Local:
        pass

    with pytest.raises(crucible.CampaignError, match="write it to a file next to the notebook"):
        split_system_choice(Local)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (0.5, "0.5"),
        ("it's", r"'it\'s'"),
        (Path("a b"), "'a b'"),
        (["0", 1], "['0',1]"),
        ({"a": [1.0]}, "{a:[1.0]}"),
    ],
)
def test_values_are_written_as_the_command_line_reads_them(value: object, text: str) -> None:
    assert format_override_value(value) == text


def test_one_name_is_a_list_of_one() -> None:
    assert as_choice_list("latency") == ["latency"]
    assert as_choice_list(("none", "latency")) == ["none", "latency"]
    assert as_choice_list(None) is None


@pytest.mark.thorough
def test_the_notebook_works(tmp_path: Path) -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    code[0] = replaced(code[0], {'only=["3"]': 'routes="short"'})  # a sixth of the way
    outputs = [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert any(outputs)
    assert not any(output["output_type"] == "error" for made in outputs for output in made)
    names: dict[str, Any] = {}
    with working_in(tmp_path):
        for cell in code:
            exec(compile(cell, str(NOTEBOOK), "exec"), names)
    assert set(names["campaign"].attempts["condition"]) == {"none", "latency"}


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Work in another folder for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
