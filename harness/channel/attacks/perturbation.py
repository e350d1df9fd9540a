"""Perturbation: a bounded change of an insider's feature maps, found by gradient at every message.

Projected gradient descent (Madry et al., ICLR 2018) on the maps that are sent, as Tu et al.
(Adversarial Attacks on Multi-Agent Communication, ICCV 2021) do it: steps along the sign of the
gradient, kept within a bound of each value. Goals are those of Zhang et al. (USENIX Security 2024):
road users that the ego shall not detect, or one that does not exist. Knowledge is a setting: with
the ego's own maps, with the network alone, with another network's fusion and heads, or with
nothing, which is noise of the same bound and the placebo. Maps of other partners are never known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from harness.channel.attacks.attack import WORLD, LossChange, LyingMessage
from harness.channel.attacks.ghost import GhostPlan
from harness.channel.attacks.hidden import CorridorAttack
from harness.channel.disturbance import PARTNERS, cannot_touch, refuse_negative
from harness.common.errors import UserError
from harness.types.geometry import compute_relative_pose, transform_boxes
from harness.types.gradients import GOALS, FeatureObjective, ObjectiveRequest
from harness.types.vocabulary import Boxes, Features, Kind, Message, Singles

Knowledge = Literal["victim", "network", "surrogate", "none"]
KNOWLEDGE = {
    "victim": "the system's network, and the ego's own feature maps",
    "network": "the system's network; its own maps stand for those of the ego",
    "surrogate": "the fusion and heads of another network; its own maps stand for those of the ego",
    "none": "nothing: noise within the bound",
}
STEP_SHARE = 2.5
"""Of the bound, that all steps have together: Madry et al. take 2.5, so that it can be reached."""


class PerturbationAttack(CorridorAttack):
    """Feature maps are changed within a bound, so that the ego's network misses or makes up."""

    safe_from_file = True
    name = "perturbation_attack"
    goal = "the ego does not detect road users on its way, or detects one that does not exist"
    payloads = (Features,)
    needs_gradients = True

    def __init__(
        self,
        *,
        partners: int | None = 1,  # that lie at once; null: by share
        share: float | None = None,  # of the partners that lie, 0 to 1; null: by number
        start: float = 0.0,  # s after the first planning step
        kinds: Sequence[Kind] = PARTNERS,  # agents that may lie: roadside, vehicle
        egos: Sequence[int] | None = None,  # driven egos that are lied to, from 0; null: all
        aim: Literal["hide", "create"] = "hide",  # hide, or create
        knowledge: Knowledge = "victim",  # victim, network, surrogate or none
        surrogate: str | None = None,  # scheme of the surrogate network; null unless it is needed
        bound: float = 1.0,  # of the change of each value of a map (L-infinity)
        steps: int = 10,  # of gradient descent for each message
        ahead: float = 60.0,  # m of the ego's way on which road users are hidden
        aside: float = 6.0,  # m from the way
        most: int | None = None,  # road users hidden by a message, the nearest first; null: all
        distance: float = 25.0,  # m ahead of the ego where a car is first created
        hold: float | None = None,  # s for which it stands; null: until it is passed
        pause: float = 5.0,  # s between two that were not passed
    ) -> None:
        super().__init__(
            partners=partners,
            share=share,
            start=start,
            kinds=kinds,
            egos=egos,
            ahead=ahead,
            aside=aside,
            most=most,
        )
        for setting, value, valid in (
            ("aim", aim, GOALS),
            ("knowledge", knowledge, get_args(Knowledge)),
        ):
            if value not in valid:
                raise UserError(f"{self.name}.{setting} = {value}: one of {', '.join(valid)}")
        if (knowledge == "surrogate") != (surrogate is not None):
            raise UserError(
                f"{self.name}: knowledge = {knowledge} and surrogate = {surrogate}: a scheme such"
                " as attfuse is needed with knowledge = surrogate, and null else"
            )
        refuse_negative(self.name, "", bound=bound)
        if steps < 1:
            raise UserError(f"{self.name}.steps = {steps}: must be ≥ 1")
        self.aim, self.surrogate, self.bound, self.steps = aim, surrogate, bound, steps
        self.level, self.knowledge = knowledge, KNOWLEDGE[knowledge]
        self.plan = GhostPlan(self.name, distance=distance, hold=hold, pause=pause, score=1.0)

    @property
    def size_zero(self) -> bool:
        """Whether no partner ever lies, or nothing may be changed."""
        return super().size_zero or not self.bound

    def reset(self, seed: int, route: str) -> None:
        """Start an episode without a created road user."""
        super().reset(seed, route)
        self.plan.reset()

    def lie_in_message(self, message: Message) -> LyingMessage:
        """Return the message with changed feature maps; as it is where there is no target."""
        honest = message.payload
        if not isinstance(honest, Features):
            raise cannot_touch(self, message)
        targets = self.find_targets_in_world()
        # the loss of the ego itself is measured for the records, whatever the insider knows
        of_ego = self._make_objective(message, honest, targets, self.level, measure=True)
        if of_ego is None:
            return LyingMessage(message=message)
        if self.level == "none":
            altered = self._add_noise(message, honest)
        elif self.level == "victim":
            altered = descend_gradient(of_ego, honest, bound=self.bound, steps=self.steps)
        else:
            known = self._make_objective(message, honest, targets, self.level)
            if known is None:
                return LyingMessage(message=message)
            altered = descend_gradient(known, honest, bound=self.bound, steps=self.steps)
        if altered is honest:
            return LyingMessage(message=message)
        return LyingMessage(
            message=replace(message, payload=altered),
            added=targets if self.aim == "create" else None,
            gone=targets if self.aim == "hide" else None,
            loss=LossChange(before=of_ego.measure_loss(honest), after=of_ego.measure_loss(altered)),
        )

    def find_targets_in_world(self) -> Boxes:
        """Return the road users to hide, or the one to create, in the world."""
        assert self.scene is not None
        if self.aim == "create":
            return self.plan.find_ghost(self.scene.route, self.elapsed)
        return self.find_targets_of_points()

    def _make_objective(
        self,
        message: Message,
        honest: Features,
        targets: Boxes,
        level: str,
        *,
        measure: bool = False,
    ) -> FeatureObjective | None:
        """Return the loss as an insider of this knowledge has it; None without a target."""
        scene, system = self.scene, self.system
        assert scene is not None
        assert system is not None, f"{self.name}: no system was given"
        if not len(targets):
            return None
        ego = scene.ego_lidar_in_world
        return system.make_objective(
            ObjectiveRequest(
                goal=self.aim,
                targets_in_ego=transform_boxes(targets, WORLD, ego),
                sender_in_ego=compute_relative_pose(message.lidar_in_world, ego),
                ego_lidar_in_world=ego,
                honest=honest,
                ego=scene.ego if measure or level == "victim" else None,
                surrogate=None if measure else self.surrogate,
            )
        )

    def _add_noise(self, message: Message, honest: Features) -> Features:
        """Return maps with the bound added or subtracted, each value at random."""
        random = self.random("noise", message.sender, str(message.capture_frame - self.first_frame))
        signs = [random.choice([-1.0, 1.0], level.shape) for level in honest.maps]
        changes = [np.asarray(sign * self.bound, np.float32) for sign in signs]
        return add_to_maps(honest, changes)


