"""Insiders: partners with valid keys that lie in what they send; and what is known of their lies.

An attack declares a goal, its knowledge and its budget: which partners lie, from when, how much.
It acts before disturbances, and is counted as they are: where messages reach the system (decision
0122). Its vocabulary is that of van der Heijden et al. (Survey on Misbehavior
Detection in Cooperative Intelligent Transportation Systems, IEEE COMST 2019): an insider is a
station with a valid certificate, so that signatures do not help.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.channel.attacks.route_corridor import RouteCorridor
from harness.channel.disturbance import PARTNERS, Disturbance, cannot_touch, refuse_negative
from harness.channel.effects import NO_SHIFT, Shift, apply_pose_shifts
from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.types.geometry import transform_boxes
from harness.types.gradients import GradientSystem
from harness.types.vocabulary import (
    Boxes,
    Features,
    Kind,
    Mask,
    Message,
    Observation,
    Payload,
    Points,
    Pose,
)

WORLD = Pose(0.0, 0.0)
EGO_BODY = 2.5
"""Metres from the ego's LiDAR within which a box from above is the ego itself."""
SAME_PLACE = 1.0
"""Metres between the centres of two boxes of one class that state the same road user."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AttackScene:
    """What insiders know at a planning step: the ego's place and way, and road users around them.

    Attributes:
        present: kinds of the partners in range, by name.
        users_in_world: all road users but the ego, as an insider's perfect perception has them.
        ego: what the ego senses, for insiders that know it; None where no attack asks.
    """

    time: float  # s of simulated time
    ego_lidar_in_world: Pose
    route: RouteCorridor
    present: Mapping[str, Kind]
    users_in_world: Boxes
    ego: Observation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LossChange:
    """The loss of an attack's goal at the ego's network, with this message alone."""

    before: float
    after: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lie:
    """What one message states against the knowledge of its sender.

    Attributes:
        added: boxes in the world that the sender did not perceive.
        gone: boxes in the world that it perceived and does not state.
        moved: metres between the stated and the believed place of the sender's LiDAR.
        content_age: seconds by which the content is older than the message says.
        loss: of the goal, where the attack is by gradient.
    """

    added: Boxes
    gone: Boxes
    moved: float = 0.0
    content_age: float = 0.0
    loss: LossChange | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LyingMessage:
    """A message as an insider sends it; where its payload is boxes, the lie follows from it.

    Attributes:
        added: for other payloads, boxes in the world that it makes appear.
        gone: for other payloads, boxes in the world that it makes disappear.
    """

    message: Message
    added: Boxes | None = None
    gone: Boxes | None = None
    content_age: float = 0.0  # s
    loss: LossChange | None = None


class Attack(Disturbance):
    """Partners that lie: subclasses say how.

    Attributes:
        goal: what the insiders want, in words.
        knowledge: what they know, in words.
        payloads: types of payload that the attack can act on.
        needs_gradients: whether it asks the system for gradients by what partners send.
        system: that is attacked, where gradients are needed.
        surrogate: scheme whose network an attack by gradient uses instead; None: the system's.
        liars: partners that lie at this planning step.
        lies: by sender and frame of capture.
        lying_seconds: wall-clock in which lies were made.
    """

    name = "attack"
    goal = ""
    knowledge = ""
    payloads: tuple[type[Payload], ...] = (Boxes, Points, Features)
    needs_gradients = False
    system: GradientSystem | None = None
    surrogate: str | None = None
    lying_seconds = 0.0

    def __init__(
        self,
        *,
        partners: int | None = 1,  # that lie at once; null: by share
        share: float | None = None,  # of the partners that lie, 0 to 1; null: by number
        start: float = 0.0,  # s after the first planning step
        kinds: Sequence[Kind] = PARTNERS,  # agents that may lie: roadside, vehicle
        egos: Sequence[int] | None = None,  # driven egos that are lied to, from 0; null: all
    ) -> None:
        super().__init__(kinds)
        if (partners is None) == (share is None):
            raise UserError(
                f"{self.name}: partners = {partners} and share = {share}: set one, the other to"
                " null"
            )
        if partners is not None and partners < 0:
            raise UserError(f"{self.name}.partners = {partners}: must be ≥ 0")
        if share is not None and not 0 <= share <= 1:
            raise UserError(f"{self.name}.share = {share}: must be from 0 to 1")
        if egos is not None:
            numbers = not isinstance(egos, str) and all(type(ego) is int for ego in egos)
            if not egos or not numbers or min(egos) < 0 or len(set(egos)) < len(egos):
                raise UserError(
                    f"{self.name}.egos = {egos}: must be numbers from 0, each once, or null"
                )
        refuse_negative(self.name, "s", start=start)
        self.partners, self.share, self.start, self.egos = partners, share, start, egos
        self.scene: AttackScene | None = None
        self.liars: set[str] = set()
        self.lies: dict[tuple[str, int], Lie] = {}
        self._began: float | None = None
        self._recruited: list[str] = []
        self._moved: dict[tuple[str, int], Shift] = {}

    @property
    def size_zero(self) -> bool:
        """Whether no partner ever lies."""
        return not (self.share if self.partners is None else self.partners)

    def reset(self, seed: int, route: str) -> None:
        """Start an episode in which no partner has lied yet."""
        super().reset(seed, route)
        self.scene, self.liars, self.lies = None, set(), {}
        self._began, self._recruited, self._moved = None, [], {}
        self.idle_chance = 1.0  # without a lie, nothing has to be noticed

    def note_scene(self, scene: AttackScene) -> None:
        """Learn what stands around, and choose the partners that lie at this planning step."""
        self.scene = scene
        if self._began is None:
            self._began = scene.time
        self.liars = set()
        if self.elapsed < self.start:
            return
        present = sorted(sender for sender, kind in scene.present.items() if kind in self.kinds)
        if self.share is not None:
            self.liars = {sender for sender in present if self._rank(sender) < self.share}
            return
        # a partner that has lied stays an insider; new ones are taken where there are too few
        number = self.partners or 0
        insiders = [sender for sender in self._recruited if sender in present]
        others = sorted(set(present) - set(insiders), key=self._rank)
        new = others[: max(number - len(insiders), 0)]
        self._recruited += new
        self.liars = {*insiders[:number], *new}

    @property
    def elapsed(self) -> float:
        """Seconds since the first planning step."""
        return 0.0 if self.scene is None or self._began is None else self.scene.time - self._began

    def shift(self, observation: Observation) -> Shift:
        """Return by how much a lying partner states another place than its own."""
        if observation.sender not in self.liars:
            return NO_SHIFT
        moved = self.displace_sender(observation)
        if moved != NO_SHIFT:
            self._moved[observation.sender, observation.frame] = moved
        return moved

    def alter(self, message: Message) -> Message:
        """Return the message as an insider sends it, and note its lie."""
        key = (message.sender, message.capture_frame)
        self.learn_from_message(message)
        if not self.is_lying(message.sender):
            return message
        began = time.perf_counter()
        lying = self.lie_in_message(message)
        self.lying_seconds += time.perf_counter() - began
        moved = self._moved.get(key, NO_SHIFT)
        lie = describe_lie(message, lying, moved)
        altered = lying.message is not message
        if altered or moved != NO_SHIFT:
            self.lies[key] = lie
            if (
                len(lie.added)
                or len(lie.gone)
                or lie.moved
                or not isinstance(message.payload, Boxes)
            ):
                self.idle_chance = 0.0
        return lying.message

    def is_lying(self, sender: str) -> bool:
        """Return whether messages of this name are lies at this planning step."""
        return sender in self.liars

    def learn_from_message(self, message: Message) -> None:
        """Keep what is needed of a message before any lie; of all partners, as any may lie later.

        Args:
            message: as its sender made it, with the place that it states.
        """

    def displace_sender(self, observation: Observation) -> Shift:
        """Return metres and radians that a lying sender adds to its place.

        Args:
            observation: of the sender, with the true pose.
        """
        return NO_SHIFT

    def lie_in_message(self, message: Message) -> LyingMessage:
        """Return the message that a lying partner sends instead; the same one for no lie.

        Args:
            message: as its sender made it, with the place that it states.

        Raises:
            AttemptError: the payload is of a type that the attack cannot act on.
        """
        raise cannot_touch(self, message)

    def forge_messages(self, message: Message) -> list[Message]:
        """Return messages of forged identities that go out with this one.

        Args:
            message: of a partner, as its sender made it.
        """
        return []

    def random(self, *names: str) -> np.random.Generator:
        """Return this episode's stream of that name."""
        return make_named_stream(self._seed, "attack", self.name, *names)

    def _rank(self, sender: str) -> float:
        """Return a number from 0 to 1 by which insiders are chosen, of the attempt's seed."""
        return float(self.random("insider", sender).random())


