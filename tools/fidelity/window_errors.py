"""How far replayed spans are from the record: place, heading, speed, curvature where it turns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.carlite.arrays import Floats
from tools.fidelity.recorder_records import RecorderDrive
from tools.fidelity.replay import ReplayedSpan

SHARE, PLACE, HEADING = 0.1, 0.5, 2.0
"""What a window may be off: a tenth of its way or half a metre, and two degrees."""

TURNING = math.radians(2.0)
"""Radians per second from which the recorded car turns."""

ROLLING, SHORTEST = 1.0, 0.15
"""Metres per second and seconds from which a turn has a curvature that can be measured."""


@dataclass(frozen=True, kw_only=True)
class SpanError:
    """Errors of one span; those of place and heading are the largest of its frames.

    Attributes:
        start, end: seconds since the record's first frame.
        way: metres that the recorded car went.
        simulated_way: metres that the simulated car went.
        place: metres.
        heading: degrees.
        speed: root mean square, metres per second.
        mean_speed: of the record, metres per second.
    """

    start: float
    end: float
    way: float
    simulated_way: float
    place: float
    heading: float
    speed: float
    mean_speed: float

    @property
    def share(self) -> float:
        """The error of place as a share of the way; NaN for a car that stands."""
        return self.place / self.way if self.way > PLACE else math.nan

    @property
    def missed(self) -> str:
        """What is further off than allowed, by name."""
        names = []
        if self.place > max(SHARE * self.way, PLACE):
            names.append("position")
        if self.heading > HEADING:
            names.append("heading")
        return ", ".join(names)


@dataclass(frozen=True, kw_only=True)
class TurnError:
    """One turn of the recorded car, and the same frames of the replayed windows.

    Attributes:
        start, end: seconds since the record's first frame.
        steer: mean steering input.
        speed: mean speed of the record, metres per second.
        recorded, simulated: heading change over way, per metre.
    """

    start: float
    end: float
    steer: float
    speed: float
    recorded: float
    simulated: float


def measure_span(drive: RecorderDrive, span: ReplayedSpan) -> SpanError:
    """Return the errors of one span."""
    frames = slice(span.start, span.end + 1)
    apart = np.hypot(*(span.place - drive.place[frames]).T)
    turned = np.remainder(span.yaw - drive.yaw[frames] + math.pi, math.tau) - math.pi
    speed = drive.speed[frames]
    return SpanError(
        start=float(drive.time[span.start]),
        end=float(drive.time[span.end]),
        way=drive.measure_way(span.start, span.end),
        simulated_way=float(np.hypot(*np.diff(span.place, axis=0).T).sum()),
        place=float(apart.max()),
        heading=float(np.degrees(np.abs(turned).max())),
        speed=float(np.sqrt(np.mean((span.speed - speed) ** 2))),
        mean_speed=float(np.mean(speed)),
    )


def measure_turns(drive: RecorderDrive, spans: Sequence[ReplayedSpan]) -> list[TurnError]:
    """Return every spell in which the recorded car turned to one side while it rolled.

    Args:
        drive: the record.
        spans: the windows, one after the other.
    """
    # (frames - 1,) heading changes and ways from frame to frame
    turned = np.concatenate([np.diff(span.yaw) for span in spans])
    gone = np.concatenate([np.hypot(*np.diff(span.place, axis=0).T) for span in spans])
    side = np.sign(drive.yaw_rate) * (np.abs(drive.yaw_rate) > TURNING) * (drive.speed > ROLLING)
    turns = []
    for start, end in _find_spells(side):
        if drive.time[end] - drive.time[start] < SHORTEST:
            continue
        way, ours = drive.measure_way(start, end), float(gone[start:end].sum())
        turns.append(
            TurnError(
                start=float(drive.time[start]),
                end=float(drive.time[end]),
                steer=float(np.mean(drive.steer[start:end])),
                speed=float(np.mean(drive.speed[start:end])),
                recorded=float(drive.yaw[end] - drive.yaw[start]) / way,
                simulated=float(turned[start:end].sum()) / ours if ours > 0.1 else math.nan,
            )
        )
    return turns


def _find_spells(side: Floats) -> list[tuple[int, int]]:
    """Return the first and last frame of every spell in which a sign other than 0 lasts."""
    edges = np.flatnonzero(np.diff(side) != 0.0) + 1
    starts, ends = [0, *edges.tolist()], [*edges.tolist(), len(side)]
    return [(start, end - 1) for start, end in zip(starts, ends, strict=True) if side[start] != 0.0]
