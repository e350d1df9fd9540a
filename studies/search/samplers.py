"""Samplers choose the candidates of a search: one interface, and the two that use no outcome.

Equal settings and equal outcomes give equal candidates: a search is resumed by asking again for
what its ledger holds. A sampler is asked for one batch at a time, and gets the outcomes of all of
it, in its order, before it is asked again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol

from harness.common.errors import UserError
from harness.common.installation import format_missing_package
from harness.common.randomness import derive_seed, make_named_stream
from studies.search.candidates import SearchCandidate, SearchOutcome, number_candidates
from studies.search.settings import SearchSettings
from studies.space import Values, map_shares_to_values, sample_values


class CandidateSampler(Protocol):
    """Asks for evaluations and uses their outcomes."""

    libraries: tuple[str, ...]
    """Packages whose version may change what is asked."""

    def ask(self, count: int) -> list[SearchCandidate]:
        """Return the next candidates."""

    def report(self, outcomes: Sequence[SearchOutcome]) -> None:
        """Use the outcomes of the candidates asked last, in their order."""


class RandomSampler:
    """Candidates from all over the space: the baseline of all others."""

    libraries: tuple[str, ...] = ("numpy",)

    def __init__(self, settings: SearchSettings) -> None:
        self._seed = settings.seed
        self._asked = 0
        self._values = self._iterate_values(settings)

    def _iterate_values(self, settings: SearchSettings) -> Iterator[Values]:
        random = make_named_stream(settings.seed, "search", "random")
        while True:
            yield sample_values(settings.space, random)

    def ask(self, count: int) -> list[SearchCandidate]:
        """Return the next candidates."""
        values = [next(self._values) for _ in range(count)]
        candidates = number_candidates(values, self._asked, self._seed)
        self._asked += count
        return candidates

    def report(self, outcomes: Sequence[SearchOutcome]) -> None:
        """Ignore outcomes."""


class SobolSampler(RandomSampler):
    """Candidates spread evenly over the space, by a scrambled Sobol sequence."""

    libraries: tuple[str, ...] = ("numpy", "scipy")

    def _iterate_values(self, settings: SearchSettings) -> Iterator[Values]:
        sobol = load_optional_module("scipy.stats.qmc", extra="analysis").Sobol(
            len(settings.space), seed=derive_seed(settings.seed, "search", "sobol") >> 31
        )
        while True:
            yield map_shares_to_values(settings.space, sobol.random(1)[0])


def load_optional_module(module: str, *, extra: str) -> Any:
    """Return a module of an optional package; one clear line without it.

    Args:
        module: its full name.
        extra: what `pip install` brings it with.

    Raises:
        UserError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise UserError(format_missing_package(module, extra)) from None
