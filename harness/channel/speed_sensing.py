"""What stands between the ego's speedometer and a system that brings one."""

from __future__ import annotations

from collections.abc import Sequence

from harness.channel.disturbance import Disturbance
from harness.types.vocabulary import Observation


class SpeedSensing:
    """One episode's readings of speed, as a system is given them."""

    def __init__(self, disturbances: Sequence[Disturbance]) -> None:
        self.disturbances = [one for one in disturbances if one.of_speed]

    def show_speed(self, speed: float, observation: Observation) -> float:
        """Return what a speedometer of the ego shows, m/s.

        Args:
            speed: m/s, that the simulator gave.
            observation: of the ego in this tick.
        """
        for disturbance in self.disturbances:
            shown = disturbance.show_speed(speed, observation)
            # while a vehicle stands there is nothing to change
            disturbance.reached += shown != speed
            disturbance.acted += shown != speed
            speed = shown
        return speed
