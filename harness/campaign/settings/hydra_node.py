"""The node `hydra` of a configuration: Crucible honours nothing of it.

Hydra's own `main` would build its callbacks, set environment variables, configure logging and write
its output folder, all of it as the configuration says. Crucible composes without that `main`, and
refuses what a file sets there, so that no user relies on it. `WITHOUT_EFFECT` is what
files may contain: values that ask for nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.plugins import Plugins
from omegaconf import DictConfig, OmegaConf

from harness.common.installation import CONF

NODE = "hydra"
WITHOUT_EFFECT: Mapping[str, object] = {
    "hydra.run.dir": ".",
    "hydra.output_subdir": None,
    "hydra.job.chdir": False,
    "hydra.mode": "RUN",
    "hydra.hydra_logging.root": None,
    "hydra.job_logging.root": None,
}
"""What a file may set there: it asks Hydra for nothing."""
PLUGINS = "hydra_plugins"
"""Where Hydra imports all modules that it finds, on any entry of Python's path."""
COMPUTED = (
    "hydra.overrides.",
    "hydra.runtime.",
    "hydra.job.name",
    "hydra.job.config_name",
    "hydra.job.override_dirname",
)
"""What Hydra writes there itself, from the command line and the machine."""


def find_foreign_keys(config: DictConfig, known: Mapping[str, object]) -> Iterator[str]:
    """Yield the keys of the node `hydra` that a file or the command line has set."""
    whole = OmegaConf.to_container(config[NODE], resolve=False)
    for key, value in iterate_leaf_values(whole, NODE):
        if key.startswith(COMPUTED) or (key in known and known[key] == value):
            continue
        if not (key in WITHOUT_EFFECT and named(value) == WITHOUT_EFFECT[key]):
            yield key


@cache
def load_hydra_defaults() -> dict[str, object]:
    """Return the values of the node that Hydra brings itself."""
    load_hydra_plugins()
    with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        config = compose(None, [], return_hydra_config=True)
    return dict(iterate_leaf_values(OmegaConf.to_container(config[NODE], resolve=False), NODE))


def load_hydra_plugins() -> Plugins:
    """Return Hydra's own plug-ins; no others are searched for, since all that is found is run."""
    before = {PLUGINS: sys.modules[PLUGINS]} if PLUGINS in sys.modules else {}
    absent: Any = None  # Python's documented way to say that a module is not there
    sys.modules[PLUGINS] = absent
    try:
        return Plugins.instance()
    finally:
        del sys.modules[PLUGINS]
        sys.modules.update(before)


def iterate_leaf_values(value: Any, place: str) -> Iterator[tuple[str, object]]:
    """Yield the values at the ends of a tree by their dotted names."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from iterate_leaf_values(inner, f"{place}.{name}")
    else:
        yield place, value


def named(value: object) -> object:
    """Return the name of a member of an enumeration, any other value as it is."""
    return getattr(value, "name", value)
