"""How the ego and the road users near it moved, tick by tick, and filters of such series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from harness.types.vocabulary import Floats, Integers

SIDE = 2
"""Ticks on either side over which a velocity is a difference of places."""
PLACE = ("x", "y", "z", "yaw")
SIZE = ("length", "width", "height")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoadUserMotion:
    """Boxes of the ego in every tick, and of road users in the ticks in which they were near.

    Attributes:
        tick_seconds: the length of a tick.
    """

    tick_seconds: float
    ego: Floats  # (T, 4) x y z yaw of its box
    ego_size: Floats  # (3,) length width height
    place: Floats  # (N, 4) of the others, sorted by road user and tick
    size: Floats  # (N, 3)
    tick: Integers  # (N,) row of the ego
    actor: Integers  # (N,) number of the road user

    def __len__(self) -> int:
        return len(self.ego)

    def select_tick_range(self, first: int, last: int) -> RoadUserMotion:
        """Return the ticks from first to last, both included, and nothing of any other tick.

        Args:
            first: the first tick; below 0 it is 0.
            last: the last tick; beyond the end it is the end.
        """
        first, last = max(first, 0), min(last, len(self) - 1)
        inside = (self.tick >= first) & (self.tick <= last)
        return replace(
            self,
            ego=self.ego[first : last + 1],
            place=self.place[inside],
            size=self.size[inside],
            tick=self.tick[inside] - first,
            actor=self.actor[inside],
        )

    def select_near(self, reach: float, level: float) -> RoadUserMotion:
        """Return the road users within reach of the ego's centre, and on its level.

        Args:
            reach: metres between the centres.
            level: metres between the boxes in height.

        Returns:
            The same ticks with fewer rows of others.
        """
        ego = self.ego[self.tick]
        away = np.hypot(self.place[:, 0] - ego[:, 0], self.place[:, 1] - ego[:, 1])
        above = np.abs(self.place[:, 2] - ego[:, 2]) - (self.size[:, 2] + self.ego_size[2]) / 2
        inside = (away <= reach) & (above <= level)
        return replace(
            self,
            place=self.place[inside],
            size=self.size[inside],
            tick=self.tick[inside],
            actor=self.actor[inside],
        )

    def compute_ego_velocity(self) -> Floats:
        """Return the ego's velocity in each tick, (T, 2)."""
        ticks = np.arange(len(self))
        return compute_velocities(self.ego, ticks, np.zeros_like(ticks), self.tick_seconds)

    def compute_velocity(self) -> Floats:
        """Return the velocity of each row of the others, (N, 2)."""
        return compute_velocities(self.place, self.tick, self.actor, self.tick_seconds)

    def compute_speed(self) -> Floats:
        """Return the ego's speed along its heading, (T,); negative in reverse."""
        velocity, yaw = self.compute_ego_velocity(), self.ego[:, 3]
        return np.asarray(velocity[:, 0] * np.cos(yaw) + velocity[:, 1] * np.sin(yaw))


def build_motion(
    tracks: Mapping[str, Any],
    actors: Mapping[str, Any],
    *,
    tick_seconds: float,
    units: tuple[float, float],
) -> RoadUserMotion:
    """Return the motion in the tables `tracks` and `actors`; the ego has number 0.

    `units` are the metres and radians that the whole numbers of the tracks count.

    Args:
        tracks: columns `actor_id`, `frame` and the place of every road user in every tick.
        actors: columns `actor_id` and the sizes, metres.
        tick_seconds: the length of a tick.
        units: metres and radians of one whole number.

    Returns:
        The ego in every tick, and rows of the others sorted by road user and tick.

    Raises:
        ValueError: a road user without a size, or an ego that is not in every tick.
    """
    column = {name: np.asarray(tracks[name]) for name in ("actor_id", "frame", *PLACE)}
    # (rows, 4) x y z yaw in metres and radians
    scale = np.array([units[0], units[0], units[0], units[1]])
    place = np.stack([column[name] for name in PLACE], axis=1) * scale
    numbers = np.asarray(actors["actor_id"])
    sizes = np.stack([np.asarray(actors[name], np.float32) for name in SIZE], axis=1, dtype=float)
    # sizes (rows, 3): the row of `actors` for each row of `tracks`
    order = np.argsort(numbers, kind="stable")
    rows = order[np.searchsorted(numbers, column["actor_id"], sorter=order) % max(len(order), 1)]
    if not np.array_equal(numbers[rows], column["actor_id"]):
        raise ValueError("tracks: a road user that `actors` lacks")
    # the ego is number 0 and in every tick once
    ego = column["actor_id"] == 0
    if not np.array_equal(column["frame"][ego], np.arange(ego.sum())) or not ego.any():
        raise ValueError("tracks: the ego is not in every tick once, in order")
    # ticks outside the ego's are dropped
    others = np.flatnonzero(~ego & (column["frame"] < ego.sum()) & (column["frame"] >= 0))
    others = others[np.lexsort((column["frame"][others], column["actor_id"][others]))]
    return RoadUserMotion(
        tick_seconds=tick_seconds,
        ego=place[ego],
        ego_size=sizes[rows][ego][0],
        place=place[others],
        size=sizes[rows][others],
        tick=column["frame"][others].astype(np.int64),
        actor=column["actor_id"][others].astype(np.int64),
    )


