"""Moments of a drive as systems are given them, in a file that holds numbers and words only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from harness.errors import UserError
from harness.nesting import parse_json
from harness.vocabulary import Boxes, EgoObservation, LightAhead, Observation, Pose, Route, Truth

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
class Sight:
    """What one partner sensed, and what truly stood round it."""

    observation: Observation
    truth: Truth


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """One planning step: the ego's senses, everybody's truth, the partners' senses."""

    observation: EgoObservation
    truth: Truth
    partners: tuple[Sight, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Consecutive planning steps along a route."""

    route: Route
    moments: tuple[Moment, ...]


def write(path: Path, recording: Recording) -> None:
    """Write a recording beside its place, and move it there."""
    arrays: list[Any] = [getattr(recording.route, name) for name in ROUTE_ARRAYS]
    told = {
        "route": [recording.route.name, recording.route.town],
        "moments": [told_of(moment, arrays) for moment in recording.moments],
    }
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, *arrays, told=np.array(json.dumps(told)))
    partial.replace(path)


def told_of(moment: Moment, arrays: list[Any]) -> dict[str, Any]:
    """Return what of a moment is words and single numbers; its arrays go to the others."""
    ego = moment.observation
    sights = [Sight(ego, moment.truth), *moment.partners]
    for each in sights:
        boxes = each.truth.boxes_in_lidar
        arrays += [each.observation.points_in_lidar, boxes.geometry, boxes.classes, boxes.scores]
        arrays += [each.truth.actor_ids, each.truth.hits]
    return {
        "observers": [
            [o.sender, o.kind, o.frame, o.time, astuple(o.lidar_in_world)]
            for o in (each.observation for each in sights)
        ],
        "vehicle_in_world": astuple(ego.vehicle_in_world),
        "lidar_in_vehicle": astuple(ego.lidar_in_vehicle),
        "speed": ego.speed,
        "lights": [astuple(light) for light in ego.lights],
    }


def read(path: Path) -> Recording:
    """Return what was written."""
    try:
        return told_in(path)
    except Exception as problem:  # whatever a file can provoke
        first = str(problem).partition("\n")[0] or type(problem).__name__
        raise UserError(f"{path}: not a recording of a street ({first})") from None


def told_in(path: Path) -> Recording:
    """Return a recording, from a file that is one."""
    with np.load(path, allow_pickle=False) as file:
        told = parse_json(str(file["told"]))
        arrays = iter([file[f"arr_{number}"] for number in range(len(file.files) - 1)])
    name, town = told["route"]
    route = Route(name, town, **{each: next(arrays) for each in ROUTE_ARRAYS})
    return Recording(route, tuple(moment_of(each, arrays) for each in told["moments"]))


def moment_of(told: dict[str, Any], arrays: Arrays) -> Moment:
    """Return a moment; its arrays are the next ones."""
    sights = [sight_of(each, arrays) for each in told["observers"]]
    own = sights[0].observation
    ego = EgoObservation(
        own.sender,
        own.kind,
        own.frame,
        own.time,
        own.lidar_in_world,
        own.points_in_lidar,
        Pose(*told["vehicle_in_world"]),
        Pose(*told["lidar_in_vehicle"]),
        told["speed"],
        tuple(LightAhead(*each) for each in told["lights"]),
    )
    return Moment(ego, sights[0].truth, tuple(sights[1:]))


def sight_of(told: list[Any], arrays: Arrays) -> Sight:
    """Return what one observer sensed; its arrays are the next ones."""
    sender, kind, frame, time, pose = told
    points, geometry, classes, scores, actor_ids, hits = (next(arrays) for _ in range(6))
    truth = Truth(Boxes(geometry, classes, scores), actor_ids, hits)
    return Sight(Observation(sender, kind, frame, time, Pose(*pose), points), truth)
