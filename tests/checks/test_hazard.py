"""The check of hazards: shipped ones pass it, and each mistake fails where it is made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from crucible.check import main
from harness.campaign.folder.assignments import RouteAssignment
from harness.campaign.twins.twins import refuse_untrusted_hazards
from harness.checks.hazard import CHECKS, HazardExamination
from harness.checks.metric import make_straight_route
from harness.common.errors import UserError
from harness.world.attempt_context import EgoState
from harness.world.hazards.catalogue import KINDS, SHIPPED_KINDS, build_hazard
from harness.world.hazards.hazard import Hazard, NoPlaceError
from harness.world.hazards.meeting import StaticActor
from harness.world.hazards.parameters import NumberParameter, Parameter
from harness.world.hazards.sizes import get_blueprint_size
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track
from tests.conftest import Carlite
from tests.world.alone import alone

BARREL = "static.prop.barrel"


class Barrel(Hazard):
    """Stands next to the lane."""

    kind = "barrel"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "aside": NumberParameter(
            default=2.2, low=1.0, high=4.0, unit="m", meaning="right of the centre"
        ),
        "gap": NumberParameter(default=0.0, low=0.0, high=1.0, unit="m", meaning="to the next"),
    }
    sizes: ClassVar[Any] = {BARREL: (0.46, 0.47, 0.81)}

    def set_up(self, track: Track) -> None:
        self.hazard_actors.stand(StaticActor(BARREL, self.where(track)))

    def where(self, track: Track) -> Any:
        return track.pose(self.spec.station, self.number("aside"))

    def act(self, ego: EgoState) -> None:
        if self.status == "waiting" and ego.station > self.spec.station - 20.0:
            self.begin(ego)
        elif self.status == "running" and ego.station > self.spec.station + 5.0:
            self.finish("over", "the ego has passed")


class Nameless(Barrel):
    kind = "a barrel"


class Untyped(Barrel):
    parameters: ClassVar[Any] = {"aside": 2.2}


class BadDefault(Barrel):
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "aside": NumberParameter(
            default=0.0, low=1.0, high=4.0, unit="m", meaning="right of the centre"
        )
    }


class Placeless(Barrel):
    def set_up(self, track: Track) -> None:
        raise NoPlaceError("no room")


class Asleep(Barrel):
    def act(self, ego: EgoState) -> None:
        pass


class Endless(Barrel):
    def act(self, ego: EgoState) -> None:
        if self.status == "waiting":
            self.begin(ego)


class Random(Barrel):
    def where(self, track: Track) -> Any:
        return track.pose(self.spec.station, 2.2 + float(np.random.default_rng().random()))


class Leaves(Barrel):
    """Spawns without its list of actors."""

    def set_up(self, track: Track) -> None:
        super().set_up(track)
        self.hazard_actors.actors.clear()


def examined(name: str, host: str, port: int) -> dict[str, str]:
    """Check a hazard of this module, or a shipped one; return the verdicts."""
    named: type[Hazard] = globals().get(name) or SHIPPED_KINDS[name]
    examination = HazardExamination(named, {}, (host, port))
    return {finding.check: finding.verdict for finding in examination.list_findings()}


def verdicts(name: str, carlite: Carlite) -> dict[str, str]:
    result: dict[str, str] = alone(examined, name, carlite.host, carlite.port)
    return result


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["Barrel", pytest.param("control_loss", marks=pytest.mark.thorough)]
)
def test_good_hazards_pass(name: str, carlite: Carlite) -> None:
    assert verdicts(name, carlite) == dict.fromkeys(CHECKS, "passed")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("Nameless", "declared"),
        pytest.param("Untyped", "declared", marks=pytest.mark.thorough),
        pytest.param("BadDefault", "parameters", marks=pytest.mark.thorough),
        ("Placeless", "placed"),
        pytest.param("Asleep", "acts", marks=pytest.mark.thorough),
        pytest.param("Endless", "acts", marks=pytest.mark.thorough),
        pytest.param("Random", "deterministic", marks=pytest.mark.thorough),
        pytest.param("Leaves", "removed", marks=pytest.mark.thorough),
    ],
)
def test_a_mistake_fails_its_check(name: str, check: str, carlite: Carlite) -> None:
    failed = [made for made, verdict in verdicts(name, carlite).items() if verdict == "failed"]
    assert failed[:1] == [check]


def test_bad_parameters_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tests.checks.test_hazard:Barrel", "aside=0"]) == 2
    assert capsys.readouterr().err == "aside = 0: must be 1 to 4 m\n"
    assert main(["tests.checks.test_hazard:Barrel", "side=1"]) == 2
    assert capsys.readouterr().err == "unknown parameter side; valid parameters: aside, gap\n"


def test_a_kind_brings_its_sizes() -> None:
    assert get_blueprint_size(BARREL) == (0.46, 0.47, 0.81)
    assert get_blueprint_size("static.prop.kiosk_01") == (1.63, 1.65, 3.25)


def test_kinds_by_class_are_in_allowed_packages_only(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{__name__}.Barrel"
    monkeypatch.delenv("CRUCIBLE_PACKAGES", raising=False)
    assert name not in KINDS
    monkeypatch.setenv("CRUCIBLE_PACKAGES", "tests")
    hazard = build_hazard(HazardSpec(route="7", kind=name, station=10.0, parameters={"aside": 3.0}))
    assert isinstance(hazard, Barrel)
    assert (hazard.number("aside"), hazard.number("gap")) == (3.0, 0.0)
    assert hazard.make_report().kind == "barrel"
    with pytest.raises(UserError, match="aside = -1: must be 1 to 4 m"):
        build_hazard(HazardSpec(route="7", kind=name, station=10.0, parameters={"aside": -1.0}))
    with pytest.raises(UserError, match=r"tests\.nowhere\.Kind: ModuleNotFoundError"):
        build_hazard(HazardSpec(route="7", kind="tests.nowhere.Kind", station=10.0))
    with pytest.raises(UserError, match="not a subclass of Hazard"):
        build_hazard(HazardSpec(route="7", kind="tests.conftest.Carlite", station=10.0))


def test_installed_packages_name_kinds_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        name = "barrel"

        def load(self) -> type[Hazard]:
            return Barrel

    listed = "harness.world.hazards.catalogue.entry_points"
    monkeypatch.setattr(listed, lambda group: [Point()] * (group == "crucible.hazards"))
    kinds = type(KINDS)()
    assert kinds["barrel"] is Barrel
    assert set(kinds) == {*SHIPPED_KINDS, "barrel"}
    assert set(KINDS) == set(SHIPPED_KINDS)


def on_route(kind: str) -> RouteAssignment:
    """Return a route with a hazard of this kind."""
    return RouteAssignment(
        make_straight_route(60), (HazardSpec(route="straight", kind=kind, station=10.0),), None
    )


def test_a_folder_builds_only_hazards_that_declare_themselves_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRUCIBLE_PACKAGES", "tests")
    for kind in SHIPPED_KINDS:
        refuse_untrusted_hazards(tmp_path, on_route(kind))
    with pytest.raises(UserError, match=r"route straight has the hazard tests.*pass --trust"):
        refuse_untrusted_hazards(tmp_path, on_route(f"{__name__}.Barrel"))
