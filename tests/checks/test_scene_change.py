"""The check of scene changes: shipped ones pass it, and each mistake fails where it is made."""

from __future__ import annotations

from typing import Any

import pytest

from crucible.check import main
from harness.checks.scene_change import CHECKS, SceneChangeExamination
from harness.world.changes.census import SceneCensus
from harness.world.changes.left_out import LeftOut
from harness.world.changes.moved import Moved
from harness.world.changes.stage import SpawnedScene
from tests.conftest import Carlite
from tests.world.alone import alone


class Blind(Moved):
    """Does nothing, and does not notice."""

    name = "blind"

    def after_traffic(self, stage: SpawnedScene) -> None:
        pass

    def undelivered(self, census: SceneCensus) -> str:
        return ""


class Nameless(LeftOut):
    name = "scene_change"


class Litter(Moved):
    """Leaves a car behind."""

    name = "litter"

    def after_traffic(self, stage: SpawnedScene) -> None:
        super().after_traffic(stage)
        library = stage.context.world.get_blueprint_library()
        at = stage.context.map.get_spawn_points()[40]
        stage.context.world.try_spawn_actor(library.find("vehicle.audi.tt"), at)


MADE: dict[str, Any] = {
    "shipped": lambda: Moved(2.0),
    "blind": lambda: Blind(2.0),
    "nameless": Nameless,
    "nothing": lambda: Moved(0.0),
    "litter": lambda: Litter(2.0),
}


def examined(host: str, port: int, name: str) -> dict[str, str]:
    """Return the worst verdict of every check."""
    findings = SceneChangeExamination(MADE[name], (host, port)).list_findings()
    return {finding.check: finding.verdict for finding in findings}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "failing"),
    [
        ("shipped", set()),
        pytest.param("blind", {"acts", "measured"}, marks=pytest.mark.thorough),
        pytest.param("nameless", {"declared"}, marks=pytest.mark.thorough),
        pytest.param("nothing", {"declared"}, marks=pytest.mark.thorough),
        pytest.param("litter", {"removed"}, marks=pytest.mark.thorough),
    ],
)
def test_every_mistake_fails_where_it_is_made(
    carlite: Carlite, name: str, failing: set[str]
) -> None:
    verdicts = alone(examined, carlite.host, carlite.port, name)
    assert {check for check, verdict in verdicts.items() if verdict == "failed"} == failing
    assert verdicts.keys() <= CHECKS.keys()


def test_bad_settings_are_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["harness.world.changes.moved:Moved", "metres=900"]) == 2
    assert "moved.metres = 900" in capsys.readouterr().err
