"""Samplers of pyribs, which search for failures of many kinds: MAP-Elites and CMA-ME.

Both keep the best candidate of each cell of a grid of behaviour measures. They move in the unit
cube of shares of the parameters' ranges; a step beyond its border is reflected.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.common.errors import UserError
from harness.common.randomness import derive_seed, make_named_stream
from harness.types.vocabulary import Floats
from studies.search.candidates import SearchCandidate, SearchOutcome, number_candidates
from studies.search.samplers import load_optional_module
from studies.search.settings import SearchSettings
from studies.space import map_shares_to_values

EMITTERS = 3
"""Independent evolution strategies of CMA-ME, asked in turn."""
STEP = 0.2
"""First standard deviation of CMA-ME's steps, in shares of the ranges."""


class RibsSampler(ABC):
    """Asks emitters of pyribs, one generation after the other."""

    libraries: tuple[str, ...] = ("numpy", "numba", "scipy", "ribs")

    def __init__(self, settings: SearchSettings) -> None:
        if not settings.behaviour:
            raise UserError(f"sampler = {settings.sampler}: needs behaviour measures")
        self._settings = settings
        self._seed = derive_seed(settings.seed, "search") >> 31
        self._random = make_named_stream(settings.seed, "search", "startup")
        self._archive = load_optional_module("ribs.archives", extra="search").GridArchive(
            solution_dim=len(settings.space),
            dims=[axis.cells for axis in settings.behaviour],
            ranges=[(axis.low, axis.high) for axis in settings.behaviour],
            seed=self._seed,
        )
        self._emitters = self._make_emitters(load_optional_module("ribs.emitters", extra="search"))
        self._emitter: Any = None  # whose generation is being evaluated; None: random candidates
        self._points: Floats = np.empty((0, len(settings.space)))
        self._outcomes: list[SearchOutcome] = []
        self._handed = 0  # of the generation's points
        self._generations = 0
        self._asked = 0

    @abstractmethod
    def _make_emitters(self, emitters: Any) -> list[Any]:
        """Return the library's object."""

    def ask(self, count: int) -> list[SearchCandidate]:
        """Return the next candidates, of one generation; they are whole batches."""
        if self._handed == len(self._points):
            self._start_generation()
        points = self._points[self._handed : self._handed + count]
        if len(points) < count:
            raise ValueError(f"{count} candidates asked for, {self._settings.batch} in a batch")
        self._handed += count
        values = [
            map_shares_to_values(self._settings.space, reflect_point(point)) for point in points
        ]
        candidates = number_candidates(values, self._asked, self._settings.seed)
        self._asked += count
        return candidates

    def _start_generation(self) -> None:
        batch, space = self._settings.batch, self._settings.space
        self._outcomes, self._handed = [], 0
        if self._asked < self._settings.startup or self._archive.empty:
            self._emitter, self._points = None, self._random.random((batch, len(space)))
        else:
            self._emitter = self._emitters[self._generations % len(self._emitters)]
            self._points = np.asarray(self._emitter.ask(), np.float64)
            self._generations += 1

    def report(self, outcomes: Sequence[SearchOutcome]) -> None:
        """Use outcomes; an emitter learns once its whole generation has been evaluated."""
        self._outcomes += outcomes
        if self._handed < len(self._points):
            return
        # (evaluations,) those with a result go into the archive
        used = np.array([outcome.has_result for outcome in self._outcomes])
        if not used.any():  # nothing to learn from: the next emitter is asked
            return
        status, value = np.zeros(len(used), np.int32), np.zeros(len(used))
        heights, measures = self._get_negated_objectives(), self._get_measures()
        added = self._archive.add(self._points[used], heights[used], measures[used])
        status[used], value[used] = added["status"], added["value"]
        # the emitter ranks the others last
        value[~used] = value[used].min() - 1.0  # ranked last
        if self._emitter is not None:
            info = {"status": status, "value": value}
            self._emitter.tell(self._points, heights, measures, info)

    def _get_negated_objectives(self) -> Floats:
        """Return the first objective, which pyribs maximises; 0 without a result."""
        first = self._settings.objectives[0]
        return np.array([-one.objectives[first] if one.has_result else 0 for one in self._outcomes])

    def _get_measures(self) -> Floats:
        """Return the behaviour measures; 0 without a result."""
        names = [axis.name for axis in self._settings.behaviour]
        return np.array(
            [
                [one.measures[name] if one.has_result else 0.0 for name in names]
                for one in self._outcomes
            ]
        )


class MapElitesSampler(RibsSampler):
    """Changes the best candidates of two cells into new ones (MAP-Elites, Iso+LineDD)."""

    def _make_emitters(self, emitters: Any) -> list[Any]:
        centre = np.full(len(self._settings.space), 0.5)
        size = self._settings.batch
        return [
            emitters.IsoLineEmitter(
                self._archive,
                iso_sigma=0.1,
                line_sigma=0.2,
                x0=centre,
                batch_size=size,
                seed=self._seed,
            )
        ]


class CmaMeSampler(RibsSampler):
    """Evolution strategies that go where new cells or better candidates come up (CMA-ME)."""

    def _make_emitters(self, emitters: Any) -> list[Any]:
        centre = np.full(len(self._settings.space), 0.5)
        return [
            emitters.EvolutionStrategyEmitter(
                self._archive,
                x0=centre,
                sigma0=STEP,
                ranker="2imp",
                batch_size=self._settings.population,
                seed=self._seed + number,
            )
            for number in range(EMITTERS)
        ]


def reflect_point(point: Floats) -> Floats:
    """Return a point of the unit cube; what lies beyond its border is mirrored there."""
    return np.asarray(1 - np.abs(1 - np.mod(point, 2.0)))
