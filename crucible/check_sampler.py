"""The check of a sampler of searches: on a made-up space, nothing is driven."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from harness.common.findings import Finding, make_checks
from harness.common.randomness import make_named_stream
from studies.search.candidates import SearchCandidate, SearchOutcome
from studies.search.settings import SearchSettings
from studies.space import SpaceParameter

BATCHES, BATCH = 6, 4
SPACE = (
    SpaceParameter(name="age", unit="s", low=0.0, high=2.0),
    SpaceParameter(name="rate", unit="1/s", low=0.01, high=1.0, kind="log"),
    SpaceParameter(name="count", unit="", low=1.0, high=5.0, kind="whole"),
    SpaceParameter(name="route", unit="", kind="choice", choices=("0", "1")),
)
CHECKS = {
    "safe": "declares safe_from_file = True: the folder of a search names it",
    "asks": "returns as many candidates as it is asked for, numbered from 0 on",
    "space": "every candidate has a value of each parameter, in its range",
    "deterministic": "equal seeds and outcomes give equal candidates, as a resumed search needs",
    "seed": "another seed gives other candidates",
}
MakeSampler = Callable[[SearchSettings], Any]


def make_check_settings(seed: int) -> SearchSettings:
    """Return the settings of a small search."""
    return SearchSettings(
        sampler="check",
        seed=seed,
        budget=BATCHES * BATCH,
        batch=BATCH,
        startup=BATCH,
        space=SPACE,
        objectives=("gap",),
        behaviour=(),
    )


class SamplerExamination:
    """Puts one sampler to all checks."""

    def __init__(self, named: MakeSampler) -> None:
        self._named = named

    def list_findings(self) -> list[Finding]:
        """Make every check, in order."""
        checks = {
            "safe": self._check_declaration,
            "asks": self._check_numbers,
            "space": self._check_space,
            "deterministic": self._check_determinism,
            "seed": self._check_seed,
        }
        return make_checks(
            {name: (CHECKS[name], check) for name, check in checks.items()}, needed=("asks",)
        )

    def _check_declaration(self) -> Iterator[Finding]:
        if vars(self._named).get("safe_from_file") is not True:
            yield Finding("safe", "failed", "its class does not declare safe_from_file = True")

    def _check_numbers(self) -> Iterator[Finding]:
        numbers = [candidate.number for candidate in self._ask_all(1)]
        if numbers != list(range(BATCHES * BATCH)):
            yield Finding("asks", "failed", f"candidates have the numbers {numbers}")

    def _check_space(self) -> Iterator[Finding]:
        for candidate in self._ask_all(1):
            if why := describe_misfit(candidate):
                yield Finding("space", "failed", f"candidate {candidate.number}: {why}")
                return

    def _check_determinism(self) -> Iterator[Finding]:
        if self._ask_all(1) != self._ask_all(1):
            yield Finding("deterministic", "failed", "the same search again has other candidates")

    def _check_seed(self) -> Iterator[Finding]:
        first, other = ([dict(one.values) for one in self._ask_all(seed)] for seed in (1, 2))
        if first == other:
            yield Finding("seed", "failed", "two seeds have the same values")

    def _ask_all(self, seed: int) -> list[SearchCandidate]:
        """Return the candidates of a whole search, of which some fail."""
        sampler = self._named(make_check_settings(seed))
        asked = list[SearchCandidate]()
        for number in range(BATCHES):
            candidates = list(sampler.ask(BATCH))
            asked += candidates
            sampler.report(make_outcomes(candidates, number))
        return asked


def make_outcomes(candidates: Sequence[SearchCandidate], batch: int) -> list[SearchOutcome]:
    """Return made-up outcomes: a smaller gap for a larger age, and one without a result."""
    random = make_named_stream(0, "check", str(batch))
    outcomes = [
        SearchOutcome(
            outcome="collision" if (failed := random.random() < 0.3) else "goal",
            failed=failed,
            objectives={"gap": 2.0 - float(candidate.values["age"])},
        )
        for candidate in candidates
    ]
    outcomes[-1] = SearchOutcome(outcome="server_hang", failed=False)
    return outcomes


def describe_misfit(candidate: SearchCandidate) -> str:
    """Return what is wrong with a candidate's values, nothing if all are of the space."""
    names = {parameter.name for parameter in SPACE}
    if set(candidate.values) != names:
        return f"it has values of {sorted(candidate.values)}; needed are {sorted(names)}"
    for parameter in SPACE:
        value = candidate.values[parameter.name]
        if parameter.kind == "choice":
            fits = value in parameter.choices
        else:
            # ends of the range may be missed by rounding
            slack = 1e-9 * max(1.0, abs(parameter.high))
            fits = (
                not isinstance(value, str)
                and math.isfinite(value)
                and parameter.low - slack <= value <= parameter.high + slack
                and (parameter.kind != "whole" or float(value).is_integer())
            )
        if not fits:
            return f"{parameter.name} = {value!r} is not of its range"
    return ""


def list_sampler_findings(named: MakeSampler) -> list[Finding]:
    """Return what the check of a sampler finds."""
    return SamplerExamination(named).list_findings()
