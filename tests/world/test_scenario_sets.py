"""Scenario sets with several egos: read, refused, and driven with one ego on carlite."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.campaign.planning.plan import choose_routes, plan_campaign
from harness.campaign.printing.tables import list_skipped_notes
from harness.common.errors import UserError
from harness.world.hazards.catalogue import KINDS, build_hazard
from harness.world.hazards.nominal import SIDEWAYS
from harness.world.hazards.scripted import format_places, make_scripted_course, parse_places
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.scenario_sets import InterDriveRoutes, MDriveRoutes, ScenarioSet
from tests.campaign.tiny import composed, environment, files, ledger
from tests.killing import kill_after_first_attempt
from tests.profiles import ONLY_WITH_ALL
from tests.warm import run_warm
from tests.world.little_checkout import write

TOWN = "Crucible05"
STREET = ((136.7, 196.6), (166.7, 196.6))
TURN = ((150.7, 196.6), (212.5, 174.1))
PATIENCE = 600.0


def write_points(
    file: Path, points: tuple[tuple[float, float], ...], *, town: str = TOWN, yaw: float = 0.0
) -> None:
    inside = "".join(
        f'<waypoint pitch="0.0" roll="0.0" x="{x}" y="{y}" yaw="{yaw}" z="0.0" />'
        for x, y in points
    )
    write(file, f'<routes><route id="145" town="{town}">{inside}</route></routes>')


def write_interdrive(folder: Path) -> Path:
    """Write two scenes of our own town and one of another, in InterDrive's form."""
    place = folder / InterDriveRoutes.folder
    for scene in ("r2_a_ins_c", "r10_a_ins_ss"):
        write_points(place / scene / f"{scene}_0.xml", STREET)
        write_points(place / scene / f"{scene}_1.xml", TURN)
    write_points(place / "r3_b_hw_c" / "r3_b_hw_c_0.xml", STREET, town="Town06")
    return folder


def write_mdrive(folder: Path, behaviours: list[Mapping[str, Any]] | None = None) -> Path:
    """Write a scene with two egos, a walker that waits, a parked car, in MDrive's form."""
    place = folder / MDriveRoutes.folders[0] / "made" / "1"
    write_points(place / "v1.xml", STREET)
    write_points(place / "v2.xml", TURN)
    write_points(place / "actors" / "walker.xml", ((158.0, 203.0), (158.0, 207.0)))
    write_points(place / "actors" / "parked.xml", ((125.7, 196.6),), yaw=3.0)
    manifest = {
        "ego": [
            {"file": "v1.xml", "kind": "ego", "name": "Vehicle 1", "target_speed": 8.0},
            {
                "file": "v2.xml",
                "kind": "ego",
                "name": "Vehicle 2",
                "model": "vehicle.lincoln.mkz2017",
                "target_speed": 6.0,
            },
        ],
        "npc": [],
        "pedestrian": [
            {
                "file": "actors/walker.xml",
                "name": "entity_1",
                "model": "walker.pedestrian.0001",
                "speed": 1.7,
            }
        ],
        "static": [
            {
                "file": "actors/parked.xml",
                "name": "entity_2",
                "model": "vehicle.citroen.c3",
                "speed": 0.0,
            }
        ],
    }
    write(place / "actors_manifest.json", json.dumps(manifest))
    starts = {
        "actor_name": "entity_1",
        "trigger": {"type": "distance_to_vehicle", "vehicle": "Vehicle 1", "distance_m": 12.0},
        "action": {"type": "start_motion"},
    }
    content = {"behaviors": [starts] if behaviours is None else behaviours}
    write(place / "actors_behavior.json", json.dumps(content))
    return folder


def script(source: ScenarioSet) -> dict[str, dict[str, Any]]:
    """Return the scripts of a source's first scenario by name."""
    first = next(iter(source.routes()))
    hazards = source.hazards({first.id: first}, KINDS, None)
    for hazard in hazards:
        build_hazard(hazard)
    return {str(one.parameters["name"]): one.parameters for one in hazards}


