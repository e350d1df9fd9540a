"""A small recording through the embedded server and the real client."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agents.training.__main__ import main
from agents.training.collecting import Collection, collect
from agents.training.layout import read_look, scenarios
from agents.training.towns import check_towns
from harness.errors import UserError

TINY = {"groups": 1, "looks": 2, "neighbours": 1, "vehicles": 8, "cyclists": 4, "walkers": 8}


def test_a_group_looks_at_one_world(tmp_path: Path) -> None:
    wanted = Collection(tmp_path, ("CrucibleOld",), 1, 5, False, None, **TINY)
    collect(wanted)
    (scenario,) = scenarios(tmp_path)
    assert (scenario.town, scenario.purpose) == ("CrucibleOld", "training")
    agents = scenario.agents()
    assert agents[-1] == -1
    assert len(agents) >= 2
    for agent in agents:
        first, second = (
            read_look(scenario.folder, agent, each) for each in scenario.moments(agent)
        )
        assert second.time - first.time == pytest.approx(1.0)
        assert len(first.points_in_lidar) > 10_000
        assert agent not in first.truth.actor_ids
    collect(replace(wanted, out=tmp_path / "again"))
    for path in sorted(scenario.folder.rglob("*.*")):
        twin = tmp_path / "again" / path.relative_to(tmp_path)
        assert path.read_bytes() == twin.read_bytes(), path.name
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    collect(wanted)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_towns_for_testing_and_for_training_stay_apart(capsys: pytest.CaptureFixture[str]) -> None:
    for town in ("Crucible05", "Town05"):
        assert main(["collect", "--out", "nowhere", "--towns", town]) == 2
        assert "for testing" in capsys.readouterr().err
        check_towns([town], for_testing=True)
    with pytest.raises(UserError, match="for training"):
        check_towns(["CrucibleHill"], for_testing=True)
