"""What an attempt is worth to a search: objectives, all minimised, from the attempt's records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.records.reading import read_json_object, read_stored_table
from harness.records.schema import POSITION_UNIT, YAW_UNIT
from harness.types.vocabulary import Floats
from studies.search.gaps import compute_pair_collision_times, compute_rectangle_gaps

LONGEST = 10.0
"""Seconds: no time to collision counts as this."""
FARTHEST = 100.0
"""Metres: the gap to road users if there are none."""
STANDS = 0.5
"""Metres by which a road user may be moved and still counts as standing."""
NEAR = 10.0
"""Metres to either side of the route within which missed objects count."""
MISSED = ("LCME", "CCME")
"""Patterns of a ground-truth box that cooperation misses."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AttemptRecords:
    """What objectives and measures read of an attempt."""

    result: Mapping[str, Any]  # `crucible` of result.json
    tracks: Any
    actors: Any
    frames: Any
    boxes: Any
    messages: Any
    poses: Any
    route: Floats  # (N, 2) in the world
    tick: float  # s

    @staticmethod
    def from_attempt(attempt: Path, tick: float) -> AttemptRecords:
        """Return the records of a try's folder."""
        names = ("tracks", "actors", "frames", "boxes", "messages", "poses")
        tables = {name: read_stored_table(attempt / f"{name}.parquet", name) for name in names}
        lines = read_stored_table(attempt / "map.parquet", "map")
        return AttemptRecords(
            result=read_json_object(attempt / "result.json")["crucible"],
            route=lines.loc[lines.kind == "route", ["x", "y"]].to_numpy(),
            tick=tick,
            **tables,
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EgoPairs:
    """The ego with every other road user at every tick."""

    frames: Any
    ego: Floats  # (N, 5) rectangles
    others: Floats
    velocities: Floats  # (N, 2) m/s: the others', less the ego's
    moves: Any  # whether the other moves at any time of the drive


def build_ego_pairs(records: AttemptRecords) -> EgoPairs:
    """Return all pairs of the ego and another road user, tick by tick."""
    # units of the table to m and rad
    rows = records.tracks.merge(records.actors[["actor_id", "length", "width"]], on="actor_id")
    rows = rows.sort_values(["actor_id", "frame"]).reset_index(drop=True)
    rows = rows.assign(x=rows.x * POSITION_UNIT, y=rows.y * POSITION_UNIT, yaw=rows.yaw * YAW_UNIT)
    by_actor = rows.groupby("actor_id")
    # velocities from positions, m/s; 0 where an actor appears
    steps = by_actor.frame.diff() * records.tick
    for axis in "xy":
        rows[f"v{axis}"] = (by_actor[axis].diff() / steps).fillna(0.0)
    # a road user that never leaves its place stands
    span = by_actor[["x", "y"]].transform("max") - by_actor[["x", "y"]].transform("min")
    rows["moves"] = (span.max(axis=1) > STANDS).to_numpy()
    # (pairs,): a row for each tick and other road user
    ego = rows[rows.actor_id == 0]
    both = rows[rows.actor_id != 0].merge(ego, on="frame", suffixes=("", "_ego"))
    columns = ["x", "y", "length", "width", "yaw"]
    return EgoPairs(
        frames=both.frame.to_numpy(),
        ego=both[[f"{name}_ego" for name in columns]].to_numpy(np.float64),
        others=both[columns].to_numpy(np.float64),
        velocities=both[["vx", "vy"]].to_numpy() - both[["vx_ego", "vy_ego"]].to_numpy(),
        moves=both.moves.to_numpy(bool),
    )


def compute_gap_objective(records: AttemptRecords) -> float:
    """Return the smallest distance in m between the ego's box and any road user's, from above.

    Boxes are oriented; 0 if the ego collided with a road user. Vehicles parked by a hazard count
    too: see `compute_smallest_moving_gap`.
    """
    return find_least_gap(records, build_ego_pairs(records), moving=False)[0]


def compute_smallest_moving_gap(records: AttemptRecords) -> float:
    """Return the smallest gap in m to a road user that moves at any time of the drive.

    The ego passes parked vehicles at the same distance however it drives: without them a search
    sees how near it came to a collision.
    """
    return find_least_gap(records, build_ego_pairs(records), moving=True)[0]


def find_least_gap(
    records: AttemptRecords, pairs: EgoPairs, *, moving: bool
) -> tuple[float, int | None]:
    """Return the smallest gap, and its frame if there was another road user."""
    counted = pairs.moves if moving else np.ones(len(pairs.frames), bool)
    distances = np.minimum(
        compute_rectangle_gaps(pairs.ego[counted], pairs.others[counted]), FARTHEST
    )
    least = int(np.argmin(distances)) if len(distances) else None
    value = FARTHEST if least is None else float(distances[least])
    frame = None if least is None else int(pairs.frames[counted][least])
    return (0.0 if records.result["collided_with_road_user"] else value), frame


def compute_smallest_time_to_collision(records: AttemptRecords) -> float:
    """Return the smallest time in s until the ego and another road user would touch.

    Both keep course and speed (Hayward 1972); at most 10 s; 0 if the ego collided with one.
    """
    if records.result["collided_with_road_user"]:
        return 0.0
    pairs = build_ego_pairs(records)
    times = compute_pair_collision_times(pairs.ego, pairs.others, pairs.velocities, LONGEST)
    return float(times.min(initial=LONGEST))


def get_driving_score(records: AttemptRecords) -> float:
    """Return the driving score, from 0 to 100."""
    return float(records.result["driving_score"])


def compute_missed_near_route(records: AttemptRecords) -> float:
    """Return minus the share of ground-truth boxes near the route that cooperation misses.

    Exposed is each ground-truth box that counts, at each planning step, up to 10 m aside of the
    route; missed are those with the pattern LCME or CCME (no cooperative box overlaps them).
    Without exposed boxes: 0.
    """
    boxes = records.boxes
    truth = boxes[(boxes.source == "truth") & boxes.counted]
    ego = records.poses[records.poses.sender == "ego"].set_index("frame")
    at = ego.loc[truth.frame, ["true_x", "true_y", "true_yaw"]].to_numpy()
    local = truth[["x", "y"]].to_numpy()
    cos, sin = np.cos(at[:, 2]), np.sin(at[:, 2])
    x = at[:, 0] + cos * local[:, 0] - sin * local[:, 1]
    y = at[:, 1] + sin * local[:, 0] + cos * local[:, 1]
    near = compute_distances_to_line(np.column_stack([x, y]), records.route) <= NEAR
    missed = truth.pattern.isin(MISSED).to_numpy()
    return -float(missed[near].mean()) if near.any() else 0.0


def compute_distances_to_line(points: Floats, line: Floats) -> Floats:
    """Return the distance of points (N, 2) to a polyline (M, 2)."""
    start, side = line[:-1], np.diff(line, axis=0)
    length = np.maximum((side**2).sum(axis=1), np.finfo(np.float64).tiny)
    to_point = points[:, None] - start
    share = np.clip((to_point * side).sum(axis=-1) / length, 0.0, 1.0)
    away = to_point - share[..., None] * side
    return np.asarray(np.hypot(away[..., 0], away[..., 1]).min(axis=1))


OBJECTIVES: dict[str, Callable[[AttemptRecords], float]] = {
    "gap": compute_gap_objective,
    "gap_to_moving": compute_smallest_moving_gap,
    "time_to_collision": compute_smallest_time_to_collision,
    "driving_score": get_driving_score,
    "missed_near_route": compute_missed_near_route,
}
"""Objectives by name; all are in the ledger, the settings choose those that guide."""
