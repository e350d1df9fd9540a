"""A small campaign with made-up drives, evaluated and written as a campaign judges and writes."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import yaml

from harness.campaign.attempt.results import PrecisionAccumulator
from harness.common.randomness import make_named_stream
from harness.evaluation.frame_evaluation import (
    EvaluatedBoxes,
    EvaluatedFrame,
    EvaluationSettings,
    evaluate_frame,
)
from harness.evaluation.surrogates.along import compute_measures_along
from harness.evaluation.surrogates.measures import (
    DriveEnding,
    compute_reached_times,
    compute_surrogates,
)
from harness.evaluation.surrogates.motion import build_motion
from harness.evaluation.surrogates.reasons import EgoWay
from harness.evaluation.windows import select_frames_in_windows, sum_windows
from harness.records.keys import AttemptKey
from harness.records.ledger import append_try
from harness.records.schema import FRAMES, POSITION_UNIT, TABLES, VERSION, YAW_UNIT
from harness.records.writing import EpisodeWriter
from harness.types.record_names import PATTERNS, SURROGATES
from harness.types.vocabulary import CLASSES, Boxes, GroundTruth
from tests.keys import key_of

ARMS = (("alone", "none"), ("late", "none"), ("late", "latency"), ("early", "none"))
"""`alone` reads no messages: its cooperative boxes are its own."""
STAGES = {"alone": "none", "late": "late", "early": "early"}
LENGTH = 100.0
SIZE = {"length": 4.0, "width": 2.0, "height": 1.5}
KINDS = ("collision_vehicle", "collision_pedestrian", "off_road", "blocked")
PENALTY = {"collision_vehicle": 0.6, "collision_pedestrian": 0.5}
FLAWS = {"none": 0.1, "latency": 0.5}
"""How often a cooperative box is somewhere else."""
WRITTEN: dict[tuple[Any, ...], Path] = {}
"""Campaigns of this process by what they are made of: they take seconds, a copy 0.1 s."""
WRITTEN_TO = tempfile.TemporaryDirectory(prefix="little-")


@dataclass(frozen=True)
class Drive:
    """How one made-up drive goes."""

    seconds: int = 20
    violation: str = ""  # its kind, at the end
    cause: str = ""  # why its hazard was not run, if it was not


def write_little(
    folder: Path,
    arms: Sequence[tuple[str, str]] = ARMS,
    routes: Sequence[str] = ("0", "1", "2", "3", "4", "5"),
    seeds: Sequence[int] = (1, 2),
    simulator: str = "carlite 0.9.16",
    drives: dict[AttemptKey, Drive] | None = None,
    town: str = "Crucible05",
    systems: Iterable[str] = (),
) -> Path:
    """Write a campaign; how a drive goes is random, or given in `drives`."""
    alike = (tuple(arms), tuple(routes), tuple(seeds), simulator, town, tuple(systems))
    if drives is not None:
        return write_drives(folder, *alike, drives)
    if alike not in WRITTEN:
        WRITTEN[alike] = write_drives(Path(WRITTEN_TO.name) / str(len(WRITTEN)), *alike, {})
    shutil.copytree(WRITTEN[alike], folder)
    return folder


def write_drives(
    folder: Path,
    arms: Sequence[tuple[str, str]],
    routes: Sequence[str],
    seeds: Sequence[int],
    simulator: str,
    town: str,
    systems: Iterable[str],
    drives: dict[AttemptKey, Drive],
) -> Path:
    """Write a campaign, drive by drive."""
    folder.mkdir(parents=True)
    settings = {"seeds": list(seeds), "system": dict.fromkeys([*systems, *(s for s, _ in arms)])}
    header = {"schema": VERSION, "digest": "0" * 8, "simulator": simulator.split(maxsplit=1)[0]}
    (folder / "campaign.yaml").write_text(yaml.safe_dump({**header, "settings": settings}))
    for number, route in enumerate(routes):
        write_route(folder, route, town, 10.0 * number)
    for arm in arms:
        for route in routes:
            for seed in seeds:
                key = key_of(*arm, route, seed)
                drive = drives.get(key) or random_drive(key)
                write_attempt(folder, key, drive, simulator)
                with patch("os.fsync"):
                    append_try(
                        folder, key, number=1, failure=None, message="made up", server_tail=""
                    )
    return folder


def write_route(folder: Path, name: str, town: str, aside: float) -> None:
    """Write a straight route."""
    way = [[float(x), aside, 0.0] for x in range(int(LENGTH))]
    (folder / "routes").mkdir(exist_ok=True)
    text = json.dumps({"name": name, "town": town, "way": {"xyz": way}})
    (folder / "routes" / f"{name}.json").write_text(text)


def called(key: AttemptKey) -> str:
    """Return the name of an attempt's streams."""
    return f"{key.arm.system}/{key.arm.condition}/{key.route}-s{key.seed}"


