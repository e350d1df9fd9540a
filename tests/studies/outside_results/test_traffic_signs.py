"""Bench2Drive's five abilities by its routes: with a small planner, and next to their script.

`BENCH2DRIVE_ROOT`, `CARLA_AGENTS` and `CRUCIBLE_MAPS` name a checkout of Bench2Drive, CARLA's
`PythonAPI/carla` and a folder of OpenDRIVE files; without them the last test is skipped.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import carla
import pandas as pd
import pytest

from crucible.subcommands import dispatch_subcommand
from harness.common.environments import build_foreign_environment
from harness.common.errors import UserError
from harness.world.maps import find_map, read_map_bytes
from studies.outside_results.bench2drive import ABILITIES
from studies.outside_results.driven_route import parse_driven_route
from studies.outside_results.traffic_signs import (
    BenchmarkPlaces,
    BenchmarkRoute,
    compute_junction_shares,
    compute_mean_ability,
    count_abilities,
    find_town_map,
    list_routes_to_lay,
    read_benchmark_routes,
)
from tests.studies.outside_results.made_up import (
    SECOND_KINDS,
    make_merged_file,
    make_record,
    write_json,
)

PLANNER = '''
class GlobalRoutePlanner:
    """Follows the first way on, a waypoint for each metre."""
    def __init__(self, wmap, resolution):
        self.wmap, self.resolution = wmap, resolution
    def trace_route(self, origin, destination):
        here, way = self.wmap.get_waypoint(origin), []
        for _ in range(round(origin.distance(destination) / self.resolution)):
            way.append((here, None))
            here = here.next(self.resolution)[0]
        return way
'''


def write_planner(folder: Path) -> Path:
    place = folder / "agents" / "navigation"
    place.mkdir(parents=True)
    (folder / "agents" / "__init__.py").touch()
    (place / "__init__.py").touch()
    (place / "global_route_planner.py").write_text(PLANNER)
    return folder


def write_routes(file: Path, routes: dict[str, tuple[str, list[Any]]]) -> Path:
    """Write routes: by id, the kind of scenario and the points."""
    parts = []
    for name, (scenario, places) in routes.items():
        points = "".join(f'<position x="{x}" y="{y}" z="{z}"/>' for x, y, z in places)
        parts.append(
            f'<route id="{name}" town="Crucible05"><waypoints>{points}</waypoints>'
            f'<scenarios><scenario name="{scenario}_1" type="{scenario}"/></scenarios></route>'
        )
    file.write_text(f"<routes>{''.join(parts)}</routes>")
    return file


def follow_lane(town: carla.Map) -> list[carla.Waypoint]:
    """Return a straight way that begins on a road, and ends 20 m behind the edge of a junction."""
    for start in town.generate_waypoints(20.0):
        way = [town.get_waypoint(start.transform.location)]
        while len(way) < 400 and not way[-1].is_junction:
            way.append(way[-1].next(1.0)[0])
        for _ in range(20):
            way.append(way[-1].next(1.0)[0])
        length = way[0].transform.location.distance(way[-1].transform.location)
        if 40 < len(way) < 400 and length > len(way) - 3:
            return way
    raise AssertionError("no such way")


def record_of(route: str, completion: float, **infractions: list[str]) -> dict[str, Any]:
    status = "Completed" if completion == 100.0 else "Failed"
    record = make_record(
        f"RouteScenario_{route}_rep0",
        completion=completion,
        status=status,
        infractions=infractions,
        kinds=SECOND_KINDS,
    )
    return {**record, "scenario_name": "T_Junction_1"}


def test_a_failed_drive_beyond_its_junction_obeyed_the_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    packed = find_map("Crucible05", None)
    assert packed is not None
    file = tmp_path / "maps" / "Crucible05.xodr"
    file.parent.mkdir()
    file.write_bytes(read_map_bytes(packed))
    town = carla.Map("Crucible05", file.read_text())
    way = follow_lane(town)
    ends = [way[0].transform.location, way[-1].transform.location]
    places = [(end.x, end.y, end.z) for end in ends]
    # by hand: the small planner goes along the same way, as far as the ends are apart
    metres = round(ends[0].distance(ends[1]))
    inside = [waypoint.is_junction for waypoint in way[:metres]]
    share = (inside.index(True) + 1 + 8) / metres
    beyond, before = 100 * share + 1e-6, 100 * share - 1e-6
    drives = {
        "1": record_of("1", 100.0),
        "2": record_of("2", beyond, collisions_vehicle=["hit"]),
        "3": record_of("3", before, collisions_vehicle=["hit"]),
        "4": record_of("4", beyond, stop_infraction=["passed"]),
        "5": record_of("5", beyond, red_light=["passed"]),
        "6": record_of("6", beyond, collisions_vehicle=["hit"]),
    }
    scenarios = dict.fromkeys("12345", "T_Junction") | {"6": "Accident", "7": "T_Junction"}
    routes = write_routes(
        tmp_path / "routes.xml", {name: (kind, places) for name, kind in scenarios.items()}
    )
    results = write_json(tmp_path / "r.json", make_merged_file(list(drives.values()), 6))
    agents = write_planner(tmp_path / "carla")
    words = ["compare-results", str(results), "--routes", str(routes), "--maps", str(file.parent)]
    assert dispatch_subcommand([*words, "--agents", str(agents), "--out", str(tmp_path / "o")]) == 0
    printed = capsys.readouterr().out
    assert "traffic signs" in printed
    # a success and a failed drive beyond; the route without a drive counts nowhere
    (row,) = pd.read_csv(tmp_path / "o" / "results_bench2drive.csv").to_dict("records")
    assert (row["traffic signs, successes"], row["traffic signs, of"]) == (2, 5)
    assert any(row[f"{name}, successes"] == 0 and row[f"{name}, of"] == 1 for name in ABILITIES)

    where = BenchmarkPlaces(routes, file.parent, agents)
    known = read_benchmark_routes(routes)
    parsed = [parse_driven_route(record) for record in drives.values()]
    needed = list_routes_to_lay(parsed, known)
    assert [one.route for one in needed] == ["2", "3", "4", "5"]
    shares = compute_junction_shares(needed, where)
    assert shares == pytest.approx(dict.fromkeys("2345", share))
    # of two drives of a route, the first counts
    twice = [parse_driven_route(record_of("3", 100.0)), *parsed]
    assert count_abilities(twice, known, shares)["traffic signs"] == (3, 5)

    # a way without a junction is refused by its route
    short = [(place.x, place.y, place.z) for place in (w.transform.location for w in way[:9:8])]
    straight = BenchmarkRoute(route="9", town="Crucible05", scenario="T", places=tuple(short))
    with pytest.raises(UserError, match="route 9: its way has no junction"):
        compute_junction_shares([straight], where)


def test_the_mean_is_over_abilities() -> None:
    assert compute_mean_ability({"a": (1, 2), "b": (3, 4)}) == pytest.approx(0.625)
    assert str(compute_mean_ability({"a": (1, 2), "b": (0, 0)})) == "nan"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--routes", "r.xml"], "belong together"),
        (["--routes", "nowhere.xml"], "--routes nowhere.xml: file not found"),
        (["--routes", ".", "--maps", "nowhere"], "--routes .: is a folder; a file is needed"),
        (["--routes", "r.xml", "--maps", "nowhere", "--agents", "."], "nowhere: folder not found"),
        (["--maps", "r.xml"], "--maps r.xml: is a file; a folder is needed"),
        (["--agents", "nowhere"], "--agents nowhere: folder not found"),
        (["--routes", "r.xml", "--maps", ".", "--agents", "."], "has no agents/navigation"),
        (["--routes", "r.xml", "--maps", ".", "--agents", "carla"], "no scenario, or fewer"),
        (["--routes", "empty.xml", "--maps", ".", "--agents", "carla"], "has no <route>"),
    ],
)
def test_what_is_missing_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_planner(tmp_path / "carla")
    write_routes(tmp_path / "r.xml", {"1": ("T_Junction", [(0.0, 0.0, 0.0)])})
    (tmp_path / "empty.xml").write_text("<routes/>")
    write_json(tmp_path / "r.json", make_merged_file([record_of("1", 50.0)], 1))
    assert dispatch_subcommand(["compare-results", "r.json", *words]) == 2
    assert line in capsys.readouterr().err


def test_a_town_without_map_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no Town99\.xodr"):
        find_town_map(tmp_path, "Town99")
    there = tmp_path / "Town99" / "OpenDrive" / "Town99.xodr"
    there.parent.mkdir(parents=True)
    there.touch()
    assert find_town_map(tmp_path, "Town99") == there


@pytest.mark.thorough
def test_all_five_are_those_of_their_script(tmp_path: Path) -> None:
    named = [os.environ.get(name) for name in ("BENCH2DRIVE_ROOT", "CARLA_AGENTS", "CRUCIBLE_MAPS")]
    if not all(named):
        pytest.skip("BENCH2DRIVE_ROOT, CARLA_AGENTS or CRUCIBLE_MAPS is not set")
    root, agents, maps = (Path(str(name)) for name in named)
    file = root / "leaderboard" / "data" / "bench2drive220.xml"
    chance = random.Random(5)
    records = []
    for route in ET.parse(file).getroot().findall("route"):
        there = (maps / f"{route.get('town')}.xodr").is_file()
        completion = chance.choice([100.0, chance.uniform(0, 100)]) if there else 100.0
        kind = chance.choice(["collisions_vehicle", "red_light", "min_speed_infractions"])
        infractions = {kind: ["x"]} if completion < 100 else {}
        records.append(record_of(str(route.get("id")), completion, **infractions))
    results = write_json(tmp_path / "r.json", make_merged_file(records, len(records)))
    carla_root = tmp_path / "carla" / "CarlaUE4" / "Content" / "Carla" / "Maps"
    carla_root.mkdir(parents=True)
    (carla_root / "OpenDrive").symlink_to(maps)
    environment = build_foreign_environment()
    environment |= {"CARLA_ROOT": str(tmp_path / "carla"), "PYTHONPATH": str(agents)}
    script = root / "tools" / "ability_benchmark.py"
    subprocess.run(
        [sys.executable, str(script), "-f", str(file), "-r", str(results)],
        env=environment,
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    theirs = json.loads((tmp_path / "r_ability.json").read_text())
    routes = read_benchmark_routes(file)
    drives = [parse_driven_route(record) for record in records]
    shares = compute_junction_shares(
        list_routes_to_lay(drives, routes), BenchmarkPlaces(file, maps, agents)
    )
    counts = count_abilities(drives, routes, shares)
    names = ("Overtaking", "Merging", "Emergency_Brake", "Give_Way", "Traffic_Signs")
    assert [wins / asked for wins, asked in counts.values()] == [theirs[name] for name in names]
    assert compute_mean_ability(counts) == pytest.approx(theirs["mean"])
