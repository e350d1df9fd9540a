"""The place between perception and driving: an intervention, what it changed, how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.campaign.attempt.meetings import compute_seconds_to_meeting
from harness.campaign.attempt.planning_step import SensedStep, SharedStep
from harness.campaign.folder.inputs import refuse_file_changes
from harness.campaign.settings.config import INTERVENTION, build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.common.errors import AttemptError, UserError
from harness.common.randomness import derive_seed
from harness.evaluation.frame_evaluation import EvaluationSettings
from harness.evaluation.interventions.intervention import CHANGES, BoxChange, Intervention, Scene
from harness.evaluation.interventions.meeting_window import WINDOW_PARTS
from harness.records.arms import NONE, Arm
from harness.records.schema import BOX_CHANGES
from harness.types.record_names import DIFFERENCES
from harness.types.systems import (
    PerceivingSystem,
    PrivilegedPerceivingSystem,
    is_privileged,
)
from harness.types.vocabulary import (
    CLASSES,
    Boxes,
    EgoObservation,
    GroundTruth,
    Message,
    Perceived,
)
from harness.world.hazards.hazard import Hazard

AXES = ("x", "y", "z", "length", "width", "height", "yaw")


class InterveningSystem:
    """Changes the boxes that a system perceived, before it drives by them.

    Attributes:
        hazards: those that were placed; a window counts from the meeting with them.
    """

    hazards: Sequence[Hazard] = ()

    def __init__(self, name: str, intervention: Intervention, settings: EvaluationSettings) -> None:
        self._name, self._intervention, self._settings = name, intervention, settings
        self._steps = self._changed = 0
        self._counts: Counter[tuple[str, str]] = Counter()
        self._steps_in: Counter[str] = Counter()  # planning steps by part of the drive
        self._columns: dict[str, list[Any]] = {column: [] for column in BOX_CHANGES.names}

    def change_boxes(
        self,
        perceived: Perceived,
        *,
        system: PerceivingSystem | PrivilegedPerceivingSystem,
        sensed: SensedStep,
        shared: SharedStep,
        first_frame: int,
        first_id: int,
    ) -> Perceived:
        """Return the boxes to drive by; what the ego saw alone stays as it was."""
        truth, observation = sensed.truth, shared.observation
        self._steps += 1
        if not self._acts_now(sensed):
            return perceived
        # perceive by messages on time: captured now, nothing disturbed, poses as they are
        on_time: Boxes | None = None
        if self._intervention.needs_on_time:
            true_observation = replace(observation, lidar_in_world=sensed.scan.lidar_in_world)
            on_time = perceive_step(system, true_observation, shared.captured, truth).cooperative
        # change: ids count from the ego's, as in the records
        actors = truth.actor_ids - first_id
        scene = Scene(
            perceived=perceived,
            truth=truth,
            hits_observers=sensed.hits_counted,
            settings=self._settings,
            parked=sensed.parked,
            lidar_in_world=sensed.scan.lidar_in_world,
            actors=actors,
            on_time=on_time,
        )
        result = self._intervention.apply(scene)
        # record
        self._changed += bool(result.changes)
        for change in result.changes:
            actor = int(actors[change.actor]) if change.actor >= 0 else 0
            self._add_change(observation.frame - first_frame, change, actor)
        return Perceived(result.cooperative, perceived.ego_alone)

    def _acts_now(self, sensed: SensedStep) -> bool:
        """Return whether the window is open at this step, and count the step."""
        window = self._intervention.window
        if window is None:
            return True
        part = window.find_part(compute_seconds_to_meeting(self.hazards, sensed.state))
        if part is not None:
            self._steps_in[part] += 1
        return window.is_open_in(part)

    def _add_change(self, frame: int, change: BoxChange, actor: int) -> None:
        self._counts[change.kind, change.pattern] += 1
        row: dict[str, Any] = {
            "frame": frame,
            "change": change.kind,
            "pattern": change.pattern,
            "class": CLASSES[change.of_class],
            "actor_id": actor,
            "score": change.score,
            **{f"before_{axis}": value for axis, value in zip(AXES, change.before, strict=True)},
            **{f"after_{axis}": value for axis, value in zip(AXES, change.after, strict=True)},
        }
        for column, value in row.items():
            self._columns[column].append(value)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """What `box_changes.parquet` holds."""
        return self._columns

    def make_record(self) -> dict[str, Any]:
        """Return what the intervention is and did; `changed` is the steps with any change."""
        counts: dict[str, Any] = {
            kind: {
                name: self._counts[kind, name] for name in DIFFERENCES if self._counts[kind, name]
            }
            for kind in CHANGES
        }
        settings = self._settings
        record = self._intervention.record()
        if self._intervention.window is not None:
            # no steps at all: no hazard with a meeting was placed, and nothing was changed
            record["window"] |= {"steps": {part: self._steps_in[part] for part in WINDOW_PARTS}}
        return {
            "name": self._name,
            **record,
            "truth_filter": settings.truth_filter,
            "rule": settings.rule,
            "steps": self._steps,
            "changed": self._changed,
            **counts,
        }


def perceive_step(
    system: PerceivingSystem | PrivilegedPerceivingSystem,
    observation: EgoObservation,
    messages: tuple[Message, ...],
    truth: GroundTruth,
) -> Perceived:
    """Return what a system detects; a privileged one is given the ground truth."""
    if is_privileged(system):
        return system.perceive(observation, messages, truth)
    return system.perceive(observation, messages)


def build_arm_intervention(
    settings: CampaignSettings, arm: Arm, seed: int, ego: int = 0
) -> InterveningSystem | None:
    """Return the intervention of an arm, at its start; nothing for an arm without one.

    Args:
        settings: of the campaign.
        arm: of the attempt.
        seed: of the attempt.
        ego: number of the ego that drives by the boxes, from 0; each has samples of its own.
    """
    name = arm[INTERVENTION]
    if name == NONE:
        return None
    try:
        refuse_file_changes(settings, name, INTERVENTION)
        made: Intervention = build_part(settings["intervention"][name], f"{INTERVENTION}.{name}")
        if ego:
            seed = derive_seed(seed, INTERVENTION, str(ego))
        made.reset(seed, settings["tick"] * settings["perceive_every"])
    except (UserError, ValueError) as problem:
        raise AttemptError("agent_setup", str(problem)) from None
    return InterveningSystem(name, made, build_part(settings["patterns"], "patterns"))
