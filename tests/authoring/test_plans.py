"""Small plans: which lane leads where, and what a plan may not ask for."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import pytest

from harness.authoring.build import build_document
from harness.authoring.document import OpenDriveDocument
from harness.authoring.plan import JunctionControl, Node, Street, StreetProfile, TownPlan, Via
from tools.authoring.shipped_towns import PLANS, write_town_opendrive

NARROW, WIDE = StreetProfile(lanes=1, rank=1), StreetProfile(lanes=2, rank=2)
FAR = {"east": Node(100, 0), "north": Node(0, 100), "west": Node(-100, 0), "south": Node(0, -100)}


def star(control: JunctionControl = JunctionControl.LIGHTS, **arms: StreetProfile) -> TownPlan:
    """One junction in the middle, a street to each side asked for, a ring road round them all."""
    nodes = {"middle": Node(0, 0, control=control), **{name: FAR[name] for name in arms}}
    spokes = [Street(name, "middle", name, profile) for name, profile in arms.items()]
    order = [name for name in FAR if name in arms]
    ring = []
    for here, onward in zip(order, [*order[1:], order[0]], strict=True):
        between = list(FAR)[(list(FAR).index(here) + 1) % 4]
        skipped = FAR[between] if between != onward else None
        via = (Via(skipped.x, skipped.y, 30),) if skipped else ()
        ring.append(Street(f"{here} to {onward}", here, onward, NARROW, via=via))
    return TownPlan("Star", nodes, (*ring, *spokes))


def ways(document: OpenDriveDocument) -> dict[str, set[str]]:
    """Map every incoming lane of the middle, as `street/lane from the kerb`, to where it leads."""
    names = {road.id: road.name for road in document.roads}
    roads = {road.id: road for road in document.roads}
    middle = next(junction for junction in document.junctions if junction.name == "middle")
    successors: dict[str, set[str]] = defaultdict(set)
    for connection in middle.connections:
        connecting = roads[connection.connecting]
        driving = [lane for lane in connecting.sections[0].lanes if lane.type == "driving"]
        for lane in driving:
            source, target = roads[connection.incoming], roads[connecting.successor.element]
            kerb_in = source.sections[0].lanes
            outermost_in = max(x.id for x in kerb_in if x.type == "driving")
            outermost_out = min(x.id for x in target.sections[0].lanes if x.type == "driving")
            assert lane.predecessor is not None
            assert lane.successor is not None
            here = f"{names[source.id]}/{outermost_in - lane.predecessor}"
            successors[here].add(f"{names[target.id]}/{lane.successor - outermost_out}")
    return dict(successors)


def test_a_crossing_of_wide_streets() -> None:
    crossing = build_document(star(east=WIDE, north=WIDE, west=WIDE, south=WIDE))
    assert ways(crossing)["south/0"] == {"east/0", "north/0"}
    assert ways(crossing)["south/1"] == {"north/1", "west/1"}
    assert len(ways(crossing)) == 8


def test_a_stem_of_two_lanes_splits() -> None:
    junction = build_document(star(east=WIDE, west=WIDE, south=WIDE))
    assert ways(junction)["south/0"] == {"east/0"}
    assert ways(junction)["south/1"] == {"west/1"}
    assert ways(junction)["east/1"] == {"west/1", "south/1"}
    assert ways(junction)["west/0"] == {"east/0", "south/0"}


def test_a_lane_that_ends_turns_left() -> None:
    junction = build_document(star(east=WIDE, north=WIDE, west=NARROW, south=WIDE))
    assert ways(junction)["east/0"] == {"north/0", "west/0"}
    assert ways(junction)["east/1"] == {"south/1"}


def test_a_pocket_takes_the_left_turns() -> None:
    plan = star(east=WIDE, north=WIDE, west=WIDE, south=WIDE)
    south = replace(plan.streets[-1], pockets=(25.0, 0.0))
    junction = build_document(replace(plan, streets=(*plan.streets[:-1], south)))
    assert ways(junction)["south/2"] == {"west/1"}
    assert ways(junction)["south/1"] == {"north/1"}


def test_opposite_streets_share_a_green() -> None:
    junction = build_document(star(east=WIDE, north=NARROW, west=WIDE, south=NARROW)).junctions[0]
    assert [len(controller.signs) for controller in junction.controllers] == [2, 2]


def test_every_arm_may_have_a_green_alone() -> None:
    plan = star(east=WIDE, north=WIDE, west=WIDE, south=WIDE)
    nodes = plan.nodes | {"middle": replace(plan.nodes["middle"], turns=True)}
    south = replace(plan.streets[-1], pockets=(25.0, 0.0))
    document = build_document(replace(plan, nodes=nodes, streets=(*plan.streets[:-1], south)))
    phases = [controller.signs for controller in document.junctions[0].controllers]
    assert [len(signs) for signs in phases] == [1, 1, 1, 1]


@pytest.mark.parametrize("name", sorted(PLANS))
def test_a_road_has_one_light_per_direction(name: str) -> None:
    for road in build_document(PLANS[name]).roads:
        lit = [sign.against for sign in road.signs if sign.type == "1000001"]
        assert len(lit) == len(set(lit)), f"{name}, {road.name}"


@pytest.mark.parametrize(
    ("control", "signs"),
    [
        (JunctionControl.STOP, {"206"}),
        (JunctionControl.YIELD, {"205"}),
        (JunctionControl.ALL_STOP, {"206"}),
    ],
)
def test_lesser_streets_give_way(control: JunctionControl, signs: set[str]) -> None:
    document = build_document(star(control, east=WIDE, west=WIDE, south=NARROW))
    posted = {
        road.name: {sign.type for sign in road.signs if sign.against and sign.type != "274"}
        for road in document.roads
        if road.junction == -1
    }
    assert posted["south"] == signs
    assert posted["east"] == (signs if control is JunctionControl.ALL_STOP else set())


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(PLANS))
def test_the_last_bit_of_a_sine_changes_nothing(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other machines' mathematics may differ in the last bit; the files may not."""
    expected = write_town_opendrive(name)
    shaken(monkeypatch, random.Random(seed))
    assert write_town_opendrive(name) == expected