def descend_gradient(
    objective: FeatureObjective, honest: Features, *, bound: float, steps: int
) -> Features:
    """Return the maps with the lowest loss that projected gradient descent meets.

    Args:
        objective: the loss.
        honest: maps from which it begins.
        bound: of the change of each value.
        steps: along the sign of the gradient.

    Returns:
        Maps in which no value is changed by more than the bound; the same object where no step
        lowers the loss.
    """
    size = np.float32(STEP_SHARE * bound / steps)
    changes: list[Singles] = [np.zeros_like(level) for level in honest.maps]
    best, lowest, current = honest, math.inf, honest
    for _ in range(steps):
        loss, gradients = objective.compute_gradient(current)
        if loss < lowest:
            best, lowest = current, loss
        changes = [
            np.clip(change - size * np.sign(gradient), -bound, bound).astype(np.float32)
            for change, gradient in zip(changes, gradients, strict=True)
        ]
        current = add_to_maps(honest, changes)
    return current if objective.measure_loss(current) < lowest else best


def add_to_maps(features: Features, changes: Sequence[Singles]) -> Features:
    """Return features of the same type with changes of each map added."""
    maps = tuple(level + change for level, change in zip(features.maps, changes, strict=True))
    return replace(features, maps=maps)


def measure_change(features: Features, honest: Features) -> float:
    """Return the largest change of a value between maps of equal shapes (L-infinity)."""
    return max(
        float(np.abs(level.astype(np.float64) - other).max(initial=0.0))
        for level, other in zip(features.maps, honest.maps, strict=True)
    )
