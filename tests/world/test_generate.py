"""Routes made from a seed: the same again, and such as were promised."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.common.errors import UserError
from harness.types.vocabulary import Route
from harness.world.hazards.catalogue import KINDS
from harness.world.hazards.reports import EncounterReport
from harness.world.hazards.spec import HazardSpec
from harness.world.maps import load_road_network
from harness.world.routes.duplicates import find_duplicate_routes
from harness.world.routes.files import read_routes
from harness.world.routes.generate import SHIPPED, generate_routes, iter_shortages
from harness.world.routes.hazard_files import read_hazards
from harness.world.routes.quotas import LENIENT, STRATA, RevealQuota
from harness.world.routes.scenarios import classify_turn, list_route_junctions
from harness.world.routes.space import REVEAL
from harness.world.routes.suitable import has_route_overlap
from tests.conftest import ROOT
from tests.dying import refuse_failed
from tests.once import once

ROUTES = ROOT / "routes"
COUNT = 30
FEW = ("occluded_pedestrian", "oncoming_turn")
WORDS = ("--town", "Crucible05", "--count", "2", "--kinds", ",".join(FEW))


def generated(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command, which has a Traffic Manager, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "crucible", "routes", "generate", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def generate_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of what seed 5 makes."""

    def make(folder: Path) -> Path:
        refuse_failed(generated(*WORDS, "--seed", "5", "--out", str(folder / "out")))
        return folder / "out"

    return once(tmp_path_factory, "generated", make)


def laid(folder: Path) -> tuple[list[Route], list[HazardSpec]]:
    """Return the routes of a folder as driven, and their hazards."""
    specs = {spec.id: spec for spec in read_routes(folder / "routes.xml")}
    hazards = read_hazards(folder / "hazards.json", kinds=KINDS, routes=specs, maps=None)
    routes = [
        load_road_network(spec.town, None).find_route(spec.id, spec.town, spec.locations)
        for spec in specs.values()
    ]
    return routes, hazards


@pytest.mark.thorough
@pytest.mark.parametrize("town", ["Crucible05", "Town05"])
def test_shipped_routes_are_what_was_promised(town: str) -> None:
    routes, _ = laid(ROUTES / town.lower())
    assert len(routes) == COUNT
    assert not find_duplicate_routes(routes)
    assert not [pair for pair in combinations(routes, 2) if has_route_overlap(*pair)]
    for route in routes:
        assert 80.0 <= route.length <= 400.0
        assert {classify_turn(route, *rows) for rows in list_route_junctions(route)} & {
            "left",
            "right",
        }


