"""Which evaluations are findings, which seeds repeat them, and what is shrunk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.campaign.folder.assignments import read_assignment
from harness.campaign.twins.twins import AttemptTwin, CampaignTwins
from harness.common.errors import UserError
from harness.records.reading import CampaignRecords
from harness.records.twins import TwinChange
from studies.search.candidates import SearchCandidate, SearchEvaluation, SearchOutcome
from studies.search.configuration import SearchPlan, compose_search_config, plan_search
from studies.search.confirm import (
    ConfirmationSettings,
    FindingConfirmation,
    RepeatRule,
    make_repeats,
    refuse_used_seeds,
)
from studies.search.driving import compute_fresh_seed, format_numbered_name, open_driver
from studies.search.folders import FinishedSearch
from studies.search.shrink import find_source_values, format_probe_name, select_findings_to_shrink

REPEATS = RepeatRule(count=3, least=2)
CAR, WALKER = "collision_vehicle: vehicle", "collision_pedestrian: pedestrian"


@pytest.fixture(scope="module")
def ready() -> SearchPlan:
    return plan_search(compose_search_config("latency_cut_in", []))


def evaluation(number: int, age: float, kind: str = "", seed: int = 0) -> SearchEvaluation:
    outcome = SearchOutcome(
        outcome=kind or "clean",
        failed=bool(kind),
        objectives={"gap_to_moving": 0.0 if kind else 2.0},
        measures={"message_age": age, "ego_speed": 5.0, "error_pattern": 6.0},
    )
    values = {"delay": age, "speed": 4.0, "phase": -1.0}
    return SearchEvaluation(SearchCandidate(number, values, seed or 1000 + number), outcome)


EVALUATIONS = (
    evaluation(0, 0.1),
    evaluation(1, 0.5, CAR),
    evaluation(2, 0.6, CAR),  # of the same class, in the same cell
    evaluation(3, 0.5, WALKER),
    evaluation(4, 1.0, CAR),
)


@pytest.mark.thorough
def test_findings_are_the_first_of_every_distinct_failure(ready: SearchPlan) -> None:
    searched = FinishedSearch(ready, EVALUATIONS, "")
    assert [one.candidate.number for one in searched.findings] == [1, 3, 4]
    chosen = ConfirmationSettings(repeats=REPEATS, most=2).select_findings(searched)
    assert [one.candidate.number for one in chosen] == [1, 3]
    with pytest.raises(UserError, match="most = 0: must be ≥ 1"):
        ConfirmationSettings(repeats=REPEATS, most=0)


def test_all_evaluations_share_the_seed_of_the_campaign_unless_seeds_are_fresh(
    ready: SearchPlan,
) -> None:
    searched = FinishedSearch(ready, EVALUATIONS, "")
    fresh = FinishedSearch(replace(ready, seeds="fresh"), EVALUATIONS, "")
    candidates = [one.candidate for one in EVALUATIONS]
    assert {searched.get_seed(candidate) for candidate in candidates} == {1}
    assert [fresh.get_seed(one) for one in candidates] == [1000, 1001, 1002, 1003, 1004]


def test_seeds_of_the_search_are_not_used_again(ready: SearchPlan) -> None:
    finding = EVALUATIONS[1]
    candidate = finding.candidate
    third = make_repeats(candidate.number, candidate.values, REPEATS, name="confirm")[2]
    refuse_used_seeds(FinishedSearch(ready, EVALUATIONS, ""), [finding], REPEATS)
    same = replace(ready, campaign={**ready.campaign, "seeds": [compute_fresh_seed(third)]})
    also = (*EVALUATIONS, evaluation(5, 0.1, seed=compute_fresh_seed(third) + 2**31))
    for searched in (
        FinishedSearch(same, EVALUATIONS, ""),
        FinishedSearch(replace(ready, seeds="fresh"), also, ""),
    ):
        with pytest.raises(UserError, match="the search used its seeds; choose another --seed"):
            refuse_used_seeds(searched, [finding], REPEATS)


def test_the_ledger_of_a_confirmation_names_its_rule(ready: SearchPlan) -> None:
    searched = FinishedSearch(ready, EVALUATIONS, "digest")
    header = ConfirmationSettings(repeats=REPEATS, most=2).make_header(searched)
    assert header["settings"] == {
        "of": "digest",
        "findings": [1, 3],
        "repeats": 3,
        "least": 2,
        "seed": 0,
        "most": 2,
    }


def test_confirmed_findings_are_shrunk_unless_others_are_named(ready: SearchPlan) -> None:
    searched = FinishedSearch(ready, EVALUATIONS, "")
    confirmations = [
        FindingConfirmation(
            number=number, outcome=CAR, failures=2, repeats=3, low=0.1, high=1, confirmed=confirmed
        )
        for number, confirmed in ((1, False), (4, True))
    ]
    numbers = [
        one.candidate.number for one in select_findings_to_shrink(searched, confirmations, [])
    ]
    assert numbers == [4]
    assert [one.candidate.number for one in select_findings_to_shrink(searched, [], [2, 3])] == [
        2,
        3,
    ]
    with pytest.raises(UserError, match="--finding 0: evaluation 0 did not fail"):
        select_findings_to_shrink(searched, [], [0])


def test_shrinking_goes_towards_the_hazard_of_the_routes(ready: SearchPlan) -> None:
    searched = FinishedSearch(ready, EVALUATIONS, "")
    source = find_source_values(searched, EVALUATIONS[1].candidate.values)
    assert source == {"speed": 4.2, "phase": -1.5}


def test_conditions_are_named_by_evaluation_and_probes_by_their_values() -> None:
    one, other = SearchCandidate(7, {"delay": 0.5}, 1), SearchCandidate(7, {"delay": 0.25}, 1)
    assert format_numbered_name(one) == format_numbered_name(other) == "e0007"
    assert format_probe_name(one) != format_probe_name(other)
    assert format_probe_name(one) == format_probe_name(replace(one, seed=2))
    assert format_probe_name(one).startswith("e0007-")


@pytest.mark.thorough
def test_an_evaluation_has_its_condition_and_hazards_in_the_folder_and_so_have_its_twins(
    ready: SearchPlan, tmp_path: Path
) -> None:
    values = {"delay": 0.5, "speed": 5.25, "phase": -1.0}
    undisturbed = {"delay": 0.0, "speed": 4.0, "phase": -1.0}
    candidates = [SearchCandidate(3, values, 1), SearchCandidate(4, undisturbed, 2)]
    folder = tmp_path / "out"
    with open_driver(ready, folder, seed=compute_fresh_seed) as drives:
        drives._make_room(candidates)
        keys = [drives.make_attempt_key(candidate) for candidate in candidates]
    settings = CampaignRecords(folder).header["settings"]
    assert list(settings["interference"]) == ["none", "e0003", "e0004"]
    assert settings["interference"]["e0003"][0]["seconds"] == 0.5
    assert settings["interference"]["e0004"] == []
    assert [key.seed for key in keys] == [1, 2]
    (common,) = read_assignment(folder, "bend").hazards
    assert common.parameters["speed"] == 4.2
    twins = CampaignTwins(folder, progress="quiet")
    twin = AttemptTwin(keys[0], TwinChange(without=("latency",)))
    twins._prepare_folder([twin])
    for place, condition in ((folder, "e0003"), (twins.folder, twin.key.arm.condition)):
        (spec,) = read_assignment(place, "bend", condition).hazards
        assert (spec.parameters["speed"], spec.parameters["phase"]) == (5.25, -1.0)
        assert read_assignment(place, "bend", "none").hazards == (common,)


def test_a_search_that_is_resumed_keeps_the_conditions_before(
    ready: SearchPlan, tmp_path: Path
) -> None:
    values = {"delay": 0.5, "speed": 5.25, "phase": -1.0}
    for number in (0, 1):
        with open_driver(ready, tmp_path / "out", seed=compute_fresh_seed) as drives:
            (tmp_path / "out" / "search").mkdir(exist_ok=True)
            (tmp_path / "out" / "search" / "ledger.jsonl").touch()
            drives._make_room([SearchCandidate(number, values, 1)])
    conditions = CampaignRecords(tmp_path / "out").header["settings"]["interference"]
    assert list(conditions) == ["none", "e0000", "e0001"]