def random_drive(key: AttemptKey) -> Drive:
    """Return a drive: some routes are hard, and late messages make them harder."""
    hard = make_named_stream(0, "route", key.route).normal()
    random = make_named_stream(key.seed, "drive", called(key))
    chance = 1 / (1 + np.exp(0.7 - hard - 1.2 * (key.arm.condition == "latency")))
    violated = bool(random.random() < chance)
    kind = KINDS[int(random.integers(len(KINDS)))] if violated else ""
    return Drive(int(random.integers(8, 24)), kind)


def write_attempt(folder: Path, key: AttemptKey, drive: Drive, simulator: str) -> Path:
    """Write a drive's records, one planning step a second."""
    random = make_named_stream(key.seed, "boxes", called(key))
    flaw = 0.0 if key.arm.system == "alone" else FLAWS.get(key.arm.condition, 0.1)
    steps = [step(random, flaw, key.arm.system == "alone") for _ in range(drive.seconds)]
    times = np.arange(drive.seconds, dtype=np.float64)
    book = PrecisionAccumulator()
    for evaluated, _ in steps:
        book.add_frame(evaluated)
    with patch("os.fsync"), EpisodeWriter(folder, key, 1) as writer:  # no power cuts here
        frames = frame_columns(steps, times, key)
        writer.write_table("frames", frames)
        writer.write_table("boxes", box_columns(steps))
        writer.write_table("messages", message_columns(random, key, times))
        writer.write_table("poses", pose_columns(frames, key))
        writer.write_table("map", map_columns())
        writer.write_table("events", empty("events"))
        for name, columns in surroundings(steps, drive.seconds).items():
            writer.write_table(name, columns)
        last = select_frames_in_windows(times, float(drive.seconds))["end_10s"]
        result = result_of(key, drive, frames, times, book.build_record(last), simulator)
        result["crucible"]["surrogates"] = surrogate_record(steps, drive, frames)
        writer.write_json("result", result)
        writer.write_json("timing", {"seconds": {"total": 1.0}})
        return writer.commit_records()


def step(
    random: np.random.Generator, flaw: float, alone: bool
) -> tuple[EvaluatedFrame, GroundTruth]:
    """Return a planning step: some true boxes are seen alone, more together, some mislocalised."""
    n = int(random.integers(2, 6))
    geometry = np.column_stack(
        [
            random.uniform(-48, 48, (n, 2)),
            np.zeros(n),
            np.tile([4.0, 2.0, 1.5], (n, 1)),
            np.zeros(n),
        ]
    )
    classes = random.integers(0, len(CLASSES), n)
    hits = random.integers(0, 30, n)
    truth = GroundTruth(Boxes(geometry, classes, np.ones(n)), np.arange(1, n + 1), hits)
    ego = detections(random, geometry, classes, 0.6, 0.1)
    together = ego if alone else Boxes.join([detections(random, geometry, classes, 0.9, flaw)])
    return evaluate_frame(
        truth, hits, ego_alone=ego, cooperative=together, settings=EvaluationSettings()
    ), truth


