"""A server compared with carlite: another carlite does not differ, an altered one does."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from harness.doctor.comparing import compare_server_facts
from harness.doctor.facts import Section
from harness.doctor.probing import ServerComparison
from harness.doctor.report import describe_abilities, list_zero_extents
from harness.world.maps import SHIPPED_TOWNS
from tests.conftest import ROOT, Carlite
from tests.once import once

TOWN = "CrucibleRing"
SECTIONS = {
    "server",
    "map",
    "spawn points",
    "crosswalks",
    "traffic lights",
    "weather",
    "blueprints",
    "vehicles",
    "walkers",
    "physics",
    "LiDAR",
    "GNSS",
    "driving",
    "rays",
    "cameras",
}


def probe(address: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", "doctor", "--probe", address, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.fixture(scope="module")
def itself(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """Compare carlite with carlite."""
    return once(tmp_path_factory, "probe", carlite_and_itself)


def carlite_and_itself(folder: Path) -> tuple[str, dict[str, Any]]:
    file = folder / "report.json"
    with Carlite("--town", TOWN) as server:
        done = probe(f"{server.host}:{server.port}", "--json", str(file))
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text())


@pytest.mark.thorough
def test_carlite_does_not_differ_from_itself(itself: tuple[str, dict[str, Any]]) -> None:
    printed, report = itself
    assert printed.splitlines()[-1] == "no difference"
    assert report["differences"] == []
    assert set(report["carlite"]) == set(report["other"]) == SECTIONS
    assert (report["version"], report["town"]) == ("0.9.16", TOWN)


@pytest.mark.thorough
def test_what_works_is_reported(itself: tuple[str, dict[str, Any]]) -> None:
    printed, report = itself
    tried = report["other"]["rays"] | report["other"]["cameras"]
    assert len(tried) == 7
    assert all(route == {"works": True} for route in tried.values())
    assert describe_abilities(report["other"]) in " ".join(printed.split())
    assert describe_abilities(report["other"]).endswith("; does not: nothing")


def test_what_does_not_work_has_a_reason() -> None:
    lost: dict[str, Section] = {
        "rays": {"lidar": {"works": True}, "radar": {"works": False, "why": "no data came"}},
        "cameras": {"failed": {"with": "the server did not answer any more"}},
    }
    assert describe_abilities(lost) == (
        "works there: lidar; does not: radar (no data came),"
        " failed (the server did not answer any more)"
    )


@pytest.mark.thorough
def test_there_is_something_in_every_section(itself: tuple[str, dict[str, Any]]) -> None:
    facts = itself[1]["carlite"]
    assert not [name for name, section in facts.items() if not section or "failed" in section]
    assert len(facts["vehicles"]) == 41
    assert all(vehicle["spawned"] for vehicle in facts["vehicles"].values())
    seen = facts["LiDAR"]["sensor.lidar.ray_cast_semantic"]
    assert (seen["sweeps with their tick's frame"], seen["yaw on the car"]) == (5, -90)
    assert seen["bearing of a car ahead"] == 90
    assert seen["points on a car ahead"] > 20
    assert 1 < facts["driving"]["full brake"]["metres"] < 12
    assert facts["driving"]["full throttle for 5 s"]["metres"] > 30
    at = {place: facts["GNSS"][f"sensor at {place}"] for place in ("the origin", "x 200 m")}
    assert at["x 200 m"]["longitude"] > at["the origin"]["longitude"]


@pytest.mark.thorough
def test_a_cut_map_shows(tmp_path: Path) -> None:
    whole = (SHIPPED_TOWNS / "Crucible05.xodr").read_text()
    cut = re.sub(r"<object [^>]*crosswalk.*?</object>", "", whole, flags=re.DOTALL)
    assert cut != whole
    (tmp_path / "Crucible05.xodr").write_text(cut)
    with Carlite("--town", "Crucible05", "--maps", str(tmp_path)) as server:
        done = probe(f"{server.host}:{server.port}")
    assert done.returncode == 1, done.stderr
    assert "OpenDRIVE: digest" in done.stdout
    (crosswalks,) = (line for line in done.stdout.splitlines() if "crosswalks" in line)
    assert "count: 340 here, 0 there" in crosswalks


@pytest.mark.thorough
def test_the_server_is_left_free_running() -> None:
    with Carlite("--town", TOWN) as server:
        probe(f"{server.host}:{server.port}")
        settings = server.client().get_world().get_settings()
    assert not settings.synchronous_mode


ALTERED = {
    "vehicles": (
        "vehicle.bh.crossbike",
        "extent y",
        0.0,
        "bike: extent y: 0.24 here, 0 there",
    ),
    "blueprints": ("vehicle.audi.a2", "tags", "audi", "audi.a2: tags: a2 vehicle here, audi there"),
    "LiDAR": ("ray_cast", "yaw", 0, "ray_cast: yaw: -90 here, 0 there"),
    "GNSS": ("sensor", "latitude", -0.001, "sensor: latitude: 0.001 here, -0.001 there"),
    "driving": ("full brake", "metres", 6.0, "full brake: metres: 4.8 here, 6 there"),
}
FACTS: dict[str, Any] = {
    "vehicles": {"vehicle.bh.crossbike": {"extent y": 0.24, "zero extents": False}},
    "blueprints": {"vehicle.audi.a2": {"tags": "a2 vehicle"}},
    "LiDAR": {"ray_cast": {"yaw": -90, "points a turn": 14000}},
    "GNSS": {"sensor": {"latitude": 0.001}},
    "driving": {"full brake": {"metres": 4.8}},
    "spawn points": {"0": {"x": 1.0, "y": 2.0, "z": 0.3}, "1": {"x": 9.0, "y": 2.0, "z": 0.3}},
}


@pytest.mark.parametrize("section", ALTERED)
def test_what_differs_is_named(section: str) -> None:
    thing, value, there, says = ALTERED[section]
    other = deepcopy(FACTS)
    other[section][thing][value] = there
    (difference,) = compare_server_facts(FACTS, other)
    assert difference.section == section
    assert str(difference).endswith(says)


def test_small_differences_are_none() -> None:
    other = deepcopy(FACTS)
    other["LiDAR"]["ray_cast"]["points a turn"] = 14100
    other["driving"]["full brake"]["metres"] = 4.9
    other["vehicles"]["vehicle.bh.crossbike"]["extent y"] = 0.245
    assert compare_server_facts(FACTS, other) == []


def test_what_only_one_has_is_named() -> None:
    other = deepcopy(FACTS)
    other["blueprints"]["vehicle.new.one"] = other["blueprints"].pop("vehicle.audi.a2")
    assert [str(item) for item in compare_server_facts(FACTS, other)] == [
        "vehicle.audi.a2: yes here, no there",
        "vehicle.new.one: no here, yes there",
    ]


def test_places_may_come_in_any_order() -> None:
    other = deepcopy(FACTS)
    points = other["spawn points"]
    points["0"], points["1"] = points["1"], points["0"]
    assert compare_server_facts(FACTS, other) == []
    points["0"]["y"] += 1.0
    (difference,) = compare_server_facts(FACTS, other)
    assert str(difference) == "not within 0.5 m of any of the other: 1 here, 1 there"


def test_zero_extents_are_named() -> None:
    other = deepcopy(FACTS)
    other["vehicles"]["vehicle.bh.crossbike"]["zero extents"] = True
    comparison = ServerComparison(
        address="", version="", town="", carlite=FACTS, other=other, differences=()
    )
    assert list_zero_extents(comparison) == ["vehicle.bh.crossbike"]


@pytest.mark.thorough
def test_a_port_where_something_else_listens_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer_nonsense, args=(listener,), daemon=True).start()
        done = probe(f"127.0.0.1:{listener.getsockname()[1]}")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "something that is not CARLA listens" in line


def answer_nonsense(listener: socket.socket) -> None:
    """Answer the first connection with bytes that no CARLA sends."""
    connection, _ = listener.accept()
    connection.recv(1024)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    connection.close()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("address", "says"),
    [("nowhere", "is needed"), ("127.0.0.1:99999", "is needed"), ("127.0.0.1:1", "nothing")],
)
def test_addresses_that_are_none_are_one_line(address: str, says: str) -> None:
    done = probe(address)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert says in line
