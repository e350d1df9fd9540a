"""What `${...}` in a configuration may do: name other settings, and compute with them.

A file of a stranger could copy an environment variable with `${oc.env:NAME}` into `campaign.yaml`,
which its user then publishes. Other packages may register resolvers that do more. While a
configuration is composed and resolved, only those of OmegaConf that compute from other settings
work: `oc.create`, `oc.decode`, `oc.deprecated`, `oc.dict.keys`, `oc.dict.values` and `oc.select`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from omegaconf import OmegaConf

ENVIRONMENT = "oc.env"


class EnvironmentAskedError(Exception):
    """A configuration asks for an environment variable."""


def refuse_environment(*words: object) -> NoReturn:
    """Refuse to read an environment variable."""
    name = words[0] if words else ""
    raise EnvironmentAskedError(
        f"${{{ENVIRONMENT}:{name}}}: a configuration reads no environment variables;"
        f" write name=${name} on the command line, where the shell replaces it"
    )


@contextmanager
def pure_resolvers() -> Iterator[None]:
    """Let interpolations use settings alone while the block lasts.

    What others have registered does not come back: Hydra registers its own again whenever it is
    initialised.
    """
    OmegaConf.clear_resolvers()
    OmegaConf.register_new_resolver(ENVIRONMENT, refuse_environment, replace=True)
    try:
        yield
    finally:
        OmegaConf.clear_resolvers()
