"""Recordings on disk, as OPV2V lays them out: scenario / agent / moment.

`000042.yaml` holds poses and truth under OPV2V's names, in degrees; it is written as JSON, which is
YAML that reads fast. Points are in `000042.npy`, as whole numbers of `POINT_UNIT`: less
than `.pcd`, and finer than half floats are at a LiDAR's range. What they lie on is in
`000042.surfaces.npy`; older recordings have none. Roadside units have negative ids. The folder of a
scenario has the town's drivable area, too (`harness.common.drivable_area`).
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.errors import UserError
from harness.common.safe_reading import read_array_within, read_json_within
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import (
    CLASSES,
    Boxes,
    CameraImage,
    GroundTruth,
    Pose,
    Singles,
    Surfaces,
)

PROTOCOL = "data_protocol.yaml"
USUAL_INTERVAL = 1.0
"""Seconds between looks of recordings that do not name them."""
USUAL_RIG = "v2xverse"
"""The rig of recordings that do not name it."""
POINT_UNIT = 1 / 256
"""Metres; sixteen bits reach 128 m."""
INTENSITY_UNIT = 1 / 32767
COSINE_UNIT = 1 / 255
AGENT = re.compile(r"-?\d+")
WORLD = Pose(0.0, 0.0)
UNREADABLE = (OSError, ValueError, EOFError, KeyError, TypeError, RecursionError, OverflowError)
"""What a file that is no look can provoke."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AgentLook:
    """What one agent sensed at one moment, and what really stood round it.

    Attributes:
        time: seconds.
        lidar_in_world: as it truly stands.
        points_in_lidar: (N, 4) x y z intensity, metres.
        truth: boxes in the agent's LiDAR frame.
    """

    agent: int  # actor; negative: a roadside unit
    time: float
    lidar_in_world: Pose
    points_in_lidar: Singles
    truth: GroundTruth  # hits are this agent's own
    parked_in_lidar: Boxes  # cars that are scenery
    surfaces: Surfaces | None = None  # that the points lie on, if they were recorded


@dataclass(frozen=True, slots=True)
class RecordedScenario:
    """A folder: a group of agents for some seconds.

    Attributes:
        town: its name.
    """

    folder: Path
    town: str
    purpose: str  # training or testing
    seed: int
    named_egos: tuple[int, ...] = field(default=(), kw_only=True)  # none: all vehicles
    interval: float = field(default=USUAL_INTERVAL, kw_only=True)  # s between looks
    rig: str = field(default=USUAL_RIG, kw_only=True)  # of `conf/rig`

    def list_egos(self) -> list[int]:
        """Return the vehicles by whose looks a scenario is shown: all, unless it names some."""
        vehicles = [agent for agent in self.list_agents() if agent >= 0]
        return [agent for agent in vehicles if not self.named_egos or agent in self.named_egos]

    def list_observers(self) -> list[int]:
        """Return the egos, and roadside units too if it names no egos."""
        return self.list_egos() if self.named_egos else self.list_agents()

    def list_agents(self) -> list[int]:
        """Return the agents, vehicles first."""
        names = [path.name for path in self.folder.iterdir() if path.is_dir()]
        agents = [int(name) for name in names if AGENT.fullmatch(name)]
        return sorted(agents, key=lambda agent: (agent < 0, agent))

    def list_moments(self, agent: int) -> list[str]:
        """Return when an agent looked, in order."""
        return sorted(path.stem for path in (self.folder / str(agent)).glob("*.yaml"))

    def read_look(self, agent: int, moment: str) -> AgentLook:
        """Read one agent's look; other layouts read theirs (`harness.datasets`)."""
        return read_look(self.folder, agent, moment)

    def read_images(self, agent: int, moment: str) -> tuple[CameraImage, ...]:
        """Read the images of one agent's look; none if no cameras were recorded."""
        from harness.common.pictures import read_pictures  # noqa: PLC0415

        place = self.folder / str(agent) / moment
        record = read_json_within(place.with_suffix(".yaml"), within=self.folder)
        return read_pictures(place, record, _parse_lidar_pose(record))

    def read_depths(self, agent: int, moment: str) -> tuple[Singles, ...]:
        """Read the depths of the images, (rows, columns) metres; none if there are none."""
        from harness.common.pictures import read_depths  # noqa: PLC0415

        return read_depths(self.folder / str(agent) / moment)