def shaken(monkeypatch: pytest.MonkeyPatch, rng: random.Random) -> None:
    """Let every function of `math` that may differ between machines err by a last bit."""

    def erring(function: Callable[..., float]) -> Callable[..., float]:
        def evaluate(*values: float) -> float:
            exact = function(*values)
            return math.nextafter(exact, rng.choice((-math.inf, exact, math.inf)))

        return evaluate

    for function in ("sin", "cos", "tan", "atan2", "hypot", "sqrt"):
        monkeypatch.setattr(math, function, erring(getattr(math, function)))


def test_streets_must_not_meet_too_sharply() -> None:
    nodes = {"middle": Node(0, 0), "a": Node(100, 0), "b": Node(100, 8)}
    streets = tuple(Street(name, "middle", name, WIDE) for name in ("a", "b"))
    with pytest.raises(ValueError, match="meet too sharply"):
        build_document(TownPlan("Sharp", nodes, streets))


def test_a_street_must_have_room_for_what_its_ends_need() -> None:
    plan = star(east=WIDE, west=WIDE, south=WIDE)
    south = replace(plan.streets[-1], pockets=(90.0, 0.0))
    with pytest.raises(ValueError, match=r"Star, south: .* too short"):
        build_document(replace(plan, streets=(*plan.streets[:-1], south)))


def test_a_bend_must_have_room() -> None:
    plan = star(east=WIDE, west=WIDE, south=WIDE)
    south = replace(plan.streets[-1], via=(Via(10, -50, 900),))
    with pytest.raises(ValueError, match=r"Star, south: .*no room"):
        build_document(replace(plan, streets=(*plan.streets[:-1], south)))


def test_streets_must_lead_somewhere() -> None:
    nodes = {"here": Node(0, 0), "there": Node(100, 0)}
    with pytest.raises(ValueError, match="here is a dead end"):
        build_document(TownPlan("Line", nodes, (Street("only", "here", "there", WIDE),)))
