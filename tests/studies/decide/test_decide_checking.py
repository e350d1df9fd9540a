"""`decide.jsonl` made again from outcomes: what does not follow from them is noticed."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from harness.records.decided import DECIDE_FILE
from studies.decide.checking import find_decide_disagreement
from studies.decide.declaration import parse_declaration
from studies.decide.outcomes import Outcomes
from studies.decide.planning import DecidePlan
from tests.studies.decide.declared import Certain, follow_study, plan_written
from tests.studies.decide.test_decide_study import RATES


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> DecidePlan:
    return plan_written(tmp_path_factory.mktemp("declared") / "study.yaml", most=60)


def disagreement(plan: DecidePlan, text: str, outcomes: Outcomes) -> str:
    """Check with the routes in another order: a packed campaign does not have theirs."""
    assignments = list(plan.planned.assignments)
    random.Random(1).shuffle(assignments)
    return find_decide_disagreement(text, assignments, outcomes, None)


def test_a_declaration_is_read_back_from_its_record(plan: DecidePlan) -> None:
    record = json.loads(json.dumps(plan.declaration.to_record()))
    assert parse_declaration(record) == plan.declaration


def test_lines_follow_from_outcomes_and_from_no_others(plan: DecidePlan, tmp_path: Path) -> None:
    driver = Certain(RATES)
    follow_study(plan, driver, tmp_path)
    text = (tmp_path / DECIDE_FILE).read_text()
    lines = text.splitlines()
    assert disagreement(plan, text, driver.outcomes) == ""
    # killed in the middle of a batch, and of a line
    assert disagreement(plan, "\n".join(lines[:4]) + '\n{"is"', driver.outcomes) == ""
    # another outcome of one attempt
    key = next(iter(driver.outcomes))
    other = 1.0 - driver.outcomes[key]["violation"]
    changed = {**driver.outcomes, key: {**driver.outcomes[key], "violation": other}}
    first = next(n for n, line in enumerate(lines, 1) if '"is": "look"' in line)
    assert disagreement(plan, text, changed) == (
        f"decide.jsonl: line {first}: not what the study gives"
    )
    # an attempt is missing
    left = {one: values for one, values in driver.outcomes.items() if one != key}
    assert disagreement(plan, text, left) == f"decide.jsonl: no result of {key}"


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (1, '"share": 0.', '"share": 0.1'),
        (2, '"chance": 0.', '"chance": 0.9'),
        (2, '"seed": 1', '"seed": 2'),
        (7, '"state": "open"', '"state": "superior"'),
    ],
)
def test_a_changed_line_is_noticed(
    plan: DecidePlan, tmp_path: Path, line: int, old: str, new: str
) -> None:
    driver = Certain(RATES)
    follow_study(plan, driver, tmp_path)
    lines = (tmp_path / DECIDE_FILE).read_text().splitlines()
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    wrong = disagreement(plan, "\n".join(lines) + "\n", driver.outcomes)
    assert wrong.startswith(f"decide.jsonl: line {line}: ")


def test_a_pair_on_another_route_of_the_stratum_is_noticed(
    plan: DecidePlan, tmp_path: Path
) -> None:
    """A route that stands in two places, or lines that were added at the end."""
    driver = Certain(RATES)
    follow_study(plan, driver, tmp_path)
    lines = (tmp_path / DECIDE_FILE).read_text().splitlines()
    pairs = [json.loads(line) for line in lines if '"is": "pair"' in line]
    routes = sorted({pair["route"] for pair in pairs if pair["stratum"] == pairs[0]["stratum"]})
    again = next(n for n, line in enumerate(lines) if json.loads(line).get("route") == routes[0])
    lines[again] = lines[again].replace(f'"{routes[0]}"', f'"{routes[1]}"')
    assert "not what the study gives" in disagreement(
        plan, "\n".join(lines) + "\n", driver.outcomes
    )
    whole = (tmp_path / DECIDE_FILE).read_text()
    more = disagreement(plan, whole + lines[1] + "\n", driver.outcomes)
    assert more == "decide.jsonl: 1 lines after the end of the study"


def test_strata_of_ideal_systems_are_made_again(tmp_path: Path) -> None:
    plan = plan_written(
        tmp_path / "study.yaml", ideal=["ideal_single/none", "ideal_late/none"], most=40
    )
    driver = Certain({**RATES, "ideal_single/none": 0.4})
    follow_study(plan, driver, tmp_path / "out")
    text = (tmp_path / "out" / DECIDE_FILE).read_text()
    assert disagreement(plan, text, driver.outcomes) == ""
    route = next(key for key in driver.outcomes if key.seed == 0)
    flipped = {**driver.outcomes[route], "violation": 1 - driver.outcomes[route]["violation"]}
    wrong = disagreement(plan, text, {**driver.outcomes, route: flipped})
    assert wrong == "decide.jsonl: line 1: other strata than routes and outcomes give"
