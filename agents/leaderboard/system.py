"""A user's own agent for CARLA's Leaderboard 1 or 2, in the user's own Python."""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from agents.foreign.process import Child, ChildError
from agents.leaderboard import child
from agents.leaderboard.agent_files import AgentFiles, find_agent_files, list_search_paths
from agents.leaderboard.container import ENGINES, Container, list_outer_folders, refuse_engine
from agents.leaderboard.further_ego import FurtherEgoAgent
from agents.leaderboard.language_model import LanguageModel, LanguageModelProxy
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
    SensorReading,
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
    steers_all = True  # several egos if its agent is of V2Xverse's form
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
        language_model: LanguageModel | None = None,  # that it asks; null: none
        image: str | None = None,  # container image in which it runs, with python; null: none
        engine: str = "docker",  # or podman: what runs the image
        engine_options: list[str] | None = None,  # more options of its run, such as --gpus=all
    ) -> None:
        # what is missing is said before a process starts
        files = find_agent_files(root, agent, config, None if image else python)
        self._files = files
        self._where = f"{files.agent.name}, run with {python}{f' in {image}' if image else ''}"
        self._start_patience, self._patience = start_timeout, step_timeout
        self._first_frame: int | None = None
        self.requests: list[SensorRequest] = []  # what the agent wants on each ego
        self._readings: dict[int, tuple[SensorReading, ...]] = {}  # of a tick, by ego
        self._controls: dict[int, Control] = {}  # of a tick, by ego
        self._several, self._taken_frame = False, -1
        self._proxy = None
        if language_model is not None and language_model.list_urls():
            self._proxy = LanguageModelProxy(language_model, make_weak_call(self, "_stop_waiting"))
            weakref.finalize(self, self._proxy.end)
            print(
                f"system: {files.agent.name}: {language_model.describe_source()}", file=sys.stderr
            )
        search_paths = list_search_paths(files.root, files.agent, paths)
        hello = {
            "root": str(files.root),
            "agent": str(files.agent),
            "name": files.name,
            "paths": search_paths,
            "opens_world": self.opens_world,
            "model_servers": [] if self._proxy is None else self._proxy.list_redirections(),
        }
        command = [python, str(FAR_END)]
        self._container: Container | None = None
        if image is not None:
            container = self._container = Container(
                image,
                engine=engine,
                options=engine_options or [],
                folders=list_outer_folders(files.root, files.config, search_paths),
                has_network=self.opens_world or self._proxy is not None,
            )
            command = container.build_command(python, FAR_END)
            weakref.finalize(self, container.kill)
        try:
            self._child = Child(command, hello, start_timeout)
        except ChildError as problem:
            raise UserError(f"{self._where}: {problem}") from None
        if "failed" in self._child.ready:
            self._child.end()
            raise UserError(f"{self._where}: {describe_failure(self._child.ready)}")
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
        language_model: Mapping[str, Any] | None = None,
        image: str | None = None,
        engine: str | None = None,
        engine_options: list[str] | None = None,
        start_timeout: float = 600.0,
        step_timeout: float = 60.0,
        **others: object,
    ) -> list[Path]:
        """Return its file, its configuration and recorded answers; nothing is executed."""
        for name, seconds in (("start_timeout", start_timeout), ("step_timeout", step_timeout)):
            if not 0.0 < seconds < math.inf:
                raise UserError(f"{name} is {seconds:g}; seconds above 0 are needed")
        there: AgentFiles = find_agent_files(root, agent, config, None if image else python)
        if image is not None:
            refuse_engine(engine or ENGINES[0])
        for name, value in (("engine", engine), ("engine_options", engine_options)):
            if image is None and value is not None:
                raise UserError(f"system: {name}: only for an image; name one with +…image=IMAGE")
        list_search_paths(there.root, there.agent, paths)
        given = {
            name: value for name, value in (language_model or {}).items() if name != "_target_"
        }
        return [*there.all_files(), *LanguageModel(**given).list_files()]

    def open_attempt(self, place: WorldPlace, *, seed: int, route: Route) -> list[SensorRequest]:
        """Set the agent up with its route; return the sensors that it wants."""
        self._first_frame, self._taken_frame = None, -1
        self._several = bool(place.further)
        if self._proxy is not None:
            try:
                self._proxy.open_attempt(place.attempt)
            except UserError as problem:
                raise AttemptError("agent_setup", f"{self._where}: {problem}") from None
        words: dict[str, Any] = {
            "kind": "begin",
            "seed": seed % 2**32,
            "config": "" if self._files.config is None else str(self._files.config),
            "tick": place.tick_seconds,
            "town": route.town,
            "egos": 1 + len(place.further),
        }
        if self.opens_world:
            words["server"] = {
                "host": place.host,
                "port": place.port,
                "egos": [place.ego_id, *(ego.ego_id for ego in place.further)],
            }
        arrays: dict[str, Any] = {"opendrive": np.frombuffer(place.opendrive.encode(), np.uint8)}
        for number, way in enumerate([route, *(ego.route for ego in place.further)]):
            arrays[f"route {number}"] = np.column_stack([way.xyz, np.degrees(way.yaw)])
            arrays[f"options {number}"] = list_road_options(way)
        try:
            answer, _ = self._ask(words, arrays, self._start_patience)
        except ChildError as problem:
            raise AttemptError("agent_setup", f"{self._where}: {problem}") from None
        try:
            self.requests = read_sensor_list(answer["sensors"], answer.get("agent_name"))
        except UserError as problem:
            line = f"{self._where}: {problem} ({answer['where']})"
            raise AttemptError("agent_setup", line) from None
        return self.requests

    def reset(self, seed: int, route: Route) -> None:
        """Do nothing: `open_attempt` began the attempt."""

    def share(self, observation: Observation) -> Boxes:
        """Return nothing: it is alone."""
        return Boxes.none()

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        """Give it what its sensors gave in this tick; return its pedals and wheel, and no boxes."""
        if not self._several:
            self.take_readings(observation.frame, observation.readings)
        return self.steer_ego(0, observation)

    def join_ego(self, number: int) -> FurtherEgoAgent:
        """Return the system of a further ego, for which the same agent decides."""
        return FurtherEgoAgent(self, number)

    def take_readings(self, frame: int, readings: tuple[SensorReading, ...]) -> None:
        """Take what the sensors of the first ego gave in a tick."""
        self.take_ego_readings(0, frame, readings)

    def take_ego_readings(
        self, number: int, frame: int, readings: tuple[SensorReading, ...]
    ) -> None:
        """Take what the sensors of an ego gave in a tick; an ego that gives none has left."""
        if frame != self._taken_frame:
            self._taken_frame, self._readings, self._controls = frame, {}, {}
        self._readings[number] = readings

    def steer_ego(self, number: int, observation: EgoObservation) -> Step:
        """Return an ego's pedals and wheel in a tick; the agent is asked once for all egos."""
        if not self._controls:
            self._controls = self._ask_controls(observation)
        return Step(self._controls[number], Boxes.none(), Boxes.none())

    def _ask_controls(self, observation: EgoObservation) -> dict[int, Control]:
        """Ask the agent about a tick; return the controls of the egos that gave readings."""
        if self._first_frame is None:
            self._first_frame = observation.frame
        if self._proxy is not None:
            self._proxy.note_frame(observation.frame - self._first_frame)
        given = [(number, one) for number in self._readings for one in self._readings[number]]
        words = {
            "kind": "step",
            "frame": observation.frame,
            "time": observation.time,
            "egos": sorted(self._readings),
            "readings": [[number, one.name, one.kind] for number, one in given],
        }
        arrays = {f"{number} {one.name}": one.values for number, one in given}
        try:
            answer, _ = self._ask(words, arrays, self._patience)
        except ChildError as problem:
            raise AttemptError("agent_exception", f"{self._where}: {problem}") from None
        return {number: read_control(control) for number, control in answer["controls"]}

    def close_attempt(self) -> None:
        """Let it clean up; what fails then changes no record."""
        try:
            self._ask({"kind": "close"}, {}, CLEAN_UP)
        except ChildError as problem:
            print(f"system: {self._where}: destroy: {problem}", file=sys.stderr)
        if self._proxy is not None:
            self._proxy.close_attempt()

    def make_attempt_record(self) -> dict[str, Any]:
        """Return what it asked a language model, for `result.json`; nothing if it asks none."""
        return {} if self._proxy is None else {"language_model": self._proxy.make_record()}

    def make_timing_record(self) -> dict[str, Any]:
        """Return the seconds of each answer of a language model, for `timing.json`."""
        return {} if self._proxy is None else {"language_model": self._proxy.list_seconds()}

    def _stop_waiting(self) -> None:
        """End the child: a question of its has no answer, and it might ask for ever."""
        child = getattr(self, "_child", None)
        if child is not None:
            child.kill()

    def _ask(
        self, words: dict[str, Any], arrays: dict[str, Any], seconds: float
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        try:
            answer, brought = self._child.ask_child(words, arrays, seconds)
        except ChildError:
            self._refuse_unanswered()
            raise
        self._refuse_unanswered()
        if answer["kind"] == "failed":
            raise ChildError(describe_failure(answer))
        return answer, brought

    def _refuse_unanswered(self) -> None:
        """Refuse to go on after a question without answer, whatever the agent made of it."""
        if self._proxy is not None and self._proxy.failure:
            raise ChildError(self._proxy.failure)


class PrivilegedLeaderboardAgent(LeaderboardAgent):
    """The same for agents that open the simulator's world themselves: they may know all of it."""

    opens_world = True


def make_weak_call(owner: object, name: str) -> Callable[[], None]:
    """Return a call of a method that does not keep its owner alive."""
    known = weakref.ref(owner)

    def call() -> None:
        there = known()
        if there is not None:
            getattr(there, name)()

    return call


def read_control(words: Mapping[str, Any]) -> Control:
    """Return pedals and wheel as the child says them."""
    throttle, steer, brake = words["control"]
    return Control(throttle, steer, brake, reverse=words["reverse"], hand_brake=words["hand_brake"])


def describe_failure(answer: Mapping[str, Any]) -> str:
    """Return what failed in the agent, and where, in one line."""
    return f"{answer['failed']} ({answer['where']})"
