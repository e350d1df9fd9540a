"""Classes of users' own packages: those that CRUCIBLE_PACKAGES names, and installed plug-ins.

No file can add a package. What CRUCIBLE_PACKAGES names is the choice of the user who starts the
command, and an installed distribution declares its plug-ins as entry points of the group
`crucible.plugins`, each a package or `package.module:Class`. A file that others wrote may name a
class of an installed plug-in only if the class is declared safe to be built from a file.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_path
from typing import Any

from harness.common.errors import UserError

PLUGIN_GROUP = "crucible.plugins"
CRUCIBLE_HOUSES = frozenset({"harness", "agents", "analysis", "studies", "crucible", "tests"})


@dataclass(frozen=True, kw_only=True)
class InstalledPlugin:
    """An entry point: a name, what it stands for, and the distribution that declares it."""

    name: str
    value: str  # package, or package.module:Class
    distribution: str
    version: str

    @property
    def prefix(self) -> str:
        """Return what the full names of its classes begin with."""
        return self.value.partition(":")[0] + "."

    @property
    def target(self) -> str:
        """Return the class as `_target_` names it; the package where no class is declared."""
        return self.value.replace(":", ".")


@cache
def list_installed_plugins(group: str = PLUGIN_GROUP) -> tuple[InstalledPlugin, ...]:
    """Return the plug-ins that installed distributions declare in a group, by name.

    Those that point into the standard library or into Crucible are left out: they would open to
    files what no plug-in brings.
    """
    plugins = [
        InstalledPlugin(
            name=point.name,
            value=point.value.strip(),
            distribution=point.dist.name if point.dist else "",
            version=point.dist.version if point.dist else "",
        )
        for point in entry_points(group=group)
    ]
    closed = sys.stdlib_module_names | CRUCIBLE_HOUSES
    return tuple(
        plugin
        for plugin in sorted(plugins, key=lambda one: (one.name, one.value))
        if plugin.value.partition(":")[0].partition(".")[0] not in closed
    )


def list_installed_prefixes() -> tuple[str, ...]:
    """Return what the full names of classes of installed plug-ins begin with."""
    return tuple(plugin.prefix for plugin in list_installed_plugins())


def list_plugin_packages() -> tuple[str, ...]:
    """Return the packages that the environment names, each with a dot behind it."""
    return tuple(f"{part}." for part in os.environ.get("CRUCIBLE_PACKAGES", "").split(",") if part)


def describe_plugin_origin(name: str) -> str:
    """Return which installed package brings an unknown name, as the end of a line.

    Args:
        name: of an entry point, or `package.module.Class` of a package that is installed and that
            neither the environment nor an entry point allows.
    """
    for plugin in list_installed_plugins():
        if plugin.name == name:
            return f"; {plugin.distribution} {plugin.version} brings it as {plugin.target}"
    package = name.replace(":", ".").partition(".")[0]
    if package == name or not is_package_of_user(package):
        return ""
    return f"; CRUCIBLE_PACKAGES={package} allows it, if you have read the file that names it"


def is_package_of_user(package: str) -> bool:
    """Return whether a package lies where a user writes code, and not among installed libraries.

    No line may invite anyone to allow a library to files that others wrote.
    """
    if not package.isidentifier() or package in sys.stdlib_module_names | CRUCIBLE_HOUSES:
        return False
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):  # as of `__main__`
        return False
    if spec is None or spec.origin is None:
        return False
    libraries = {Path(get_path(scheme)).resolve() for scheme in ("purelib", "platlib")}
    return libraries.isdisjoint(Path(spec.origin).resolve().parents)


def load_class(target: str, packages: tuple[str, ...]) -> type[Any]:
    """Return the class `package.module.Class`; LookupError if it lies in none of the packages.

    Args:
        target: `package.module.Class`.
        packages: prefixes that are allowed, each with its dot.

    Raises:
        UserError: the module cannot be imported, or has no such class.
    """
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