def test_interdrive_is_one_driven_ego_and_scripts(tmp_path: Path) -> None:
    checkout = str(write_interdrive(tmp_path))
    source = InterDriveRoutes(checkout, town=TOWN)
    # by number, not by letters; the template's id of all files is not the route's
    assert [route.id for route in source.routes()] == ["r2_a_ins_c", "r10_a_ins_ss"]
    assert "2 of Crucible05, 1 of Town06" in source.describe_origin()
    assert len(source.files()) == 4
    (other,) = script(source).values()
    assert (other["name"], other["at_end"], other["near"]) == ("ego 1", "leaves", 0.0)
    # laid on the roads: it follows the bend, in places at most 3 m apart
    places = parse_places(other["places"])
    assert np.hypot(*(places[-1, :2] - TURN[-1])) < 3.0
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).max() < 3.0
    # the second ego is driven: the first is the script
    second = InterDriveRoutes(checkout, ego=1, town=TOWN)
    assert list(script(second)) == ["ego 0"]
    np.testing.assert_allclose(second.routes()[0].keypoints[-1, :2], TURN[-1])


def test_mdrive_has_actors_with_triggers(tmp_path: Path) -> None:
    scripts = script(MDriveRoutes(str(write_mdrive(tmp_path)), town=TOWN))
    assert list(scripts) == ["Vehicle 2", "entity_1", "entity_2"]
    assert (scripts["Vehicle 2"]["blueprint"], scripts["Vehicle 2"]["speed"]) == (
        "vehicle.lincoln.mkz_2017",
        6.0,
    )
    assert (scripts["entity_1"]["near"], scripts["entity_1"]["whose"]) == (12.0, "ego")
    assert (scripts["entity_2"]["yaw"], scripts["entity_2"]["speed"]) == (3.0, 0.0)
    # another ego is driven: the walker waits for a script
    scripts = script(MDriveRoutes(str(tmp_path), ego=1, town=TOWN))
    assert scripts["entity_1"]["whose"] == "Vehicle 1"


def test_mdrive_has_scenarios_in_two_places(tmp_path: Path) -> None:
    write_mdrive(tmp_path)
    source = MDriveRoutes(str(tmp_path), town=TOWN)
    assert [route.id for route in source.routes()] == ["made_1"]
    # the same scenario where the newer repository has others
    (tmp_path / "routes").mkdir()
    (tmp_path / "scenarioset" / "made" / "1").rename(tmp_path / "routes" / "entry")
    assert [route.id for route in MDriveRoutes(str(tmp_path), town=TOWN).routes()] == ["entry"]
    shutil.rmtree(tmp_path / "routes")
    shutil.rmtree(tmp_path / "scenarioset")
    with pytest.raises(UserError, match="neither scenarioset nor routes is there"):
        MDriveRoutes(str(tmp_path), town=TOWN).routes()


def test_an_unknown_scenario_is_missed_in_the_checkout(tmp_path: Path) -> None:
    checkout = write_interdrive(tmp_path)
    given = (f"routes.checkout={checkout}", f"routes.source.town={TOWN}", "routes.only=[nowhere]")
    with pytest.raises(UserError, match=r"has no route nowhere") as raised:
        choose_routes(composed("routes=interdrive", *given))
    named = str(raised.value).removeprefix("routes.only: ").split(" has no")[0]
    assert Path(named).is_dir()
    assert Path(named).is_relative_to(checkout)


