"""The child process: run by the Python of a checkout, without Crucible's packages."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any

LONGEST = 400
"""Characters of a failure's first line."""


class Answers:
    """What the child answers; a failure is an answer, too."""

    def __init__(self, words: dict[str, Any]) -> None:
        self.notes: list[str] = []
        self.properties = self._load(words) if "checkpoint" in words else {}

    def _load(self, words: dict[str, Any]) -> dict[str, Any]:
        """Build a checkpoint in place of the last one, and return what it is."""
        self._stack: Any = None
        try:
            self._stack = importlib.import_module("stack").Stack(words)
        except (Exception, SystemExit) as problem:
            return fail(problem)
        self.notes = self._stack.notes
        return dict(self._stack.properties)

    def answer(
        self, words: dict[str, Any], arrays: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the words and arrays that answer a frame."""
        if words["kind"] == "load":
            return {**self._load(words), "kind": "load"}, {}
        try:
            said, brought = self._stack.answer(words, arrays)
        except (Exception, SystemExit) as problem:
            return {"kind": "failed", **fail(problem)}, {}
        return said, brought


def fail(problem: BaseException) -> dict[str, str]:
    """Return what failed in one line; the whole goes to stderr."""
    traceback.print_exception(type(problem), problem, problem.__traceback__)
    said = " ".join(str(problem).split())
    if isinstance(problem, KeyError):
        said = said.strip("'\"")
    # importers and evaluated text have no file
    frames = traceback.extract_tb(problem.__traceback__)
    place = ([frame for frame in frames if not frame.filename.startswith("<")] or frames)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return {"failed": f"{type(problem).__name__}: {said}"[:LONGEST], "where": where}


def main() -> None:
    """Answer frames until stdin is closed."""
    # the pipe and what all children share
    house = Path(__file__).absolute().parents[2]
    sys.path.insert(1, str(house / "foreign" / "child"))
    importlib.import_module("serving").serve(Answers)


if __name__ == "__main__":
    main()
