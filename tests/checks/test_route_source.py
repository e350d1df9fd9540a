"""The check of route sources: shipped ones pass it, and each mistake fails where it is made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crucible.check import main
from harness.campaign.folder.inputs import hash_route_files
from harness.campaign.planning.plan import assign_routes, choose_routes
from harness.campaign.settings.declared import CampaignSettings
from harness.checks.route_source import CHECKS, RouteSourceExamination
from harness.common.errors import UserError
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.files import RouteSpec, read_routes
from harness.world.routes.sources import RouteFiles, RouteSource, make_route_spec
from tests.campaign.tiny import composed
from tests.conftest import ROOT

STREET = [(136.7, 196.6, 0.9), (166.7, 196.6, 0.9)]


class Street(RouteSource):
    """One street in Crucible05."""

    names: tuple[str, ...] = ("one", "two")
    town = "Crucible05"

    def points(self) -> list[tuple[float, float, float]]:
        return STREET

    def routes(self, invalid: list[str] | None = None) -> Iterable[RouteSpec]:
        for name in self.names:
            yield make_route_spec(name, self.town, self.points(), "Street")


class Empty(Street):
    names = ()


class Twice(Street):
    names = ("one", "one")


class Unnameable(Street):
    names = ("x" * 400,)


class Text(Street):
    def routes(self, invalid: list[str] | None = None) -> Any:
        return ["one", "two"]


class Nowhere(Street):
    def points(self) -> list[tuple[float, float, float]]:
        return [(1e6, 1e6, 0.0), (2e6, 1e6, 0.0)]


class Random(Street):
    def points(self) -> list[tuple[float, float, float]]:
        x = 136.7 + float(np.random.default_rng().uniform(0.0, 5.0))
        return [(x, 196.6, 0.9), STREET[1]]


class Lost(Street):
    def files(self) -> Mapping[str, Path]:
        return {"file": Path("nowhere.xml")}


class Hazardous(Street):
    hazard = HazardSpec(route="one", kind="control_loss", station=10.0)

    def hazards(
        self, routes: Mapping[str, RouteSpec], kinds: Collection[str], maps: Path | None
    ) -> list[HazardSpec]:
        return [self.hazard]


class Elsewhere(Hazardous):
    hazard = HazardSpec(route="three", kind="control_loss", station=10.0)


class Impossible(Hazardous):
    hazard = HazardSpec(
        route="one", kind="control_loss", station=10.0, parameters={"friction": -1.0}
    )


class Raises(Street):
    def routes(self, invalid: list[str] | None = None) -> Iterable[RouteSpec]:
        raise KeyError("table")


def verdicts(make: Any) -> dict[str, str]:
    return {
        finding.check: finding.verdict for finding in RouteSourceExamination(make).list_findings()
    }


def shipped() -> RouteSource:
    return RouteFiles("routes/crucible05/routes.xml", "routes/crucible05/hazards.json")


@pytest.mark.thorough
@pytest.mark.parametrize("make", [Street, Hazardous, shipped])
def test_good_sources_pass(make: Any) -> None:
    assert verdicts(make) | {"time": "passed"} == dict.fromkeys(CHECKS, "passed")


@pytest.mark.parametrize(
    ("named", "check"),
    [
        (Empty, "routes"),
        (Twice, "routes"),
        (Unnameable, "routes"),
        (Text, "routes"),
        (Raises, "routes"),
        (Nowhere, "laid"),
        (Elsewhere, "hazards"),
        (Impossible, "hazards"),
        (Random, "deterministic"),
        (Lost, "files"),
    ],
)
def test_a_mistake_fails_its_check(named: type[RouteSource], check: str) -> None:
    failed = [name for name, verdict in verdicts(named).items() if verdict == "failed"]
    assert failed[:1] == [check]


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tests.checks.test_route_source:Hazardous"]) == 0
    assert "as a route source" in capsys.readouterr().out
    assert main(["tests.checks.test_route_source:Twice"]) == 1
    assert "several routes have the id one" in capsys.readouterr().out


def of_class(monkeypatch: pytest.MonkeyPatch, name: str) -> CampaignSettings:
    """Return settings whose routes come from a class of these tests."""
    monkeypatch.setattr("harness.campaign.settings.config.THEIRS", ("tests.",))
    settings = composed()
    source: Any = {"_target_": f"{__name__}.{name}"}
    return {**settings, "routes": {**settings["routes"], "only": None, "source": source}}


def test_a_campaign_drives_what_a_source_yields(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = of_class(monkeypatch, "Hazardous")
    routes, _ = choose_routes(settings)
    one, two = assign_routes(settings, routes)
    assert (one.route.name, two.route.name) == ("one", "two")
    assert (one.hazards, two.hazards) == ((Hazardous.hazard,), ())
    assert hash_route_files(settings["routes"]) == {}


@pytest.mark.thorough
def test_what_a_source_raises_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"routes\.source: Raises: KeyError: 'table'"):
        choose_routes(of_class(monkeypatch, "Raises"))
    with pytest.raises(UserError, match=r"names .*RouteSpec.*, which is no class of ours"):
        choose_routes(of_class(monkeypatch, "RouteSpec"))


@pytest.mark.thorough
def test_files_are_the_shipped_source() -> None:
    file = ROOT / "routes" / "crucible05" / "routes.xml"
    routes, _ = choose_routes(composed("routes=crucible05"))
    assert [*routes] == [spec.id for spec in read_routes(file)]
    assert set(hash_route_files(composed("routes=crucible05")["routes"])) == {"file", "hazards"}
