"""Subcommands, each in one file of a command folder; nothing else lists them.

A file of these folders is a subcommand if it assigns `COMMAND = CommandDeclaration(...)`, and is
called as the file is, with hyphens for underscores. Declarations are read as syntax and not by
importing: `crucible --help` must not load the packages that 37 subcommands need.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.common.errors import UserError

ROOT = Path(__file__).parents[2]
COMMAND_PACKAGES = (
    "crucible",
    "harness.commands",
    "analysis.commands",
    "agents.training.commands",
    "agents.bundles",
    "studies.attribution",
    "studies.causes",
    "studies.critical",
    "studies.decide",
    "studies.interventions",
    "studies.offline_to_violation",
    "studies.outside_results",
    "studies.rates",
    "studies.replication",
    "studies.metamorphic.commands",
    "studies.search.commands",
    "studies.speed",
)
"""The folders that subcommands are in; `critical` is looked for in this order."""
GROUP_ORDER = (
    *("Campaigns", "Studies", "Routes and simulators", "Systems"),
    *("Search", "Analysis", "Plug-ins", "Shell"),
)
"""Headings of `crucible --help`; other groups follow them."""
DECLARED, END_OF_DECLARATION = "\nCOMMAND = CommandDeclaration(\n", "\n)\n"
"""How a declaration begins and ends in a formatted file."""


@dataclass(frozen=True, kw_only=True)
class CommandDeclaration:
    """What a subcommand's own file says of it, in literals.

    Its module has `add_arguments(parser)`, which sets `run=function(options)`, or parses for itself
    in `main(arguments, program)`; both return the exit code.
    """

    group: str  # heading in `crucible --help`
    purpose: str  # what follows the name there
    extra: str  # what `pip install v2x-crucible[...]` brings its packages
    examples: tuple[str, ...]  # whole command lines, which end its `--help`
    rank: int = 100  # place within its group; equal ones stand in the alphabet's order


@dataclass(frozen=True, kw_only=True)
class Subcommand:
    """A subcommand: its name, the module that runs it, and what the module declares."""

    name: str
    module: str
    declaration: CommandDeclaration


def find_subcommand(
    name: str, packages: Iterable[str] = COMMAND_PACKAGES, root: Path = ROOT
) -> Subcommand | None:
    """Return a subcommand by its name, None if no folder has it.

    Args:
        name: as on the command line; hyphens stand for underscores of the file.
        packages: command folders, as modules.
        root: the folder that they are in.
    """
    stem = name.replace("-", "_")
    if not stem.isidentifier():
        return None
    for package in packages:
        if subcommand := read_subcommand(root, package, stem):
            return subcommand
    return None


def list_subcommands(
    packages: Iterable[str] = COMMAND_PACKAGES, root: Path = ROOT
) -> dict[str, Subcommand]:
    """Return all subcommands by their names, in the order in which the help lists them.

    Args:
        packages: command folders, as modules.
        root: the folder that they are in.
    """
    declared = [
        subcommand
        for package in packages
        for file in root.joinpath(*package.split(".")).glob("*.py")
        if (subcommand := read_subcommand(root, package, file.stem))
    ]
    return {subcommand.name: subcommand for subcommand in sorted(declared, key=_get_place)}


def group_subcommands(subcommands: Iterable[Subcommand]) -> dict[str, list[Subcommand]]:
    """Return subcommands by their groups, in the order in which they come."""
    groups = dict[str, list[Subcommand]]()
    for subcommand in subcommands:
        groups.setdefault(subcommand.declaration.group, []).append(subcommand)
    return groups


def read_subcommand(root: Path, package: str, name: str) -> Subcommand | None:
    """Return the subcommand that a file declares, None if it is no subcommand's."""
    file = root.joinpath(*package.split("."), f"{name}.py")
    if not file.is_file():
        return None
    text = file.read_text(encoding="utf-8")
    start = text.find(DECLARED)
    # most files of a folder declare nothing; of the others only the declaration is parsed
    if start < 0:
        return None
    end = text.find(END_OF_DECLARATION, start)
    try:
        declaration = CommandDeclaration(**parse_literal_fields(text[start : end + 2]))
    except (SyntaxError, ValueError, TypeError) as problem:
        raise UserError(f"{file}: COMMAND must consist of literals: {problem}") from None
    called = name.replace("_", "-")
    return Subcommand(name=called, module=f"{package}.{name}", declaration=declaration)


def parse_literal_fields(text: str) -> dict[str, Any]:
    """Return the keywords of a call `COMMAND = CommandDeclaration(...)`; nothing is evaluated."""
    (statement,) = ast.parse(text.strip()).body
    assert isinstance(statement, ast.Assign)
    assert isinstance(statement.value, ast.Call)
    return {str(field.arg): ast.literal_eval(field.value) for field in statement.value.keywords}


def _get_place(subcommand: Subcommand) -> tuple[int, str, int, str]:
    """Return what subcommands are sorted by."""
    group = subcommand.declaration.group
    order = GROUP_ORDER.index(group) if group in GROUP_ORDER else len(GROUP_ORDER)
    return order, group, subcommand.declaration.rank, subcommand.name