def describe_lie(message: Message, lying: LyingMessage, moved: Shift) -> Lie:
    """Return what a message states against the knowledge of its sender.

    Args:
        message: as the sender made it, with the place that it states.
        lying: what it sends.
        moved: what it added to its place.
    """
    added, gone = lying.added, lying.gone
    honest, stated = message.payload, lying.message.payload
    if isinstance(honest, Boxes) and isinstance(stated, Boxes):
        # where the sender believes to be
        back = Shift(*(-part for part in moved))
        believed, _ = apply_pose_shifts(message.lidar_in_world, [back])
        perceived = transform_boxes(honest, believed, WORLD)
        stated_in_world = transform_boxes(stated, lying.message.lidar_in_world, WORLD)
        added = stated_in_world[~find_same_boxes(stated_in_world, perceived)]
        gone = perceived[~find_same_boxes(perceived, stated_in_world)]
    return Lie(
        added=Boxes.none() if added is None else added,
        gone=Boxes.none() if gone is None else gone,
        moved=math.hypot(moved.x, moved.y, moved.z),
        content_age=lying.content_age,
        loss=lying.loss,
    )


def find_same_boxes(boxes: Boxes, others: Boxes) -> Mask:
    """Return which boxes state a road user that is among the others.

    Args:
        boxes: N boxes.
        others: M boxes in the same frame.

    Returns:
        (N,)
    """
    # (N, M) metres between centres, from above
    away = np.linalg.norm(boxes.geometry[:, None, :2] - others.geometry[None, :, :2], axis=2)
    same = (away <= SAME_PLACE) & (boxes.classes[:, None] == others.classes[None, :])
    result: Mask = same.any(1)
    return result
