"""Where an agent failed: the file and the line of the user's own code.

Standard library only, Python 3.7 or newer: the module is read by the agent's own Python.
"""

from __future__ import annotations

import inspect
import os
import traceback
from pathlib import Path
from typing import Any

LIBRARY = Path(os.__file__).resolve().parent
"""Folder of Python's own modules."""
OURS = (Path(__file__).resolve().parent, Path(__file__).resolve().parents[2] / "foreign")
"""Folders of Crucible's child."""
INSTALLED = ("site-packages", "dist-packages")
"""Folders of packages that a user has installed and not written."""


class UserFolders:
    """Folders with the user's own code.

    Args:
        words: `root` of the agent's checkout, `agent` (file), and `paths` to import from.

    Attributes:
        agent: its file, as it is named.
    """

    def __init__(self, words: dict[str, Any]) -> None:
        self._root = Path(words["root"]).resolve()
        file = Path(words["agent"]).resolve()
        paths = [Path(path).resolve() for path in words["paths"]]
        self._folders = [self._root, file.parent, *paths]
        self.agent = self.name_file(file)

    def name_file(self, file: Path) -> str:
        """Return a file from the root of the checkout, or whole if it is elsewhere."""
        inside = self._root in file.parents
        return str(file.relative_to(self._root) if inside else file)

    def find_place(self, problem: BaseException) -> str:
        """Return `FILE:LINE` of the user's code nearest to what was raised; else nothing."""
        frames = [
            (frame.filename, frame.lineno) for frame in traceback.extract_tb(problem.__traceback__)
        ]
        if isinstance(problem, SyntaxError) and problem.filename:
            frames.append((problem.filename, problem.lineno))
        for name, line in reversed(frames):
            file = Path(name).resolve()
            if self._is_users(file):
                return f"{self.name_file(file)}:{line}"
        return ""

    def find_lines(self, *things: Any) -> str:
        """Return `FILE:LINE` where the first of some methods or classes begins that is the user's.

        Without one, that is the agent's file.
        """
        for thing in things:
            try:
                file = Path(str(inspect.getsourcefile(thing))).resolve()
                line = inspect.getsourcelines(thing)[1]
            except (TypeError, OSError):
                continue
            if self._is_users(file):
                return f"{self.name_file(file)}:{line}"
        return self.agent

    def _is_users(self, file: Path) -> bool:
        """Return whether the user has written a file."""
        if {LIBRARY, *OURS} & set(file.parents) or set(INSTALLED) & set(file.parts):
            return False
        return any(folder in file.parents for folder in self._folders)
