"""Samplers choose the candidates of a search: one interface, and the two that use no outcome.

Equal settings and equal outcomes give equal candidates: a search is resumed by asking again for
what its ledger holds. A sampler is asked for one batch at a time, and gets the outcomes of all of
it, in its order, before it is asked again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol

from harness.errors import UserError
from harness.installation import missing
from harness.randomness import derived_seed, stream
from metamorphic.search.candidates import Candidate, Outcome, numbered
from metamorphic.search.settings import SearchSettings
from metamorphic.space import Values, sampled, values_at


class Sampler(Protocol):
    """Asks for evaluations and uses their outcomes."""

    libraries: tuple[str, ...]
    """Packages whose version may change what is asked."""

    def ask(self, count: int) -> list[Candidate]:
        """Return the next candidates."""

    def report(self, outcomes: Sequence[Outcome]) -> None:
        """Use the outcomes of the candidates asked last, in their order."""


class Random:
    """Candidates from all over the space: the baseline of all others."""

    libraries: tuple[str, ...] = ("numpy",)

    def __init__(self, settings: SearchSettings) -> None:
        self._seed = settings.seed
        self._asked = 0
        self._values = self._stream_of_values(settings)

    def _stream_of_values(self, settings: SearchSettings) -> Iterator[Values]:
        random = stream(settings.seed, "search", "random")
        while True:
            yield sampled(settings.space, random)

    def ask(self, count: int) -> list[Candidate]:
        """Return the next candidates."""
        values = [next(self._values) for _ in range(count)]
        candidates = numbered(values, self._asked, self._seed)
        self._asked += count
        return candidates

    def report(self, outcomes: Sequence[Outcome]) -> None:
        """Ignore outcomes."""


class Sobol(Random):
    """Candidates spread evenly over the space, by a scrambled Sobol sequence."""

    libraries: tuple[str, ...] = ("numpy", "scipy")

    def _stream_of_values(self, settings: SearchSettings) -> Iterator[Values]:
        sobol = needed("scipy.stats.qmc", extra="analysis").Sobol(
            len(settings.space), seed=derived_seed(settings.seed, "search", "sobol") >> 31
        )
        while True:
            yield values_at(settings.space, sobol.random(1)[0])


def needed(module: str, *, extra: str) -> Any:
    """Return a module of an optional package; one clear line without it."""
    try:
        return import_module(module)
    except ImportError:
        raise UserError(missing(module, extra)) from None
