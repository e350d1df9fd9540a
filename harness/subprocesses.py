"""What processes are started with: modules of Crucible, and programs that have another `agents`."""

from __future__ import annotations

import os
import sys

from harness import run_module
from harness.installation import PACKAGES


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module like `python -m`, with Crucible's packages first."""
    return [sys.executable, run_module.__file__, module, *arguments]


def foreign_environment() -> dict[str, str]:
    """Return the environment of a program whose `agents` are CARLA's, not Crucible's."""
    environment, ours = dict(os.environ), os.path.realpath(PACKAGES)
    entries = environment.pop("PYTHONPATH", "").split(os.pathsep)
    kept = [entry for entry in entries if entry and os.path.realpath(entry) != ours]
    return environment | ({"PYTHONPATH": os.pathsep.join(kept)} if kept else {})
