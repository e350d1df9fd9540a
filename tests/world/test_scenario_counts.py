"""`crucible routes sets`: scenarios are counted, and every refusal has its reason."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from crucible.subcommands import dispatch_subcommand
from harness.commands import scenario_counts
from harness.commands.scenario_counts import (
    SETS,
    CheckedScenario,
    check_scenarios,
    count_scenarios,
    list_driven_tests,
)
from harness.common.errors import UserError
from harness.world.routes.scenario_files import MANIFEST
from harness.world.routes.scenario_sets import InterDriveRoutes, MDriveRoutes
from tests.analysis.little import write_little
from tests.conftest import ROOT
from tests.world.little_checkout import write
from tests.world.test_scenario_sets import (
    STREET,
    TOWN,
    write_interdrive,
    write_mdrive,
    write_points,
)

PAGE = ROOT / "docs" / "how-to" / "scenario-sets.md"
FAR = ((9000.0, 9000.0), (9050.0, 9000.0))
"""Places off every road."""


def refusals(checked: list[CheckedScenario]) -> dict[str, str]:
    """Return why each scenario is refused, by its name; empty where it can be driven."""
    return {one.name: one.refusal for one in checked}


def add_mdrive(checkout: Path, name: str, manifest: Any, behaviours: Any = None) -> Path:
    """Write one more scenario; its egos' files are those of `write_mdrive`."""
    place = checkout / MDriveRoutes.folders[0] / "made" / name
    write_points(place / "v1.xml", STREET)
    write(place / MANIFEST, manifest if isinstance(manifest, str) else json.dumps(manifest))
    if behaviours is not None:
        write(place / "actors_behavior.json", json.dumps({"behaviors": behaviours}))
    return place


def make_behaviour(trigger: str, action: str = "start_motion") -> dict[str, Any]:
    return {
        "actor_name": "a",
        "trigger": {"type": trigger, "vehicle": "b", "distance_m": 1.0},
        "action": {"type": action},
    }


def test_interdrive_is_counted_by_town_and_tests(tmp_path: Path) -> None:
    checked = [*check_scenarios("interdrive", write_interdrive(tmp_path))]
    assert refusals(checked) == {
        "r2_a_ins_c": "",
        "r3_b_hw_c": "no map of Town06",
        "r10_a_ins_ss": "",
    }
    assert "Town06: map not found" in checked[1].message
    assert count_scenarios(checked, {("r2_a_ins_c", True), ("another", False)}) == {
        "found": 3,
        "read": 3,
        "can be driven": 2,
        "refused": 1,
        "driven": 1,
        "tests": 6,
        "tests that can be driven": 4,
        "tests driven": 1,
    }
    both = {("r2_a_ins_c", True), ("r2_a_ins_c", False)}
    counts = count_scenarios(checked, both)
    assert (counts["driven"], counts["tests driven"]) == (1, 2)


def test_refusals_of_mdrive_have_their_reasons(tmp_path: Path) -> None:
    ego = {"file": "v1.xml", "kind": "ego", "name": "Vehicle 1"}
    checkout = write_mdrive(tmp_path)
    add_mdrive(checkout, "2", {"ego": [ego]}, [make_behaviour("time")])
    add_mdrive(
        checkout, "3", {"ego": [ego]}, [make_behaviour("distance_to_vehicle", "lane_change")]
    )
    add_mdrive(checkout, "4", "no JSON")
    add_mdrive(checkout, "5", {"npc": []})
    write_points(add_mdrive(checkout, "6", {"ego": [ego]}) / "v1.xml", FAR)
    walker = {"file": "walker.xml", "name": "w", "model": "walker.pedestrian.0001"}
    write(add_mdrive(checkout, "7", {"ego": [ego], "pedestrian": [walker]}) / "walker.xml", "<a/>")
    second = {"file": "v2.xml", "kind": "ego", "name": "Vehicle 2"}
    write_points(add_mdrive(checkout, "8", {"ego": [ego, second]}) / "v2.xml", FAR)
    add_mdrive(checkout, "9", {"ego": [ego]})
    checked = [*check_scenarios("mdrive", checkout)]
    assert refusals(checked) == {
        "made_1": "",
        "made_2": "trigger 'time' is not driven",
        "made_3": "action 'lane_change' is not driven",
        "made_4": scenario_counts.NOT_READ,
        "made_5": scenario_counts.NO_EGO,
        "made_6": scenario_counts.NO_WAY,
        "made_7": scenario_counts.NO_SCRIPT,
        "made_8": scenario_counts.NO_WAY,
        "made_9": "",
    }
    counts = count_scenarios(checked, set())
    assert (counts["found"], counts["read"], counts["can be driven"]) == (9, 6, 2)
    assert counts["refused"] == sum(bool(one.message) for one in checked) == 7
    assert counts["tests"] == 9
    # a campaign can leave out what it cannot read, and drive the others
    invalid: list[str] = []
    source = MDriveRoutes(str(checkout), town=TOWN)
    routes = [route.id for route in source.routes(invalid)]
    assert routes == ["made_1", "made_6", "made_7", "made_8", "made_9"]
    assert [line.partition(":")[0] for line in invalid] == ["made_2", "made_3", "made_4", "made_5"]


