"""A change of the scene as it might have been: not made, or sampled again."""

from __future__ import annotations

from collections.abc import Collection

from harness.world.attempt_context import AttemptContext
from harness.world.changes.census import SceneCensus
from harness.world.changes.change import PlannedScene, SceneChange
from harness.world.changes.stage import SpawnedScene
from harness.world.hazards.spec import HazardSpec
from harness.world.partners import PartnerFleet


class TwinOf(SceneChange):
    """Another change; withheld it does nothing, and all others sample what they would anyway."""

    safe_from_file = True

    def __init__(
        self,
        of: SceneChange,  # the change
        withheld: bool = False,  # it is not made
        sample: int = 0,  # 0: the same samples; others: new samples
    ) -> None:
        super().__init__()
        self.of, self.withheld = of, withheld
        self.name = of.sort
        of.sample = sample

    @property
    def sort(self) -> str:
        """What the change is called."""
        return self.of.sort

    @property
    def size_zero(self) -> bool:
        """Whether the change asks for nothing."""
        return self.of.size_zero

    def unfit(self, scene: PlannedScene) -> str:
        """Return why the change cannot be made."""
        return self.of.unfit(scene)

    def context(self, context: AttemptContext) -> AttemptContext:
        """Return the change's context, unless it is withheld."""
        return context if self.withheld else self.of.context(context)

    def hazards(self, specs: tuple[HazardSpec, ...]) -> tuple[HazardSpec, ...]:
        """Return the change's hazards, unless it is withheld."""
        return specs if self.withheld else self.of.hazards(specs)

    def after_traffic(self, stage: SpawnedScene) -> None:
        """Let the change act, unless it is withheld."""
        self.of.name = self.name
        if not self.withheld:
            self.of.after_traffic(stage)

    def after_partners(self, partners: PartnerFleet) -> None:
        """Let the change act, unless it is withheld."""
        if not self.withheld:
            self.of.after_partners(partners)

    def undelivered(self, census: SceneCensus) -> str:
        """Return what differs from what the change asks for, unless it is withheld."""
        return "" if self.withheld else self.of.undelivered(census)

    def unheard(self, senders: Collection[str]) -> str:
        """Return what differs from what the change asks for, unless it is withheld."""
        return "" if self.withheld else self.of.unheard(senders)
