"""Scenes of a route from the records of a drive: sweeps, poses and ground truth of planning steps.

Each scene is a scenario of three moments, one planning step apart: what the operators of latency
need. It has the ego and the roadside unit. Drives record neither the surfaces that points lie on
nor the height of the ground; operators that need surfaces do not apply.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.campaign.folder.assignments import read_assignment
from harness.campaign.planning.plan import get_maps_folder
from harness.common.drivable_area import DrivableArea, write_drivable_area
from harness.common.errors import UserError
from harness.common.recordings import PROTOCOL, AgentLook, write_look
from harness.records.keys import AttemptKey
from harness.records.points import read_point_sweeps
from harness.records.reading import CampaignRecords
from harness.records.schema import POSITION_UNIT, YAW_UNIT
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import CLASSES, VEHICLE, Boxes, GroundTruth, Pose, Singles
from harness.world.maps import load_road_network
from harness.world.road_surface import build_drivable_area
from harness.world.scene import crop_boxes_to_lidar
from studies.metamorphic.scenes.recount import count_points_on_actors
from studies.metamorphic.scenes.scene import PARTNER_RANGE, make_agent_view

EGO, UNIT = 0, -1
"""Agents of a scene: the ego is actor 0 of its records, roadside units have negative numbers."""
SENDERS = {EGO: "ego", UNIT: "roadside-0"}
MOMENTS = 3
REACH = 85.0
"""Metres from a LiDAR within which parked cars are kept."""
WORLD = Pose(0.0, 0.0)
SHAPE = ["x", "y", "z", "length", "width", "height", "yaw"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DriveRecords:
    """Tables of a drive, and its sweeps by frame and sender."""

    frames: pd.DataFrame
    boxes: pd.DataFrame
    lidars: dict[tuple[int, str], Pose]  # where they truly stood, by frame and sender
    tracks: pd.DataFrame
    actors: pd.DataFrame
    sightings: pd.DataFrame
    scenery: pd.DataFrame
    sweeps: dict[tuple[int, str], Singles]

    @staticmethod
    def from_attempt(campaign: CampaignRecords, key: AttemptKey) -> DriveRecords:
        """Read a drive that kept its sweeps."""
        names = ("frames", "boxes", "tracks", "actors", "sightings", "scenery")
        poses = campaign.read_attempt_table("poses", key)
        turns = poses[[f"true_{name}" for name in ("x", "y", "z", "yaw", "pitch", "roll")]]
        senders = zip(poses["frame"].tolist(), poses["sender"].astype(str), strict=True)
        return DriveRecords(
            **{name: campaign.read_attempt_table(name, key) for name in names},
            lidars=dict(zip(senders, (Pose(*row) for row in turns.to_numpy()), strict=True)),
            sweeps=read_point_sweeps(campaign.get_result_path(key).parent, campaign.folder),
        )

    def get_lidar_pose(self, frame: int, agent: int) -> Pose | None:
        """Return where an agent's LiDAR truly stood; None where it did not sweep."""
        swept = (frame, SENDERS[agent])
        return self.lidars.get(swept) if swept in self.sweeps else None


def choose_scene_steps(drive: DriveRecords, count: int) -> list[int]:
    """Return planning steps at equal distances along the route, by row of `frames`.

    Args:
        drive: with sweeps.
        count: of steps, at most.
    """
    frames = drive.frames["frame"].tolist()
    usable = [row for row in range(MOMENTS - 1, len(frames)) if has_unit_near(drive, frames, row)]
    if not usable:
        return []
    stations = drive.frames["station"].to_numpy(np.float64)
    # the ends of the drive are no targets: standing at the start shows little
    targets = np.linspace(stations.min(), stations.max(), count + 2)[1:-1]
    nearest = [usable[int(np.abs(stations[usable] - target).argmin())] for target in targets]
    return sorted(set(nearest))


def has_unit_near(drive: DriveRecords, frames: Sequence[int], row: int) -> bool:
    """Return whether ego and roadside unit swept near each other, at a step and those before."""
    for before in range(MOMENTS):
        ego, unit = (drive.get_lidar_pose(frames[row - before], agent) for agent in SENDERS)
        if ego is None or unit is None:
            return False
        if math.hypot(ego.x - unit.x, ego.y - unit.y) > PARTNER_RANGE:
            return False
    return True


