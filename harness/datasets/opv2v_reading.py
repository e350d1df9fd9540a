"""Reads OPV2V and V2XSet as recorded scenes: lazily, one look at a time.

Folders that Crucible wrote give the scenes that were written. In others, only vehicles that an
agent's LiDAR hit are known: returns are counted in the boxes, a moment is a tenth of a second, and
detections of cooperating vehicles, which OPV2V does not list, are neither right nor wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from harness.common import nesting
from harness.common.errors import UserError
from harness.common.recordings import AGENT, PROTOCOL, AgentLook, RecordedScenario
from harness.common.safe_reading import SETTINGS_FILE, read_text_within
from harness.datasets.opv2v_writing import EXTRA_KEY
from harness.datasets.point_files import read_point_cloud
from harness.datasets.tilted_boxes import (
    make_vehicle_boxes,
    parse_opv2v_pose,
    parse_tilted_boxes,
)
from harness.types.vocabulary import (
    CLASSES,
    Boxes,
    CameraImage,
    Floats,
    GroundTruth,
    Integers,
    Pose,
    Singles,
)

MOMENT = re.compile(r"\d{1,9}")
OPV2V_INTERVAL = 0.1
"""Seconds between the moments of OPV2V and V2XSet."""
COOPERATING_HALF = (2.45, 1.06, 0.75)
"""Half sizes in metres of a cooperating vehicle, which OPV2V does not give: its one model."""
STEEPEST = 0.8
"""Radians of pitch and roll up to which a pose is plausible."""
FARTHEST = 1e5
"""Metres from a town's origin."""
ROUND_BOX = 0.1
"""Metres beyond a box within which points count as returns from it."""
BROKEN_LOOK = (
    *(OSError, ValueError, EOFError, KeyError, TypeError, RecursionError, OverflowError),
    *(AttributeError, IndexError, yaml.YAMLError, UserError),
)


# libyaml's loader where it is installed: a base class that is known at run time only
OpenCdaLoader: Any = type("OpenCdaLoader", (nesting.LOADER,), {})
"""Loads plain values, and the tuples that OpenCDA writes."""
OpenCdaLoader.add_constructor(
    "tag:yaml.org,2002:python/tuple", lambda loader, node: loader.construct_sequence(node)
)


@dataclass(frozen=True, slots=True)
class Opv2vScenario(RecordedScenario):
    """A scenario in the layout of OPV2V or V2XSet."""

    def list_moments(self, agent: int) -> list[str]:
        """Return when an agent looked, in order."""
        names = (path.stem for path in (self.folder / str(agent)).glob("*.yaml"))
        return sorted(name for name in names if MOMENT.fullmatch(name))

    def read_look(self, agent: int, moment: str) -> AgentLook:
        """Read one agent's look."""
        place = self.folder / str(agent) / moment
        try:
            return read_opv2v_look(self, agent, moment)
        except BROKEN_LOOK as problem:
            raise UserError(f"{place}: not a look in OPV2V's layout ({shorten(problem)})") from None

    def read_images(self, agent: int, moment: str) -> tuple[CameraImage, ...]:
        """Read the images of one agent's look, by OPV2V's names; none without files."""
        from harness.common.pictures import read_pictures  # noqa: PLC0415

        place = self.folder / str(agent) / moment
        if not place.with_name(f"{moment}_camera0.png").is_file():
            return ()
        try:
            record = _read_record(self, agent, moment)
            return read_pictures(place, record, parse_lidar_pose(record["lidar_pose"]))
        except BROKEN_LOOK as problem:
            raise UserError(f"{place}: not OPV2V's pictures ({shorten(problem)})") from None


def shorten(problem: BaseException) -> str:
    """Return the first line of what is wrong."""
    text = str(problem) if str(problem) else type(problem).__name__
    if isinstance(problem, KeyError):
        text = f"no key {problem}"
    return " ".join(text.split())[:300]


def is_opv2v_scenario(folder: Path) -> bool:
    """Return whether a folder has an agent's folder with sweeps in `.pcd`."""
    return any(
        AGENT.fullmatch(agent.name) and any(agent.glob("*.pcd"))
        for agent in folder.iterdir()
        if agent.is_dir()
    )


def open_opv2v_scenario(folder: Path) -> Opv2vScenario:
    """Return a scenario whose files are all there.

    Raises:
        UserError: an agent lacks a file of a moment, or the protocol is broken.
    """
    facts = read_opv2v_protocol(folder)
    scenario = Opv2vScenario(
        folder,
        str(facts.get("town", "unknown")),
        str(facts.get("purpose", "testing")),
        int(facts.get("seed", 0)),
        named_egos=tuple(int(agent) for agent in facts.get("egos", ())),
        interval=float(facts.get("interval", OPV2V_INTERVAL)),
    )
    if not 0.0 < scenario.interval <= 60.0:
        raise UserError(f"{folder / PROTOCOL}: interval {scenario.interval:g} s")
    agents = scenario.list_agents()
    moments = {agent: scenario.list_moments(agent) for agent in agents}
    first = next((moments[agent] for agent in agents if moments[agent]), [])
    for agent in agents:
        for moment in first:
            for ending in (".yaml", ".pcd"):
                file = folder / str(agent) / f"{moment}{ending}"
                if not file.is_file() or file.is_symlink():
                    raise UserError(f"{file}: missing, or no regular file; other agents have it")
    return scenario


