"""The rig is defined once, in conf/rig: for campaigns, for where units stand, and for training."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.training.inference import make_ego_observation
from agents.training.samples import LidarView
from harness.campaign.settings.config import build_part
from harness.channel.interference.ghosts import Ghosts
from harness.world.hazards import sight, sizes
from harness.world.rig import read_rig
from tests.campaign.tiny import composed
from tests.conftest import ROOT
from tests.perception.street import EGO_IN_WORLD, sweep

PLACED = sorted(
    file.stem
    for file in (ROOT / "conf" / "cooperation").glob("*.yaml")
    if "harness.world.partners." in file.read_text().partition("roadside:")[2]
)


def test_training_and_campaigns_have_one_rig() -> None:
    rig = read_rig()
    assert build_part(composed()["rig"], "rig") == rig
    assert make_ego_observation(LidarView(sweep(EGO_IN_WORLD), EGO_IN_WORLD)).lidar_in_vehicle == (
        rig.ego.pose_in_carrier
    )


@pytest.mark.parametrize("cooperation", PLACED)
def test_units_stand_where_the_rig_says(cooperation: str) -> None:
    moved = ("rig.roadside_height=5.5", "rig.roadside_distance=20.0")
    settings = composed(f"cooperation={cooperation}", *moved)
    (only,) = settings["cooperation"].values()
    assert only["roadside"]["height"] == settings["reference"]["height"] == 5.5
    assert only["roadside"].get("distance", 20.0) == settings["reference"]["distance"] == 20.0


def test_ghosts_stand_on_the_road_under_the_rig() -> None:
    rig = read_rig()
    heights = {"roadside": rig.roadside_height, "vehicle": rig.vehicle.z}
    (shipped,) = composed("interference=ghosts")["interference"]["ghosts"]
    ghosts = build_part(shipped, "interference.ghosts")
    assert isinstance(ghosts, Ghosts)
    assert ghosts.lidar_height == Ghosts().lidar_height == heights


def test_who_could_see_a_mover_has_the_rigs_lidar() -> None:
    ego = read_rig().ego
    assert (ego.x, ego.z, ego.range) == (sizes.EGO_LIDAR_FORWARD, sight.EGO_EYE, sight.LIDAR_RANGE)


def test_no_other_file_has_the_numbers() -> None:
    for folder in ("conf/cooperation", "conf/study"):
        for file in Path(ROOT / folder).glob("*.yaml"):
            assert "height: 7.5" not in file.read_text(), file