def detections(
    random: np.random.Generator, geometry: Any, classes: Any, seen: float, flaw: float
) -> Boxes:
    """Return detections of some of the boxes, a few displaced, and a few additional ones."""
    n = len(geometry)
    result = geometry.copy()
    result[:, 0] += random.normal(0, 0.2, n) + (random.random(n) < flaw) * random.choice(
        [2.5, 9], n
    )
    keep = random.random(n) < seen
    ghosts = random.random() < flaw
    ghost = np.array([[random.uniform(-40, 40), 45.0, 0.0, 4.0, 2.0, 1.5, 0.0]])[: int(ghosts)]
    result, kinds = np.vstack([result[keep], ghost]), np.append(classes[keep], [0] * int(ghosts))
    return Boxes(result, kinds.astype(np.int64), random.choice([0.4, 0.6, 0.8, 0.9], len(result)))


def frame_columns(steps: Any, times: Any, key: AttemptKey) -> dict[str, Any]:
    """Return the columns of frames.parquet."""
    columns: dict[str, Any] = {name: np.zeros(len(times), np.int32) for name in FRAMES.names}
    result = [{**evaluated.count_patterns(), **evaluated.count_boxes()} for evaluated, _ in steps]
    columns.update({name: [item[name] for item in result] for name in result[0]})
    columns.update(
        frame=np.arange(len(times)) * 20,
        time=times,
        station=times * LENGTH / len(times),
        ego_x=times * LENGTH / len(times),
        speed=np.full(len(times), 5.0),
        messages=np.full(len(times), int(hears(key)), np.int32),
        oldest_age=np.full(len(times), np.nan),
    )
    return columns


def box_columns(steps: Any) -> dict[str, Any]:
    """Return the columns of boxes.parquet."""
    parts: list[dict[str, Any]] = []
    for number, (evaluated, _) in enumerate(steps):
        sources = ("truth", evaluated.truth), ("ego_alone", evaluated.ego_alone)
        for source, part in (*sources, ("cooperative", evaluated.cooperative)):
            parts += box_rows(20 * number, source, part)
    return {name: [part[name] for part in parts] for name in parts[0]}


def box_rows(frame: int, source: str, part: EvaluatedBoxes) -> list[dict[str, Any]]:
    """Return the rows of one source in one frame."""
    axes = ("x", "y", "z", "length", "width", "height", "yaw")
    return [
        {
            "frame": frame,
            "source": source,
            "class": CLASSES[part.boxes.classes[row]],
            **dict(zip(axes, part.boxes.geometry[row], strict=True)),
            "score": part.boxes.scores[row],
            "actor_id": row + 1 if source == "truth" else 0,
            **dict.fromkeys(("hits_ego", "hits_anyone", "hits_reference"), 0),
            "counted": bool(part.counted[row]),
            "pattern": PATTERNS[part.pattern[row]] if part.pattern[row] >= 0 else "",
            "pattern_count": int(part.times[row]),
        }
        for row in range(len(part.boxes))
    ]