def compute_velocities(
    places: Floats, ticks: Integers, actors: Integers, tick_seconds: float
) -> Floats:
    """Return velocities (N, 2) as differences of places up to two ticks away; 0 where alone.

    Rows are sorted by road user and tick; a tick in which one was away ends its stretch.

    Args:
        places: (N, 2 or more) x y in metres.
        ticks: (N,)
        actors: (N,) numbers of the road users.
        tick_seconds: the length of a tick.

    Returns:
        (N, 2) m/s.
    """
    if not len(ticks):
        return np.zeros((0, 2))
    # stretches without a gap; (N,) the first and last row of each row's stretch
    broken = np.flatnonzero((np.diff(actors) != 0) | (np.diff(ticks) != 1)) + 1
    starts = np.concatenate([[0], broken])
    lengths = np.diff(np.concatenate([starts, [len(ticks)]]))
    first, last = np.repeat(starts, lengths), np.repeat(starts + lengths - 1, lengths)
    rows = np.arange(len(ticks))
    # central differences inside a stretch, one-sided at its ends
    low, high = np.maximum(rows - SIDE, first), np.minimum(rows + SIDE, last)
    seconds = np.maximum(high - low, 1) * tick_seconds
    return np.asarray((places[high, :2] - places[low, :2]) / seconds[:, None])


def compute_slopes(values: Floats, tick_seconds: float, window: float) -> Floats:
    """Return derivatives by quadratic fits over a window (Savitzky and Golay 1964, Anal. Chem. 36).

    nuPlan's comfort metrics filter so, over 8 samples at 10 Hz for accelerations and 15 for jerks.
    Where a window would reach beyond an end the nearest whole one counts, in its middle: fits
    reach their own ends with large errors.

    Args:
        values: (T,)
        tick_seconds: the length of a tick.
        window: seconds of the filter.

    Returns:
        (T,) units of `values` a second; 0 for fewer than three values.
    """
    count = min(2 * round(window / tick_seconds / 2) + 1, len(values))
    if count < 3:
        return np.zeros(len(values))
    # (count, 3): row 1 of the pseudo-inverse is the slope in the middle of a window
    times = (np.arange(count) - (count - 1) / 2) * tick_seconds
    fits = np.linalg.pinv(np.stack([np.ones(count), times, times**2], axis=1))
    middle = sliding_window_view(values, count) @ fits[1]
    # (T,) at the ends, the nearest whole window
    nearest = np.clip(np.arange(len(values)) - (count - 1) // 2, 0, len(middle) - 1)
    return np.asarray(middle[nearest])


def find_episodes(happens: Any, longest_break: int) -> list[tuple[int, int]]:
    """Return first and last tick of each stretch in which something happens.

    Stretches with at most so many ticks between them are one.

    Args:
        happens: (T,) true in ticks in which it happens.
        longest_break: ticks.
    """
    ticks = np.flatnonzero(happens)
    if not len(ticks):
        return []
    ends = np.flatnonzero(np.diff(ticks) > longest_break + 1)
    firsts = ticks[np.concatenate([[0], ends + 1])]
    lasts = ticks[np.concatenate([ends, [len(ticks) - 1]])]
    return [(int(first), int(last)) for first, last in zip(firsts, lasts, strict=True)]
