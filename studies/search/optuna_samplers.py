"""Samplers of Optuna: the tree-structured Parzen estimator (TPE) and NSGA-II."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from harness.common.randomness import derive_seed
from studies.search.candidates import SearchCandidate, SearchOutcome, number_candidates
from studies.search.samplers import load_optional_module
from studies.search.settings import SearchSettings
from studies.space import SpaceParameter


class OptunaSampler(ABC):
    """Asks one of Optuna's samplers; all objectives are minimised."""

    libraries: tuple[str, ...] = ("numpy", "optuna")

    def __init__(self, settings: SearchSettings) -> None:
        self._optuna = load_optional_module("optuna", extra="search")
        self._optuna.logging.set_verbosity(self._optuna.logging.ERROR)
        self._settings = settings
        self._study = self._optuna.create_study(
            directions=["minimize"] * len(settings.objectives),
            sampler=self._make_optuna_sampler(derive_seed(settings.seed, "search") >> 31),
        )
        self._ranges = {one.name: self._make_range(one) for one in settings.space}
        self._waiting: list[Any] = []
        self._asked = 0

    @abstractmethod
    def _make_optuna_sampler(self, seed: int) -> Any:
        """Return the library's object."""

    def _make_range(self, parameter: SpaceParameter) -> Any:
        of = self._optuna.distributions
        if parameter.kind == "choice":
            return of.CategoricalDistribution(parameter.choices)
        if parameter.kind == "whole":
            return of.IntDistribution(round(parameter.low), round(parameter.high))
        return of.FloatDistribution(parameter.low, parameter.high, log=parameter.kind == "log")

    def ask(self, count: int) -> list[SearchCandidate]:
        """Return the next candidates."""
        self._waiting = [self._study.ask(self._ranges) for _ in range(count)]
        values = [
            {
                name: value if isinstance(value, str) else float(value)
                for name, value in (
                    (one.name, trial.params[one.name]) for one in self._settings.space
                )
            }
            for trial in self._waiting
        ]
        candidates = number_candidates(values, self._asked, self._settings.seed)
        self._asked += count
        return candidates

    def report(self, outcomes: Sequence[SearchOutcome]) -> None:
        """Use outcomes; those without a result count as failed trials, which are not used."""
        failed = self._optuna.trial.TrialState.FAIL
        for trial, outcome in zip(self._waiting, outcomes, strict=True):
            if outcome.has_result:
                values = [outcome.objectives[name] for name in self._settings.objectives]
                self._study.tell(trial, values)
            else:
                self._study.tell(trial, state=failed)
        self._waiting = []


class TpeSampler(OptunaSampler):
    """Goes where the density of good candidates is high against that of the others.

    With one objective it stays with the first kind of failure that it meets: give every kind its
    own objective, or use CMA-ME. Candidates of one batch do not know of each other, so that what is
    asked does not depend on the number of workers.
    """

    def _make_optuna_sampler(self, seed: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._optuna.exceptions.ExperimentalWarning)
            return self._optuna.samplers.TPESampler(
                seed=seed, n_startup_trials=self._settings.startup, multivariate=True
            )


class Nsga2Sampler(OptunaSampler):
    """A genetic search for the candidates that no other beats in all objectives.

    The first generation is random, whatever `startup` says.
    """

    def _make_optuna_sampler(self, seed: int) -> Any:
        return self._optuna.samplers.NSGAIISampler(
            seed=seed, population_size=self._settings.population
        )