def read_opv2v_protocol(folder: Path) -> dict[str, Any]:
    """Return what we wrote into a scenario's protocol; nothing of others' protocols is used."""
    file = folder / PROTOCOL
    if not file.is_file():
        return {}
    try:
        facts = load_opencda_yaml(file, folder)
    except BROKEN_LOOK as problem:
        raise UserError(f"{file}: not a protocol of a scenario ({shorten(problem)})") from None
    ours = facts.get(EXTRA_KEY) if isinstance(facts, dict) else None
    return dict(ours) if isinstance(ours, dict) else {}


def load_opencda_yaml(file: Path, within: Path) -> Any:
    """Return what a YAML file of OpenCDA holds, as plain values."""
    text = read_text_within(file, SETTINGS_FILE, within=within)
    nesting.check_yaml(text, aliases=True)
    return yaml.load(text, OpenCdaLoader)


@lru_cache(maxsize=64)
def read_opv2v_record(file: Path, within: Path, _changed: int) -> dict[str, Any]:
    """Return the `.yaml` of a look; those read last are kept, which partners need again."""
    record = load_opencda_yaml(file, within)
    if not isinstance(record, dict):
        raise ValueError("no mapping")
    return record


def read_opv2v_look(scenario: RecordedScenario, agent: int, moment: str) -> AgentLook:
    """Read one agent's look; a broken one raises one of `BROKEN_LOOK`."""
    record = _read_record(scenario, agent, moment)
    lidar = parse_lidar_pose(record["lidar_pose"])
    points = read_point_cloud(
        scenario.folder / str(agent) / f"{moment}.pcd", within=scenario.folder
    )
    extra = record.get(EXTRA_KEY)
    vehicles = {int(actor): dict(box) for actor, box in (record.get("vehicles") or {}).items()}
    if extra is None:
        boxes = parse_classed_boxes(list(vehicles.values()), lidar)
        hits = count_points_inside(points, boxes.geometry)
        ids = np.array(list(vehicles), np.int64)
        parked = _place_cooperating(scenario, agent, moment, lidar)
        number = scenario.list_moments(agent).index(moment)
        time = number * scenario.interval
    else:
        others = {int(actor): dict(box) for actor, box in extra["others"].items()}
        counted = {int(actor): int(count) for actor, count in extra["hits"].items()}
        known = {**vehicles, **others}
        boxes = parse_classed_boxes([known[actor] for actor in sorted(counted)], lidar)
        ids = np.array(sorted(counted), np.int64)
        hits = np.array([counted[actor] for actor in sorted(counted)], np.int64)
        parked = parse_classed_boxes(extra["parked"], lidar)
        time = float(extra["time"])
    return AgentLook(
        agent=agent,
        time=time,
        lidar_in_world=lidar,
        points_in_lidar=points,
        truth=GroundTruth(boxes, ids, hits),
        parked_in_lidar=parked,
    )


def parse_lidar_pose(numbers: Any) -> Pose:
    """Return a LiDAR's pose, if it is one in OPV2V's order and units."""
    if not isinstance(numbers, Sequence) or len(numbers) != 6:
        raise ValueError("lidar_pose: six numbers x y z roll yaw pitch are needed")
    pose = parse_opv2v_pose(numbers)
    if max(abs(pose.pitch), abs(pose.roll)) > STEEPEST:
        raise ValueError(
            f"lidar_pose: roll {numbers[3]}, pitch {numbers[5]} degrees; the order is x y z roll"
            " yaw pitch"
        )
    if max(abs(pose.x), abs(pose.y), abs(pose.z)) > FARTHEST:
        raise ValueError(f"lidar_pose: farther than {FARTHEST:g} m from the origin")
    return pose


def parse_classed_boxes(records: Sequence[Mapping[str, Any]], lidar: Pose) -> Boxes:
    """Return boxes in the LiDAR's frame; without a class they are vehicles."""
    kinds = [CLASSES.index(record.get("class", CLASSES[0])) for record in records]
    return make_vehicle_boxes(parse_tilted_boxes(records, lidar), kinds)


def count_points_inside(points: Singles, boxes: Floats) -> Integers:
    """Return how many points lie in each box or within 0.1 m of it.

    Args:
        points: (N, 4) x y z intensity, metres.
        boxes: (M, 7) in the same frame.
    """
    counts = np.zeros(len(boxes), np.int64)
    for number, (x, y, z, length, width, height, yaw) in enumerate(boxes.tolist()):
        east, south = points[:, 0] - x, points[:, 1] - y
        ahead = east * np.cos(yaw) + south * np.sin(yaw)
        aside = south * np.cos(yaw) - east * np.sin(yaw)
        inside = (np.abs(ahead) <= length / 2 + ROUND_BOX) & (
            np.abs(aside) <= width / 2 + ROUND_BOX
        )
        counts[number] = (inside & (np.abs(points[:, 2] - z) <= height / 2 + ROUND_BOX)).sum()
    return counts


def _read_record(scenario: RecordedScenario, agent: int, moment: str) -> dict[str, Any]:
    file = scenario.folder / str(agent) / f"{moment}.yaml"
    return read_opv2v_record(file, scenario.folder, file.lstat().st_mtime_ns)


def _place_cooperating(scenario: RecordedScenario, agent: int, moment: str, lidar: Pose) -> Boxes:
    """Return the vehicles that cooperate, which the layout leaves out of its vehicles."""
    boxes = []
    for other in scenario.list_agents():
        if other >= 0 and other != agent:
            record = _read_record(scenario, other, moment)
            x, y, z, roll, yaw, pitch = record.get("true_ego_pos") or record["lidar_pose"]
            boxes.append(
                {
                    "location": [x, y, z],
                    "angle": [roll, yaw, pitch],
                    "center": [0.0, 0.0, COOPERATING_HALF[2]],
                    "extent": COOPERATING_HALF,
                }
            )
    return parse_classed_boxes(boxes, lidar)