@pytest.mark.thorough
@pytest.mark.parametrize("town", ["Crucible05", "Town05"])
def test_every_shipped_route_has_a_hazard_and_every_kind_its_share(town: str) -> None:
    routes, hazards = laid(ROUTES / town.lower())
    assert sorted(hazard.route for hazard in hazards) == sorted(route.name for route in routes)
    kinds = [hazard.kind for hazard in hazards]
    assert set(kinds) == set(SHIPPED)
    assert all(kinds.count(kind) == COUNT // len(SHIPPED) for kind in SHIPPED)


@pytest.mark.thorough
def test_another_seed_makes_other_files(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """That the same seed makes the same files is in `test_placements`."""
    first, other = generate_once(tmp_path_factory), tmp_path / "other"
    refuse_failed(generated(*WORDS, "--seed", "6", "--out", str(other)))
    assert (first / "routes.xml").read_bytes() != (other / "routes.xml").read_bytes()
    assert [hazard.kind for hazard in laid(first)[1]] == list(FEW)


def test_what_a_check_turns_down_is_not_taken() -> None:
    offered: list[HazardSpec] = []

    def third_time(route: Route, hazard: HazardSpec) -> EncounterReport | None:
        offered.append(hazard)
        return encounter(reveal=1.2) if len(offered) == 3 else None

    network = load_road_network("Crucible05", None)
    _, hazards = generate_routes(
        network, "Crucible05", seed=5, count=1, kinds=FEW[:1], check=third_time
    )
    assert hazards == offered[2:]


def encounter(*, reveal: float) -> EncounterReport:
    return EncounterReport(
        conflict_station=120.0,
        reveal=reveal,
        reveal_measured=None,
        commit_station=80.0,
        phase=0.0,
        commit_frame=None,
        commit_speed=None,
        parameters={},
    )


@pytest.mark.thorough
@given(reveals=st.lists(st.floats(0.0, 12.0), min_size=200, max_size=200))
def test_the_routes_of_a_kind_are_spread_over_strata(reveals: list[float]) -> None:
    """Ten routes, five strata: two each, and more only after others have been waited for."""
    quota = RevealQuota(REVEAL, 10)
    taken = [reveal for reveal in reveals if quota.accept_encounter(encounter(reveal=reveal))]
    assert all(0.5 <= reveal < 6.0 for reveal in taken)
    limits = [0.5, *STRATA, 6.0]
    counts, _ = np.histogram(taken, limits)
    refused = sum(0.5 <= reveal < 6.0 for reveal in reveals) - len(taken)
    assert counts.max() <= 2 + refused // LENIENT


def test_a_mover_that_commits_too_far_ahead_is_not_taken() -> None:
    quota = RevealQuota(REVEAL, 10)
    assert not quota.accept_encounter(replace(encounter(reveal=2.0), commit_station=40.0))
    assert not quota.accept_encounter(replace(encounter(reveal=2.0), commit_station=2.0))
    assert not quota.accept_encounter(None)
    assert quota.accept_encounter(encounter(reveal=2.0))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--out", "/proc/x"], "/proc/x/placements.jsonl: cannot be written (No such file"),
        (["--out", __file__], f"{__file__}/placements.jsonl: cannot be written (File exists)"),
        (["--out", "{}", "--port", "0"], "127.0.0.1:0: nothing listens there; mend that, or try"),
    ],
)
def test_what_is_in_the_way_is_said_in_one_line(more: list[str], said: str, tmp_path: Path) -> None:
    arguments = ["--town", "Crucible05", "--count", "1", "--kinds", FEW[0]]
    given = [hazard.format(tmp_path / "out") for hazard in more]
    done = generated(*arguments, *given)
    assert done.returncode == 2, done.stderr
    # on a busy machine lines of progress come first
    lines = [line for line in done.stderr.splitlines() if not line.endswith(" of 1 routes")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith(said)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["meteor", "control_loss"])
def test_an_unknown_hazard_is_answered_with_those_there_are(kind: str) -> None:
    with pytest.raises(
        UserError, match=f"unknown hazard {kind}; valid hazards: occluded_pedestrian"
    ):
        generate_routes(
            load_road_network("Crucible05", None), "Crucible05", seed=1, count=1, kinds=[kind]
        )


@pytest.mark.thorough
def test_too_many_routes_for_a_town_are_said() -> None:
    network = load_road_network("CrucibleOld", None)
    with pytest.raises(UserError, match="no place left for any of them; ask for fewer"):
        generate_routes(network, "CrucibleOld", seed=1, count=1, kinds=["hard_braking"])


@pytest.mark.thorough
def test_those_that_have_room_are_made_where_not_all_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("harness.world.routes.generate.TRIES", 30)
    network, kind = load_road_network("CrucibleOld", None), FEW[0]
    routes, hazards = generate_routes(
        network, "CrucibleOld", seed=1, count=500, kinds=[kind], fewer=True
    )
    assert 0 < len(routes) == len(hazards) < 500
    first, _ = generate_routes(network, "CrucibleOld", seed=1, count=len(routes), kinds=[kind])
    assert [r.keypoints.tolist() for r in first] == [r.keypoints.tolist() for r in routes]
    with pytest.raises(UserError, match="--fewer"):
        generate_routes(network, "CrucibleOld", seed=1, count=1, kinds=["hard_braking"], fewer=True)


@pytest.mark.thorough
def test_the_turns_of_a_kind_without_a_place_left_go_to_the_others() -> None:
    network, kinds = load_road_network("CrucibleOld", None), ["hard_braking", FEW[0]]
    routes, hazards = generate_routes(network, "CrucibleOld", seed=1, count=2, kinds=kinds)
    assert [hazard.kind for hazard in hazards] == [FEW[0]] * 2
    assert [hazard.route for hazard in hazards] == [route.id for route in routes] == ["0", "1"]
    (said,) = iter_shortages(hazards, kinds, 2)
    assert said.startswith("hard_braking: 0 instead of 1, no place is left")
    assert not list(iter_shortages(hazards, FEW[:1], 2))