def test_all_egos_are_driven_and_nothing_of_them_is_scripted(tmp_path: Path) -> None:
    checkout = str(write_interdrive(tmp_path))
    source = InterDriveRoutes(checkout, town=TOWN, driven="all")
    assert "are driven, with all their egos" in source.describe_origin()
    routes = {route.id: route for route in source.routes()}
    assert source.hazards(routes, KINDS, None) == []
    further = source.further_egos(routes)
    assert list(further) == ["r2_a_ins_c", "r10_a_ins_ss"]
    (other,) = further["r2_a_ins_c"]
    assert (other.id, other.town) == ("r2_a_ins_c", TOWN)
    np.testing.assert_allclose(other.keypoints[-1, :2], TURN[-1])
    # the chosen ego comes first, whatever its number
    second = InterDriveRoutes(checkout, ego=1, town=TOWN, driven="all")
    routes = {route.id: route for route in second.routes()}
    np.testing.assert_allclose(routes["r2_a_ins_c"].keypoints[-1, :2], TURN[-1])
    (other,) = second.further_egos(routes)["r2_a_ins_c"]
    np.testing.assert_allclose(other.keypoints[-1, :2], STREET[-1])
    # one driven ego has none next to it
    one = InterDriveRoutes(checkout, town=TOWN)
    assert not one.several_egos
    assert list(one.further_egos(routes).values()) == [[], []]


def test_a_script_that_waits_for_a_driven_ego_knows_its_role(tmp_path: Path) -> None:
    checkout = str(write_mdrive(tmp_path))
    scripts = script(MDriveRoutes(checkout, town=TOWN, driven="all"))
    assert list(scripts) == ["entity_1", "entity_2"]
    assert scripts["entity_1"]["whose"] == "ego"
    # it waits for Vehicle 1, which is the second of those that are driven
    scripts = script(MDriveRoutes(checkout, ego=1, town=TOWN, driven="all"))
    assert scripts["entity_1"]["whose"] == "hero_1"


def test_driven_egos_must_be_of_one_town(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"routes\.source\.driven = two: unknown; valid: one, all"):
        InterDriveRoutes(str(tmp_path), driven="two")
    scene = tmp_path / InterDriveRoutes.folder / "r4_c_ins_c"
    write_points(scene / "r4_c_ins_c_0.xml", STREET)
    write_points(scene / "r4_c_ins_c_1.xml", STREET, town="Town06")
    source = InterDriveRoutes(str(tmp_path), town=TOWN, driven="all")
    with pytest.raises(UserError, match=f"is of Town06, the first ego's route of {TOWN}"):
        source.routes()


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ({"trigger": {"type": "time"}}, "trigger 'time' is not driven"),
        ({"trigger": "near"}, "what starts actors cannot be read"),
        (
            {
                "trigger": {"type": "distance_to_vehicle", "vehicle": "a", "distance_m": 1.0},
                "action": {"type": "lane_change"},
            },
            "action 'lane_change' is not driven",
        ),
    ],
)
def test_behaviours_of_other_kinds_are_refused_by_name(
    tmp_path: Path, behaviour: dict[str, Any], why: str
) -> None:
    write_mdrive(tmp_path, [{"actor_name": "entity_1", **behaviour}])
    with pytest.raises(UserError, match=why):
        MDriveRoutes(str(tmp_path), town=TOWN).routes()


def test_a_scenario_of_another_town_is_not_listed_whatever_it_has(tmp_path: Path) -> None:
    write_mdrive(tmp_path, [{"actor_name": "entity_1", "trigger": {"type": "time"}}])
    copy = tmp_path / MDriveRoutes.folders[0] / "made" / "2"
    shutil.copytree(tmp_path / MDriveRoutes.folders[0] / "made" / "1", copy)
    (copy / "actors_behavior.json").unlink()
    left: list[str] = []
    source = MDriveRoutes(str(tmp_path), town=TOWN)
    assert [route.id for route in source.routes(left)] == ["made_2"]
    assert [line.partition(":")[0] for line in left] == ["made_1"]
    # the same, but the one with the trigger lies in another town
    write_points(copy.parent / "1" / "v1.xml", STREET, town="Town06")
    left.clear()
    source = MDriveRoutes(str(tmp_path), town=TOWN)
    assert [route.id for route in source.routes(left)] == ["made_2"]
    assert [route.id for route in source.routes()] == ["made_2"]
    assert not left