def write_route_scenes(
    campaign: CampaignRecords, key: AttemptKey, *, folder: Path, count: int, name: str
) -> int:
    """Write a recording of a drive's scenes; return how many there are.

    Args:
        campaign: of the recording drive, with `record.points=true`.
        key: of the drive.
        folder: that the recording becomes, whole or not at all.
        count: of scenes, at most.
        name: of the route.
    """
    settings: Any = campaign.header["settings"]
    drive = DriveRecords.from_attempt(campaign, key)
    result = campaign.read_result(key)
    town = read_route_town(campaign.folder, key.route)
    area = load_town_area(town, get_maps_folder(settings))
    partial = folder.with_name(f".{folder.name}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    steps = choose_scene_steps(drive, count)
    frames = drive.frames["frame"].tolist()
    for number, row in enumerate(steps):
        scenario = partial / f"{name}-{number:03}"
        scenario.mkdir()
        for moment in range(MOMENTS):
            for look in make_looks(drive, frames[row - MOMENTS + 1 + moment]):
                write_look(scenario, f"{moment:06}", look)
        write_drivable_area(area, scenario)
        protocol = {
            "town": town,
            "purpose": "testing",
            "seed": result["crucible"]["attempt"]["seed"],
            "egos": [EGO],
            "interval": settings["perceive_every"] * settings["tick"],
            "route": key.route,
            "frame": frames[row],
        }
        (scenario / PROTOCOL).write_text(json.dumps(protocol))
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return len(steps)


@lru_cache(maxsize=2)
def load_town_area(town: str, maps: Path | None) -> DrivableArea:
    """Return a town's drivable area."""
    return build_drivable_area(load_road_network(town, maps).map)


def read_route_town(campaign: Path, route: str) -> str:
    """Return the town of a campaign's route."""
    return read_assignment(campaign, route).route.town


def make_looks(drive: DriveRecords, frame: int) -> list[AgentLook]:
    """Return what the ego and the roadside unit sensed in a planning step."""
    ego = drive.get_lidar_pose(frame, EGO)
    unit = drive.get_lidar_pose(frame, UNIT)
    if ego is None or unit is None:
        raise UserError(f"frame {frame}: an agent of the scene did not sweep")
    time = float(drive.frames.loc[drive.frames["frame"] == frame, "time"].iloc[0])
    parked = make_parked_boxes(drive.scenery)
    looks = []
    for agent, pose, truth in (
        (EGO, ego, make_ego_truth(drive, frame)),
        (UNIT, unit, make_unit_truth(drive, frame, ego, unit)),
    ):
        looks.append(
            AgentLook(
                agent=agent,
                time=time,
                lidar_in_world=pose,
                points_in_lidar=drive.sweeps[frame, SENDERS[agent]],
                truth=truth,
                parked_in_lidar=crop_boxes_to_lidar(parked, pose, REACH),
            )
        )
    looks[1] = with_ego_hits(looks[1])
    return looks


def make_ego_truth(drive: DriveRecords, frame: int) -> GroundTruth:
    """Return the road users round the ego, with the returns of its own LiDAR."""
    rows = drive.boxes[
        (drive.boxes["frame"] == frame) & (drive.boxes["source"].astype(str) == "truth")
    ]
    kinds = rows["class"].astype(str).map(CLASSES.index).to_numpy(np.int64)
    boxes = Boxes(rows[SHAPE].to_numpy(np.float64), kinds, np.ones(len(rows)))
    return GroundTruth(
        boxes, rows["actor_id"].to_numpy(np.int64), rows["hits_ego"].to_numpy(np.int64)
    )


def make_unit_truth(drive: DriveRecords, frame: int, ego: Pose, unit: Pose) -> GroundTruth:
    """Return the same road users and the ego as the unit sees them, with the unit's returns."""
    around = make_ego_truth(drive, frame)
    moved = transform_boxes(around.boxes_in_lidar, ego, unit)
    ego_box = transform_boxes(make_ego_box(drive, frame), WORLD, unit)
    seen = drive.sightings[
        (drive.sightings["frame"] == frame)
        & (drive.sightings["sender"].astype(str) == SENDERS[UNIT])
    ]
    hits = dict(zip(seen["actor_id"].tolist(), seen["hits"].tolist(), strict=True))
    ids = [*around.actor_ids.tolist(), EGO]
    return GroundTruth(
        Boxes.join([moved, ego_box]),
        np.array(ids, np.int64),
        np.array([hits.get(actor, 0) for actor in ids], np.int64),
    )


def make_ego_box(drive: DriveRecords, frame: int) -> Boxes:
    """Return the ego's box in the world, from its track."""
    tracks, actors = drive.tracks, drive.actors
    place = tracks[(tracks["actor_id"] == EGO) & (tracks["frame"] == frame)].iloc[0]
    size = actors[actors["actor_id"] == EGO].iloc[0]
    row = [
        *(float(place[axis]) * POSITION_UNIT for axis in "xyz"),
        *(float(size[name]) for name in ("length", "width", "height")),
        float(place["yaw"]) * YAW_UNIT,
    ]
    return Boxes(np.array([row]), np.array([VEHICLE]), np.ones(1))


def with_ego_hits(look: AgentLook) -> AgentLook:
    """Return the unit's look with its returns on the ego: records do not count them."""
    counted = count_points_on_actors(make_agent_view(look))
    truth = look.truth
    hits = np.where(truth.actor_ids == EGO, counted, truth.hits)
    return replace(
        look, truth=GroundTruth(truth.boxes_in_lidar, truth.actor_ids, hits.astype(np.int64))
    )


def make_parked_boxes(scenery: pd.DataFrame) -> Boxes:
    """Return parked vehicles in the world."""
    rows = scenery[scenery["kind"].astype(str) == "vehicle"]
    return Boxes(rows[SHAPE].to_numpy(np.float64), np.full(len(rows), VEHICLE), np.ones(len(rows)))