def test_driven_are_those_with_a_result(tmp_path: Path) -> None:
    names = ("r2_a_ins_c", "r10_a_ins_ss")
    alone = write_little(tmp_path / "alone", [("late", "none")], routes=names, seeds=(1,))
    busy = write_little(tmp_path / "busy", [("late", "none")], routes=names[:1], seeds=(1,))
    header = yaml.safe_load((busy / "campaign.yaml").read_text())
    header["settings"]["traffic"] = {"vehicles": 0, "walkers": 4}
    (busy / "campaign.yaml").write_text(yaml.safe_dump(header))
    assert list_driven_tests([alone]) == {(name, False) for name in names}
    assert list_driven_tests([alone, busy]) == {*list_driven_tests([alone]), (names[0], True)}


def test_the_command_prints_and_writes_both_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout, out = write_interdrive(tmp_path / "set"), tmp_path / "sets.md"
    line = ["routes", "sets", f"interdrive={checkout}", "--out", str(out)]
    assert dispatch_subcommand(line) == 0
    printed = capsys.readouterr().out
    assert "no map of Town06" in printed
    assert "interdrive: 3 of 46 published scenarios were found" in printed
    assert printed.splitlines()[-1] == f"both tables are in {out}"
    counts, refused, note = out.read_text().strip().split("\n\n")
    assert counts.splitlines()[-1] == "| interdrive | all | 3 | 3 | 2 | 1 | 0 | 6 | 4 | 0 |"
    assert refused.splitlines()[-1] == "| interdrive | no map of Town06 | 1 | r3_b_hw_c |"
    assert "nothing is known of the others" in note


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["interdrive"], "interdrive: SET=DIR is needed; valid sets: interdrive, mdrive"),
        (["opv2v=DIR"], "opv2v=DIR: no set opv2v; valid sets: interdrive, mdrive"),
        (["interdrive="], "interdrive=: SET=DIR is needed; valid sets: interdrive, mdrive"),
        (["mdrive=absent"], "mdrive: absent: folder not found"),
        (["mdrive=file"], "mdrive: file: is a file; a folder is needed"),
        (["interdrive=set", "interdrive=./set"], "interdrive=set: given twice"),
        (["interdrive=set", "--maps", "absent"], "--maps absent: folder not found"),
        (["interdrive=set", "--driven", "absent"], "--driven absent: folder not found"),
        (["interdrive=set", "--out", "set"], "--out set: is a folder; a file is needed"),
        (["interdrive=set", "--out", "file/a.md"], "file: is a file; a folder is needed"),
        # folders without a scenario, and folders of something else
        (
            ["interdrive=empty"],
            "interdrive: empty: no scenario was found: no folder has route",
        ),
        (["mdrive=empty"], "mdrive: empty: no scenario was found: no folder has actors_manifest.j"),
        (
            ["interdrive=set", "mdrive=set"],
            "mdrive: set: no MDrive: neither scenarioset nor",
        ),
    ],
)
def test_wrong_arguments_are_one_line_before_any_table(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_interdrive(tmp_path / "set")
    (tmp_path / "empty" / InterDriveRoutes.folder / "r1_town05_ins_c").mkdir(parents=True)
    (tmp_path / "empty" / MDriveRoutes.folders[1]).mkdir()
    (tmp_path / "file").touch()
    assert dispatch_subcommand(["routes", "sets", *words]) == 2
    printed = capsys.readouterr()
    (said,) = printed.err.splitlines()
    assert line in said
    assert not printed.out


def test_a_checkout_must_be_named() -> None:
    with pytest.raises(UserError, match=r"routes\.checkout: name the folder"):
        InterDriveRoutes(None).get_checkout()


@pytest.mark.thorough
def test_the_page_has_what_a_checkout_gives(tmp_path: Path) -> None:
    """With COLMDRIVER_ROOT: the rows of InterDrive that do not depend on drives."""
    root = os.environ.get("COLMDRIVER_ROOT")
    if not root:
        pytest.skip("COLMDRIVER_ROOT names no checkout of CoLMDriver")
    checked = [*check_scenarios("interdrive", Path(root))]
    assert len(checked) == SETS["interdrive"].scenarios
    page = PAGE.read_text()
    for town in ("Town05", "Town06", "Town07", "all"):
        there = [one for one in checked if town in (one.town, "all")]
        counts = count_scenarios(there, set())
        del counts["driven"], counts["tests driven"]
        (row,) = (line for line in page.splitlines() if line.startswith(f"| interdrive | {town} |"))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        shown = [cell for number, cell in enumerate(cells[2:-1]) if number != 4]
        assert shown == [str(count) for count in counts.values()]
