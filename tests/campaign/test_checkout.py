"""`routes=v2xverse_town05` and the paper's studies read copies, or a checkout of V2Xverse."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import run_campaign
from harness.campaign.planning.plan import plan_campaign
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.printing.tables import list_plan_notes
from harness.campaign.settings.checkout import with_checkout
from harness.campaign.settings.config import hash_settings
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.routes import build_route_source
from harness.common.errors import UserError
from harness.world.maps import load_road_network
from harness.world.routes.checkout import (
    CLONE,
    PARAMETERS,
    ROUTES,
    SCENARIOS,
    SCENARIOS_COPY,
    read_traffic_parameters,
)
from harness.world.routes.files import read_routes
from harness.world.routes.resolve import resolve_route
from tests.campaign.tiny import command, composed, run, write_route
from tests.world.little_checkout import trigger_on, write_checkout

PAPERS = ("paper_text", "paper_code")
Refuse = Callable[..., str]
PARAMETER_FILE = f"{PARAMETERS}/scenario_parameter_1.yaml"


def settings_of(checkout: Path, *more: str, study: str = "paper_text") -> CampaignSettings:
    """Return the settings of a paper's study on a small checkout."""
    words = (f"study={study}", f"routes.checkout={checkout}", "routes.only=[0,1,2]", *more)
    settings = with_checkout(composed(*words))
    refuse_misshapen(settings)
    return settings


@pytest.fixture
def refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Refuse:
    """Give campaigns that are refused in one line."""

    def refuse(*settings: str) -> str:
        monkeypatch.setattr(sys, "argv", ["run_campaign.py", f"out={tmp_path / 'out'}", *settings])
        with pytest.raises(SystemExit) as ended:
            run_campaign.main()
        said = capsys.readouterr()
        assert (ended.value.code, said.out) == (2, "")
        assert not (tmp_path / "out").exists()
        (line,) = said.err.splitlines()
        return line

    return refuse


@pytest.mark.thorough
@pytest.mark.parametrize("study", PAPERS)
def test_without_a_checkout_a_paper_is_planned_with_copies(study: str) -> None:
    settings = with_checkout(composed(f"study={study}"))
    refuse_misshapen(settings)
    planned = plan_campaign(settings)
    assert (planned.town, len(planned.assignments), planned.geometries) == ("Town05", 32, 27)
    assert settings["traffic"]["vehicles"] == 60
    thirds = [
        sum(hazard.source == "Scenario3" for hazard in assignment.runnable)
        for assignment in planned.assignments
    ]
    assert (sum(thirds), max(thirds)) == (17, 1)
    assert dict(list_plan_notes(planned))["origin"] == (
        "Crucible's copies of V2Xverse's town05_short 0 to 31 and of the triggers in"
        " town05_all_scenarios_2.json (the same ones, computed); routes.checkout=DIR reads yours"
    )


def test_a_checkout_without_its_scenarios_is_read_with_the_copy(tmp_path: Path) -> None:
    checkout = write_checkout(tmp_path / "V2Xverse")
    whole = settings_of(checkout)
    assert whole["routes"]["hazards"] == f"{checkout}/{SCENARIOS}"
    assert build_route_source(whole["routes"]).describe_origin() == ""
    (checkout / SCENARIOS).unlink()
    settings = settings_of(checkout)
    assert settings["routes"]["file"] == f"{checkout}/{ROUTES}"
    assert settings["routes"]["hazards"] == SCENARIOS_COPY
    assert build_route_source(settings["routes"]).describe_origin() == (
        "Crucible's copies of the triggers in town05_all_scenarios_2.json (the same ones,"
        f" computed), which {checkout} lacks"
    )


def test_without_hazards_a_checkout_has_none(tmp_path: Path) -> None:
    checkout = write_checkout(tmp_path / "V2Xverse")
    settings = settings_of(checkout, "routes.hazards=null")
    assert settings["routes"]["hazards"] is None
    assert settings["routes"]["source"]["hazards"] is None


def test_a_missing_folder_is_refused_with_the_command(refused: Refuse, tmp_path: Path) -> None:
    assert CLONE in refused("study=paper_text", f"routes.checkout={tmp_path / 'nowhere'}")


@pytest.mark.thorough
@pytest.mark.parametrize("part", [ROUTES, PARAMETER_FILE])
def test_a_checkout_that_lacks_a_part_is_refused_by_its_name(
    part: str, refused: Refuse, tmp_path: Path
) -> None:
    checkout = write_checkout(tmp_path / "V2Xverse")
    lost = checkout / part
    shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    assert part in refused("study=paper_text", f"routes.checkout={checkout}")


@pytest.mark.thorough
@pytest.mark.parametrize("study", PAPERS)
def test_a_paper_drives_the_checkouts_routes_with_repeats(study: str, tmp_path: Path) -> None:
    checkout = write_checkout(tmp_path / "V2Xverse")
    settings = settings_of(checkout, study=study)
    planned = plan_campaign(settings)
    assert [assignment.route.name for assignment in planned.assignments] == ["0", "1", "2"]
    assert planned.same_way == (("0", "2"),)
    assert planned.left_out == ()
    assert settings["traffic"] == {
        "_target_": "harness.world.traffic.Traffic",
        "vehicles": 6,
        "walkers": 4,
        "bicycles": 4,
        "crazy_level": 3,
        "crazy_proportion": 50.0,
        "mixed": True,
        "bicycle": "vehicle.diamondback.century",
        "speed_difference": None,
        "following_distance": None,
    }


@pytest.mark.thorough
def test_other_traffic_in_the_checkout_is_another_campaign(tmp_path: Path) -> None:
    checkout = write_checkout(tmp_path / "V2Xverse")
    before = hash_settings(settings_of(checkout))
    write_checkout(checkout, vehicles=7)
    assert hash_settings(settings_of(checkout)) != before


