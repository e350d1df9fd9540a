"""Samplers by name, and the versions of the libraries that they use."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from harness.errors import UserError
from metamorphic.search.optuna_samplers import Nsga2, Tpe
from metamorphic.search.ribs_samplers import CmaMe, MapElites
from metamorphic.search.samplers import Random, Sampler, Sobol
from metamorphic.search.settings import SearchSettings

SAMPLERS: dict[str, Callable[[SearchSettings], Sampler]] = {
    "random": Random,
    "sobol": Sobol,
    "tpe": Tpe,
    "nsga2": Nsga2,
    "map_elites": MapElites,
    "cma_me": CmaMe,
}


def made_sampler(settings: SearchSettings) -> Sampler:
    """Return a new sampler."""
    if settings.sampler not in SAMPLERS:
        valid = ", ".join(SAMPLERS)
        raise UserError(f"sampler = {settings.sampler}: unknown (valid: {valid})")
    return SAMPLERS[settings.sampler](settings)


def versions_of(sampler: Sampler) -> dict[str, str]:
    """Return the versions of the libraries that may change what is asked."""
    return {name: version(name) for name in sampler.libraries}
