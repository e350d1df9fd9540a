"""What is compared: times to speeds, stopping ways and times, the error over the throttle phase."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from harness.carlite.arrays import Floats
from tools.fidelity.driving import find_first_moving
from tools.fidelity.records import STEP, PublicDriveRecord

TIMES = (5, 15, 30, 50, 80, 100)
STOPS = (100, 80, 60, 40, 34)
SHARE, SAMPLE, WAY = 0.1, 0.05, 0.3
"""What may be missed: a tenth, or one sample, or 0.3 m."""

REST = 1.0 / 3.6
MOVING = 1.0 / 3.6


@dataclass(frozen=True)
class DriveMeasure:
    """One figure of a record; `simulated` is NaN where carlite never gets there."""

    name: str
    unit: str
    recorded: float
    simulated: float
    _: KW_ONLY
    allowed: float

    @property
    def missed(self) -> float:
        """The error in multiples of what is allowed; 5 where it never gets there."""
        error = abs(self.simulated - self.recorded) / self.allowed
        return min(error, 5.0) if np.isfinite(error) else 5.0


def compare_drive(drive: PublicDriveRecord, simulated: Floats) -> list[DriveMeasure]:
    """Return the figures of one record.

    Args:
        drive: the record.
        simulated: (samples,) m/s.
    """
    departure = find_first_moving(drive.speed)
    peak = drive.peak
    measures = []
    # times to speeds and distances to stop, where the record is such a test
    if not drive.stated:
        measures += _measure_speed_times(drive.speed, simulated, max(departure - 1, 1))
        late = max(peak - 5, 0)
        measures += _measure_stops(
            drive.speed, simulated, peak, late + int(np.argmax(simulated[late:]))
        )
        span = slice(departure, peak)
    else:
        span = slice(0, len(drive.speed))
    # and how far the speeds are apart
    recorded = drive.speed[span]
    error = float(np.sqrt(np.mean((simulated[span] - recorded) ** 2)))
    mean = float(np.mean(recorded))
    measures.append(
        DriveMeasure("RMSE", "km/h", 0.0, 3.6 * error, allowed=max(SHARE * 3.6 * mean, 1e-6))
    )
    return measures


def _measure_speed_times(recorded: Floats, simulated: Floats, start: int) -> list[DriveMeasure]:
    departure, ours = (
        _find_speed_time(recorded, MOVING, start),
        _find_speed_time(simulated, MOVING, start),
    )
    measures = []
    for speed in TIMES:
        at = _find_speed_time(recorded, speed / 3.6, start)
        if np.isfinite(at) and np.isfinite(departure):
            taken = at - departure
            mine = _find_speed_time(simulated, speed / 3.6, start) - ours
            allowed = max(SHARE * taken, SAMPLE)
            measures.append(DriveMeasure(f"1 to {speed} km/h", "s", taken, mine, allowed=allowed))
    return measures


def _measure_stops(
    recorded: Floats, simulated: Floats, peak: int, our_peak: int
) -> list[DriveMeasure]:
    measures = []
    for speed in STOPS:
        way, time = _measure_stop(recorded, speed / 3.6, peak)
        if np.isfinite(way):
            our_way, our_time = _measure_stop(simulated, speed / 3.6, our_peak)
            name = f"stop from {speed}"
            measures.append(DriveMeasure(name, "m", way, our_way, allowed=max(SHARE * way, WAY)))
            measures.append(
                DriveMeasure(name, "s", time, our_time, allowed=max(SHARE * time, SAMPLE))
            )
    return measures


def _find_speed_time(speed: Floats, wanted: float, start: int) -> float:
    """Return the time at which a speed is passed, between samples; NaN if never."""
    for index in range(max(start, 1), len(speed)):
        if speed[index - 1] < wanted <= speed[index]:
            rest = (wanted - speed[index - 1]) / (speed[index] - speed[index - 1])
            return float((index - 1 + rest) * STEP)
    return float("nan")


def _measure_stop(speed: Floats, start: float, peak: int) -> tuple[float, float]:
    """Return way and time from a speed to 1 km/h; NaN where it is not passed, or never at rest."""
    first = last = float("nan")
    # places in samples, between two of them
    for index in range(peak + 1, len(speed)):
        before, now = float(speed[index - 1]), float(speed[index])
        if np.isnan(first) and before >= start > now:
            first = index - 1 + (before - start) / (before - now)
        if before >= REST > now:
            last = index - 1 + (before - REST) / (before - now)
            break
    if np.isnan(first) or np.isnan(last):
        return float("nan"), float("nan")
    # way by the trapezium rule
    inside = np.arange(int(np.floor(first)) + 1, int(np.floor(last)) + 1)
    places = np.concatenate([[first], inside, [last]])
    passed = np.interp(places, np.arange(len(speed)), speed)
    way = float(np.sum(0.5 * (passed[1:] + passed[:-1]) * np.diff(places)) * STEP)
    return way, float((last - first) * STEP)
