"""What settings mean: the comments in the source of the class that has them.

A dataclass says it behind its fields, another class behind the parameters of `__init__`.
"""

from __future__ import annotations

import ast
import inspect
import io
import textwrap
import tokenize
from collections.abc import Iterator
from typing import Any


def read_class_comments(described: type[Any]) -> dict[str, str]:
    """Return the comment of every setting of a class that has one; a subclass goes first."""
    notes: dict[str, str] = {}
    for part in reversed(described.__mro__):
        try:
            source = textwrap.dedent(inspect.getsource(part))
        except (OSError, TypeError):  # built in, or typed in at a prompt
            continue
        comments = read_source_comments(source)
        notes |= {name: comments[row] for name, row in iter_field_rows(source) if row in comments}
    return notes


def read_source_comments(source: str) -> dict[int, str]:
    """Return the comments of a source text by row."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: token.string.removeprefix("#").strip()
        for token in tokens
        if token.type == tokenize.COMMENT and not token.string.startswith(("# noqa", "# type:"))
    }


def iter_field_rows(source: str) -> Iterator[tuple[str, int]]:
    """Yield the fields of a class, or the parameters of its `__init__`, and where they end."""
    (described,) = ast.parse(source).body
    assert isinstance(described, ast.ClassDef)
    for part in described.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            yield part.target.id, part.end_lineno or part.lineno
        elif isinstance(part, ast.FunctionDef) and part.name == "__init__":
            for parameter in (*part.args.args, *part.args.kwonlyargs):
                yield parameter.arg, parameter.end_lineno or parameter.lineno
