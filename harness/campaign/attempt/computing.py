"""Computing times of an attempt: when messages leave, when controls act, and their table."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from harness.campaign.attempt.blame import SetUpBlame
from harness.campaign.attempt.fleet import AttemptFleet
from harness.campaign.attempt.planning_step import EGO
from harness.campaign.settings.computing import (
    build_arm_computing_time,
    build_partner_computing_times,
)
from harness.campaign.settings.declared import CampaignSettings
from harness.channel.computing.busy_device import PARALLEL, BusyDevice
from harness.channel.computing.computing_time import ComputingTime
from harness.channel.computing.control_queue import ControlQueue
from harness.channel.delivery_rule import SAME_MOMENT
from harness.common.errors import AttemptError
from harness.records.arms import COMPUTE, Arm
from harness.records.schema import COMPUTING
from harness.types.vocabulary import Control, Kind, Message
from harness.world.attempt_context import EgoState


def set_up_computing(
    settings: CampaignSettings, arm: Arm, sharing: AttemptFleet, system: str
) -> AttemptComputing | None:
    """Return the computing times of an arm for one ego; None where nothing takes time.

    Args:
        settings: of the campaign.
        arm: of the attempt.
        sharing: which system each partner uses.
        system: name of the ego's system.

    Raises:
        AttemptError: class `agent_setup`: they cannot be made, or the system has none.
    """
    with SetUpBlame():
        made = build_arm_computing_time(settings, arm, system)
        of_partners = build_partner_computing_times(settings, arm)
    if made is None:
        return None
    computing = AttemptComputing(made, arm[COMPUTE], settings["tick"])
    computing.use_partner_times(of_partners, sharing.find_name)
    return computing


def measure_ego(computing: AttemptComputing | None) -> AbstractContextManager[None]:
    """Return what counts work as a part of the ego's step, where that takes time."""
    return nullcontext() if computing is None else computing.measure_ego()