def surroundings(steps: Any, seconds: int) -> dict[str, dict[str, Any]]:
    """Return tracks of every tick, in which road users jump once a second, and one building."""
    ticks = np.arange(20 * (seconds - 1) + 1)
    ego = np.zeros((len(ticks), 6))
    ego[:, 1], ego[:, 2] = ticks, 1e3 * ticks / 20 * LENGTH / seconds
    parts = [ego]
    for number, (_, truth) in enumerate(steps):
        held = ticks[20 * number : 20 * number + 20]
        ahead = 1e3 * number * LENGTH / seconds
        for actor, geometry in zip(truth.actor_ids, truth.boxes_in_lidar.geometry, strict=True):
            x, y, z = 1e3 * geometry[:3]
            rows = [(actor, tick, ahead + x, y, z, 1e4 * geometry[6]) for tick in held]
            parts.append(np.array(rows).reshape(-1, 6))
    tracks = np.rint(np.concatenate(parts)).astype(np.int64)
    tracks = tracks[np.lexsort((tracks[:, 1], tracks[:, 0]))]
    actors = np.unique(tracks[:, 0])
    sizes = {name: np.full(len(actors), size) for name, size in SIZE.items()}
    kinds = {"class": [CLASSES[0]] * len(actors), "type": ["vehicle.audi.tt"] * len(actors)}
    building = {"kind": ["building"], "x": [20.0], "y": [15.0], "z": [4.0], "yaw": [0.3]}
    return {
        "tracks": dict(zip(TABLES["tracks"].names, tracks.T, strict=True)),
        "actors": {"actor_id": actors, **kinds, **sizes},
        "sightings": {"frame": [0], "sender": ["ego"], "actor_id": [1], "hits": [9]},
        "scenery": {**building, "length": [12.0], "width": [8.0], "height": [8.0]},
    }


def surrogate_record(steps: Any, drive: Drive, frames: Any) -> dict[str, Any]:
    """Return the surrogates of a drive, from its tracks as attempts compute them."""
    tables = surroundings(steps, drive.seconds)
    motion = build_motion(
        tables["tracks"], tables["actors"], tick_seconds=0.05, units=(POSITION_UNIT, YAW_UNIT)
    )
    stations = np.interp(np.arange(len(motion)), frames["frame"], frames["station"])
    route = np.column_stack([np.arange(-50.0, LENGTH + 50, 2.0), np.zeros(100)])
    ending = DriveEnding(tick=len(motion) - 1, collided=False, finished=not drive.violation)
    values = compute_surrogates(motion, EgoWay(xy=route, station=stations), ending)
    measures = {name: {"value": values[name], "unit": unit} for name, unit in SURROGATES.items()}
    way = EgoWay(xy=route, station=stations)
    return {
        "measures": measures,
        "reached": compute_reached_times(way, 0.05, ending.tick),
        "along": compute_measures_along(motion, way, ending),
        "rules": {},
        "signals": [],
    }


def pose_columns(frames: dict[str, Any], key: AttemptKey) -> dict[str, Any]:
    """Return where the ego's LiDAR is, on the vehicle, and a roadside unit."""
    steps = len(frames["frame"])
    columns: dict[str, Any] = {name: np.zeros(2 * steps) for name in TABLES["poses"].names}
    ahead = np.asarray(frames["ego_x"])
    columns.update(
        frame=np.repeat(frames["frame"], 2),
        sender=["ego", "roadside-1"] * steps,
        kind=["ego", "roadside"] * steps,
        true_x=np.column_stack([ahead, ahead + 12]).ravel(),
        true_y=np.tile([0.0, 6.0], steps),
        believed_x=np.column_stack([ahead, ahead + 12.5]).ravel(),
        believed_y=np.tile([0.0, 6.0], steps),
    )
    return columns


def map_columns() -> dict[str, Any]:
    """Return a straight road of one lane and the route along it."""
    kinds = {"route": 0.0, "lane_left": -1.75, "lane_right": 1.75}
    along = np.arange(-50.0, LENGTH + 50, 2.0)
    return {
        "line": np.repeat(np.arange(len(kinds)), len(along)),
        "kind": np.repeat(list(kinds), len(along)).tolist(),
        "x": np.tile(along, len(kinds)),
        "y": np.repeat(list(kinds.values()), len(along)),
        "z": np.zeros(len(kinds) * len(along)),
    }


def hears(key: AttemptKey) -> bool:
    """Return whether there are messages in a drive: route 3 has no roadside unit."""
    return key.arm.system != "alone" and key.route != "3"


