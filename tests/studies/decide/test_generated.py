"""Routes of a generator: made by number, written before they are driven, the same when resumed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from harness.campaign.folder.assignments import list_assigned_routes, read_assignment
from harness.common.errors import UserError
from harness.records.decided import DECIDE_FILE
from harness.world.maps import load_road_network
from harness.world.routes.files import write_routes
from harness.world.routes.hazard_files import write_hazards
from harness.world.routes.resolve import resolve_route
from studies.decide.checking import find_decide_disagreement
from studies.decide.declaration import GeneratedRoutes, parse_declaration, read_declaration
from studies.decide.driving import prepare_study_folder
from studies.decide.generated import (
    RouteTurns,
    make_first_routes,
    make_numbered_route,
)
from studies.decide.planning import DecidePlan, StudyWords, plan_study
from studies.decide.population import name_strata
from tests.studies.decide.declared import Certain, follow_study, write_study

COUNT = 4
ROUTES = {"town": "Crucible05", "count": COUNT, "seed": 2, "kinds": ["cut_in"]}
RATES = {"ideal_single/none": 0.6, "ideal_late/none": 0.4}


class CertainInFolder(Certain):
    """Drives nothing; its study has a folder, where further routes are written."""

    def __init__(self, folder: Path, batches: int = 1000) -> None:
        super().__init__(RATES, batches)
        self.folder = folder

    def get_placement_check(self) -> None:
        """Let the map alone decide where hazards have room."""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> DecidePlan:
    folder = tmp_path_factory.mktemp("generator")
    file = write_study(
        folder / "study.yaml",
        comparisons={"sharing": {"a": "ideal_single/none", "b": "ideal_late/none"}},
        most=16,
        batch=3,
        routes={**ROUTES, "population": "generator"},
        strata={"by": ["kind", "reveal"], "reveal_edges": [2.2]},
        campaign=["progress=json"],
    )
    words = StudyWords(declaration=read_declaration(file), file=file, overrides=[])
    asked = words.declaration.routes
    assert isinstance(asked, GeneratedRoutes)
    network = load_road_network(asked.town, None)
    routes, hazards = make_first_routes(network, asked, ["cut_in"], None)
    write_hazards(folder / "generated" / "hazards.json", hazards)
    write_routes(folder / "generated" / "routes.xml", routes)
    return plan_study(words, folder / "generated")


def follow(plan: DecidePlan, folder: Path, batches: int = 1000) -> CertainInFolder:
    """Follow a study in its folder, to its end or for some batches."""
    folder.mkdir(exist_ok=True)
    prepare_study_folder(plan, folder)
    driver = CertainInFolder(folder, batches)
    follow_study(plan, driver, folder)
    return driver


@pytest.mark.thorough
def test_pairs_take_new_routes_in_turn_and_a_resumed_study_takes_the_same(
    plan: DecidePlan, tmp_path: Path
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    driver = follow(plan, whole)
    follow(plan, parts, batches=1)
    follow(plan, parts)
    assert (parts / DECIDE_FILE).read_bytes() == (whole / DECIDE_FILE).read_bytes()
    made = sorted(list_assigned_routes(whole), key=int)
    assert sorted(list_assigned_routes(parts), key=int) == made
    for name in made:
        file = Path("routes") / f"{name}.json"
        assert (parts / file).read_bytes() == (whole / file).read_bytes()
    # strata, counted again from what lies in the folder
    routes = [read_assignment(whole, name) for name in made]
    strata = name_strata(routes, plan.declaration.strata, None)
    lines = [json.loads(line) for line in (whole / DECIDE_FILE).read_text().splitlines()]
    first = Counter(strata[:COUNT])
    assert {one["name"]: one["share"] for one in lines[0]["strata"]} == {
        name: count / COUNT for name, count in first.items()
    }
    # each pair has the next route of its stratum, and none has that of another
    pairs = [line for line in lines if line["is"] == "pair"]
    assert len(pairs) == 8
    for stratum in first:
        taken = [pair["route"] for pair in pairs if pair["stratum"] == stratum]
        there = [name for name, one in zip(made, strata, strict=True) if one == stratum]
        assert taken == there[: len(taken)]
    assert {pair["seed"] for pair in pairs} == {1}
    assert any(int(pair["route"]) >= COUNT for pair in pairs)
    # the record follows from routes and outcomes, and not from routes in another order
    text = (whole / DECIDE_FILE).read_text()
    assert find_decide_disagreement(text, routes[::-1], driver.outcomes, None) == ""
    usual = Counter(pair["stratum"] for pair in pairs).most_common(1)[0][0]
    one, other, *_ = [f'"route": "{p["route"]}"' for p in pairs if p["stratum"] == usual]
    swapped = text.replace(one, "-").replace(other, one).replace("-", other)
    assert "not what the study gives" in find_decide_disagreement(
        swapped, routes, driver.outcomes, None
    )
    missing = find_decide_disagreement(text, routes[1:], driver.outcomes, None)
    assert missing == "decide.jsonl: not of a decide plan (route 0 is missing)"


@pytest.mark.thorough
def test_a_route_follows_from_its_number_alone(plan: DecidePlan) -> None:
    asked = plan.declaration.routes
    assert isinstance(asked, GeneratedRoutes)
    network = load_road_network(asked.town, None)
    spec, hazard = make_numbered_route(network, asked, ["cut_in"], 3, check=None)
    planned = plan.planned.assignments[3]
    assert spec.id == hazard.route == planned.route.name == "3"
    assert (resolve_route(spec, network).xyz == planned.route.xyz).all()
    assert hazard.parameters == planned.hazards[0].parameters


def test_turns_of_strata_are_independent_and_end() -> None:
    turns = RouteTurns(("a", "b", "c"), lambda number: "ab"[number % 2])
    assert [turns.take_route(0), turns.take_route(0), turns.take_route(1)] == ["0", "2", "1"]
    with pytest.raises(UserError, match="no route of the stratum c among 2000 of the generator"):
        turns.take_route(2)


def test_the_declaration_says_what_the_study_is_about(tmp_path: Path) -> None:
    file = write_study(tmp_path / "study.yaml", routes=ROUTES)
    record = read_declaration(file).to_record()
    # studies of earlier versions have no such key
    assert "population" not in record["routes"]
    assert parse_declaration(record) == read_declaration(file)
    write_study(file, routes={**ROUTES, "population": "generator"})
    declared = read_declaration(file)
    assert declared.is_of_generator
    assert parse_declaration(declared.to_record()) == declared
    write_study(file, routes={**ROUTES, "population": "roads"})
    with pytest.raises(UserError, match=r"routes\.population: unknown population roads"):
        read_declaration(file)
    write_study(file, routes={**ROUTES, "population": "generator"}, ideal=["ideal_single/none"])
    with pytest.raises(UserError, match=r"ideal: needs routes\.population = routes"):
        read_declaration(file)
