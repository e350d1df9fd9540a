"""A user's own agent for CARLA's Leaderboard 1 or 2, in the user's own Python."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from agents.foreign.process import Child, ChildError
from agents.leaderboard import child
from agents.leaderboard.agent_files import AgentFiles, find_agent_files, list_search_paths
from agents.leaderboard.route import list_road_options
from agents.leaderboard.sensors import read_sensor_list
from harness.common.errors import AttemptError, UserError
from harness.types.agent_sensors import SensorRequest, WorldPlace
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    Message,
    Observation,
    Route,
    Step,
)

FAR_END = Path(child.__file__).parent
CLEAN_UP = 10.0
"""Seconds for an agent's `destroy`."""


class LeaderboardAgent:
    """Drives as the user's agent does: its own sensors in, its pedals and wheel out."""

    has_separate_python = True
    reads_points = False  # of the rig: it has LiDARs of its own
    reads_messages = False
    brings_sensors = True
    opens_world = False

    def __init__(
        self,
        root: str,  # folder of the agent's checkout
        agent: str,  # FILE.py or FILE.py:Class, from root
        *,
        config: str | None = None,  # for its setup: a file or folder, from root
        python: str = "python",  # the interpreter in which it runs
        paths: list[str] | None = None,  # more folders to import from, such as PythonAPI/carla
        start_timeout: float = 600.0,  # s until it is imported, and again until it is set up
        step_timeout: float = 60.0,  # s
    ) -> None:
        # what is missing is said before a process starts
        files = find_agent_files(root, agent, config, python)
        self._files = files
        self._where = f"{files.agent.name} by {python}"
        self._start_patience, self._patience = start_timeout, step_timeout
        hello = {
            "root": str(files.root),
            "agent": str(files.agent),
            "name": files.name,
            "paths": list_search_paths(files.root, files.agent, paths),
            "opens_world": self.opens_world,
        }
        try:
            self._child = Child([python, str(FAR_END)], hello, start_timeout)
        except ChildError as problem:
            raise UserError(f"system: {self._where}: {problem}") from None
        if "failed" in self._child.ready:
            self._child.end()
            raise UserError(f"system: {self._where}: {describe_failure(self._child.ready)}")
        for note in self._child.notes:
            print(f"system: {files.agent.name}: {note}", file=sys.stderr)

    @classmethod
    def files(
        cls,
        root: str,
        agent: str,
        config: str | None = None,
        python: str = "python",
        *,
        paths: list[str] | None = None,
        **others: object,
    ) -> list[Path]:
        """Return the agent's file and its configuration; nothing of them is executed."""
        there: AgentFiles = find_agent_files(root, agent, config, python)
        list_search_paths(there.root, there.agent, paths)
        return there.all_files()

    def open_attempt(self, place: WorldPlace, *, seed: int, route: Route) -> list[SensorRequest]:
        """Set the agent up with its route; return the sensors that it wants."""
        words: dict[str, Any] = {
            "kind": "begin",
            "seed": seed % 2**32,
            "config": "" if self._files.config is None else str(self._files.config),
            "tick": place.tick_seconds,
            "town": route.town,
        }
        if self.opens_world:
            words["server"] = {"host": place.host, "port": place.port, "ego": place.ego_id}
        arrays = {
            "route": np.column_stack([route.xyz, np.degrees(route.yaw)]),
            "options": list_road_options(route),
            "opendrive": np.frombuffer(place.opendrive.encode(), np.uint8),
        }
        try:
            answer, _ = self._ask(words, arrays, self._start_patience)
            return read_sensor_list(answer["sensors"])
        except (ChildError, UserError) as problem:
            raise AttemptError("agent_setup", f"{self._where}: {problem}") from None

    def reset(self, seed: int, route: Route) -> None:
        """Do nothing: `open_attempt` began the attempt."""

    def share(self, observation: Observation) -> Boxes:
        """Return nothing: it is alone."""
        return Boxes.none()

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        """Give it what its sensors gave in this tick; return its pedals and wheel, and no boxes."""
        words = {
            "kind": "step",
            "frame": observation.frame,
            "time": observation.time,
            "readings": [[reading.name, reading.kind] for reading in observation.readings],
        }
        arrays = {reading.name: reading.values for reading in observation.readings}
        try:
            answer, _ = self._ask(words, arrays, self._patience)
        except ChildError as problem:
            raise AttemptError("agent_exception", f"{self._where}: {problem}") from None
        throttle, steer, brake = answer["control"]
        control = Control(
            throttle, steer, brake, reverse=answer["reverse"], hand_brake=answer["hand_brake"]
        )
        return Step(control, Boxes.none(), Boxes.none())

    def close_attempt(self) -> None:
        """Let it clean up; what fails then changes no record."""
        try:
            self._ask({"kind": "close"}, {}, CLEAN_UP)
        except ChildError as problem:
            print(f"system: {self._where}: destroy: {problem}", file=sys.stderr)

    def _ask(
        self, words: dict[str, Any], arrays: dict[str, Any], seconds: float
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        answer, brought = self._child.ask_child(words, arrays, seconds)
        if answer["kind"] == "failed":
            raise ChildError(describe_failure(answer))
        return answer, brought


class PrivilegedLeaderboardAgent(LeaderboardAgent):
    """The same for agents that open the simulator's world themselves: they may know all of it."""

    opens_world = True


def describe_failure(answer: Mapping[str, Any]) -> str:
    """Return what failed in the agent, and where, in one line."""
    return f"{answer['failed']} ({answer['where']})"
