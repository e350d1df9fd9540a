"""Satellite positioning: errors that change slowly, and that receivers near each other share.

A first-order Gauss-Markov process, as in simulators of receivers (hector_gazebo's `SensorModel`):
its standard deviation is constant, and errors `t` seconds apart have the correlation
exp(-t / correlation_seconds). Errors of satellites and of the air above are equal for receivers a
few hundred metres apart; reflections and noise are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.channel.disturbance import refuse_negative
from harness.channel.interference.pose_error import (
    FAR,
    PoseErrorDisturbance,
    compute_chance_of_small,
    convert_deviations_to_radians,
)
from harness.common.errors import UserError
from harness.types.vocabulary import Floats, Kind, Observation

KNOT_SECONDS = 0.1
"""Time between samples of a process; errors in between are interpolated."""
BLOCK = 64
"""Knots that are sampled together."""
LEAST_CORRELATION = 1.0
"""Seconds. At the shortest, interpolation lowers the variance by 2.4 % half-way between knots."""
RECEIVERS: tuple[Kind, ...] = ("ego", "vehicle")
"""Roadside units have been surveyed."""
SHARED = ("shared",)
RECEIVER = "receiver"


class GaussMarkovProcess:
    """One stationary process of errors over the time of an episode.

    An error depends on the stream and the time alone, and not on when else it is asked for.
    """

    def __init__(
        self, random: np.random.Generator, *, deviation: Floats, correlation_seconds: float
    ) -> None:
        """Start with a sample of the stationary distribution.

        Args:
            random: stream of this process alone.
            deviation: (6,) standard deviations in m and rad, in the order of `Shift`.
            correlation_seconds: s until the correlation has fallen to 1 / e.
        """
        self._random = random
        self._deviation = deviation
        self._kept = math.exp(-KNOT_SECONDS / correlation_seconds)
        self._knots: list[Floats] = [np.asarray(random.normal(0.0, deviation))]

    def compute_error(self, elapsed: float) -> Floats:
        """Return the error (6,) in m and rad, so many seconds after the start."""
        place = max(elapsed, 0.0) / KNOT_SECONDS
        before = int(place)
        while len(self._knots) < before + 2:
            self._add_knots()
        share = place - before
        return (1.0 - share) * self._knots[before] + share * self._knots[before + 1]

    def _add_knots(self) -> None:
        """Go on with the process for one more block of knots."""
        # (BLOCK, 6): with the part that is kept, the variance stays that of the first knot
        spread = math.sqrt(1.0 - self._kept**2) * self._deviation
        for fresh in self._random.normal(0.0, spread, (BLOCK, len(spread))):
            self._knots.append(self._kept * self._knots[-1] + fresh)


class GnssError(PoseErrorDisturbance):
    """Poses of satellite receivers; shared errors displace vehicles and ego alike."""

    name = "gnss"
    safe_from_file = True

    def __init__(
        self,
        deviation: float,  # m, in x and in y
        yaw_deviation: float,  # degrees
        *,
        correlation_seconds: float = 60.0,  # s, 1 or more
        shared: float = 0.5,  # of the variance in x, y and z, 0 to 1: equal for all receivers
        z_deviation: float = 0.0,  # m
        kinds: Sequence[Kind] = RECEIVERS,  # agents that are disturbed: ego, roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        refuse_negative("gnss", "m", deviation=deviation, z_deviation=z_deviation)
        refuse_negative("gnss", "degrees", yaw_deviation=yaw_deviation)
        if not correlation_seconds >= LEAST_CORRELATION:
            raise UserError(
                f"gnss.correlation_seconds = {correlation_seconds:g} s: must be ≥"
                f" {LEAST_CORRELATION:g}; interference=pose_error has errors without correlation"
            )
        if not 0.0 <= shared <= 1.0:
            raise UserError(f"gnss.shared = {shared:g}: must be from 0 to 1")
        self.correlation_seconds = correlation_seconds
        # yaw comes from the antennas or the course of one vehicle, thus none of it is shared
        place = convert_deviations_to_radians(deviation, 0.0, z=z_deviation, pitch=0.0, roll=0.0)
        yaw = convert_deviations_to_radians(0.0, yaw_deviation, z=0.0, pitch=0.0, roll=0.0)
        self.shared_deviation = math.sqrt(shared) * place
        self.single_deviation = math.sqrt(1.0 - shared) * place + yaw
        self._processes: dict[tuple[str, ...], GaussMarkovProcess] = {}

    def reset(self, seed: int, route: str) -> None:
        """Start an episode with new processes."""
        super().reset(seed, route)
        self._processes = {}
        self.idle_chance = 1.0

    def get_largest_error(self) -> Floats:
        """Return errors that are hardly ever exceeded."""
        return FAR * np.hypot(self.shared_deviation, self.single_deviation)

    def compute_error(self, observation: Observation) -> Floats:
        """Add the shared error and the error of this receiver alone, at this time."""
        receiver = (RECEIVER, observation.sender)
        if receiver not in self._processes:
            # shared errors may cancel out as seen from the ego: the other part counts
            self.idle_chance *= compute_chance_of_small(self.single_deviation)
        elapsed = observation.time - self.first_time
        shared = self._prepare_process(SHARED, deviation=self.shared_deviation)
        apart = self._prepare_process(receiver, deviation=self.single_deviation)
        return shared.compute_error(elapsed) + apart.compute_error(elapsed)

    def _prepare_process(self, names: tuple[str, ...], *, deviation: Floats) -> GaussMarkovProcess:
        """Return the process of these names, which are also those of its stream."""
        if names not in self._processes:
            self._processes[names] = GaussMarkovProcess(
                self.random(*names),
                deviation=deviation,
                correlation_seconds=self.correlation_seconds,
            )
        return self._processes[names]
