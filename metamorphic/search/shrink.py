"""The smallest change that still fails: parameters are moved towards the source, one by one.

Each parameter is set to its source value if the failure still happens there; otherwise half of the
distance is tried, then half of what is left, up to the border of the failures. The result is
confirmed with further seeds afterwards: here a failure has many chances to happen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from metamorphic.search.candidates import Evaluate, Mapper, SearchEvaluation
from metamorphic.search.confirm import RepeatRule, is_same_failure, make_repeats
from metamorphic.space import Space, SpaceParameter, Values, get_numeric_value

TOLERANCE = 0.02
"""Of a parameter's range: a smaller distance to the border is not halved again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkResult:
    """Where shrinking arrived."""

    values: Values
    held: bool  # whether the failure happened often enough before anything was moved
    evaluations: int
    complete: bool  # False: the budget was spent before


class _SpentError(Exception):
    """No budget for another probe."""


def shrink_values(
    finding: SearchEvaluation,
    evaluate: Evaluate,
    space: Space,
    *,
    repeats: RepeatRule,
    budget: int,
    source: Values | None = None,
    mapper: Mapper = map,
) -> ShrinkResult:
    """Move a failure's values towards the source's while it happens in enough repeats.

    `budget` is in evaluations. Without `source` values move towards 0, or the end of the range next
    to it; a choice stays as it is.
    """
    probes = _FailureProbes(finding, evaluate, repeats, budget=budget, mapper=mapper)
    values = dict(finding.candidate.values)
    goal = choose_neutral_values(space, values) | dict(source or {})
    held = complete = False
    try:
        held = probes.is_failing(values)
        complete = not held
        while not complete:
            before = dict(values)
            for parameter in space:
                _move_parameter(parameter, values, goal[parameter.name], probes.is_failing)
            complete = _is_close(space, before, values)
    except _SpentError:
        pass
    return ShrinkResult(values=values, held=held, evaluations=probes.spent, complete=complete)


class _FailureProbes:
    """Asks whether the failure happens at some values; counts what that takes."""

    def __init__(
        self,
        finding: SearchEvaluation,
        evaluate: Evaluate,
        repeats: RepeatRule,
        *,
        budget: int,
        mapper: Mapper,
    ) -> None:
        self._finding, self._evaluate, self._repeats = finding, evaluate, repeats
        self._budget, self._mapper = budget, mapper
        self._probe = 0
        self.spent = 0

    def is_failing(self, values: Values) -> bool:
        """Return whether the failure happens often enough; stops once that is decided."""
        count, least = self._repeats.count, self._repeats.least
        if self.spent + count > self._budget:
            raise _SpentError
        name = f"shrink/{self._probe}"
        candidates = make_repeats(
            self._finding.candidate.number, dict(values), self._repeats, name=name
        )
        self._probe += 1
        failures = 0
        for left, outcome in zip(
            reversed(range(count)), self._mapper(self._evaluate, candidates), strict=True
        ):
            self.spent += 1
            failures += is_same_failure(self._finding.outcome, outcome)
            if failures >= least or failures + left < least:
                break
        return failures >= least


def _move_parameter(
    parameter: SpaceParameter,
    values: dict[str, float | str],
    goal: float | str,
    fails: Callable[[Values], bool],
) -> None:
    """Move one parameter towards its goal; `values` always hold the last that failed."""
    name = parameter.name
    if values[name] == goal:
        return
    if fails({**values, name: goal}):
        values[name] = goal
        return
    if isinstance(goal, str):
        return
    passing = goal
    while (
        middle := compute_halfway_value(parameter, passing, get_numeric_value(values, name))
    ) is not None:
        if fails({**values, name: middle}):
            values[name] = middle
        else:
            passing = middle


def compute_halfway_value(
    parameter: SpaceParameter, passing: float, failing: float
) -> float | None:
    """Return the value halfway between two; None if they are close."""
    if parameter.kind == "whole":
        return float(round((passing + failing) / 2)) if abs(passing - failing) > 1 else None
    if parameter.kind == "log":
        if abs(math.log(failing / passing)) <= TOLERANCE * math.log(parameter.high / parameter.low):
            return None
        return math.sqrt(passing * failing)
    if abs(passing - failing) <= TOLERANCE * (parameter.high - parameter.low):
        return None
    return (passing + failing) / 2


def choose_neutral_values(space: Space, values: Values) -> dict[str, float | str]:
    """Return the values nearest to no change: 0 where the range has it; choices as they are."""
    return {
        one.name: values[one.name]
        if one.kind == "choice"
        else float(min(max(0.0, one.low), one.high))
        for one in space
    }


def _is_close(space: Space, before: Values, after: Values) -> bool:
    """Return whether a round moved no parameter by more than the tolerance."""
    return all(
        before[one.name] == after[one.name]
        or (
            one.kind in {"number", "log"}
            and compute_halfway_value(
                one, get_numeric_value(before, one.name), get_numeric_value(after, one.name)
            )
            is None
        )
        for one in space
    )
