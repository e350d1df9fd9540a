"""Attacks and defences of an attempt: what insiders are shown, what is rejected, what is believed.

Lies are measured where messages reach the ego, before the defence; whether they are believed is
measured in the boxes that the system answers with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import carla
import numpy as np

from harness.campaign.attempt.blame import SetUpBlame
from harness.campaign.attempt.intervening import perceive_step
from harness.campaign.attempt.planning_step import EGO, SensedStep
from harness.campaign.attempt.sensing import make_observation
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.defences import build_arm_defence
from harness.channel.attacks.attack import (
    EGO_BODY,
    WORLD,
    Attack,
    AttackScene,
    Lie,
    find_same_boxes,
)
from harness.channel.attacks.perturbation import measure_change
from harness.channel.attacks.route_corridor import RouteCorridor
from harness.channel.channel import Channel
from harness.channel.defences.defence import (
    Defence,
    DefenceScene,
    Judgement,
    apply_judgements,
)
from harness.channel.effects import Window
from harness.records.arms import Arm
from harness.records.schema import ATTACKS, DEFENCES, PERTURBED
from harness.types.geometry import transform_boxes
from harness.types.gradients import has_gradient_path
from harness.types.systems import PrivilegedSystem, System, is_perceiving_system
from harness.types.vocabulary import (
    Boxes,
    EgoObservation,
    Features,
    Floats,
    GroundTruth,
    Kind,
    Mask,
    Message,
    Pose,
)
from harness.world.attempt_context import AttemptContext

OFF_LANE = 2.0
"""Metres from the edge of a lane at which a vehicle still counts as on the road."""
ON_ROAD = (
    carla.LaneType.Driving | carla.LaneType.Parking | carla.LaneType.Shoulder
    | carla.LaneType.Bidirectional
)  # fmt: skip
"""Lanes on which vehicles stand or drive."""


class AttemptSecurity:
    """The attack and the defence of an arm, and their tables as they grow."""

    def __init__(
        self,
        channel: Channel,
        defence: Defence | None,
        context: AttemptContext,
        system: System | PrivilegedSystem,
    ) -> None:
        self.attack: Attack | None = channel.attacks[0] if channel.attacks else None
        if self.attack is not None and self.attack.needs_gradients:
            assert has_gradient_path(system)  # refused at planning
            self.attack.system = system
        self.defence = defence
        self.seconds = 0.0  # wall-clock, in the defence
        by_gradient = self.attack is not None and self.attack.needs_gradients
        perturbed = [field.name for field in PERTURBED] if by_gradient else []
        self.attacks: dict[str, list[Any]] = {name: [] for name in [*ATTACKS.names, *perturbed]}
        self.defences: dict[str, list[Any]] = {name: [] for name in DEFENCES.names}
        self._channel = channel
        self._corridor = RouteCorridor(context.route)
        self._town = context.map
        self._system = system
        self._judgements: list[Judgement] = []
        self._arrived: tuple[Message, ...] = ()

    def show_scene(self, sensed: SensedStep, users_in_world: Boxes) -> None:
        """Let insiders know what stands around, before partners send.

        Args:
            sensed: of this planning step.
            users_in_world: road users; the ego, where it is among them, is left out.
        """
        if self.attack is None:
            return
        ego = sensed.scan.lidar_in_world
        self._corridor.follow_ego(ego)
        away = np.hypot(*(users_in_world.geometry[:, :2] - [ego.x, ego.y]).T)
        self._channel.note_attack_scene(
            AttackScene(
                time=sensed.scan.time,
                ego_lidar_in_world=ego,
                route=self._corridor,
                present=self._list_present(sensed),
                users_in_world=users_in_world[away > EGO_BODY],
                ego=make_observation(sensed.scan, sender=EGO, kind=EGO)
                if self.attack.needs_gradients
                else None,
            )
        )

    @staticmethod
    def _list_present(sensed: SensedStep) -> Mapping[str, Kind]:
        return {partner.sender: partner.kind for partner, _ in sensed.shared}

    def judge_messages(
        self,
        observation: EgoObservation,
        messages: tuple[Message, ...],
        truth: GroundTruth,
    ) -> tuple[Message, ...]:
        """Return what the defence leaves of the messages that have arrived.

        Args:
            observation: of the ego.
            messages: those that have arrived.
            truth: for privileged systems, where a defence asks what the ego perceives alone.
        """
        self._arrived, self._judgements = messages, []
        if self.defence is None:
            return messages
        began = time.perf_counter()
        scene = DefenceScene(
            observation=observation,
            ego_boxes=self._perceive_alone(observation, truth),
            find_on_road=self.find_on_road,
            perceive_with=self._make_fusion(observation, truth),
        )
        self._judgements = self.defence.judge_messages(scene, messages)
        left = apply_judgements(messages, self._judgements)
        self.seconds += time.perf_counter() - began
        return left

    def _perceive_alone(self, observation: EgoObservation, truth: GroundTruth) -> Boxes | None:
        """Return what the ego perceives without messages, if the defence asks."""
        if self.defence is None or not self.defence.needs_ego_boxes:
            return None
        assert is_perceiving_system(self._system)  # refused at planning
        return perceive_step(self._system, observation, (), truth).ego_alone

    def _make_fusion(
        self, observation: EgoObservation, truth: GroundTruth
    ) -> Callable[[Sequence[Message]], Boxes] | None:
        """Return what gives the ego's perception with some messages, if the defence asks."""
        system = self._system
        if self.defence is None or not self.defence.needs_fusion:
            return None
        assert is_perceiving_system(system)  # refused at planning
        return lambda chosen: perceive_step(system, observation, tuple(chosen), truth).cooperative

    def find_on_road(self, points_in_world: Floats) -> Mask:
        """Return whether each of (N, 3) points is on a lane of the town, or close to one."""
        near = []
        for x, y, z in points_in_world.tolist():
            place = carla.Location(x, y, z)
            lane = self._town.get_waypoint(place, project_to_road=True, lane_type=ON_ROAD)
            centre = None if lane is None else lane.transform.location
            near.append(
                lane is not None
                and centre is not None
                and np.hypot(centre.x - x, centre.y - y) <= lane.lane_width / 2 + OFF_LANE
            )
        return np.array(near, np.bool_)

    def note_answer(self, frame: int, ego_lidar_in_world: Pose, cooperative: Boxes) -> None:
        """Add what was stated, rejected and believed at a planning step to the tables.

        Args:
            frame: the simulator's tick.
            ego_lidar_in_world: where the ego's LiDAR is.
            cooperative: the boxes that the system answers with, in the ego's LiDAR frame.
        """
        perceived = transform_boxes(cooperative, ego_lidar_in_world, WORLD)
        window = self._channel.audit.window
        for message in self._arrived:
            of_sender = [one for one in self._judgements if one.message.sender == message.sender]
            lie = self._find_lie(message)
            # rejected boxes of all checks, in the world
            rejected = [place_rejected_boxes(judgement) for judgement in of_sender]
            if lie is not None:
                added, gone = (
                    crop_to_ego(boxes, ego_lidar_in_world, window)
                    for boxes in (lie.added, lie.gone)
                )
                row = {
                    "frame": frame,
                    "sender": message.sender,
                    "capture_frame": message.capture_frame,
                    "added": len(added),
                    "stopped": int(find_same_boxes(added, Boxes.join(rejected)).sum()),
                    "believed": int(find_same_boxes(added, perceived).sum()),
                    "gone": len(gone),
                    "missed": int((~find_same_boxes(gone, perceived)).sum()),
                    "moved": lie.moved,
                    "content_age": lie.content_age,
                    "passed": not any(one.whole for one in of_sender),
                }
                if lie.loss is not None:
                    row |= {
                        "perturbation": self._measure_perturbation(message),
                        "loss_before": lie.loss.before,
                        "loss_after": lie.loss.after,
                    }
                for name, value in row.items():
                    self.attacks[name].append(value)
            for judgement, boxes in zip(of_sender, rejected, strict=True):
                false = 0 if lie is None else int(find_same_boxes(boxes, lie.added).sum())
                row = {
                    "frame": frame,
                    "sender": message.sender,
                    "capture_frame": message.capture_frame,
                    "check": judgement.check,
                    "lies": lie is not None,
                    "boxes": len(judgement.kept),
                    "rejected": len(boxes),
                    "rejected_added": false,
                    "whole": judgement.whole,
                }
                for name, value in row.items():
                    self.defences[name].append(value)

    def _measure_perturbation(self, message: Message) -> float:
        """Return the largest change of a value between the maps that arrived and those captured."""
        captured = self._channel.find_captured(message.sender, message.capture_frame)
        assert isinstance(captured, Features)
        assert isinstance(message.payload, Features)
        return measure_change(message.payload, captured)

    def _find_lie(self, message: Message) -> Lie | None:
        if self.attack is None:
            return None
        return self.attack.lies.get((message.sender, message.capture_frame))

    @property
    def tables(self) -> dict[str, dict[str, list[Any]]]:
        """The tables that an attempt of this arm has."""
        tables = {}
        if self.attack is not None:
            tables["attacks"] = self.attacks
        if self.defence is not None:
            tables["defences"] = self.defences
        return tables

    def build_record(self) -> dict[str, Any]:
        """Return the parts of `result.json` on the attack and the defence; nothing without one."""
        record: dict[str, Any] = {}
        if self.attack is not None:
            table = self.attacks
            record["attack"] = {
                "name": self.attack.name,
                "goal": self.attack.goal,
                "knowledge": self.attack.knowledge,
                "lying_messages": len(self.attack.lies),
                "insiders": len({sender for sender, _ in self.attack.lies}),
                **{
                    name: int(sum(table[name]))
                    for name in ("added", "stopped", "believed", "gone", "missed")
                },
                "uses": len(table["frame"]),
            }
        if self.defence is not None:
            table = self.defences
            record["defence"] = {
                "name": self.defence.name,
                "judged": len(table["frame"]),
                "rejected_messages": int(sum(table["whole"])),
                "rejected_boxes": int(sum(table["rejected"])),
            }
        return record


def place_rejected_boxes(judgement: Judgement) -> Boxes:
    """Return the rejected boxes of a message in the world; none of other payloads."""
    message = judgement.message
    if not isinstance(message.payload, Boxes):
        return Boxes.none()
    rejected = message.payload[judgement.rejected_boxes]
    return transform_boxes(rejected, message.lidar_in_world, WORLD)


def crop_to_ego(boxes_in_world: Boxes, ego_lidar_in_world: Pose, window: Window) -> Boxes:
    """Return the boxes whose centres are in the system's window, without the ego itself."""
    in_lidar = transform_boxes(boxes_in_world, WORLD, ego_lidar_in_world).geometry
    inside = np.all(np.abs(in_lidar[:, :2]) <= window, axis=1)
    return boxes_in_world[inside & (np.hypot(*in_lidar[:, :2].T) > EGO_BODY)]


def set_up_defence(settings: CampaignSettings, arm: Arm) -> Defence | None:
    """Return the defence of an arm; None where nothing judges messages.

    Raises:
        AttemptError: class `agent_setup`: the defence cannot be made.
    """
    with SetUpBlame():
        return build_arm_defence(settings, arm)
