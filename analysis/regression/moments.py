"""Moments of drives, and what was known at each: error patterns and surrogates of the time before.

A moment has a window that ends a lead before the time it is about. In a drive with a violation the
last moment is about the violation; in one without, about the end of the drive. Earlier moments
follow in steps, as long as their windows are whole. Nothing after a window's end is looked at: its
frames are cut off, and so are the tracks before any velocity or filter is computed. (The choice of
moments looks at the outcome, as in a case-control study; what is known at them does not.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.attempt import read_checked_table
from analysis.collection import CampaignCollection, get_campaign_settings
from analysis.surrogates import read_motion
from harness.common.errors import UserError
from harness.evaluation.surrogates.measures import compute_window_measures
from harness.evaluation.surrogates.rules import RULES, SurrogateRules
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.types.record_names import PATTERNS, SURROGATES
from harness.types.vocabulary import Floats

KNOWN_SURROGATES = tuple(name for name in SURROGATES if name != "time_to_goal")
"""The surrogates that a window has."""
TRUTHS = "truth_all"


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentRules:
    """Where windows lie, s."""

    lead: float = 2.0  # from a window's end to what it is about
    window: float = 10.0  # length of a window
    step: float = 5.0  # from a window to the one before it
    surrogates: SurrogateRules = RULES

    def __post_init__(self) -> None:
        for name, least in (("lead", 0.0), ("window", 1.0), ("step", 0.5)):
            if not least <= getattr(self, name) < 1e4:
                raise UserError(f"--{name} {getattr(self, name):g}: must be ≥ {least:g} s")


def collect_moments(
    collection: CampaignCollection, rules: MomentRules, looked: Callable[[], None] = lambda: None
) -> pd.DataFrame:
    """Return a row for each moment: arm, route, time, outcome, rates of patterns, surrogates.

    Args:
        collection: campaigns that were read.
        rules: where windows lie.
        looked: is called after each attempt, for progress.
    """
    rows = []
    clusters = collection.attempts["cluster"].to_numpy(str)
    for number, campaign, key in collection.iterate_attempts():
        names = {"arm": str(key.arm), "cluster": clusters[number], "seed": key.seed}
        rows += [{**names, **moment} for moment in iterate_moments(campaign, key, rules)]
        looked()
    columns = ["arm", "cluster", "seed", "time", "violated", *PATTERNS, *KNOWN_SURROGATES]
    return pd.DataFrame(rows, columns=columns)


def iterate_moments(
    campaign: CampaignRecords, key: AttemptKey, rules: MomentRules
) -> Iterator[dict[str, float]]:
    """Yield the moments of one drive, the last one first."""
    frames = read_checked_table(campaign, "frames", key)
    tick = get_tick_seconds(campaign)
    violated = campaign.read_result(key)["crucible"]["violation"] is not None
    motion, way, ending = read_motion(campaign, key, tick)
    times = frames["time"].to_numpy(np.float64)
    # the last window is about the violation or the end
    for number, last in enumerate(iterate_window_ends(ending.tick, tick, rules)):
        until = last * tick
        first = until - rules.window
        # (steps,) the planning steps of the window; half a tick of tolerance
        inside = (times > first + tick / 2) & (times < until + tick / 2)
        values = compute_window_measures(
            motion, way, last, seconds=rules.window, rules=rules.surrogates
        )
        yield {
            "time": until,
            "violated": float(violated and number == 0),
            **compute_pattern_rates(frames[inside]),
            **{name: float(values[name] or 0.0) for name in KNOWN_SURROGATES},
        }


def iterate_window_ends(about: int, tick_seconds: float, rules: MomentRules) -> Iterator[int]:
    """Yield the last tick of each window of a drive, the latest first."""
    last = about - round(rules.lead / tick_seconds)
    while last >= round(rules.window / tick_seconds):
        yield last
        last -= round(rules.step / tick_seconds)


def compute_pattern_rates(frames: pd.DataFrame) -> dict[str, float]:
    """Return errors for each ground-truth box in some frames; 0 without any."""
    boxes = float(frames[TRUTHS].sum())
    sums = {name: float(frames[name].sum(skipna=False)) for name in PATTERNS}
    return {name: total / boxes if boxes else 0.0 for name, total in sums.items()}


def get_tick_seconds(campaign: CampaignRecords) -> float:
    """Return the seconds of a campaign's tick."""
    tick = get_campaign_settings(campaign).get("tick", 0.05)
    if not isinstance(tick, int | float) or not 0 < tick <= 1:
        raise UserError(f"{campaign.folder / 'campaign.yaml'}: tick is {tick!r}")
    return float(tick)


def compute_moment_features(moments: pd.DataFrame, columns: tuple[str, ...]) -> Floats:
    """Return columns of moments as numbers; large values count by their logarithm."""
    return np.asarray(np.log1p(np.abs(moments[list(columns)].to_numpy(np.float64))))