def test_other_folders_and_egos_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"routes\.checkout: name the folder"):
        InterDriveRoutes(None).routes()
    for kind in (InterDriveRoutes, MDriveRoutes):
        with pytest.raises(UserError, match=r"no (CoLMDriver|MDrive): .* there"):
            kind(str(tmp_path)).routes()
    for kind, place in ((InterDriveRoutes, InterDriveRoutes.folder), (MDriveRoutes, "routes")):
        (tmp_path / "empty" / place).mkdir(parents=True)
        with pytest.raises(UserError, match=r"^routes\.checkout: \S+: no scenario was found: no "):
            kind(str(tmp_path / "empty")).routes()
    write_interdrive(tmp_path)
    with pytest.raises(UserError, match="no scenario of Town05; it has 2 of Crucible05, 1 of Town"):
        InterDriveRoutes(str(tmp_path)).routes()
    write(tmp_path / "broken" / InterDriveRoutes.folder / "r1_a" / "r1_a_0.xml", "<routes/>")
    with pytest.raises(UserError, match=r"no scenario of Town05 can be driven, such as r1_a: "):
        InterDriveRoutes(str(tmp_path / "broken")).routes([])
    scene = tmp_path / InterDriveRoutes.folder / "r4_c_ins_c"
    write_points(scene / "r4_c_ins_c_0.xml", STREET)
    with pytest.raises(UserError, match="r4_c_ins_c has ego 0 only"):
        InterDriveRoutes(str(tmp_path), ego=1, town=TOWN).routes(None)
    for ego in (2, -1):
        with pytest.raises(UserError, match=rf"such as r2_a_ins_c: routes\.source\.ego = {ego}: "):
            InterDriveRoutes(str(tmp_path), ego=ego, town=TOWN).routes([])
    # with no scenario left, the line has the numbers that there are
    (tmp_path / "two").mkdir()
    write_interdrive(tmp_path / "two")
    with pytest.raises(UserError, match=r"ego = 5: r2_a_ins_c has egos 0 and 1$"):
        InterDriveRoutes(str(tmp_path / "two"), ego=5, town=TOWN).routes()
    # left out and named where the user asks for that
    left: list[str] = []
    assert len(InterDriveRoutes(str(tmp_path), ego=1, town=TOWN).routes(left)) == 2
    assert len(left) == 1
    manifest = (
        write_mdrive(tmp_path) / MDriveRoutes.folders[0] / "made" / "1" / "actors_manifest.json"
    )
    entry = {"file": "../../../../secret.xml", "name": "x"}
    manifest.write_text(json.dumps({"ego": [entry]}))
    with pytest.raises(UserError, match="is no file of the scenario"):
        MDriveRoutes(str(tmp_path), town=TOWN).routes()


@pytest.mark.parametrize("driven", ["one", "all"])
@pytest.mark.parametrize(
    ("number", "content", "why"),
    [
        (0, "not xml", "not XML"),
        (1, "not xml", "not XML"),
        (1, None, "from the nearest driving lane"),
    ],
)
def test_a_scenario_with_a_broken_file_is_refused_or_left_out_and_listed(
    tmp_path: Path, driven: str, number: int, content: str | None, why: str
) -> None:
    checkout = write_interdrive(tmp_path)
    broken = tmp_path / InterDriveRoutes.folder / "r10_a_ins_ss" / f"r10_a_ins_ss_{number}.xml"
    if content is None:
        write_points(broken, ((9136.7, 196.6), (9166.7, 196.6)))  # far from any road
    else:
        write(broken, content)
    line = (
        *("system=oracle", "routes=interdrive", f"routes.checkout={checkout}", "routes.only=null"),
        *(f"routes.source.town={TOWN}", f"routes.source.driven={driven}", "interference=[none]"),
        *("traffic=none", "routes.repeats=true"),
    )
    with pytest.raises(UserError, match=why):
        plan_campaign(composed(*line))
    plan = plan_campaign(composed(*line, "routes.skip_invalid=true"))
    assert [one.route.name for one in plan.assignments] == ["r2_a_ins_c"]
    # one line for it, and none for the scenario of another town
    (left,) = plan.invalid
    assert left.startswith("r10_a_ins_ss: ")
    assert why in left
    assert ("invalid", "1 route is left out") in list(list_skipped_notes(plan))
    # nothing is left
    shutil.rmtree(tmp_path / InterDriveRoutes.folder / "r2_a_ins_c")
    with pytest.raises(UserError, match=why):
        plan_campaign(composed(*line, "routes.skip_invalid=true"))


