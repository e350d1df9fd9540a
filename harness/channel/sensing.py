"""What stands between surfaces and points: weather or dry air, the LiDAR, and what else disturbs.

A LiDAR without a sensitivity returns all that the simulator does. One with a sensitivity loses dark
and far points, in dry air too. Weather takes the place of dry air; other disturbances of sweeps
change what the LiDAR has detected.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.channel.disturbance import Disturbance, Sweep, make_sweep_stream
from harness.channel.interference import scattering
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import Observation


class LidarSensing:
    """One episode's sweeps, from surfaces to points."""

    def __init__(self, disturbances: Sequence[Disturbance]) -> None:
        refuse_two_weathers(disturbances)
        of_sweeps = [disturbance for disturbance in disturbances if disturbance.of_sweeps]
        self.disturbances = sorted(of_sweeps, key=lambda disturbance: not disturbance.detects)
        self.changed = 0  # sweeps that are not as in dry air
        self._seed = self._first_frame = 0

    def reset_sensing(self, seed: int) -> None:
        """Start an episode."""
        self._seed, self.changed = seed, 0

    def note_first_frame(self, frame: int) -> None:
        """Take note of the episode's first frame."""
        self._first_frame = frame

    def sense_sweep(self, raw: Sweep, observation: Observation) -> Sweep:
        """Return a sweep as its LiDAR returns it, from one with all that its rays hit.

        Args:
            raw: N points, as rays hit them.
            observation: whose sweep it is.

        Returns:
            The points that the LiDAR reports, in its frame.
        """
        if not len(raw.points_in_lidar):  # the system reads no points
            self._count_pictures(observation)
            return raw
        # what is compared with: the same LiDAR in dry air
        dry = sensed = self._sense_in_dry_air(raw, observation)
        for disturbance in self.disturbances:
            if observation.kind not in disturbance.kinds:
                continue
            before = sensed
            # weather begins from the raw sweep; it takes the place of dry air
            if disturbance.detects:
                sensed = self._sense_in_dry_air(disturbance.sense(raw, observation), observation)
            else:
                sensed = disturbance.sense(before, observation)
            # counted by what changed, whatever the disturbance claims
            refuse_unaligned(sensed, disturbance.name)
            disturbance.reached += 1
            disturbance.acted += not is_same_sweep(sensed, before)
        self.changed += not is_same_sweep(sensed, dry)
        return sensed

    def _count_pictures(self, observation: Observation) -> None:
        """Count weather that pictures show as weather that was sensed."""
        shown = [one for one in self.disturbances if one.describe_air()]
        if not observation.images or not shown:
            return
        for disturbance in shown:
            disturbance.reached += 1
            disturbance.acted += 1
        self.changed += 1

    def _sense_in_dry_air(self, sweep: Sweep, observation: Observation) -> Sweep:
        """Return what a LiDAR detects in dry air, unless the sweep is of what it has detected."""
        if sweep.sensitivity is None:
            return sweep
        tick = observation.frame - self._first_frame
        random = make_sweep_stream(self._seed, observation.sender, tick)
        return scattering.apply_dry_air(sweep, sweep.sensitivity, random).sweep


def is_same_sweep(one: Sweep, other: Sweep) -> bool:
    """Return whether two sweeps have the same points."""
    return one is other or np.array_equal(one.points_in_lidar, other.points_in_lidar)


def refuse_unaligned(sweep: Sweep, name: str) -> None:
    """Refuse surfaces that are not those of the points."""
    points, surfaces = len(sweep.points_in_lidar), sweep.surfaces
    if surfaces is not None and len(surfaces) != points:
        raise AttemptError(
            "interference_not_delivered",
            f"{name}: returned {points} points and {len(surfaces)} surfaces",
        )


def refuse_two_weathers(disturbances: Sequence[Disturbance]) -> None:
    """Refuse more than one disturbance that takes the place of dry air."""
    names = [disturbance.sort for disturbance in disturbances if disturbance.detects]
    if len(names) > 1:
        raise UserError(
            f"{' and '.join(names)} in one condition: how they act together is not modelled;"
            " choose one (rain has a setting `water` for wet ground)"
        )
