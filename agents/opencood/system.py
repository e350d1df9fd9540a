"""A checkpoint of the OpenCOOD and HEAL family drives: their code detects, our driver drives."""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

from agents.driving.driver import Driver
from agents.driving.settings import DrivingSettings
from agents.foreign.process import Child, ChildError
from agents.merging import find_ego_boxes
from agents.opencood import child
from agents.opencood.checkpoint import (
    list_checkpoint_files,
    refuse_absent_python,
    refuse_wrong_numbers,
    resolve_checkout,
)
from agents.opencood.requests import (
    is_without_features,
    make_agent_request,
    make_boxes,
    make_message_request,
)
from harness.common.errors import UserError
from harness.types.drivers import RouteDriver
from harness.types.systems import FusionStage, PerceivingSystem
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    Features,
    Message,
    Observation,
    Payload,
    Perceived,
    Points,
    Pose,
    Route,
)

FAR_END = Path(child.__file__).parent
Sent = Literal["points", "features"]


class OpenCood(PerceivingSystem):
    """Detects with a checkpoint's own code; partners send boxes, points or features."""

    has_separate_python = True
    reads_points = True
    reads_messages = True

    def __init__(
        self,
        root: str,  # folder of the checkout
        checkpoint: str,  # folder with config.yaml and net_epoch*.pth
        *,
        python: str = "python",  # the interpreter in which the checkout runs
        weights: str | None = None,  # null: those of the folder; random: none are read
        messages: Sent | None = None,  # null: features where they can be cut, else points
        modalities: list[str] | None = None,  # of partners in turn, as m1; null: all usable
        mirrored: bool | None = None,  # y to the left in their LiDAR frame; null: by data set
        lift: float = 0.0,  # m added to the heights that the network sees
        score_threshold: float | None = None,  # 0 to 1; null: that of config.yaml
        cut_range: float | None = None,  # m; ranges of config.yaml are cut to it; null: not
        start_timeout: float = 600.0,  # s until the network is loaded
        step_timeout: float = 300.0,  # s
        driving: DrivingSettings | None = None,  # settings of the shared driver; null: defaults
    ) -> None:
        # what is missing is said before a process starts
        self.files(
            root,
            checkpoint,
            python=python,
            weights=weights,
            lift=lift,
            score_threshold=score_threshold,
            cut_range=cut_range,
            start_timeout=start_timeout,
            step_timeout=step_timeout,
        )
        self._scratch = tempfile.TemporaryDirectory(prefix="opencood-")
        hello = {
            "root": str(resolve_checkout(root)),
            "checkpoint": str(Path(checkpoint).expanduser().absolute()),
            "weights": weights,
            "folder": self._scratch.name,
            "messages": messages,
            "mirrored": mirrored,
            "cameras": bool(getattr(self, "reads_images", False)),
            "threshold": score_threshold,
            "range": cut_range,
        }
        try:
            self._child = Child([python, str(FAR_END)], hello, start_timeout)
        except ChildError as problem:
            text = f"system: {checkpoint} by {python}: {problem}"
            raise UserError(text + suggest_interpreter(text)) from None
        self.properties: dict[str, Any] = self._child.ready
        if "failed" in self.properties:
            self._child.end()
            failed, where = self.properties["failed"], self.properties["where"]
            text = f"system: {checkpoint} by {python}: {failed} ({where})"
            raise UserError(text + suggest_interpreter(text))
        for note in self._child.notes:
            print(f"system: {checkpoint}: {note}", file=sys.stderr)
        self._choices = self._choose_modalities(modalities)
        self._patience, self._lift = step_timeout, lift
        self._driver: RouteDriver = Driver(driving)
        self._given: dict[str, str] = {}

    @classmethod
    def files(
        cls,
        root: str,
        checkpoint: str,
        *,
        python: str = "python",
        weights: str | None = None,
        **others: object,
    ) -> list[Path]:
        """Return settings and weights; what they hold is not looked at."""
        resolve_checkout(root)
        refuse_absent_python(python)
        refuse_wrong_numbers(others)
        return list_checkpoint_files(checkpoint, weights)

    @property
    def fusion_stage(self) -> FusionStage:
        """Where agents are fused; features that cannot be cut travel as points."""
        stage: FusionStage = self.properties["stage"]
        return stage if self.reads_messages else "none"

    @property
    def sends(self) -> str:
        """What a message holds: `boxes`, `points` or `features`."""
        return str(self.properties["sends"])

    def _choose_modalities(self, given: list[str] | None) -> list[str]:
        usable: list[str] = self.properties["modalities"]
        wrong = [name for name in given or [] if name not in usable]
        if wrong:
            raise UserError(
                f"system: modalities: {wrong[0]} cannot be had; partners may have"
                f" {', '.join(usable)}"
            )
        return given or usable

    @property
    def driver(self) -> RouteDriver:
        """The driver that drives by the boxes."""
        return self._driver

    def use_driver(self, driver: RouteDriver) -> None:
        """Drive with this driver from the next reset on."""
        self._driver = driver

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt: no partner has a modality yet."""
        self._driver.reset(route)
        self._given = {}
        self._child.ask_child({"kind": "reset", "seed": seed % 2**32}, {}, self._patience)

    def share(self, observation: Observation) -> Payload:
        """Return what a partner sends by this checkpoint's scheme."""
        if self.sends == "points":
            return Points(observation.points_in_lidar)
        modality = self._give_modality(observation.sender)
        words, arrays = make_agent_request(observation, modality, self._lift)
        _, answer = self._ask_child("share", [words], arrays)
        if self.sends == "boxes":
            return make_boxes("sent", answer, self._lift)
        return Features((answer["features"],) if "features" in answer else ())

    def detect_alone(self, observation: Observation) -> Boxes:
        """Return what the checkpoint detects in one agent's data, with the ego's encoder."""
        words, arrays = make_agent_request(observation, self.properties["ego_modality"], self._lift)
        _, answer = self._ask_child("perceive", [words], arrays)
        return make_boxes("alone", answer, self._lift)

    def perceive(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Perceived:
        """Detect with the messages, and in the ego's own data."""
        modality = self.properties["ego_modality"]
        words, arrays = make_agent_request(observation, modality, self._lift, observation.speed)
        agents = [words]
        # nearest first: their code takes a number of agents
        for message in self._select_nearest(messages, observation.lidar_in_world):
            modality = self._give_modality(message.sender)
            said, brought = make_message_request(message, modality, self._lift, observation.time)
            agents.append(said)
            arrays.update(brought)
        _, answer = self._ask_child("perceive", agents, arrays)
        alone = self._leave_out_ego(make_boxes("alone", answer, self._lift), observation)
        if len(agents) == 1:
            return Perceived(alone, alone)
        together = make_boxes("together", answer, self._lift)
        return Perceived(self._leave_out_ego(together, observation), alone)

    def drive(self, observation: EgoObservation, boxes: Boxes) -> Control:
        """Drive by the boxes."""
        return self._driver.step(observation, boxes)

    def _give_modality(self, sender: str) -> str:
        """Return a partner's modality: the next one for a partner that is new in the attempt."""
        place = len(self._given) % len(self._choices)
        return self._given.setdefault(sender, self._choices[place])

    def _select_nearest(self, messages: tuple[Message, ...], ego: Pose) -> list[Message]:
        """Return as many partners as the checkpoint takes, nearest first."""
        usable = [message for message in messages if not is_without_features(message)]
        by_distance = sorted(
            usable,
            key=lambda message: math.hypot(
                message.lidar_in_world.x - ego.x, message.lidar_in_world.y - ego.y
            ),
        )
        return by_distance[: self.properties["most_agents"] - 1]

    def _ask_child(
        self, kind: str, agents: list[dict[str, Any]], arrays: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        words, answer = self._child.ask_child(
            {"kind": kind, "agents": agents}, arrays, self._patience
        )
        if words["kind"] == "failed":
            raise ChildError(f"{words['failed']} ({words['where']})")
        return words, answer

    @staticmethod
    def _leave_out_ego(boxes: Boxes, observation: EgoObservation) -> Boxes:
        return boxes[~find_ego_boxes(boxes, observation.lidar_in_vehicle)]


def suggest_interpreter(text: str) -> str:
    """Return what to do about a package that the interpreter does not have; else nothing."""
    absent = "ModuleNotFoundError: No module named '"
    if absent not in text or absent + "opencood" in text:
        return ""
    return "; python: name the interpreter in which the checkout runs"


class OpenCoodAlone(OpenCood):
    """The same without partners."""

    reads_messages = False


class OpenCoodCameras(OpenCood):
    """The same for configurations in which an agent reads images: cameras run."""

    reads_images = True
