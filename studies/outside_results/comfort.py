"""Bench2Drive's driving smoothness: the share of two-second pieces of a drive that are comfortable.

As in `tools/efficiency_smoothness_benchmark.py` (Jia et al., NeurIPS 2024, section 4; bounds of
nuPlan). A drive is cut into pieces of 20 samples, the rest is left out. A piece is comfortable if
all of the following stay within bounds, each smoothed by a polynomial of second order over seven
samples:

| series                    | bounds             |
| longitudinal acceleration | -4.05 to 2.40 m/s² |
| lateral acceleration      | 4.89 m/s²          |
| jerk, of the magnitude    | 8.37 m/s³          |
| longitudinal jerk         | 4.13 m/s³          |
| yaw rate                  | 0.95               |

Three things of theirs are kept, since published numbers have them: the yaw rate is CARLA's, in
degrees per second, though the bound is nuPlan's in radians; their bound of 1.93 for the yaw
acceleration is applied to the yaw rate, and so excludes nothing more; and samples count as 0.1 s
apart, whatever the agent's rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analysis.regression.moments import get_tick_seconds
from analysis.surrogates import read_motion
from harness.common.errors import UserError
from harness.common.safe_reading import STUDY_RECORD, read_json_within
from harness.evaluation.surrogates.motion import RoadUserMotion, compute_velocities
from harness.records.reading import CampaignRecords
from harness.types.vocabulary import Floats
from studies.outside_results.driven_route import DrivenRoute

PIECE = 20
"""Samples of a piece."""
INTERVAL = 0.1
"""Seconds that count as between two samples."""
WINDOW, ORDER = 7, 2
"""Samples and order of the smoothing polynomial."""
FASTER, SLOWER = 2.40, -4.05
"""Bounds of the longitudinal acceleration, m/s²."""
SIDEWAYS = 4.89
"""Bound of the lateral acceleration, m/s²."""
JERK, ALONG_JERK = 8.37, 4.13
"""Bounds of the jerk of the magnitude and of the longitudinal one, m/s³."""
YAW_RATE = 0.95
"""Bound of the yaw rate, in whatever unit the log has it: degrees per second."""
STEP_LOG = "metric_info.json"
"""The file of a drive, in the folder that its record calls `save_name`."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MotionLog:
    """How an ego moved, a row for each sample.

    Attributes:
        along: (N,) longitudinal acceleration, m/s².
        aside: (N,) lateral acceleration, m/s².
        whole: (N,) magnitude of the acceleration in the plane, m/s².
        turning: (N,) yaw rate, degrees per second, as CARLA gives it.
    """

    along: Floats
    aside: Floats
    whole: Floats
    turning: Floats

    def __len__(self) -> int:
        return len(self.along)

    def select_samples(self, first: int, last: int) -> MotionLog:
        """Return the samples from first to before last."""
        return MotionLog(
            along=self.along[first:last],
            aside=self.aside[first:last],
            whole=self.whole[first:last],
            turning=self.turning[first:last],
        )


def compute_comfort(log: MotionLog) -> float:
    """Return the share of comfortable pieces, 0 to 1; NaN for fewer than three samples."""
    if len(log) <= ORDER:
        return math.nan
    if len(log) <= PIECE:
        return float(is_comfortable(log))
    starts = range(0, len(log) - PIECE + 1, PIECE)
    pieces = [is_comfortable(log.select_samples(start, start + PIECE)) for start in starts]
    return sum(pieces) / len(pieces)


def is_comfortable(log: MotionLog) -> bool:
    """Return whether all series of a piece stay within their bounds."""
    along, aside, whole = map(smooth_series, (log.along, log.aside, log.whole))
    # neighbouring rates that differ by more than a half turn differ by less, in their code
    steps = np.round(np.diff(log.turning) / (2 * np.pi))
    turning = smooth_series(log.turning - 2 * np.pi * np.concatenate([[0.0], np.cumsum(steps)]))
    bounded = (
        (along, SLOWER, FASTER),
        (aside, -SIDEWAYS, SIDEWAYS),
        (smooth_series(whole, derivative=1), -JERK, JERK),
        (smooth_series(along, derivative=1), -ALONG_JERK, ALONG_JERK),
        (turning, -YAW_RATE, YAW_RATE),
    )
    return all(bool(((low < series) & (series < high)).all()) for series, low, high in bounded)


