"""The environment of every child process: what the user's shell has set, and what Crucible adds.

No configuration and no campaign folder adds a variable, but for `repeatable=true`, which adds four
that stand in `kernels.py`. Those that choose which code a process
loads (`LOADERS`) are as they were when this process began: whatever has run in it since, such as a
package that a system imports, does not pass a search path on. Other variables are inherited as they
are, since simulators, systems and clusters read their own. Every start of a process names its
environment, with `build_child_environment` (a test reads the source for it). Pools of
`multiprocessing` inherit this process; the commands that have them compose no configuration.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from harness.common.installation import PACKAGES

LOADERS = (
    *("LD_", "DYLD_", "GCONV_PATH", "BASH_ENV", "ENV", "GIT_", "NUMBA_CACHE_DIR"),
    *("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONPLATLIBDIR"),
    *("PYTHONEXECUTABLE", "PYTHONPYCACHEPREFIX", "PYTHONBREAKPOINT", "PYTHONWARNINGS"),
)
"""Variables that choose which code is loaded: names, and beginnings of names that end with `_`."""
AT_START: dict[str, str] = dict(os.environ)
"""The environment that this process began with; commands import this before they read a file."""
PASSED_ON = ("CRUCIBLE_PACKAGES", "PYTHONPATH")
"""Variables that attempt processes need on any machine."""


def build_child_environment(*more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a child process.

    Args:
        more: what Crucible sets for that process, the last one last
    """
    inherited = {name: value for name, value in os.environ.items() if not is_loader_variable(name)}
    loaders = {name: value for name, value in AT_START.items() if is_loader_variable(name)}
    environment = inherited | loaders
    for variables in more:
        environment |= variables
    return environment


def is_loader_variable(name: str) -> bool:
    """Return whether a variable chooses which code a process loads."""
    return any(name == one or (one.endswith("_") and name.startswith(one)) for one in LOADERS)


def select_remote_environment() -> dict[str, str]:
    """Return the variables that attempt processes need on other machines, too."""
    environment = build_child_environment()
    return {name: environment[name] for name in PASSED_ON if name in environment}


def build_foreign_environment() -> dict[str, str]:
    """Return the environment of a program whose `agents` are CARLA's, not Crucible's."""
    environment, ours = build_child_environment(), os.path.realpath(PACKAGES)
    entries = environment.pop("PYTHONPATH", "").split(os.pathsep)
    kept = [entry for entry in entries if entry and os.path.realpath(entry) != ours]
    return environment | ({"PYTHONPATH": os.pathsep.join(kept)} if kept else {})
