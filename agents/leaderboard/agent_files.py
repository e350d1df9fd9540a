"""The files of a leaderboard agent, looked for before a process starts."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from agents.leaderboard.agent_source import refuse_unfit_source
from harness.common.errors import UserError
from harness.common.given_places import refuse_absent_file, refuse_absent_folder


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """Where an agent is."""

    root: Path
    agent: Path
    name: str | None  # of its class; None: `get_entry_point` says it
    config: Path | None

    def all_files(self) -> list[Path]:
        """Return the files that decide how it drives, as far as they are named."""
        listed = [self.agent]
        if self.config is not None and self.config.is_file():
            listed.append(self.config)
        return listed


def find_agent_files(root: str, agent: str, config: str | None, python: str | None) -> AgentFiles:
    """Return where an agent is; one line says what is missing.

    Args:
        root: folder of its checkout.
        agent: `FILE.py` or `FILE.py:Class`, from root.
        config: a file or folder for `setup`, from root, or None.
        python: its interpreter; None where that is looked for elsewhere.
    """
    folder = Path(root).expanduser().absolute()
    refuse_absent_folder(folder, "system: root:")
    named, _, name = agent.partition(":")
    file = folder / Path(named).expanduser()
    refuse_absent_file(file, "system: agent:")
    given = None if config is None else folder / Path(config).expanduser()
    if given is not None and not given.exists():
        raise UserError(f"system: config: {given}: not found")
    if python is not None and shutil.which(python) is None:
        raise UserError(
            f"system: python: interpreter not found: {python}; name the one in which the agent runs"
        )
    refuse_unfit_source(file, name or None, python)
    return AgentFiles(folder, file, name or None, given)


def list_search_paths(root: Path, agent: Path, more: list[str] | None) -> list[str]:
    """Return the folders from which an agent imports, nearest first.

    Args:
        root: its checkout.
        agent: its file.
        more: folders that the user names, such as CARLA's `PythonAPI/carla`.
    """
    given = [Path(path).expanduser() for path in more or []]
    for path in given:
        refuse_absent_folder(root / path, "system: paths:")
    usual = [
        root / part
        for part in (
            ".",
            "leaderboard",
            "scenario_runner",
            "leaderboard/team_code",
            "team_code",
            "simulation/leaderboard",
            "simulation/scenario_runner",
            "PythonAPI/carla",
            "carla/PythonAPI/carla",
            "CARLA/PythonAPI/carla",
        )
    ]
    folders = [*(root / path for path in given), agent.parent, *usual]
    return [str(folder.resolve()) for folder in dict.fromkeys(folders) if folder.is_dir()]
