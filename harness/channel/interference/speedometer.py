"""A speedometer that shows another speed than the vehicle has.

UN Regulation No. 39, 5.4, allows a speedometer to show more, and never less: up to a tenth of the
speed and 4 km/h. The defaults are half of that.
"""

from __future__ import annotations

import math

from harness.channel.disturbance import Disturbance, refuse_negative
from harness.common.errors import UserError
from harness.types.vocabulary import Observation

STANDS = 0.1
"""m/s up to which a vehicle stands, and its speedometer shows what it has."""


class SpeedometerError(Disturbance):
    """The speedometer of a system that brings its own sensors is wrong by a share and an offset."""

    safe_from_file = True
    name = "speedometer"
    of_speed = True

    def __init__(
        self,
        scale: float = 0.05,  # of the speed, shown besides; below 0: less is shown
        offset: float = 0.55,  # m/s, shown besides while the vehicle moves
        deviation: float = 0.0,  # m/s, of noise that is new in every tick
    ) -> None:
        super().__init__(["ego"])
        for setting, value in (("scale", scale), ("offset", offset)):
            if not math.isfinite(value):
                raise UserError(f"speedometer.{setting} = {value:g}: must be finite")
        if scale <= -1:
            raise UserError(f"speedometer.scale = {scale:g}: must be > -1")
        refuse_negative(self.name, "m/s", deviation=deviation)
        self.scale, self.offset, self.deviation = scale, offset, deviation

    @property
    def size_zero(self) -> bool:
        """Whether the true speed is shown."""
        return not (self.scale or self.offset or self.deviation)

    def show_speed(self, speed: float, observation: Observation) -> float:
        """Return what is shown; a vehicle that stands is shown to stand."""
        if abs(speed) <= STANDS:
            return speed
        shown = speed * (1.0 + self.scale) + self.offset
        if self.deviation:
            random = self.random_at(observation.sender, observation.frame)
            shown += self.deviation * float(random.standard_normal())
        return shown
