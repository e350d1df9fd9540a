"""Where a rig's LiDARs stand on what carries them, from the numbers of `conf/rig`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.common.errors import UserError
from harness.common.installation import CONF
from harness.common.recordings import RecordedScenario
from harness.types.vocabulary import Pose

RIGS = CONF / "rig"


@dataclass(frozen=True, slots=True)
class LidarMounts:
    """Where LiDARs stand on what carries them.

    Attributes:
        vehicle: on a vehicle, metres.
        roadside_height: of a roadside unit above the road, metres.
    """

    vehicle: Pose
    roadside_height: float


USUAL_MOUNTS = LidarMounts(Pose(1.3, 0.0, 1.85), 7.5)
"""Of V2Xverse's rig."""


def read_lidar_mounts(rig: str) -> LidarMounts:
    """Return the mounts of a rig of `conf/rig`.

    Raises:
        UserError: the rig is not one of `conf/rig`.
    """
    file = RIGS / f"{rig}.yaml"
    if not file.is_file():
        raise UserError(f"rig {rig}: not in conf/rig; {', '.join(list_rigs())} are")
    return parse_lidar_mounts(read_rig_numbers(file))


def list_rigs() -> list[str]:
    """Return the names of the rigs in `conf/rig`."""
    return sorted(path.stem for path in RIGS.glob("*.yaml"))


def read_rig_numbers(file: Path) -> dict[str, Any]:
    """Return the numbers of a rig, with those of the rigs that it extends."""
    given = yaml.safe_load(file.read_text())
    parents = [name for name in given.pop("defaults", []) if name != "_self_"]
    known: dict[str, Any] = {}
    for parent in parents:
        known |= read_rig_numbers(file.with_name(f"{parent}.yaml"))
    for name, value in given.items():
        old = known.get(name)
        known[name] = {**old, **value} if isinstance(old, dict) else value
    return known


def parse_lidar_mounts(rig: Mapping[str, Any]) -> LidarMounts:
    """Return the mounts of a rig's numbers, or the usual ones where they are not given."""
    usual = USUAL_MOUNTS
    vehicle, unit = rig.get("vehicle") or {}, rig.get("roadside") or {}
    height = float(rig.get("roadside_height", usual.roadside_height)) + float(unit.get("z", 0.0))
    old = usual.vehicle
    x, y, z = (float(vehicle.get(axis, getattr(old, axis))) for axis in "xyz")
    return LidarMounts(Pose(x, y, z), height)


def find_lidar_mounts(scenario: RecordedScenario) -> LidarMounts:
    """Return where a scenario's LiDARs stand on what carries them."""
    known = getattr(scenario, "mounts", None)
    return known if isinstance(known, LidarMounts) else read_lidar_mounts(scenario.rig)
