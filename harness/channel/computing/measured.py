"""Computing times of this machine, by its clock."""

from __future__ import annotations

from harness.channel.computing.busy_device import PARALLEL, BusyRule, check_busy_rule
from harness.channel.computing.computing_time import ComputingTime


class MeasuredTime(ComputingTime):
    """What `share` and the step of the ego take here and now: no two attempts have equal times."""

    safe_from_file = True
    repeatable = False
    device = "the machine that drives"

    def __init__(
        self,
        *,
        busy: BusyRule = PARALLEL,  # of a sweep while another is computed: parallel, wait or skip
    ) -> None:
        self.busy = check_busy_rule(busy)

    def use_system(self, system: str) -> None:
        """Take any system: its times are measured."""

    def compute_sender_seconds(self, measured: float) -> float:
        """Return the time of this `share`."""
        return measured

    def compute_ego_seconds(self, measured: float) -> float:
        """Return the time of this step."""
        return measured