@pytest.mark.parametrize("kind", ["interdrive", "mdrive"])
def test_a_checkout_that_is_no_folder_is_said_so(tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").touch()
    for name, why in (
        ("absent", "folder not found"),
        ("file", "is a file; a folder is needed"),
    ):
        settings = composed("system=oracle", f"routes={kind}", f"routes.checkout={tmp_path / name}")
        with pytest.raises(UserError) as problem:
            plan_campaign(settings)
        assert str(problem.value) == f"routes.checkout: {tmp_path / name}: {why}"


def test_scripts_are_read_from_text_and_slow_in_bends() -> None:
    angle = np.linspace(0.0, np.pi / 2, 20)
    bend = np.stack([10 * np.sin(angle), 10 - 10 * np.cos(angle), 0 * angle], axis=1)
    straight = np.array([[-40.0, 0.0, 0.0], [-20.0, 0.0, 0.0]])
    places = np.concatenate([straight, bend])
    np.testing.assert_allclose(parse_places(format_places(places)), places, atol=0.005)
    course = make_scripted_course(places, 8.0)
    in_bend = (course.along > 45.0) & (course.along < 50.0)
    # a bend of 10 m radius
    assert course.speed[in_bend] == pytest.approx(np.sqrt(SIDEWAYS * 10.0), rel=0.1)
    assert course.speed[course.along < 30.0] == pytest.approx(8.0)
    wrong = HazardSpec(
        route="a", kind="scripted_actor", station=0.0, parameters={"places": "1,2;rm"}
    )
    with pytest.raises(UserError, match="places"):
        build_hazard(wrong)


def command(checkout: Path, kind: str, out: Path) -> list[str]:
    return [
        *(sys.executable, "run_campaign.py", "system=oracle", f"routes={kind}"),
        *(f"routes.checkout={checkout}", f"routes.source.town={TOWN}", "routes.repeats=true"),
        *("interference=[none]", "traffic=none", "seeds=[1]", "executor.workers=1"),
        *("progress=plain", f"out={out}"),
    ]


def drive(checkout: Path, kind: str, out: Path, *more: str) -> list[dict[str, Any]]:
    """Drive, and return the results of all attempts."""
    arguments = [*command(checkout, kind, out)[1:], *more]
    done = run_warm(arguments, environment=environment(), timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    return [
        json.loads((out / path).read_text())["crucible"]
        for path in files(out)
        if path.name == "result.json"
    ]


@pytest.mark.thorough
def test_a_scenario_is_driven_with_its_scripts(tmp_path: Path) -> None:
    checkout, out = write_mdrive(tmp_path / "set"), tmp_path / "out"
    (result,) = drive(checkout, "mdrive", out, "routes.source.ego=1")
    assert result["completion"] == pytest.approx(1.0, abs=0.03)
    car, walker, parked = result["hazards"]
    assert {one["kind"] for one in result["hazards"]} == {"scripted_actor"}
    # the first ego, a script here, reaches its end behind the driven one
    assert (car["started_at"], car["reason"]) == (0.0, "its course was done")
    # the walker starts when that script is near, and the parked car stands
    assert walker["started_at"] > 0.0
    assert parked["reason"] == "it stands"


@ONLY_WITH_ALL
@pytest.mark.thorough
def test_a_kill_changes_no_record(tmp_path: Path) -> None:
    checkout, whole, killed = write_interdrive(tmp_path), tmp_path / "whole", tmp_path / "killed"
    assert len(drive(checkout, "interdrive", whole)) == 2
    kill_after_first_attempt(command(checkout, "interdrive", killed), killed, patience=PATIENCE)
    assert len(ledger(killed)) == 1
    assert len(drive(checkout, "interdrive", killed)) == 2
    for path in files(killed):
        if path.name != "timing.json":
            assert (killed / path).read_bytes() == (whole / path).read_bytes(), path
