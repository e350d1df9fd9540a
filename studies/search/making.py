"""Samplers by name, and the versions of the libraries that they use."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from harness.campaign.settings.trust import DECLARATION, is_declared_safe
from harness.common.errors import UserError
from harness.common.plugins import (
    describe_plugin_origin,
    list_installed_prefixes,
    list_plugin_packages,
    load_class,
)
from harness.common.suggestions import describe_unknown_name
from studies.search.optuna_samplers import Nsga2Sampler, TpeSampler
from studies.search.ribs_samplers import CmaMeSampler, MapElitesSampler
from studies.search.samplers import CandidateSampler, RandomSampler, SobolSampler
from studies.search.settings import SearchSettings

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
    return find_sampler(settings.sampler)(settings)


def find_sampler(name: str) -> Callable[[SearchSettings], CandidateSampler]:
    """Return a shipped sampler, or a class `package.module.Class` of a plug-in.

    Its constructor takes the search's settings; it has `libraries`, `ask` and `report`. A search's
    folder names it, so that it must be declared safe to be built from a file.
    """
    if name in SAMPLERS:
        return SAMPLERS[name]
    try:
        named = load_class(name, (*list_plugin_packages(), *list_installed_prefixes()))
        if not is_declared_safe(named):
            raise UserError(f"sampler {name}: its class must declare {DECLARATION} = True")
        return named
    except LookupError:
        unknown = describe_unknown_name("sampler", name, SAMPLERS)
        raise UserError(f"{unknown}{describe_plugin_origin(name)}") from None


def list_sampler_versions(sampler: CandidateSampler) -> dict[str, str]:
    """Return the versions of the libraries that may change what is asked."""
    return {name: version(name) for name in sampler.libraries}
