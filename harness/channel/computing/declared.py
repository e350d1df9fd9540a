"""Computing times as a file declares them, for each system: equal in all attempts."""

from __future__ import annotations

from collections.abc import Mapping

from harness.channel.computing.busy_device import PARALLEL, BusyRule, check_busy_rule
from harness.channel.computing.computing_time import ComputingTime
from harness.common.errors import UserError

LONGEST = 10_000.0
"""Milliseconds that a time may have, at most."""


class DeclaredTime(ComputingTime):
    """Milliseconds by system, on a device that is named."""

    safe_from_file = True

    def __init__(
        self,
        *,
        device: str,  # what these times were measured on
        sender: dict[str, float],  # ms from a partner's sweep until its message leaves, by system
        ego: dict[str, float],  # ms from the ego's sweep until its control acts, by system
        busy: BusyRule = PARALLEL,  # of a sweep while another is computed: parallel, wait or skip
    ) -> None:
        if not device.strip():
            raise UserError("compute.device: must name what these times were measured on")
        self.device = device
        self.busy = check_busy_rule(busy)
        for role, times in (("sender", sender), ("ego", ego)):
            for system, milliseconds in times.items():
                if not 0 <= milliseconds <= LONGEST:
                    raise UserError(
                        f"compute.{role}.{system} = {milliseconds:g} ms: must be from 0 to"
                        f" {LONGEST:,.0f}"
                    )
        self.sender, self.ego = sender, ego
        self._sender_seconds = self._ego_seconds = 0.0

    def use_system(self, system: str) -> None:
        """Look the times of a system up."""
        self._sender_seconds = find_declared_time("sender", self.sender, system) / 1e3
        self._ego_seconds = find_declared_time("ego", self.ego, system) / 1e3

    def compute_sender_seconds(self, measured: float) -> float:
        """Return the declared time of a sender."""
        return self._sender_seconds

    def compute_ego_seconds(self, measured: float) -> float:
        """Return the declared time of the ego."""
        return self._ego_seconds


def find_declared_time(role: str, times: Mapping[str, float], system: str) -> float:
    """Return the milliseconds of a system.

    Raises:
        UserError: none are declared.
    """
    if system not in times:
        known = ", ".join(sorted(times)) or "none"
        raise UserError(f"compute.{role} has no time of the system {system} (declared: {known})")
    return times[system]
