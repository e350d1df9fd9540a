"""Recorded planning steps as systems are given them, in a file of plain numbers and text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from harness.common.errors import UserError
from harness.common.nesting import parse_json
from harness.common.safe_reading import open_arrays
from harness.types.vocabulary import (
    Boxes,
    EgoObservation,
    GroundTruth,
    LightAhead,
    Observation,
    Pose,
    Route,
)

Arrays: TypeAlias = Iterator[Any]

ROUTE_ARRAYS = (
    "xyz",
    "yaw",
    "station",
    "lane_width",
    "speed_limit",
    "in_junction",
    "lane_change",
)


@dataclass(frozen=True, slots=True, eq=False)
class PartnerView:
    """What one partner sensed, and the ground truth around it."""

    observation: Observation
    truth: GroundTruth


@dataclass(frozen=True, slots=True, eq=False)
class RecordedStep:
    """One planning step: what the ego and its partners sensed, and the ground truth of each."""

    observation: EgoObservation
    truth: GroundTruth
    partners: tuple[PartnerView, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Consecutive planning steps along a route."""

    route: Route
    steps: tuple[RecordedStep, ...]


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording to a temporary file, and rename it."""
    arrays: list[Any] = [getattr(recording.route, name) for name in ROUTE_ARRAYS]
    record = {
        "route": [recording.route.name, recording.route.town],
        "steps": [to_step_record(step, arrays) for step in recording.steps],
    }
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, *arrays, record=np.array(json.dumps(record)))
    partial.replace(path)


def to_step_record(recorded: RecordedStep, arrays: list[Any]) -> dict[str, Any]:
    """Return the text and single numbers of a step; its arrays are appended to `arrays`."""
    ego = recorded.observation
    views = [PartnerView(ego, recorded.truth), *recorded.partners]
    for view in views:
        boxes = view.truth.boxes_in_lidar
        arrays += [view.observation.points_in_lidar, boxes.geometry, boxes.classes, boxes.scores]
        arrays += [view.truth.actor_ids, view.truth.hits]
    return {
        "observers": [
            [o.sender, o.kind, o.frame, o.time, astuple(o.lidar_in_world)]
            for o in (view.observation for view in views)
        ],
        "vehicle_in_world": astuple(ego.vehicle_in_world),
        "lidar_in_vehicle": astuple(ego.lidar_in_vehicle),
        "speed": ego.speed,
        "lights": [astuple(light) for light in ego.lights],
    }


def read_recording(path: Path) -> Recording:
    """Return the recording in a file."""
    try:
        return load_recording(path)
    except Exception as problem:  # a broken file can raise anything
        first = str(problem).partition("\n")[0] or type(problem).__name__
        raise UserError(f"{path}: not a recording for `check` ({first})") from None


def load_recording(path: Path) -> Recording:
    """Return the recording in a file, unchecked."""
    with open_arrays(path) as file:
        record = parse_json(str(file["record"]))
        arrays = iter([file[f"arr_{number}"] for number in range(len(file.files) - 1)])
    name, town = record["route"]
    route = Route(
        name=name, town=town, **{name_of_array: next(arrays) for name_of_array in ROUTE_ARRAYS}
    )
    return Recording(route, tuple(from_step_record(step, arrays) for step in record["steps"]))


def from_step_record(record: dict[str, Any], arrays: Arrays) -> RecordedStep:
    """Return a step; its arrays are the next ones."""
    views = [from_view_record(view, arrays) for view in record["observers"]]
    observed = views[0].observation
    ego = EgoObservation(
        sender=observed.sender,
        kind=observed.kind,
        frame=observed.frame,
        time=observed.time,
        lidar_in_world=observed.lidar_in_world,
        points_in_lidar=observed.points_in_lidar,
        vehicle_in_world=Pose(*record["vehicle_in_world"]),
        lidar_in_vehicle=Pose(*record["lidar_in_vehicle"]),
        speed=record["speed"],
        lights=tuple(LightAhead(*light) for light in record["lights"]),
    )
    return RecordedStep(ego, views[0].truth, tuple(views[1:]))


def from_view_record(record: list[Any], arrays: Arrays) -> PartnerView:
    """Return what one observer sensed; its arrays are the next ones."""
    sender, kind, frame, time, pose = record
    points, geometry, classes, scores, actor_ids, hits = (next(arrays) for _ in range(6))
    truth = GroundTruth(Boxes(geometry, classes, scores), actor_ids, hits)
    return PartnerView(
        Observation(
            sender=sender,
            kind=kind,
            frame=frame,
            time=time,
            lidar_in_world=Pose(*pose),
            points_in_lidar=points,
        ),
        truth,
    )