def list_scenarios(folder: Path) -> list[RecordedScenario]:
    """Return all scenarios of a recording that are whole."""
    whole = []
    for protocol in sorted(folder.glob(f"[!.]*/{PROTOCOL}")):
        record = read_protocol(protocol)
        whole.append(
            RecordedScenario(
                protocol.parent,
                record["town"],
                record["purpose"],
                record["seed"],
                named_egos=tuple(record["egos"]),
                interval=record["interval"],
                rig=record["rig"],
            )
        )
    if not whole:
        raise UserError(
            f"{folder}: holds no recorded scenario; record some with"
            f" `crucible collect --out {folder}`"
        )
    return whole


def read_protocol(protocol: Path) -> dict[str, Any]:
    """Return what a scenario says of how it was made."""
    try:
        record = read_json_within(protocol, within=protocol.parent.parent)
        named = {name: str(record[name]) for name in ("town", "purpose")}
        egos = [int(actor) for actor in record.get("egos", [])]
        interval = float(record.get("interval", USUAL_INTERVAL))
        if not 0.0 < interval < math.inf:
            raise ValueError(f"interval {interval}")
        return {
            **record,
            **named,
            "seed": int(record["seed"]),
            "egos": egos,
            "interval": interval,
            "rig": str(record.get("rig", USUAL_RIG)),
        }
    except (*UNREADABLE, AttributeError) as problem:
        raise UserError(f"{protocol}: not of a recorded scenario ({problem!r})") from None


def write_look(
    folder: Path, moment: str, look: AgentLook, cameras: Mapping[str, Any] | None = None
) -> None:
    """Write one agent's look into its scenario.

    Args:
        folder: of the scenario.
        moment: name of the files.
        look: what the agent sensed.
        cameras: what is written of its cameras, by key.
    """
    place = folder / str(look.agent)
    place.mkdir(exist_ok=True)
    # (N, 4) whole numbers; (N, 2) labels and cosines in files of their kind
    xyz = np.rint(look.points_in_lidar[:, :3] / POINT_UNIT)
    intensity = np.rint(look.points_in_lidar[:, 3:] / INTENSITY_UNIT)
    np.save(place / f"{moment}.npy", np.concatenate([xyz, intensity], axis=1).astype(np.int16))
    if look.surfaces is not None:
        cosines = np.rint(look.surfaces.cosines / COSINE_UNIT)
        pairs = np.column_stack([look.surfaces.labels, cosines]).astype(np.uint8)
        np.save(place / f"{moment}.surfaces.npy", pairs)
    # poses and boxes as OPV2V has them, which is YAML and JSON at once
    text = json.dumps(
        {
            "time": round(look.time, 4),
            "lidar_pose": _format_opv2v_pose(look.lidar_in_world),
            "vehicles": dict(_iter_road_users(look)),
            "parked": list(_iter_box_records(look.parked_in_lidar, look.lidar_in_world)),
            **(cameras or {}),
        }
    )
    (place / f"{moment}.yaml").write_text(text)


def read_look(folder: Path, agent: int, moment: str) -> AgentLook:
    """Read one agent's look.

    Args:
        folder: of the scenario.
        agent: its id.
        moment: name of the files.
    """
    place = folder / str(agent) / moment
    try:
        return _read_look(place, agent)
    except UNREADABLE as problem:
        why = str(problem).partition("\n")[0]
        raise UserError(
            f"{place}: .yaml and .npy are no look of a recording ({why}); remove the scenario, and"
            " `collect` records it again"
        ) from None


