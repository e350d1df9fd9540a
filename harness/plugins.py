"""Classes of users' own packages, which the environment names: CRUCIBLE_PACKAGES.

No file can add a package: what is imported is the choice of the user who starts the command.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from harness.errors import UserError


def list_plugin_packages() -> tuple[str, ...]:
    """Return the packages that the environment names, each with a dot behind it."""
    return tuple(f"{part}." for part in os.environ.get("CRUCIBLE_PACKAGES", "").split(",") if part)


def load_class(target: str, packages: tuple[str, ...]) -> type[Any]:
    """Return the class `package.module.Class`; LookupError if it lies in none of the packages."""
    if not target.startswith(packages) or ".__main__." in target:
        raise LookupError(target)
    module, _, name = target.rpartition(".")
    try:
        named = getattr(import_module(module), name)
    except Exception as problem:
        text = " ".join(str(problem).split())
        raise UserError(f"{target}: {type(problem).__name__}: {text}") from None
    if not isinstance(named, type) or not f"{named.__module__}.".startswith(packages):
        raise UserError(f"{target}: not a class of its package")
    return named
