"""`crucible plugins`: lists plug-ins of Crucible and plug-ins of other packages.

Other packages are installed distributions (entry points of the group `crucible.plugins`) and the
packages that CRUCIBLE_PACKAGES names. The list imports the modules of other packages.
"""

from __future__ import annotations

import argparse
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from harness.common.command_registry import CommandDeclaration
from harness.common.installation import CONF
from harness.common.plugins import InstalledPlugin, list_installed_plugins, list_plugin_packages
from harness.common.terminal_lines import print_stdout_line

COMMAND = CommandDeclaration(
    group="Plug-ins",
    rank=30,
    purpose="list installed plug-ins and their packages",
    extra="run,learn",
    examples=("crucible plugins", "crucible plugins --others"),
)
SHIPPED_GROUPS = {
    "system": "a system",
    "metrics": "a metric",
    "interference": "a condition",
    "driver": "a driver",
    "link": "a link",
    "attack": "an attack",
    "defence": "a defence",
    "compensate": "a compensation",
    "compute": "a computing time",
    "routes": "a choice of routes",
    "export": "an export",
    "study": "a study",
    "search": "a search",
}
"""Groups of the configuration whose files name plug-ins, and what a file of each is."""
SHIPPED, ENVIRONMENT = "Crucible", "CRUCIBLE_PACKAGES"
NO_PLUGIN = "no plug-in"


@dataclass(frozen=True, kw_only=True)
class PluginRow:
    """A plug-in as the table has it."""

    kind: str
    name: str
    origin: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible plugins` takes."""
    parser.description = __doc__
    parser.add_argument(
        "--others",
        action="store_true",
        help="leave out plug-ins that come with Crucible (default: all)",
    )
    parser.set_defaults(run=run_plugins_command)


def run_plugins_command(options: argparse.Namespace) -> int:
    """Print a table of all plug-ins."""
    from rich.markup import escape  # noqa: PLC0415

    from harness.common.console import make_console  # noqa: PLC0415 - only here
    from harness.common.fitting_table import FittingTable  # noqa: PLC0415

    table = FittingTable("kind", "name", "from")
    shipped = [] if options.others else list(iter_shipped_rows())
    for row in (*shipped, *iter_installed_rows(), *iter_environment_rows()):
        table.add_row(*map(escape, (row.kind, row.name, row.origin)))
    if table.row_count:
        make_console().print(table)
    else:
        print_stdout_line("no plug-ins but those of Crucible")
    return 0


def iter_shipped_rows() -> Iterator[PluginRow]:
    """Yield what comes with Crucible, one row for each kind."""
    from agents.perception.fusion.catalogue import SCHEMES  # noqa: PLC0415 - needs torch
    from harness.world.hazards.catalogue import SHIPPED_KINDS  # noqa: PLC0415 - needs carla
    from studies.search.making import SAMPLERS  # noqa: PLC0415

    names = {
        kind: [file.stem for file in CONF.joinpath(group).glob("*.yaml")]
        for group, kind in SHIPPED_GROUPS.items()
    }
    names |= {"a fusion scheme": [*SCHEMES], "a hazard": [*SHIPPED_KINDS], "a sampler": [*SAMPLERS]}
    for kind in sorted(names):
        yield PluginRow(kind=kind, name=", ".join(sorted(names[kind])), origin=SHIPPED)


def iter_installed_rows() -> Iterator[PluginRow]:
    """Yield the plug-ins of installed distributions."""
    from harness.world.hazards.catalogue import ENTRY_POINTS  # noqa: PLC0415 - needs carla

    for plugin in (*list_installed_plugins(), *list_installed_plugins(ENTRY_POINTS)):
        origin = f"{plugin.distribution} {plugin.version}"
        if ":" in plugin.value:
            yield PluginRow(
                kind=describe_entry_point(plugin),
                name=f"{plugin.name}: {plugin.target}",
                origin=origin,
            )
        else:
            yield from iter_package_rows(plugin.value, origin)


def describe_entry_point(plugin: InstalledPlugin) -> str:
    """Return the kind of the class that an entry point names, or why there is none."""
    from crucible.check import name_plugin_kind  # noqa: PLC0415 - needs Hydra

    module, _, name = plugin.value.partition(":")
    try:
        named = getattr(import_module(module), name)
    except Exception as problem:  # whatever a package raises when it is imported
        return describe_import_failure(problem)
    return (name_plugin_kind(named) if isinstance(named, type) else "") or NO_PLUGIN


def iter_environment_rows() -> Iterator[PluginRow]:
    """Yield the plug-ins of the packages that the environment names."""
    for prefix in list_plugin_packages():
        yield from iter_package_rows(prefix.removesuffix("."), ENVIRONMENT)


def iter_package_rows(package: str, origin: str) -> Iterator[PluginRow]:
    """Yield the plug-ins whose classes the modules of a package define."""
    from crucible.check import name_plugin_kind  # noqa: PLC0415 - needs Hydra

    count = 0
    for module in iter_modules(package):
        if isinstance(module, PluginRow):
            yield PluginRow(kind=module.kind, name=module.name, origin=origin)
            continue
        for named in vars(module).values():
            # classes that a module imports from elsewhere are not its plug-ins
            if isinstance(named, type) and named.__module__ == module.__name__:
                kind = name_plugin_kind(named)
                if kind:
                    count += 1
                    name = f"{named.__module__}.{named.__qualname__}"
                    yield PluginRow(kind=kind, name=name, origin=origin)
    if not count:
        yield PluginRow(kind=NO_PLUGIN, name=package, origin=origin)


def iter_modules(package: str) -> Iterator[ModuleType | PluginRow]:
    """Yield a package and its modules; a row with the reason for those that cannot be imported."""
    try:
        whole = import_module(package)
    except Exception as problem:  # whatever a package raises when it is imported
        yield PluginRow(kind=describe_import_failure(problem), name=package, origin="")
        return
    yield whole
    for entry in pkgutil.iter_modules(getattr(whole, "__path__", ()), f"{package}."):
        if entry.name.endswith(".__main__"):
            continue
        if entry.ispkg:
            yield from iter_modules(entry.name)
            continue
        try:
            yield import_module(entry.name)
        except Exception as problem:
            yield PluginRow(kind=describe_import_failure(problem), name=entry.name, origin="")


def describe_import_failure(problem: BaseException) -> str:
    """Return on one line why a module could not be imported."""
    return f"{type(problem).__name__}: {' '.join(str(problem).split())}"
