"""The child process: run by the agent's own Python, without Crucible's packages."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any

LONGEST = 400
"""Characters of a failure's first line."""


class Answers:
    """What the child answers; a failure of the agent is an answer, too."""

    def __init__(self, words: dict[str, Any]) -> None:
        self.notes: list[str] = []
        self.properties: dict[str, Any] = {}
        try:
            self._agent = importlib.import_module("driven_agent").DrivenAgent(words)
        except (Exception, SystemExit) as problem:
            self.properties = fail(problem)
            return
        self.notes = self._agent.notes

    def answer(
        self, words: dict[str, Any], arrays: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the words and arrays that answer a frame."""
        try:
            said: dict[str, Any] = getattr(self._agent, words["kind"])(words, arrays)
        except (Exception, SystemExit) as problem:
            return {"kind": "failed", **fail(problem)}, {}
        return {"kind": words["kind"], **said}, {}


def fail(problem: BaseException) -> dict[str, str]:
    """Return what failed in one line; the whole goes to stderr."""
    traceback.print_exception(type(problem), problem, problem.__traceback__)
    said = " ".join(str(problem).split())
    place = traceback.extract_tb(problem.__traceback__)[-1]
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
