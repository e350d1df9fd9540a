"""What the tools of this folder share: refusals in one line, seeds, files that are whole.

Standard library only, Python 3.7 or newer: the module is read by the agent's own Python.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

BAD_INPUT = 2
LONGEST = 400
"""Characters of what a refusal says of an exception."""
SEEDS = 2**63
"""How many seeds torch takes, from 0 on."""


class RefusalError(Exception):
    """What was asked for cannot be done; the text is one line."""


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with the code of bad input."""
        print(f"{self.prog}: {message} (--help lists the options)", file=sys.stderr)
        raise SystemExit(BAD_INPUT)


def run_or_refuse(work: Callable[[], None]) -> None:
    """Do some work; a refusal is one line and the exit code of bad input."""
    try:
        work()
    except RefusalError as problem:
        print(f"{Path(sys.argv[0]).name}: {problem}", file=sys.stderr)
        raise SystemExit(BAD_INPUT) from None


def load_package(name: str) -> Any:
    """Return a package that only the agent's own Python is sure to have."""
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise RefusalError(
            f"{sys.executable}: {join_lines(problem)}; run the tool with the agent's own Python"
        ) from None


@contextlib.contextmanager
def refuse_failures(what: str, root: Path, advice: str = "") -> Iterator[None]:
    """Refuse what the code of a checkout raises, in one line.

    Args:
        what: was done; the line begins with it.
        root: of the checkout, whose own file and line are named.
        advice: what the line ends with.
    """
    try:
        yield
    except RefusalError:
        raise
    except (Exception, SystemExit) as problem:
        raised = f"{type(problem).__name__}: {join_lines(problem)}"[:LONGEST]
        place = find_place(problem, root)
        raise RefusalError(f"{what}: {raised}{f' ({place})' if place else ''}{advice}") from None


def join_lines(problem: BaseException) -> str:
    """Return what an exception says, in one line."""
    return " ".join(str(problem).split())


def find_place(problem: BaseException, root: Path) -> str:
    """Return file and line where an exception was raised, in the checkout if possible.

    Args:
        problem: the exception.
        root: of the checkout, from which its files are named.

    Returns:
        `FILE:LINE`; an empty text if the exception was raised by the call of a tool itself.
    """
    frames = [
        (Path(frame.filename), frame.lineno)
        for frame in traceback.extract_tb(problem.__traceback__)
        if not frame.filename.startswith("<")  # Python's own import
        and Path(frame.filename).parent != Path(__file__).parent
    ]
    if isinstance(problem, SyntaxError) and problem.filename:
        frames.append((Path(problem.filename), problem.lineno))
    inside = [(file.relative_to(root), line) for file, line in frames if root in file.parents]
    return "{}:{}".format(*(inside or frames)[-1]) if frames else ""


def read_seed(word: str) -> int:
    """Return a seed that torch takes."""
    if not word.isdecimal() or int(word) >= SEEDS:
        raise argparse.ArgumentTypeError(f"{word}: a whole number from 0 to 2**63 - 1 is needed")
    return int(word)


def describe_weights(state: Mapping[str, Any]) -> str:
    """Return how many weights a network has, in words."""
    tensors = [one for one in state.values() if hasattr(one, "numel")]
    return f"{len(tensors)} tensors, {sum(one.numel() for one in tensors)} random numbers"


def write_all(writers: Mapping[Path, Callable[[Path], Any]]) -> None:
    """Write some files, or none of them: each next to its place, then all are moved there.

    Args:
        writers: by file; each writes into the file that it is given.
    """
    parts: dict[Path, Path] = {}
    file = Path()
    try:
        for file, write in writers.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            part = file.with_name(f".{file.name}.{os.getpid()}.part")
            parts[part] = file
            write(part)
        for part, file in parts.items():
            part.replace(file)
    except (OSError, RuntimeError) as problem:  # torch's writer raises the latter on a full disk
        raised = getattr(problem, "strerror", None) or join_lines(problem)
        raise RefusalError(f"{file}: cannot be written: {raised}") from None
    finally:
        for part in parts:
            with contextlib.suppress(OSError):
                part.unlink()
