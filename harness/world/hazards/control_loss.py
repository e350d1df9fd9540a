"""Slippery patches on the ego's lane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from harness.types import ego_body
from harness.types.vocabulary import Pose
from harness.world.attempt_context import EgoState
from harness.world.hazards.hazard import Hazard
from harness.world.hazards.parameters import NumberParameter, Parameter
from harness.world.hazards.track import Track

APART = 7.0
"""Metres from the middle of one patch to the next."""
HALF = 2.0
"""Half the length and width of a patch, metres."""


class ControlLoss(Hazard):
    """Three friction triggers one after the other; the ego's tyres grip less on them."""

    safe_from_file = True
    kind = "control_loss"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "friction": NumberParameter(
            default=0.8,
            low=0.0,
            high=3.5,
            unit="",
            meaning="of the patches, on CARLA's scale, where dry road is about 3.5",
        ),
    }

    def set_up(self, track: Track) -> None:
        """Lay the patches."""
        self.last = min(self.spec.station + 2 * APART, track.route.length)
        for number in range(3):
            pose = track.pose(min(self.spec.station + number * APART, track.route.length))
            centre = Pose(pose.x, pose.y, pose.z, pose.yaw)
            size = {f"extent_{axis}": f"{100 * HALF:.0f}" for axis in "xyz"}
            friction = f"{self.number('friction'):g}"
            patch = self.hazard_actors.spawn_actor(
                "static.trigger.friction", centre, friction=friction, **size
            )
            if patch is None:
                raise RuntimeError("a friction trigger, which needs no room, was refused")

    def act(self, ego: EgoState) -> None:
        """Note when the ego is on the patches and when it has left them."""
        nose = ego.station + ego_body.LENGTH / 2
        if self.status == "waiting" and nose >= self.spec.station - HALF:
            self.begin(ego)
        if self.status == "running" and ego.station - ego_body.LENGTH / 2 > self.last + HALF:
            self.finish("over", "the ego has left the patches")