def test_our_routes_stay_available_by_name() -> None:
    chosen = composed("study=paper_text", "routes=town05", "traffic=v2xverse_1")
    assert with_checkout(chosen) == chosen
    assert chosen["routes"]["file"] == "routes/town05/routes.xml"


def test_the_checkouts_scenarios_become_hazards(tmp_path: Path) -> None:
    checkout = write_checkout(tmp_path / "V2Xverse")
    (spec, *_) = read_routes(checkout / ROUTES)
    way = resolve_route(spec, load_road_network("Crucible05", None))
    write_checkout(checkout, triggers=(trigger_on(way, 20, "Scenario1"),))
    planned = plan_campaign(settings_of(checkout))
    assert [(hazard.kind, hazard.source) for hazard in planned.assignments[0].runnable] == [
        ("control_loss", "Scenario1")
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no Background"),
        ("Background: [1, 2]", "no Background"),
        ("Background: {vehicle_amount: many}", "vehicle_amount = 'many'"),
        ("Background: {vehicle_amount: 1.5}", "not a whole number"),
        ("Background: {vehicle_amount: -1}", "a number ≥ 0"),
        ("a: b: c", "not a scenario_parameter file"),
    ],
)
def test_traffic_parameters_that_are_none_are_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "scenario_parameter.yaml"
    file.write_text(text)
    with pytest.raises(UserError, match=said) as caught:
        read_traffic_parameters(file)
    assert str(caught.value).startswith(str(file))


def test_an_invalid_route_is_refused_and_the_switch_named(refused: Refuse, tmp_path: Path) -> None:
    checkout = write_checkout(tmp_path / "V2Xverse", broken="323")
    words = ("study=paper_text", f"routes.checkout={checkout}", "routes.only=null")
    line = refused(*words)
    assert "town05_short_r323.xml: line 1: route 323: point 1 (-93.0, -1120.0) lies" in line
    assert line.endswith("routes.skip_invalid=true leaves such routes out")


@pytest.mark.thorough
@pytest.mark.parametrize("text", ["<route id='9'", "<route id='9' town='T'/>"])
def test_files_that_cannot_be_read_are_left_out_too(
    text: str, tmp_path: Path, refused: Refuse
) -> None:
    checkout = write_checkout(tmp_path / "V2Xverse")
    (checkout / ROUTES / "town05_short_r9.xml").write_text(f"<routes>{text}</routes>")
    words = ("study=paper_text", f"routes.checkout={checkout}", "routes.only=null")
    assert "routes.skip_invalid=true leaves such routes out" in refused(*words)
    planned = plan_campaign(with_checkout(composed(*words, "routes.skip_invalid=true")))
    assert len(planned.assignments) == 3
    assert len(planned.invalid) == 1
    assert "town05_short_r9.xml" in planned.invalid[0]


def test_where_no_route_is_valid_nothing_is_left_out(tmp_path: Path) -> None:
    checkout = write_checkout(tmp_path / "V2Xverse", broken="323")
    words = ("study=paper_text", f"routes.checkout={checkout}", "routes.only=[323]")
    with pytest.raises(UserError, match=r"route 323: point 1 .* \(within 80 m\)$"):
        plan_campaign(with_checkout(composed(*words, "routes.skip_invalid=true")))


@pytest.mark.thorough
def test_one_invalid_route_and_one_hazard_without_a_place_cost_nothing_else(
    tmp_path: Path,
) -> None:
    """Driven: the route is listed and left out, the hazard is not run, the attempts finish."""
    routes = write_route(tmp_path, "hop")
    text = (routes / "routes.xml").read_text()
    far = "".join(f'<waypoint x="-93" y="{y}" z="0" yaw="0"/>' for y in (-1120, -1090))
    broken = f'<route id="far" town="Crucible05">{far}</route>'
    (routes / "routes.xml").write_text(text.replace("</routes>", f"{broken}</routes>"))
    hazards = [
        {"route": "hop", "kind": "oncoming_turn", "station": 15.0},
        {"route": "hop", "kind": "control_loss", "station": 15.0},
    ]
    (routes / "hazards.json").write_text(json.dumps({"version": 1, "hazards": hazards}))
    out = tmp_path / "out"
    words = ("system=oracle", "interference=none", f"out={out}", "routes.skip_invalid=true")
    done = run(routes, *words)
    assert done.returncode == 0, done.stderr
    lines = " ".join(done.stdout.split())
    assert "invalid 1 route is left out" in lines
    assert "route far: point 1 (-93.0, -1120.0) lies" in lines
    assert "1 oncoming_turn: the road has no place for it (routes hop)" in lines
    assert "no place for oncoming_turn" in lines
    assert "1 of 2 hazards had no place and were not run" in lines
    (file,) = out.rglob("hop-s1/try1/result.json")
    reported = json.loads(file.read_text())["crucible"]["hazards"]
    assert {hazard["kind"]: (hazard["status"], hazard["cause"]) for hazard in reported} == {
        "oncoming_turn": ("not_run", "no_place"),
        "control_loss": ("running", ""),
    }


def test_the_plan_names_hazards_without_a_place(tmp_path: Path) -> None:
    routes = write_route(tmp_path)
    hazard = {"route": "bend", "kind": "oncoming_turn", "station": 45.0}
    (routes / "hazards.json").write_text(json.dumps({"version": 1, "hazards": [hazard]}))
    planned = plan_campaign(composed(*command(routes)[2:]))
    assert ("no place", "1 oncoming_turn: the road has no place for it (routes bend)") in list(
        list_plan_notes(planned)
    )