def smooth_series(values: Floats, *, derivative: int = 0) -> Floats:
    """Return values, or their derivative, of least-squares polynomials over a moving window.

    Args:
        values: (N,).
        derivative: 0 or 1.
    """
    from scipy.signal import savgol_filter  # noqa: PLC0415 - takes a second

    window = min(WINDOW, len(values))
    smoothed = savgol_filter(values, window, ORDER, deriv=derivative, delta=INTERVAL)
    return np.asarray(smoothed, np.float64)


def read_step_log(file: Path) -> MotionLog:
    """Return the log of one drive, `metric_info.json` of Bench2Drive's agents.

    Raises:
        UserError: the file has no such log.
    """
    try:
        steps = read_json_within(file, STUDY_RECORD, follow=True)
        return parse_step_log(list(steps.values()))
    except FileNotFoundError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OSError) as problem:
        raise UserError(f"{file}: not a {STEP_LOG} of Bench2Drive: {problem}") from None


def parse_step_log(steps: Sequence[Mapping[str, Any]]) -> MotionLog:
    """Return the motion in the entries of a log.

    Raises:
        KeyError, TypeError, ValueError: an entry is not whole.
    """
    names = ("acceleration", "forward_vector", "right_vector", "angular_velocity")
    series = {
        name: np.array([step[name] for step in steps], np.float64).reshape(-1, 3) for name in names
    }
    if not all(np.isfinite(values).all() for values in series.values()):
        raise ValueError("a number is not finite")
    plane = series["acceleration"][:, :2]
    return MotionLog(
        along=(plane * series["forward_vector"][:, :2]).sum(axis=1),
        aside=(plane * series["right_vector"][:, :2]).sum(axis=1),
        whole=np.hypot(plane[:, 0], plane[:, 1]),
        turning=series["angular_velocity"][:, 2],
    )


def extract_motion_log(motion: RoadUserMotion) -> MotionLog:
    """Return the log of a drive of ours, from the ego's places in every tick.

    Accelerations are differences of velocities, and these of places, each over two ticks on either
    side. Samples are 0.1 s apart.
    """
    ticks = np.arange(len(motion))
    alone = np.zeros_like(ticks)
    # velocities and yaws are differentiated as places are: (T, 2) and (T,)
    velocity = motion.compute_ego_velocity()
    acceleration = compute_velocities(velocity, ticks, alone, motion.tick_seconds)
    yaw = np.unwrap(motion.ego[:, 3])
    yaws = np.stack([yaw, np.zeros_like(yaw)], axis=1)
    turning = compute_velocities(yaws, ticks, alone, motion.tick_seconds)[:, 0]
    cos, sin = np.cos(motion.ego[:, 3]), np.sin(motion.ego[:, 3])
    every = max(round(INTERVAL / motion.tick_seconds), 1)
    return MotionLog(
        along=(acceleration[:, 0] * cos + acceleration[:, 1] * sin)[::every],
        aside=(acceleration[:, 1] * cos - acceleration[:, 0] * sin)[::every],
        whole=np.hypot(acceleration[:, 0], acceleration[:, 1])[::every],
        turning=np.degrees(turning)[::every],
    )


def read_campaign_comfort(folder: Path) -> dict[str, list[float]]:
    """Return the comfort of a campaign's drives by arm, 0 to 1."""
    campaign = CampaignRecords(folder)
    tick = get_tick_seconds(campaign)
    comfort: dict[str, list[float]] = {}
    for key in sorted(campaign.find_attempts()):
        motion, _, _ = read_motion(campaign, key, tick)
        comfort.setdefault(str(key.arm), []).append(compute_comfort(extract_motion_log(motion)))
    return comfort


def read_logged_comfort(drives: Sequence[DrivenRoute], folder: Path) -> list[float]:
    """Return the comfort of the drives that have a log, 0 to 1.

    Args:
        drives: of a result set.
        folder: with a folder for each drive, called as its record says.
    """
    files = [
        folder / drive.saved / STEP_LOG
        for drive in drives
        if drive.saved and Path(drive.saved).name == drive.saved
    ]
    return [compute_comfort(read_step_log(file)) for file in files if file.is_file()]
