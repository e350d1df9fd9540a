"""Other noise of the LiDARs: a placebo, for the scene stays as it is."""

from __future__ import annotations

from harness.common.errors import UserError
from harness.world.attempt_context import AttemptContext
from harness.world.changes.census import SceneCensus
from harness.world.changes.change import PlannedScene, SceneChange


class NoiseSeed(SceneChange):
    """Every LiDAR's noise from another seed; the rig must have noise."""

    safe_from_file = True
    name = "noise_seed"

    def __init__(self, number: int = 1) -> None:  # number of the seed; 0 is the usual seed
        super().__init__()
        if number < 0:
            raise UserError(f"noise_seed.number = {number}: must be ≥ 0")
        self.number = number
        self._asked, self._usual = 0, 0

    @property
    def size_zero(self) -> bool:
        """Whether the usual seed is asked for."""
        return self.number == 0

    def unfit(self, scene: PlannedScene) -> str:
        """Return whether there is no noise."""
        mounts = (scene.rig.ego, scene.rig.roadside, scene.rig.vehicle)
        noisy = any(
            mount.noise_stddev or mount.dropoff_general_rate or mount.dropoff_zero_intensity
            for mount in mounts
        )
        return "" if noisy else "the rig's LiDARs have no noise; set rig.ego.noise_stddev"

    def context(self, context: AttemptContext) -> AttemptContext:
        """Return the context with another number of noise."""
        changed = context.with_noise(self.number + self.sample)
        self._usual, self._asked = (one.compute_noise_seed("ego") for one in (context, changed))
        return changed

    def undelivered(self, census: SceneCensus) -> str:
        """Return whether the ego's LiDAR has the usual noise; without points it has none."""
        if not census.noise_seeds or self._asked in census.noise_seeds - {self._usual}:
            return ""
        return "the ego's LiDAR has its usual noise"
