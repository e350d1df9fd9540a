"""Towns from seeds: the same everywhere, drivable, and different from each other."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from functools import cache
from hashlib import sha256
from xml.etree import ElementTree

import pytest

from harness.authoring import checks, seeded
from harness.authoring.build import build_document
from harness.authoring.document import OpenDriveDocument
from harness.authoring.plan import Hall, JunctionControl
from harness.authoring.seeded import (
    DEVELOPMENT_SEEDS,
    TownParameters,
    format_development_name,
    grid,
)
from harness.authoring.seeded.checks import measure_straight_kerbs
from harness.authoring.seeded.parameters import RANGES, WHOLE, describe_refused_parameter
from harness.authoring.writing import format_opendrive
from harness.commands.town_checks import examine_town
from harness.world.maps import NAME
from tests.authoring.test_plans import shaken

SEEDS = range(20)


@cache
def text_of(seed: int) -> str:
    return seeded.write_seeded_opendrive(
        seed, format_development_name(seed, {}), seeded.sample_town_parameters(seed)
    )


@cache
def document_of(seed: int) -> OpenDriveDocument:
    return build_document(
        seeded.make_town_plan(
            seed, format_development_name(seed, {}), seeded.sample_town_parameters(seed)
        )
    )


SMALL = {"columns": 3, "rows": 3, "block_width": 80.0, "block_depth": 80.0, "removed": 0.3}
"""Parameters of a town that is checked in a third of the time."""


@cache
def small_text_of(seed: int, **given: float) -> str:
    return seeded.write_seeded_opendrive(
        seed, "Small", seeded.sample_town_parameters(seed, **SMALL, **given)
    )


@pytest.mark.thorough
def test_another_process_writes_the_same_bytes() -> None:
    code = (
        "from harness.authoring.seeded import *; from hashlib import sha256;"
        "print(sha256(write_seeded_opendrive(3, 'Small',"
        f" sample_town_parameters(3, **{SMALL})).encode()).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == sha256(small_text_of(3).encode()).hexdigest()


@pytest.mark.thorough
def test_the_last_bit_of_a_sine_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = text_of(2)
    shaken(monkeypatch, random.Random(2))
    parameters = seeded.sample_town_parameters(2)
    assert seeded.write_seeded_opendrive(2, format_development_name(2, {}), parameters) == expected


@pytest.mark.thorough
def test_seeds_give_different_towns_within_the_ranges() -> None:
    many = [seeded.sample_town_parameters(seed) for seed in range(200)]
    for field in fields(TownParameters):
        values = [getattr(parameters, field.name) for parameters in many]
        low, high = RANGES[field.name]
        assert low <= min(values) <= max(values) <= high, field.name
        assert (len(set(values)) > 1) == (field.name != "street_lanes"), field.name
        assert (field.name in WHOLE) == all(isinstance(value, int) for value in values)
    assert len({text_of(seed) for seed in (1, 2)} | {small_text_of(seed) for seed in (1, 2)}) == 4


@pytest.mark.parametrize("name", sorted(RANGES))
def test_a_given_parameter_changes_no_other(name: str) -> None:
    free = asdict(seeded.sample_town_parameters(5))
    given = asdict(seeded.sample_town_parameters(5, **{name: RANGES[name][1]}))
    changed = {other for other in free if free[other] != given[other]}
    sides = {"columns": {"block_width"}, "rows": {"block_depth"}}.get(name, set())
    assert changed <= {name} | sides
    assert given[name] == RANGES[name][1]
    assert describe_refused_parameter({name: RANGES[name][1] + 0.01}).startswith(f"{name} = ")
    assert not describe_refused_parameter({name: RANGES[name][1]})


def test_other_parameters_give_other_names() -> None:
    given: list[dict[str, float]] = [{}, {"rows": 4}, {"rows": 5}, {"rows": 4, "grade": 0.01}]
    names = [format_development_name(seed, values) for seed in (1, 2**63 - 1) for values in given]
    assert len(set(names)) == len(names)
    assert all(NAME.fullmatch(name) for name in names)
    assert names[0] == "Seeded_1"
    assert format_development_name(1, {"rows": 4.0}) == names[1]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", DEVELOPMENT_SEEDS[:1])  # `make verify` looks at all
def test_a_development_town_can_be_used(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    faults, summary = examine_town(format_development_name(seed, {}), text_of(seed))
    assert not faults
    assert re.search(r"\d+ streets, \d+ junctions \(\d+ with lights\).* \d+ spawn points", summary)
    assert capfd.readouterr() == ("", "")


@pytest.mark.thorough
def test_most_seeds_give_a_plan() -> None:
    built = [seed for seed in SEEDS if plans(seed)]
    assert len(built) >= 0.8 * len(SEEDS)


def plans(seed: int) -> bool:
    try:
        return bool(document_of(seed).roads)
    except ValueError:
        return False


@pytest.mark.parametrize("seed", range(12))
def test_a_grid_stays_in_one_piece_whichever_crossing_is_closed(seed: int) -> None:
    parameters = seeded.sample_town_parameters(seed, removed=0.3)
    plan = seeded.make_town_plan(seed, "Grid", parameters)
    near: dict[str, set[str]] = {name: set() for name in plan.nodes}
    for street in plan.streets:
        near[street.start].add(street.end)
        near[street.end].add(street.start)
    assert all(len(others) >= 3 for others in near.values())
    whole = grid.list_grid_edges(parameters.columns, parameters.rows)
    assert len(plan.streets) < len(whole) - 4
    for closed in near:
        open_ones = set(near) - {closed}
        reached = {min(open_ones)}
        while ahead := {b for a in reached for b in near[a] & open_ones} - reached:
            reached |= ahead
        assert reached == open_ones


def test_all_kinds_of_junctions_and_streets_are_there() -> None:
    plans = [
        seeded.make_town_plan(seed, "Any", seeded.sample_town_parameters(seed))
        for seed in range(12)
    ]
    kinds = Counter(node.control for plan in plans for node in plan.nodes.values())
    assert set(kinds) == set(JunctionControl)
    arms = [
        Counter(end for street in plan.streets for end in (street.start, street.end))
        for plan in plans
    ]
    assert {count for counts in arms for count in counts.values()} == {3, 4}
    streets = [street for plan in plans for street in plan.streets]
    assert {street.profile.lanes for street in streets} == {1, 2}
    assert any(max(street.pockets) > 0 for street in streets)
    assert {len(street.via) for street in streets} >= {0, 1, 2}


def test_parameters_do_what_they_are_called() -> None:
    flat = seeded.make_town_plan(
        4, "Flat", seeded.sample_town_parameters(4, grade=0.0, curvature=0.0, removed=0.0)
    )
    assert {node.z for node in flat.nodes.values()} == {0.0}
    assert max(len(street.via) for street in flat.streets) == 1, "corners of the rim"
    hilly = seeded.make_town_plan(4, "Hilly", seeded.sample_town_parameters(4, grade=0.06))
    assert max(node.z for node in hilly.nodes.values()) > 2.0
    for share, least, most in ((0.3, 0.2, 0.4), (0.7, 0.6, 0.8)):
        nodes = seeded.make_town_plan(
            4, "Lit", seeded.sample_town_parameters(4, lights=share)
        ).nodes.values()
        lit = sum(node.control is JunctionControl.LIGHTS for node in nodes)
        assert least <= lit / len(nodes) <= most
    blocks = seeded.make_town_plan(
        4, "Blocks", seeded.sample_town_parameters(4, columns=3, rows=5, block_width=120.0)
    )
    xs = [node.x for node in blocks.nodes.values()]
    assert max(xs) - min(xs) == pytest.approx(360, abs=60)
    wide = seeded.make_town_plan(4, "Wide", seeded.sample_town_parameters(4, street_lanes=2))
    assert {street.profile.lanes for street in wide.streets} == {2}


@pytest.mark.thorough
def test_what_the_file_says_of_houses_is_built() -> None:
    near, far = (
        checks.load_subject("Small", small_text_of(2, setback=setback)) for setback in (0.5, 6.0)
    )
    assert len(near.town.scenery.yaw) > len(far.town.scenery.yaw) / 2
    assert max(measure_straight_kerbs(near.town)) == max(measure_straight_kerbs(far.town))
    assert near.town.opendrive.count('code="scenery.setback" value="0.5"') == 1


Broken = Callable[[ElementTree.Element], None]


def dead_end(root: ElementTree.Element) -> None:
    for junction in root.findall("junction")[:1]:
        first = junction.findall("connection")[0].get("incomingRoad")
        for connection in junction.findall("connection"):
            if connection.get("incomingRoad") == first:
                junction.remove(connection)


def kinked(root: ElementTree.Element) -> None:
    line = next(piece for piece in root.iter("geometry") if piece.find("line") is not None)
    line.set("hdg", str(float(line.get("hdg", "0")) + 0.015))


def on_another(root: ElementTree.Element) -> None:
    """Lay the shortest street on the longest."""
    streets = [road for road in root.findall("road") if road.get("junction") == "-1"]
    streets.sort(key=lambda road: float(road.get("length", "0")))
    short, long = (street.find("planView") for street in (streets[0], streets[-1]))
    assert short is not None
    assert long is not None
    short[:] = long[:1]


def all_green(root: ElementTree.Element) -> None:
    """Let one controller switch all lights of a junction."""
    junction = next(j for j in root.findall("junction") if j.find("controller") is not None)
    first, *others = [controller.get("id") for controller in junction.findall("controller")]
    timed = {controller.get("id"): controller for controller in root.findall("controller")}
    for other in others:
        timed[first].extend(timed[other][:])
        root.remove(timed[other])
    for controller in junction.findall("controller")[1:]:
        junction.remove(controller)


def without_crosswalk(root: ElementTree.Element) -> None:
    for road in root.findall("road"):
        objects = road.find("objects")
        walks = [] if objects is None else objects.findall("object[@type='crosswalk']")
        if objects is not None and walks:
            objects.remove(walks[0])
            return


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("broken", "seen"),
    [
        (dead_end, "no way|dead end"),
        (kinked, "tight bend|do not meet"),
        (on_another, "lies on"),
        (all_green, "one phase"),
        (without_crosswalk, "crosswalks at"),
    ],
)
def test_checks_see_what_is_wrong(broken: Broken, seen: str) -> None:
    root = ElementTree.fromstring(small_text_of(1))
    broken(root)
    subject = checks.load_subject("Broken", ElementTree.tostring(root, encoding="unicode"))
    faults = checks.list_faults(subject, checks.DRIVABLE)
    assert any(re.search(seen, fault) for fault in faults), faults


@pytest.mark.thorough
def test_checks_see_a_hall_in_the_road() -> None:
    document = document_of(1)
    road = max(document.roads, key=lambda road: road.path.length)
    hall = Hall(along=road.path.length / 2, aside=0.0, length=road.path.length, width=16, height=9)
    roads = tuple(
        replace(other, halls=(hall,)) if other is road else other for other in document.roads
    )
    subject = checks.load_subject("Hall", format_opendrive(replace(document, roads=roads)))
    assert any("scenery stands" in fault for fault in checks.find_taken_spawn_points(subject))


def test_text_that_is_no_map_is_one_fault() -> None:
    assert examine_town("None", "<OpenDRIVE/>")[0] == ["no road in it"]
