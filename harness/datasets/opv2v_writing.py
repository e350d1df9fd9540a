"""Writes looks as OPV2V and V2XSet have them: `000042.pcd` and `.yaml` in each agent's folder.

OpenCOOD and HEAL read points, `lidar_pose` and `vehicles`. Below the key `crucible` is what their
layout has no place for; their loaders ignore it, and ours reads it back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import yaml

from harness.common.recordings import AgentLook
from harness.datasets.opv2v_pictures import write_opv2v_pictures
from harness.datasets.point_files import pack_point_cloud
from harness.datasets.scene_frames import KMH, AgentTrack
from harness.datasets.tilted_boxes import format_opv2v_pose, format_tilted_box
from harness.types.vocabulary import CLASSES, VEHICLE, CameraImage, Singles

EXTRA_KEY = "crucible"
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def write_opv2v_look(
    place: Path,
    look: AgentLook,
    track: AgentTrack,
    *,
    number: int,
    cooperating: Collection[int],
    images: Sequence[CameraImage] = (),
    depths: Sequence[Singles] = (),
) -> None:
    """Write one look.

    Args:
        place: agent's folder and name of the moment, without an ending.
        look: with its points.
        track: of the agent.
        number: of the look in its track.
        cooperating: agents of the scenario: OPV2V lists none of them as a vehicle.
        images: of the agent's cameras.
        depths: (rows, columns) metres of each image.
    """
    record = make_opv2v_record(look, track, number=number, cooperating=cooperating)
    record |= write_opv2v_pictures(place, look, images, depths)
    place.with_name(f"{place.name}.pcd").write_bytes(pack_point_cloud(look.points_in_lidar))
    text = yaml.dump(record, Dumper=DUMPER, default_flow_style=None, sort_keys=True, width=4096)
    place.with_name(f"{place.name}.yaml").write_text(text)


def make_opv2v_record(
    look: AgentLook, track: AgentTrack, *, number: int, cooperating: Collection[int]
) -> dict[str, Any]:
    """Return what the `.yaml` of a look holds.

    Vehicles that the agent's LiDAR hits are listed, as in OPV2V; pedestrians, cyclists, vehicles
    without a return and cooperating vehicles are below `crucible`.
    """
    lidar = look.lidar_in_world
    carrier = format_opv2v_pose(track.locate_carrier(look))
    speeds = track.estimate_user_speeds(number)
    vehicles: dict[int, dict[str, Any]] = {}
    others: dict[int, dict[str, Any]] = {}
    truth = look.truth
    ids, hits = truth.actor_ids.tolist(), truth.hits.tolist()
    boxes = truth.boxes_in_lidar
    for row, (actor, kind) in enumerate(zip(ids, boxes.classes.tolist(), strict=True)):
        box = format_tilted_box(boxes.geometry[row], lidar)
        box["speed"] = round(speeds[actor] * KMH, 4)
        if kind == VEHICLE and hits[row] and actor not in cooperating:
            vehicles[actor] = box
        else:
            others[actor] = {**box, "class": CLASSES[kind]}
    parked = look.parked_in_lidar
    return {
        "lidar_pose": format_opv2v_pose(lidar),
        "true_ego_pos": carrier,
        "predicted_ego_pos": carrier,
        "ego_speed": round(track.estimate_speed(number) * KMH, 4),
        "plan_trajectory": track.list_plan(number),
        "RSU": look.agent < 0,
        "vehicles": vehicles,
        EXTRA_KEY: {
            "time": round(look.time, 4),
            "hits": dict(zip(ids, hits, strict=True)),
            "others": others,
            "parked": [
                {**format_tilted_box(box, lidar), "class": CLASSES[kind]}
                for box, kind in zip(parked.geometry, parked.classes.tolist(), strict=True)
            ],
        },
    }
