"""What an agent's file surely lacks, seen in its source: nothing of it is executed.

The file is read by this Python and run by the agent's own, which may be older or newer. Only what
is wrong in both is refused. Whatever a module may do while it is imported is left to the import.
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from harness.common.errors import UserError

ENTRY = "get_entry_point"
"""Function of an agent's file that returns the name of its class."""
LONGEST = 4 << 20
"""Bytes of an agent's file; a longer one is not looked at."""
NAMING = frozenset(
    {"exec", "eval", "globals", "locals", "vars", "setattr", "__dict__", "modules", "f_globals"}
)
"""With these, a module can get names that its source does not show."""
VERSION = re.compile(r"python3\.(\d+)")


def refuse_unfit_source(file: Path, name: str | None, python: str | None) -> None:
    """Refuse an agent's file that has a syntax error, or that cannot have the agent's class.

    Args:
        file: of the agent.
        name: of its class; None: `get_entry_point` returns it.
        python: its interpreter; None where that is in an image.
    """
    tree = parse_source(file, python)
    if tree is None or may_name_more(tree):
        return
    names = {bound: line for bound, line in iter_bound_names(tree) if bound}
    if name is None and ENTRY not in names:
        raise UserError(
            f"system: agent: {file}: no {ENTRY}; name the class: agent={file.name}:CLASS"
        )
    line = None
    if name is None:
        name, line = find_returned_name(tree)
    if name is not None and name not in names:
        classes = ", ".join(one.name for one in tree.body if isinstance(one, ast.ClassDef))
        named = "" if line is None else f", which {ENTRY} returns"
        raise UserError(
            f"system: agent: {file}{'' if line is None else f':{line}'}: no class {name}{named};"
            f" its classes: {classes or 'none'}"
        )


def parse_source(file: Path, python: str | None) -> ast.Module | None:
    """Return an agent's source as a tree; None if this Python cannot know.

    Raises:
        UserError: it has a syntax error for the agent's own Python.
    """
    try:
        source = file.read_bytes()
    except OSError as problem:
        raise UserError(f"system: agent: {file}: {problem.strerror}") from None
    if len(source) > LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes, which are the agent's affair
            return ast.parse(source)
    except SyntaxError as problem:
        if not is_as_old(python):
            return None  # a newer Python may read it
        # null bytes are on no line
        line = "" if problem.lineno is None else f":{problem.lineno}"
        raise UserError(
            f"system: agent: {file}{line}: {type(problem).__name__}: {problem.msg}"
        ) from None
    except (ValueError, RecursionError, MemoryError):
        return None


def is_as_old(python: str | None) -> bool:
    """Return whether an interpreter is surely not newer than this one; it is not run."""
    place = None if python is None else shutil.which(python)
    if place is None:
        return False
    # bin/python of an environment is a link to bin/python3.11 of what it was made from
    real = Path(place).resolve()
    if real == Path(sys.executable).resolve():
        return True
    version = VERSION.fullmatch(real.name)
    return version is not None and int(version[1]) <= sys.version_info.minor


def may_name_more(tree: ast.Module) -> bool:
    """Return whether a module may have names that its source does not show."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                return True
            case ast.Name(id=word) | ast.Attribute(attr=word) if word in NAMING:
                return True
            case ast.FunctionDef(name="__getattr__"):
                return True
    return False


def iter_bound_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each name that a source binds anywhere, with its line; more than its module has."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    yield alias.asname or alias.name.partition(".")[0], node.lineno
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
            ):
                yield name, node.lineno


def find_returned_name(tree: ast.Module) -> tuple[str | None, int | None]:
    """Return the class that `get_entry_point` names and the line; None if it is not plain text."""
    entries = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == ENTRY
    ]
    returns = [one for entry in entries for one in ast.walk(entry) if isinstance(one, ast.Return)]
    match entries, returns:
        case [ast.FunctionDef(decorator_list=[])], [
            ast.Return(value=ast.Constant(value=str(name)))
        ]:
            return name, returns[0].lineno
    return None, None
