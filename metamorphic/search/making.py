"""Samplers by name, and the versions of the libraries that they use."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from harness.errors import UserError
from metamorphic.search.optuna_samplers import Nsga2Sampler, TpeSampler
from metamorphic.search.ribs_samplers import CmaMeSampler, MapElitesSampler
from metamorphic.search.samplers import CandidateSampler, RandomSampler, SobolSampler
from metamorphic.search.settings import SearchSettings

SAMPLERS: dict[str, Callable[[SearchSettings], CandidateSampler]] = {
    "random": RandomSampler,
    "sobol": SobolSampler,
    "tpe": TpeSampler,
    "nsga2": Nsga2Sampler,
    "map_elites": MapElitesSampler,
    "cma_me": CmaMeSampler,
}


def make_sampler(settings: SearchSettings) -> CandidateSampler:
    """Return a new sampler."""
    if settings.sampler not in SAMPLERS:
        valid = ", ".join(SAMPLERS)
        raise UserError(f"sampler = {settings.sampler}: unknown (valid: {valid})")
    return SAMPLERS[settings.sampler](settings)


def list_sampler_versions(sampler: CandidateSampler) -> dict[str, str]:
    """Return the versions of the libraries that may change what is asked."""
    return {name: version(name) for name in sampler.libraries}
