"""Drives of a campaign as recorded scenes: sweeps, pictures, road users and poses of an attempt.

A campaign keeps sweeps with `record.points=true` and pictures with `record.pictures=[front,…]`. The
agents in range change during a drive, and data sets have the same agents at all moments of a
scenario: a drive becomes one scenario for each stretch of planning steps with the same agents.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.common.errors import UserError
from harness.common.pictures import NOT_A_PICTURE
from harness.common.progress_bar import track_items
from harness.common.recordings import AgentLook, RecordedScenario
from harness.common.safe_reading import LAID_ROUTE, read_json_within
from harness.datasets.lidar_mounts import USUAL_MOUNTS, LidarMounts, parse_lidar_mounts
from harness.datasets.opv2v_reading import count_points_inside
from harness.datasets.scene_frames import WORLD_FRAME
from harness.records.keys import AttemptKey
from harness.records.names import escape_file_name
from harness.records.pictures import unpack_picture
from harness.records.points import unpack_points
from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.schema import POSITION_UNIT, YAW_UNIT
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import (
    CLASSES,
    VEHICLE,
    Boxes,
    CameraImage,
    Floats,
    GroundTruth,
    Pose,
    Singles,
)

if TYPE_CHECKING:
    import pandas as pd

EGO = "ego"
UNKNOWN_CARRIER = 1_000_000
"""First id of vehicles whose body was not found below their LiDAR."""
POSE = ("x", "y", "z", "yaw", "pitch", "roll")
UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AttemptTables:
    """What a drive recorded, by planning step.

    Attributes:
        times: seconds by frame.
        poses: of each LiDAR in the world, by frame and sender.
        tracks: (N, 5) actor x y z yaw by frame, metres and radians in the world.
        actors: class, length, width and height by actor.
        hits: returns by frame, sender and actor.
        points: packed sweeps by frame and sender.
        pictures: rows of pictures by frame and sender.
        parked: cars that are scenery, in the world.
    """

    times: dict[int, float]
    poses: dict[tuple[int, str], Pose]
    tracks: dict[int, Floats]
    actors: dict[int, tuple[int, float, float, float]]
    hits: dict[tuple[int, str, int], int]
    points: dict[tuple[int, str], bytes]
    pictures: dict[tuple[int, str], list[dict[Any, Any]]]
    parked: Boxes


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignScenario(RecordedScenario):
    """A stretch of a drive: its agents and its planning steps.

    Attributes:
        attempt: folder of the try.
        campaign: the campaign's folder.
        frames: planning steps.
        senders: names in the records by agent.
        reach: metres within which road users are listed.
        mounts: of the rig.
    """

    attempt: Path = Path()
    campaign: Path = Path()
    frames: tuple[int, ...] = ()
    senders: tuple[tuple[int, str], ...] = ()
    reach: float = math.inf
    mounts: LidarMounts = USUAL_MOUNTS

    def list_agents(self) -> list[int]:
        """Return the agents, vehicles first."""
        agents = [agent for agent, _ in self.senders]
        return sorted(agents, key=lambda agent: (agent < 0, agent))

    def list_moments(self, agent: int) -> list[str]:
        """Return the names of the planning steps, in order."""
        del agent  # all have the same
        return [f"{frame:06}" for frame in self.frames]

    def read_look(self, agent: int, moment: str) -> AgentLook:
        """Return what one agent sensed at a planning step."""
        try:
            return self._read_look(agent, moment)
        except (KeyError, ValueError) as problem:
            raise make_misfit_error(self.attempt, problem) from None

    def _read_look(self, agent: int, moment: str) -> AgentLook:
        tables = read_attempt_tables(self.attempt, self.campaign)
        frame, sender = int(moment), dict(self.senders)[agent]
        pose = tables.poses[frame, sender]
        rows = tables.tracks.get(frame, np.zeros((0, 5)))
        # road users within reach, without the agent itself
        away = np.hypot(rows[:, 1] - pose.x, rows[:, 2] - pose.y)
        near = rows[(away <= self.reach) & (rows[:, 0] != agent)]
        ids = near[:, 0].astype(np.int64)
        kinds = [tables.actors[actor] for actor in ids.tolist()]
        sizes = np.array([kind[1:] for kind in kinds], np.float64).reshape(-1, 3)
        boxes = Boxes(
            np.column_stack([near[:, 1:4], sizes, near[:, 4]]),
            np.array([kind[0] for kind in kinds], np.int64),
            np.ones(len(near)),
        )
        points = unpack_points(tables.points[frame, sender])
        hits = [tables.hits.get((frame, sender, actor), 0) for actor in ids.tolist()]
        boxes_in_lidar = transform_boxes(boxes, WORLD_FRAME, pose)
        if 0 in ids:
            # records count no returns from the ego, which is no road user to its own system
            where = ids.tolist().index(0)
            body = boxes_in_lidar.geometry[where : where + 1]
            hits[where] = int(count_points_inside(points, body)[0])
        parked = tables.parked
        close = np.hypot(parked.geometry[:, 0] - pose.x, parked.geometry[:, 1] - pose.y)
        return AgentLook(
            agent=agent,
            time=tables.times[frame],
            lidar_in_world=pose,
            points_in_lidar=points,
            truth=GroundTruth(boxes_in_lidar, ids, np.array(hits, np.int64)),
            parked_in_lidar=transform_boxes(parked[close <= self.reach], WORLD_FRAME, pose),
        )

    def read_images(self, agent: int, moment: str) -> tuple[CameraImage, ...]:
        """Return the kept pictures of one agent at a planning step."""
        tables = read_attempt_tables(self.attempt, self.campaign)
        rows = tables.pictures.get((int(moment), dict(self.senders)[agent]), [])
        try:
            return tuple(unpack_picture(row) for row in rows)
        except NOT_A_PICTURE as problem:
            why = str(problem).splitlines()[0]
            raise UserError(f"{self.attempt}: a picture at frame {int(moment)}: {why}") from None

    def read_depths(self, agent: int, moment: str) -> tuple[Singles, ...]:
        """Return nothing: campaigns keep no depths."""
        del agent, moment
        return ()


def make_misfit_error(attempt: Path, problem: Exception) -> UserError:
    """Return the error of an attempt whose tables do not belong together."""
    return UserError(f"{attempt}: its tables do not fit together ({problem!r})")


def is_campaign(folder: Path) -> bool:
    """Return whether a folder is a campaign's."""
    return (folder / "campaign.yaml").is_file()


