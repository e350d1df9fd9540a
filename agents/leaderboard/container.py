"""The command that runs an agent's child in a container image, by docker or podman.

The child speaks over its standard input and output, which a container passes on. Folders have the
same paths inside as outside, so that what is asked of the child is the same in both.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from harness.common.environments import build_foreign_environment
from harness.common.errors import UserError

ENGINES = ("docker", "podman")
AGENTS = Path(__file__).parents[1]
"""The package with the code of all children."""
KILLING = 20.0
"""Seconds in which an engine ends a container."""


class Container:
    """One container that does not run yet, and whose name is its own.

    Args:
        image: that the engine knows.
        engine: docker or podman.
        options: more options of its `run`, such as `--gpus=all`.
        folders: that the agent reads and writes.
        has_network: whether the child reaches servers on this machine.
    """

    def __init__(
        self,
        image: str,
        *,
        engine: str,
        options: Sequence[str],
        folders: Sequence[Path],
        has_network: bool,
    ) -> None:
        refuse_engine(engine)
        self._engine, self._image, self._options = engine, image, list(options)
        self._folders = list(dict.fromkeys(folders))
        self._network = "host" if has_network else "none"
        self.name = f"crucible-{uuid4().hex}"

    def build_command(self, python: str, program: Path) -> list[str]:
        """Return the command that runs a program of ours by the image's Python."""
        mounts = [f"--volume={folder}:{folder}" for folder in self._folders]
        return [
            *(self._engine, "run", "--rm", "--interactive", f"--name={self.name}"),
            # files in the agent's folders belong to the user, who has no home in the image
            *(f"--user={os.getuid()}:{os.getgid()}", "--env=HOME=/tmp"),
            *(f"--network={self._network}", *mounts, f"--volume={AGENTS}:{AGENTS}:ro"),
            *(*self._options, self._image, python, str(program)),
        ]

    def kill(self) -> None:
        """End the container if it still runs: a killed client of the engine leaves it behind."""
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                [self._engine, "kill", self.name],
                check=False,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                env=build_foreign_environment(),
                timeout=KILLING,
            )


def refuse_engine(engine: str) -> None:
    """Refuse an engine that is unknown or not installed."""
    if engine not in ENGINES:
        raise UserError(f"system: engine: unknown engine {engine}; valid: {', '.join(ENGINES)}")
    if shutil.which(engine) is None:
        raise UserError(f"system: engine: {engine} not found; it runs the container image")


def list_outer_folders(root: Path, config: Path | None, paths: Sequence[str]) -> list[Path]:
    """Return the folders that a container needs: the checkout, and what lies outside of it.

    Args:
        root: the agent's checkout.
        config: a file or folder for its setup.
        paths: folders to import from.
    """
    given = [Path(path) for path in paths]
    if config is not None:
        given.append(config if config.is_dir() else config.parent)
    inside = root.resolve()
    outside = [path for path in given if not path.resolve().is_relative_to(inside)]
    return [root, *outside]
