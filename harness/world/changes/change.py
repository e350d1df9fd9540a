"""What a change of the scene is: when it acts, where it cannot be made, whether it was made.

A change acts on real actors before the first tick that is driven, so that ground truth, returns of
LiDARs, collisions and scores follow from the world. It samples from streams of its own: every other
actor is where it would be without it. What was made is measured in the world, not reported by the
change itself.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harness.common.errors import AttemptError
from harness.common.randomness import derive_seed, make_named_stream
from harness.types.vocabulary import Kind
from harness.world.attempt_context import AttemptContext
from harness.world.changes.census import SceneCensus
from harness.world.changes.stage import SpawnedScene
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track
from harness.world.partners import PartnerFleet
from harness.world.rig import Rig
from harness.world.traffic import Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedScene:
    """What is known of an attempt's scene before anything is driven."""

    track: Track  # the route on its map
    hazards: tuple[HazardSpec, ...]  # that are run on it
    traffic: Traffic
    rig: Rig


class SceneChange(ABC):  # noqa: B024 - subclasses override the moments that they need
    """One thing that is otherwise in the scene; subclasses override the moments when they act.

    The order of calls: `context`, `hazards`, `after_traffic`, `after_partners`, one tick,
    `undelivered`; at the end of the attempt `unheard`.

    Attributes:
        sample: number of the random sample.
    """

    name = "scene_change"
    """Its name in conditions' twins and random streams; a class has its own."""
    partners: ClassVar[frozenset[Kind] | None] = None
    """Kinds of partners that it is about; None: it is about no message."""

    def __init__(self) -> None:
        self.sample = 0  # above 0: sampled again, for twins

    @property
    def of_messages(self) -> bool:
        """Whether it is about messages."""
        return self.partners is not None

    @property
    def sort(self) -> str:
        """What it is called where it is the only one of its sort."""
        return type(self).name

    @property
    def size_zero(self) -> bool:
        """Whether this asks for nothing."""
        return False

    def unfit(self, scene: PlannedScene) -> str:
        """Return why it cannot be made on a route, as far as that is known beforehand; else "".

        Args:
            scene: what is known of the attempt beforehand.
        """
        return ""

    def context(self, context: AttemptContext) -> AttemptContext:
        """Return the context in which actors and sensors are set up.

        Args:
            context: of the attempt, perhaps changed by others.
        """
        return context

    def hazards(self, specs: tuple[HazardSpec, ...]) -> tuple[HazardSpec, ...]:
        """Return the hazards as they are to be placed.

        Args:
            specs: of the route, perhaps changed by others.
        """
        return specs

    def after_traffic(self, stage: SpawnedScene) -> None:  # noqa: B027 - optional
        """Change actors, once the background traffic is there.

        Args:
            stage: what was spawned, and how to change it.
        """

    def after_partners(self, partners: PartnerFleet) -> None:  # noqa: B027 - optional
        """Change who shares.

        Args:
            partners: before they share for the first time.
        """

    def undelivered(self, census: SceneCensus) -> str:
        """Return what differs in the world from what was asked for; "" if nothing does.

        Args:
            census: who is in the world, and where.
        """
        return ""

    def unheard(self, senders: Collection[str]) -> str:
        """Return what differs in who has sent messages from what was asked for, at the end.

        Args:
            senders: of all messages of the attempt.

        Returns:
            A reason to fail the attempt, or an empty text.
        """
        return ""

    def random(self, context: AttemptContext, *names: str) -> np.random.Generator:
        """Return this episode's stream of that name.

        Args:
            context: of the attempt.
            names: of the stream.
        """
        seed = context.seed
        if self.sample:
            seed = derive_seed(seed, "redrawn", str(self.sample))
        return make_named_stream(seed, "changes", self.name, *names)

    def refused(self, why: str) -> AttemptError:
        """Return the error of a change that cannot be made in this attempt's world.

        Args:
            why: in a few words.
        """
        return AttemptError("interference_not_delivered", f"{self.name}: {why}")