def _read_look(place: Path, agent: int) -> AgentLook:
    folder = place.parent.parent
    record = read_json_within(place.with_suffix(".yaml"), within=folder)
    lidar_in_world = _parse_lidar_pose(record)
    # whole numbers in the file, m and an intensity of 0 to 1 here; (points, 4)
    units = np.array([*[POINT_UNIT] * 3, INTENSITY_UNIT], np.float32)
    points = read_array_within(place.with_suffix(".npy"), within=folder).astype(np.float32) * units
    # boxes are written in the world frame, parked ones in the LiDAR's here
    truth = _select_true_boxes(record["vehicles"], lidar_in_world)
    parked = transform_boxes(_parse_boxes(record["parked"]), WORLD, lidar_in_world)
    return AgentLook(
        agent=agent,
        time=record["time"],
        lidar_in_world=lidar_in_world,
        points_in_lidar=points,
        truth=truth,
        parked_in_lidar=parked,
        surfaces=_read_surfaces(place.with_suffix(".surfaces.npy"), len(points)),
    )


def _parse_lidar_pose(record: Mapping[str, Any]) -> Pose:
    """Return where the LiDAR stood: OPV2V writes roll, yaw, pitch in degrees."""
    x, y, z, roll, yaw, pitch = record["lidar_pose"]
    angles = (math.radians(angle) for angle in (yaw, pitch, roll))
    return Pose(x, y, z, *angles)


def _read_surfaces(file: Path, points: int) -> Surfaces | None:
    """Read the surfaces of so many points, if they were recorded."""
    if not os.path.lexists(file):
        return None
    pairs = read_array_within(file)
    if pairs.shape != (points, 2):
        raise ValueError(f"{len(pairs)} surfaces of {points} points")
    return Surfaces(pairs[:, 0].copy(), pairs[:, 1].astype(np.float32) * np.float32(COSINE_UNIT))


def _format_opv2v_pose(pose: Pose) -> list[float]:
    """Return a pose in OPV2V's order."""
    turns = [round(math.degrees(angle), 6) for angle in (pose.roll, pose.yaw, pose.pitch)]
    return [*(round(metres, 4) for metres in (pose.x, pose.y, pose.z)), *turns]


def _iter_road_users(look: AgentLook) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield road users by id, and how often this agent hits each."""
    truth = look.truth
    boxes = _iter_box_records(truth.boxes_in_lidar, look.lidar_in_world)
    ids, hits = truth.actor_ids.tolist(), truth.hits.tolist()
    for actor, box, count in zip(ids, boxes, hits, strict=True):
        yield str(actor), {**box, "hits": count}


def _iter_box_records(boxes_in_lidar: Boxes, lidar_in_world: Pose) -> Iterator[dict[str, Any]]:
    """Yield boxes in the world under OPV2V's names; the class is ours."""
    boxes = transform_boxes(boxes_in_lidar, lidar_in_world, WORLD)
    for box, kind in zip(boxes.geometry.tolist(), boxes.classes.tolist(), strict=True):
        yield {
            "location": [round(metres, 4) for metres in box[:3]],
            "center": [0.0, 0.0, 0.0],
            "extent": [round(metres / 2, 4) for metres in box[3:6]],
            "angle": [0.0, round(math.degrees(box[6]), 4), 0.0],
            "class": CLASSES[kind],
        }


def _parse_boxes(records: Collection[dict[str, Any]]) -> Boxes:
    """Return boxes in the world."""
    # (boxes, 7): files hold half sizes in m and angles in degrees, of which the second is the yaw
    rows = [
        [
            *record["location"],
            *(2 * half for half in record["extent"]),
            math.radians(record["angle"][1]),
        ]
        for record in records
    ]
    kinds = [CLASSES.index(record["class"]) for record in records]
    return Boxes(
        np.array(rows, np.float64).reshape(-1, 7), np.array(kinds, np.int64), np.ones(len(rows))
    )


def _select_true_boxes(vehicles: dict[str, dict[str, Any]], lidar_in_world: Pose) -> GroundTruth:
    return GroundTruth(
        transform_boxes(_parse_boxes(vehicles.values()), WORLD, lidar_in_world),
        np.array([int(actor) for actor in vehicles], np.int64),
        np.array([record["hits"] for record in vehicles.values()], np.int64),
    )
