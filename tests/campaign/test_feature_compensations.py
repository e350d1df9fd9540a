"""Feature maps of late messages are moved in drives; what has no flow network is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agents.perception.flows import giving
from agents.perception.flows.files import FLOW_FOLDER
from agents.perception.fusion.catalogue import INTERMEDIATE
from agents.perception.loading import FOLDER
from harness.campaign.folder.inputs import list_flow_changes, with_inputs
from harness.common.errors import UserError
from harness.records.reading import CampaignRecords
from harness.records.schema import TABLES
from tests.campaign.test_camera_systems import records_differ
from tests.campaign.test_compensations import result_without_arm
from tests.campaign.tiny import (
    assert_refused_in_one_line,
    command,
    composed,
    plan_arms,
    run,
    write_route,
)
from tests.killing import kill_while_driving
from tests.once import once
from tests.profiles import ONLY_WITH_ALL

ROBUST = FOLDER / "robust" / "lite_fcooper.safetensors"
DRIVE = (
    "system=fcooper",
    "routes.hazards=null",
    "interference=none",
    "sweep.latency=[0.4]",
    "compensate=[none,features]",
    "traffic=v2xverse_1",
)
PATIENCE = 120.0


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "step")


def test_only_systems_that_send_feature_maps_are_driven_with_it(routes: Path) -> None:
    chosen = ("system=[fcooper,late,early]", "interference=none")
    plain = plan_arms(routes, *chosen)
    both = plan_arms(routes, *chosen, "compensate=[none,features]")
    assert sorted(both) == sorted([*plain, "fcooper/ahead/none/compensate=features"])
    # boxes and feature maps side by side, each with what suits it
    all_three = plan_arms(routes, *chosen, "compensate=[none,boxes,features]")
    added = {"fcooper/ahead/none/compensate=features", "late/ahead/none/compensate=boxes"}
    assert set(all_three) == {*plain, *added}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["system=late"], "feature_compensation moves feature maps, and partners share boxes"),
        (["system=early"], "feature_compensation moves feature maps, and partners share points"),
        (
            ["system=camera_attfuse", "rig=v2xverse_cameras"],
            "no flow network is trained for the maps of agents with cameras",
        ),
        (
            ["system=fcooper", f"system.fcooper.weights={ROBUST}"],
            "the flow network of fcooper moves maps of the shipped weights",
        ),
        (["system=fcooper", "system.fcooper.weights=random"], "trained weights of size lite"),
        (
            ["system=fcooper", "attack=perturbation"],
            "feature_compensation moves feature maps, and the records of an attack",
        ),
        (
            ["system=fcooper", "system@partners.systems=[attfuse]", "partners.system=attfuse"],
            "moves maps of the ego's network, and partners use attfuse",
        ),
    ],
)
def test_what_no_flow_network_moves_is_refused_at_planning(
    routes: Path, words: list[str], line: str
) -> None:
    with pytest.raises(UserError, match=line) as raised:
        plan_arms(routes, *words, "interference=none", "compensate=features")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("scheme", sorted(INTERMEDIATE))
def test_a_scheme_is_planned_and_refused_by_name_without_its_flow_network(
    routes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    words = (f"system={scheme}", "interference=none", "compensate=features")
    assert plan_arms(routes, *words) == [f"{scheme}/ahead/none/compensate=features"]
    monkeypatch.setattr(giving, "FLOW_FOLDER", tmp_path)
    with pytest.raises(UserError, match=f"no flow network is trained for {scheme}; train one"):
        plan_arms(routes, *words)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["compensate.features.longest=-1"], r"longest = -1 s: must be ≥ 0"),
        (["compensate.features.longest=far"], r"compensate\.features\.longest"),
    ],
)
def test_bad_settings_are_one_line(settings: list[str], words: str) -> None:
    assert_refused_in_one_line(["compensate=features", *settings], words)


def test_flow_networks_are_among_the_files_that_a_campaign_reads(
    routes: Path, tmp_path: Path
) -> None:
    files = (f"routes.file={routes / 'routes.xml'}", "routes.hazards=null", "routes.only=null")
    chosen = ("system=[fcooper,late]", *files)
    assert "compensate" not in with_inputs(composed(*chosen))["inputs"]
    assert "compensate" not in with_inputs(composed(*chosen, "compensate=boxes"))["inputs"]
    mine = tmp_path / "flow.safetensors"
    shipped = FLOW_FOLDER / "lite_fcooper.safetensors"
    mine.write_bytes(shipped.read_bytes())
    words = (*chosen, "compensate=[none,features]", f"compensate.features.weights={mine}")
    known = with_inputs(composed(*words))
    assert set(known["inputs"]["compensate"]["features"]) == {"flow.safetensors"}
    assert list_flow_changes(known) == []
    # another network under the same name
    content = bytearray(shipped.read_bytes())
    content[-1] ^= 1
    mine.write_bytes(content)
    assert len(list_flow_changes(known)) == 1
    # what is no flow network, or moves other maps, is refused before anything is driven
    for file, line in ((ROBUST, "no flow network"), (tmp_path / "none", "no such file")):
        with pytest.raises(UserError, match=line) as raised:
            with_inputs(composed(*words, f"compensate.features.weights={file}"))
        assert "\n" not in str(raised.value)


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of a campaign on time and late, moved and not."""
    return once(tmp_path_factory, "feature_compensations", drive)


def drive(folder: Path) -> Path:
    done = run(write_route(folder, "hop"), *DRIVE, f"out={folder / 'both'}")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def places_of(out: Path) -> dict[tuple[str, str], Path]:
    """Return the folders of attempts, by condition and compensation."""
    places = CampaignRecords(out).find_attempts()
    return {(key.arm.condition, key.arm["compensate"]): places[key] for key in places}


@pytest.mark.thorough
def test_without_age_the_records_are_those_without_it_byte_for_byte(driven: Path) -> None:
    places = places_of(driven / "both")
    plain, null = places["none", "none"], places["none", "features"]
    for table in TABLES:
        there, here = (place / f"{table}.parquet" for place in (plain, null))
        assert there.exists() == here.exists(), table
        if there.exists():
            assert there.read_bytes() == here.read_bytes(), table
    assert result_without_arm(plain) == result_without_arm(null)
    moved = read_record(null)
    assert moved["late_messages"] == moved["cells"] == 0


@pytest.mark.thorough
def test_late_maps_are_moved_and_what_is_detected_changes(driven: Path) -> None:
    places = places_of(driven / "both")
    late, moved = (places["latency=0.4", name] for name in ("none", "features"))
    record = read_record(moved)
    assert record["name"] == "feature_compensation"
    # all but the first message of a sender have an earlier one
    assert record["late_messages"] > record["with_motion"] > 0.5 * record["late_messages"]
    assert record["cells"] > 0
    assert 0 < record["metres"] / record["cells"] <= record["greatest"] < 0.4 * 45
    assert not (moved / "compensated.parquet").exists()
    assert (late / "boxes.parquet").read_bytes() != (moved / "boxes.parquet").read_bytes()


def read_record(place: Path) -> dict[str, Any]:
    """Return what a result has of its compensation."""
    result = json.loads((place / "result.json").read_text())
    record: dict[str, Any] = result["crucible"]["messages"]["compensation"]
    return record


@ONLY_WITH_ALL
@pytest.mark.thorough
def test_killed_and_resumed_it_is_the_same(driven: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    line = command(driven, *DRIVE, f"out={out}")
    kill_while_driving(line, out, patience=PATIENCE)
    done = run(driven, *DRIVE, f"out={out}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert records_differ(driven / "both", out) == []