class AttemptComputing:
    """The computing time of an arm, the controls that wait, and the table as it grows."""

    def __init__(self, computing_time: ComputingTime, name: str, tick_seconds: float) -> None:
        self.computing_time = computing_time
        self.name = name
        self.columns: dict[str, list[Any]] = {column: [] for column in COMPUTING.names}
        self._tick_seconds = tick_seconds
        self._queue = ControlQueue()
        self._devices: dict[str, BusyDevice] = {}  # by agent
        self._skipped: Counter[bool] = Counter()  # sweeps of the ego and of partners: is it the ego
        self._rows_of_ego: dict[int, int] = {}  # by frame
        self._measured = 0.0  # s by the clock, of the ego's step so far
        self._partner_times: Mapping[str, ComputingTime] = {}  # by system, without the ego's
        self._find_system: Callable[[str, Kind], str] | None = None
        # of the last sweep of each vehicle that sends, with its frame; several egos share them
        self._sent: dict[str, tuple[int, float | None]] = {}

    def use_partner_times(
        self, times: Mapping[str, ComputingTime], find_system: Callable[[str, Kind], str]
    ) -> None:
        """Let partners of other systems take the times of theirs.

        Args:
            times: by system.
            find_system: gives a partner's system by its name and kind.
        """
        self._partner_times, self._find_system = times, find_system

    def join_egos(self, first: AttemptComputing) -> None:
        """Take the times of senders from those of the first ego: each computes a sweep once.

        Args:
            first: computing times of the first of several driven egos.
        """
        self._sent = first._sent

    @contextmanager
    def measure_ego(self) -> Iterator[None]:
        """Count what is done inside as a part of the ego's step."""
        began = time.perf_counter()
        yield
        self._measured += time.perf_counter() - began

    def note_sender(self, message: Message, measured: float) -> float | None:
        """Return the seconds until a partner has computed its message, and keep them.

        Returns:
            None: its device is busy, and the sweep is not computed.

        Args:
            message: of the partner, as it leaves.
            measured: seconds by the clock.
        """
        sender, captured, frame = message.sender, message.capture_time, message.capture_frame
        taken = self.computing_time
        if self._find_system is not None:
            taken = self._partner_times.get(self._find_system(sender, message.kind), taken)
        # a vehicle that several egos hear computes its sweep once; a unit is heard by one ego
        known = message.kind == "vehicle" and self._sent.get(sender, (None, None))[0] == frame
        if known:
            seconds = self._sent[sender][1]
        else:
            seconds = self._start_sweep(sender, captured, taken.compute_sender_seconds(measured))
            if message.kind == "vehicle":
                self._sent[sender] = (frame, seconds)
        if seconds is not None:
            self._add_row(sender, frame, captured, seconds)
        return seconds

    def _start_sweep(self, agent: str, captured: float, computed: float) -> float | None:
        """Return the seconds until an agent has computed a sweep; None: it does not compute it."""
        if agent not in self._devices:
            self._devices[agent] = BusyDevice(self.computing_time.busy)
        seconds = self._devices[agent].start_sweep(captured, computed)
        self._skipped[agent == EGO] += seconds is None
        return seconds

    def exchange_controls(self, control: Control | None, state: EgoState) -> Control | None:
        """Take what the system made of this tick; return what reaches the vehicle in it, if any.

        Args:
            control: of this tick's sweep; None: the system was not asked.
            state: of the ego in this tick.
        """
        if control is not None:
            computed = self.computing_time.compute_ego_seconds(self._measured)
            self._measured = 0.0
            seconds = self._start_sweep(EGO, state.time, computed)
            if seconds is not None:
                self._rows_of_ego[state.frame] = len(self.columns["agent"])
                self._add_row(EGO, state.frame, state.time, seconds)
                self._queue.add_control(state.frame, state.time + seconds, control)
        ready = self._queue.take_ready(state.time)
        if ready is None:
            return None
        self.columns["acts"][self._rows_of_ego[ready.frame]] = state.time
        return ready.control

    def _add_row(self, agent: str, frame: int, captured: float, seconds: float) -> None:
        row = {
            "agent": agent,
            "capture_frame": frame,
            "seconds": seconds,
            "ready": captured + seconds,
            "acts": math.nan,
        }
        for name, value in row.items():
            self.columns[name].append(value)

    def verify_controls(self) -> None:
        """Fail the attempt if a control acted before it was ready, or a tick too late.

        Raises:
            AttemptError: class `interference_not_delivered`.
        """
        for frame, row in self._rows_of_ego.items():
            waited = self.columns["acts"][row] - self.columns["ready"][row]
            if waited < -SAME_MOMENT or waited >= self._tick_seconds + SAME_MOMENT:
                raise AttemptError(
                    "interference_not_delivered",
                    f"the control of frame {frame} acted {waited:.3f} s after it was ready",
                )

    def build_table(self, start: float, first_frame: int) -> dict[str, list[Any]]:
        """Return the table, with frames and times counted from the start of the drive."""
        columns = dict(self.columns)
        columns["capture_frame"] = [frame - first_frame for frame in columns["capture_frame"]]
        for name in ("ready", "acts"):
            columns[name] = [moment - start for moment in columns[name]]
        return columns

    def build_record(self) -> dict[str, Any]:
        """Return the part of `result.json` on computing times."""
        return {
            "name": self.name,
            "device": self.computing_time.device,
            "repeatable": self.computing_time.repeatable,
            **self._build_busy_record(),
        }

    def _build_busy_record(self) -> dict[str, Any]:
        """Return the rule of busy devices and the sweeps that were not computed."""
        if self.computing_time.busy == PARALLEL:
            return {}
        ego, partners = self._skipped[True], self._skipped[False]
        return {
            "busy": self.computing_time.busy,
            "skipped_ego": ego,
            "skipped_partners": partners,
        }


def note_sender(
    computing: AttemptComputing | None, message: Message, measured: float
) -> float | None:
    """Return the seconds until a partner has computed its message, 0 where nothing takes time.

    Returns:
        None: the partner's device is busy, and the message is never computed.

    Args:
        computing: of the attempt; it keeps the seconds.
        message: as it leaves.
        measured: seconds by the clock.
    """
    if computing is None:
        return 0.0
    return computing.note_sender(message, measured)