def open_campaign(folder: Path) -> list[RecordedScenario]:
    """Return the finished drives of a campaign as scenarios.

    Raises:
        UserError: no drive has finished, or one kept no sweeps.
    """
    records = CampaignRecords(folder)
    attempts = sorted(records.find_attempts().items())
    if not attempts:
        raise UserError(f"{folder}: no finished attempt")
    settings = records.header.get("settings")
    rig = settings.get("rig") if isinstance(settings, Mapping) else None
    scenarios: list[RecordedScenario] = []
    for key, attempt in track_items(attempts, "attempts"):
        if not os.path.lexists(attempt / "points.parquet"):
            raise UserError(
                f"{attempt}: no sweeps; a campaign keeps them with record.points=true, and pictures"
                " with record.pictures=[front,right,left,rear]"
            )
        town = read_route_town(folder, key.route)
        try:
            scenarios += split_attempt(key, attempt, folder, rig=rig or {}, town=town)
        except (KeyError, ValueError, TypeError) as problem:
            raise make_misfit_error(attempt, problem) from None
    return scenarios


def read_route_town(campaign: Path, route: str) -> str:
    """Return the town of a route, as the campaign laid it."""
    file = campaign / "routes" / f"{escape_file_name(route)}.json"
    try:
        return str(read_json_within(file, LAID_ROUTE, within=campaign)["town"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise UserError(f"{file}: not a laid route ({problem!r})") from None


def split_attempt(
    key: AttemptKey, attempt: Path, campaign: Path, *, rig: Mapping[str, Any], town: str
) -> list[RecordedScenario]:
    """Return the stretches of a drive that have the same agents throughout."""
    tables = read_attempt_tables(attempt, campaign)
    present: dict[int, list[str]] = {}
    for frame, sender in sorted(tables.points):
        if (frame, sender) in tables.poses and frame in tables.times:
            present.setdefault(frame, []).append(sender)
    frames = sorted(present)
    gaps = {round(tables.times[b] - tables.times[a], 6) for a, b in pairwise(frames)}
    interval = min(gaps, default=0.2)
    arm = "-".join(str(value) for _, value in key.arm.factors)
    name = UNSAFE.sub("_", f"{arm}-{key.route}-s{key.seed}")
    scenarios: list[RecordedScenario] = []
    for senders, group in groupby(frames, key=lambda frame: tuple(present[frame])):
        stretch = tuple(group)
        if EGO in senders:
            scenarios.append(
                CampaignScenario(
                    folder=Path(f"{name}-{stretch[0]:06}"),
                    town=town,
                    purpose="testing",
                    seed=key.seed,
                    named_egos=(0,),
                    interval=interval,
                    attempt=attempt,
                    campaign=campaign,
                    frames=stretch,
                    senders=number_senders(senders, stretch[0], tables),
                    reach=float((rig.get("vehicle") or {}).get("range", math.inf)),
                    mounts=parse_lidar_mounts(rig),
                )
            )
    return scenarios


def number_senders(
    senders: tuple[str, ...], frame: int, tables: AttemptTables
) -> tuple[tuple[int, str], ...]:
    """Return agents by their actor; roadside units count from minus one down."""
    numbered: list[tuple[int, str]] = []
    units = 0
    for count, sender in enumerate(sorted(senders, key=lambda name: (name != EGO, name))):
        if sender == EGO:
            numbered.append((0, sender))
        elif sender.startswith("roadside"):
            units += 1
            numbered.append((-units, sender))
        else:
            carrier = find_carrier(tables, frame, tables.poses[frame, sender])
            numbered.append((UNKNOWN_CARRIER + count if carrier is None else carrier, sender))
    return tuple(numbered)


def find_carrier(tables: AttemptTables, frame: int, lidar: Pose) -> int | None:
    """Return the vehicle whose box seen from above holds a LiDAR."""
    for actor, x, y, _, yaw in tables.tracks.get(frame, np.zeros((0, 5))).tolist():
        kind, length, width, _ = tables.actors[int(actor)]
        east, south = lidar.x - x, lidar.y - y
        ahead = east * math.cos(yaw) + south * math.sin(yaw)
        aside = south * math.cos(yaw) - east * math.sin(yaw)
        if kind == VEHICLE and abs(ahead) <= length / 2 and abs(aside) <= width / 2:
            return int(actor)
    return None


@lru_cache(maxsize=1)
def read_attempt_tables(attempt: Path, campaign: Path) -> AttemptTables:
    """Return what a drive recorded; the drive read last is kept."""

    def read_table(name: str) -> pd.DataFrame:
        return read_stored_table(attempt / f"{name}.parquet", name, campaign)

    frames, poses, tracks = read_table("frames"), read_table("poses"), read_table("tracks")
    actors, sightings, points = read_table("actors"), read_table("sightings"), read_table("points")
    scenery = read_table("scenery")
    has_pictures = os.path.lexists(attempt / "pictures.parquet")
    pictures: dict[tuple[int, str], list[dict[Any, Any]]] = {}
    for row in read_table("pictures").to_dict("records") if has_pictures else ():
        pictures.setdefault((int(row["frame"]), str(row["sender"])), []).append(row)
    # places at planning steps only: (N, 5) actor x y z yaw
    at_steps = tracks[tracks["frame"].isin(frames["frame"])]
    units = {"x": POSITION_UNIT, "y": POSITION_UNIT, "z": POSITION_UNIT, "yaw": YAW_UNIT}
    columns = [at_steps[name].to_numpy(np.float64) * unit for name, unit in units.items()]
    rows = np.column_stack([at_steps["actor_id"].to_numpy(np.float64), *columns])
    moments = at_steps["frame"].to_numpy()
    by_frame = {frame: rows[moments == frame] for frame in frames["frame"].tolist()}
    kinds = {name: number for number, name in enumerate(CLASSES)}
    cars = scenery[scenery["kind"].astype(str) == "vehicle"]
    names = ["x", "y", "z", "length", "width", "height", "yaw"]
    return AttemptTables(
        times=dict(zip(frames["frame"].tolist(), frames["time"].tolist(), strict=True)),
        poses={
            (int(row["frame"]), str(row["sender"])): Pose(*(row[f"true_{part}"] for part in POSE))
            for row in poses.to_dict("records")
        },
        tracks=by_frame,
        actors={
            int(row["actor_id"]): (
                kinds[str(row["class"])],
                float(row["length"]),
                float(row["width"]),
                float(row["height"]),
            )
            for row in actors.to_dict("records")
        },
        hits={
            (int(frame), str(sender), int(actor)): int(count)
            for frame, sender, actor, count in zip(
                *(sightings[name] for name in ("frame", "sender", "actor_id", "hits")), strict=True
            )
        },
        points={
            (int(frame), str(sender)): packed
            for frame, sender, packed in zip(
                points["frame"], points["sender"], points["points"], strict=True
            )
        },
        pictures=pictures,
        parked=Boxes(
            cars[names].to_numpy(np.float64), np.full(len(cars), VEHICLE), np.ones(len(cars))
        ),
    )