def message_columns(random: np.random.Generator, key: AttemptKey, times: Any) -> dict[str, Any]:
    """Return one message a second, some lost; late under latency."""
    n = len(times) if hears(key) else 0
    lost = random.random(n) < 0.2
    late = delays(random, key.arm.condition, n)
    age = np.where(lost, np.nan, late)
    shift = random.normal(0, 0.1, (6, n))
    names = [f"{part}_{axis}" for part in ("asked", "measured") for axis in ("x", "y", "yaw")]
    return {
        "sender": ["roadside-1"] * n,
        "kind": ["roadside"] * n,
        "capture_frame": np.arange(n) * 20,
        "capture_time": times[:n],
        "delay": late,
        "delivered_time": times[:n] + age,
        "age_asked": age,
        "age_measured": age,
        **dict(zip(names, shift, strict=True)),
        "bytes": random.integers(100, 900, n),
        "fate": np.where(lost, "lost", "delivered").tolist(),
        "uses": np.where(lost, 0, 1),
    }


def delays(random: np.random.Generator, condition: str, n: int) -> np.ndarray:
    """Return how late messages are: `latency=0.2` is one size."""
    name, _, size = condition.partition("=")
    if name != "latency":
        return np.zeros(n)
    return np.full(n, float(size)) if size else random.choice([0.4, 0.6, 1.0], n)


def heard(key: AttemptKey, steps: int) -> dict[str, Any]:
    """Return what of the messages reached the system."""
    used = steps if hears(key) else 0
    late = used if key.arm.condition.startswith("latency") else 0
    return {
        "reads": key.arm.system != "alone",
        "fusion": STAGES.get(key.arm.system, ""),
        "sent": used,
        "used": used,
        "uses": used,
        "late": late,
        "displaced": 0,
        "changed": 0,
        "missing": 0,
        "silence_asked": False,
        "disturbances": {"latency": late} if key.arm.condition.startswith("latency") else {},
    }


def empty(table: str) -> dict[str, Any]:
    """Return a table without rows."""
    return {name: [] for name in TABLES[table].names}


def hazard_of(drive: Drive) -> dict[str, Any]:
    """Return what became of the one hazard."""
    return {
        "kind": "occluded_cyclist",
        "source": "Scenario4",
        "station": 40.0,
        "status": "not_run" if drive.cause else "over",
        "started_at": None if drive.cause else 5.0,
        "cause": drive.cause,
        "reason": "made up",
        "encounter": {
            "conflict_station": 40.0,
            "reveal": 2.0,
            "reveal_measured": 1.0 + 0.1 * drive.seconds,
            "parameters": {"speed": 4.0},
        },
    }


def result_of(
    key: AttemptKey, drive: Drive, frames: Any, times: Any, precision: Any, simulator: str
) -> dict[str, Any]:
    """Return `result.json`."""
    end = float(drive.seconds)
    counts = {name: np.asarray(frames[name], np.float64) for name in (*PATTERNS, "truth_all")}
    completion = 1.0 if not drive.violation else 0.3 + 0.02 * drive.seconds
    penalty = PENALTY.get(drive.violation, 1.0)
    violation = {"kind": drive.violation, "time": end, "frame": 20 * drive.seconds, "x": 95.0}
    other_actor = int(drive.violation.startswith("collision"))
    other = {"ego_stationary": False, "ego_speed": 5.0, "y": 0.0, "with_type": ""}
    other["with_actor"] = other_actor
    return {
        "status": "Completed",
        "meta": {"duration_game": end, "route_length": LENGTH},
        "crucible": {
            "schema": VERSION,
            "attempt": {**key.to_record(), "simulator": simulator},
            "driving_score": 100 * completion * penalty,
            "completion": completion,
            "penalty": penalty,
            "collided": drive.violation.startswith("collision"),
            "collided_with_road_user": drive.violation.startswith("collision"),
            "violation": {**violation, **other} if drive.violation else None,
            "patterns": {
                "total": {name: int(item.sum()) for name, item in counts.items()},
                **sum_windows(times, counts, end=end),
            },
            "average_precision": precision,
            "hazards": [hazard_of(drive)],
            "messages": heard(key, len(times)),
        },
    }
