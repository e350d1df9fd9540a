"""Makes a study's `decide.jsonl` again from its outcomes, without driving, and compares the lines.

Everything in the file follows from the declaration, the routes with their strata, and the outcomes
(decision 0113). A packed campaign has all of it but the order of the routes in their file. The
order decides which route of a stratum is the third, and nothing else. So the order is taken from
the file itself: each place of a stratum has one route, and each route one place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.campaign.folder.assignments import RouteAssignment
from harness.common.errors import UserError
from harness.common.nesting import parse_json
from harness.records.arms import Arm
from harness.records.decided import (
    DECIDE_FILE,
    DECIDE_VERSION,
    PLAN,
    check_plan_line,
    format_decide_line,
)
from studies.decide.declaration import GeneratedRoutes, StudyDeclaration, parse_declaration
from studies.decide.driving import (
    PairBatch,
    StudyState,
    choose_ideal_seed,
    divide_by_outcomes,
    list_batch_attempts,
    make_look_line,
    make_pair_lines,
    sample_batch,
    take_in_batch,
)
from studies.decide.generated import make_recorded_turns
from studies.decide.outcomes import Outcomes
from studies.decide.population import (
    StratifiedRoutes,
    name_strata,
    stratify_generator,
    stratify_routes,
)
from studies.decide.progress import start_comparisons


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RecordedStudy:
    """A study as its file declares it."""

    declaration: StudyDeclaration
    arms: Mapping[str, tuple[Arm, Arm]]
    ideal: tuple[Arm, ...]


def find_decide_disagreement(
    text: str, assignments: Sequence[RouteAssignment], outcomes: Outcomes, maps: Path | None
) -> str:
    """Return the first line of a `decide.jsonl` that does not follow from the rest; "" if all do.

    Args:
        text: of the file; a last line that was cut off is left out.
        assignments: the routes of the campaign, in any order.
        outcomes: of its attempts.
        maps: folder of OpenDRIVE files; None: those that are shipped.
    """
    lines = text[: text.rfind("\n") + 1].splitlines()
    if not lines:
        return ""
    try:
        plan_line = check_plan_line(parse_json(lines[0]))
        study = parse_recorded_study(plan_line["study"])
        stratified = stratify_again(study, assignments, outcomes, maps)
        made = {"is": PLAN, "version": DECIDE_VERSION, "study": plan_line["study"]}
        if lines[0] != format_decide_line({**made, "strata": stratified.list_strata()}):
            return f"{DECIDE_FILE}: line 1: other strata than routes and outcomes give"
        made_again = make_lines_again(study, stratified, lines[1:], outcomes)
        for number, (line, expected) in enumerate(zip(lines[1:], made_again, strict=False), 2):
            if line != expected:
                return f"{DECIDE_FILE}: line {number}: not what the study gives"
        further = len(lines) - 1 - count_made_lines(study, stratified, lines[1:], outcomes)
    except KeyError as problem:
        return f"{DECIDE_FILE}: no result of {problem.args[0]}"
    except (UserError, TypeError, ValueError, AttributeError) as problem:
        return f"{DECIDE_FILE}: not of a decide plan ({problem})"
    return f"{DECIDE_FILE}: {further} lines after the end of the study" if further > 0 else ""


def count_made_lines(
    study: RecordedStudy, stratified: StratifiedRoutes, lines: Sequence[str], outcomes: Outcomes
) -> int:
    """Return how many lines the study gives, of as many as there are."""
    return sum(1 for _ in make_lines_again(study, stratified, lines, outcomes))


def parse_recorded_study(record: Mapping[str, Any]) -> RecordedStudy:
    """Return the study of a file's first line."""
    declaration = parse_declaration(record)
    return RecordedStudy(
        declaration=declaration,
        arms={
            one.name: (Arm.parse_name(one.a), Arm.parse_name(one.b))
            for one in declaration.comparisons
        },
        ideal=tuple(map(Arm.parse_name, declaration.ideal)),
    )


def stratify_again(
    study: RecordedStudy,
    assignments: Sequence[RouteAssignment],
    outcomes: Outcomes,
    maps: Path | None,
) -> StratifiedRoutes:
    """Return the routes in strata: by the map, and by the outcomes of the ideal systems."""
    strata, asked = study.declaration.strata, study.declaration.routes
    routes = [assignment.route.name for assignment in assignments]
    names = name_strata(assignments, strata, maps)
    if isinstance(asked, GeneratedRoutes) and study.declaration.is_of_generator:
        by_number = {int(route): name for route, name in zip(routes, names, strict=True)}
        if missing := set(range(asked.count)) - by_number.keys():
            raise ValueError(f"route {min(missing)} is missing")
        return stratify_generator(by_number, asked.count, strata.shares, "strata.shares")
    stratified = stratify_routes(routes, names, strata.shares, "strata.shares")
    if not study.ideal:
        return stratified
    seed = choose_ideal_seed(study.declaration.seeds)
    return divide_by_outcomes(stratified, study.ideal, seed, outcomes)


def make_lines_again(
    study: RecordedStudy, stratified: StratifiedRoutes, lines: Sequence[str], outcomes: Outcomes
) -> Iterator[str]:
    """Yield the lines after the first one, as long as there are such.

    Args:
        study: as declared.
        stratified: its routes, in any order.
        lines: as recorded: they say which route of a stratum was meant.
        outcomes: of attempts.
    """
    declaration = study.declaration
    state = StudyState(
        stratified=stratified,
        comparisons=start_comparisons(
            declaration.comparisons, declaration.floor, len(stratified.strata)
        ),
    )
    if declaration.is_of_generator:
        state.turns = make_recorded_turns(stratified.strata, stratified.by_number)
        numbers: Sequence[int] = [-1] * len(stratified.routes)  # their turns say which they are
    else:
        numbers = stratified.population.strata.tolist()
    strata = dict(zip(stratified.routes, numbers, strict=True))
    places: dict[int, str] = {}
    at = 0
    while at < len(lines) and (batch := sample_batch(study, state)) is not None:
        # which route each place of a stratum is
        for place, line in zip(batch.batch.routes[0].tolist(), lines[at:], strict=False):
            named = json.loads(line).get("route")
            known = named in places.values() or named not in strata
            same_stratum = strata.get(named) == int(stratified.population.strata[place])
            if place not in places and not known and same_stratum:
                places[place] = named
        state.stratified = name_places(stratified, places)
        yield from map(format_decide_line, make_pair_lines(state, batch))
        at += len(batch.seeds)
        if at >= len(lines):
            return
        take_in_batch(study, state, batch, select_outcomes(state, batch, outcomes))
        yield format_decide_line(make_look_line(study, state))
        at += 1


def name_places(stratified: StratifiedRoutes, places: Mapping[int, str]) -> StratifiedRoutes:
    """Return the population with the routes whose places are known; other places have no name."""
    names = tuple(places.get(place, "?") for place in range(len(stratified.routes)))
    return replace(stratified, routes=names)


def select_outcomes(state: StudyState, batch: PairBatch, outcomes: Outcomes) -> Outcomes:
    """Return the outcomes of a batch; KeyError names an attempt without one."""
    return {key: outcomes[key] for key in list_batch_attempts(state, batch)}
