"""Late answers in driven campaigns: who is driven with them, and what their drivers were given."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.collection import collect_campaigns
from analysis.sweeps import iterate_condition_sweeps
from analysis.tables.staleness import (
    EGO_SPEED,
    PERCEPTION_AGE,
    PERCEPTION_MOVED,
    build_staleness_table,
)
from harness.campaign.planning.plan import plan_campaign
from harness.records.reading import CampaignRecords, read_stored_table
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Boxes, Floats, Pose
from tests.campaign.tiny import composed, controls, run, write_route
from tests.once import once

ONLOOKER = "+system.onlooker._target_=tests.campaign.systems.Onlooker"
DEAF = "+system.deaf._target_=tests.campaign.systems.Deaf"
LATE_TICKS = 8
"""0.4 s."""


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "bend")


def plan(routes: Path, *settings: str) -> Any:
    return plan_campaign(
        composed(
            f"routes.file={routes / 'routes.xml'}",
            "routes.hazards=null",
            "routes.only=null",
            *settings,
        )
    )


def test_systems_without_messages_are_driven_with_it_and_sizes_of_equal_steps_once(
    routes: Path,
) -> None:
    made = plan(
        routes,
        "system=[ideal_single,ideal_late]",
        "interference=[none,latency,own_latency]",
        "sweep.own_latency=[0,0.1,0.2,0.4]",
    )
    arms = list(dict.fromkeys(str(key.arm) for key in made.attempts))
    sizes = ["own_latency", "own_latency=0.2", "own_latency=0.4"]
    assert [arm for arm in arms if arm.startswith("ideal_single")] == [
        f"ideal_single/none/{name}" for name in ["none", *sizes]
    ]
    assert [arm for arm in arms if arm.startswith("ideal_late")] == [
        f"ideal_late/ahead/{name}" for name in ["none", "latency", *sizes]
    ]
    assert made.size_zero == ("own_latency=0",)
    assert made.same == (("own_latency=0.2", "own_latency=0.1"),)


def test_a_system_that_perceives_and_drives_in_one_is_left_out(routes: Path) -> None:
    done = run(routes, DEAF, "system=[]", "interference=own_latency", "dry_run=true")
    assert done.returncode == 2
    assert "own_latency delays what perceive gives to drive" in done.stderr


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of drives that do not depend on what is detected."""
    return once(tmp_path_factory, "own_latency", drive)


def drive(folder: Path) -> Path:
    """Drive a system that detects everything and heeds nothing, with and without late answers."""
    routes = write_route(folder, "bend")
    words = (ONLOOKER, "system=[]", "interference=none", "sweep.own_latency=[0.4]")
    done = run(routes, *words, f"out={folder / 'out'}")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out"


def read_boxes(place: Path, source: str) -> dict[int, Floats]:
    """Return what a source says, by frame: (N, 7)."""
    boxes = read_stored_table(place / "boxes.parquet", "boxes")
    boxes = boxes[boxes.source == source]
    parts = ["x", "y", "z", "length", "width", "height", "yaw"]
    frames = boxes.frame.to_numpy(int)
    return {int(frame): boxes.loc[frames == frame, parts].to_numpy(float) for frame in set(frames)}


def read_ego_poses(place: Path) -> dict[int, Pose]:
    """Return where the ego's LiDAR is, by frame."""
    poses = read_stored_table(place / "poses.parquet", "poses")
    columns = [f"true_{part}" for part in ("x", "y", "z", "yaw", "pitch", "roll")]
    rows = poses.loc[poses.sender == "ego", ["frame", *columns]].to_numpy(float)
    return {
        int(frame): Pose(x, y, z, yaw=yaw, pitch=pitch, roll=roll)
        for frame, x, y, z, yaw, pitch, roll in rows
    }


@pytest.mark.thorough
def test_the_records_have_what_the_driver_was_given(driven: Path) -> None:
    attempts = CampaignRecords(driven).find_attempts()
    places = {key.arm.condition: place for key, place in attempts.items()}
    plain, late = places["none"], places["own_latency=0.4"]
    # the drives are the same: this system drives as if there were nothing
    one, other = (controls(place) for place in (plain, late))
    assert one.equals(other)
    assert read_ego_poses(plain) == read_ego_poses(late)
    poses = read_ego_poses(plain)
    now, held = (read_boxes(place, "cooperative") for place in (plain, late))
    steps = sorted(poses)
    compared = 0
    for frame in steps:
        then = frame - LATE_TICKS
        if then < steps[0] or then not in now:
            assert frame not in held
            continue
        boxes = Boxes(now[then], np.zeros(len(now[then]), np.int64), np.ones(len(now[then])))
        moved = transform_boxes(boxes, poses[then], poses[frame]).geometry
        assert held[frame] == pytest.approx(moved, abs=1e-9)
        compared += 1
    assert compared > 20
    # the result says at how many steps an answer was not that of the step
    record = json.loads((late / "result.json").read_text())["crucible"]["messages"]
    assert (
        record["held"]
        == len(steps)
        == record["disturbances"][
            "own_latency=0.4" if "own_latency=0.4" in record["disturbances"] else "own_latency"
        ]
    )
    assert "held" not in json.loads((plain / "result.json").read_text())["crucible"]["messages"]


@pytest.mark.thorough
def test_the_table_of_ages_has_that_of_perception(driven: Path) -> None:
    cells = dict(build_staleness_table(collect_campaigns([driven])).list_rows())
    by_condition = {condition: row for (*_, condition), row in cells.items()}
    assert math.isnan(by_condition["none"][PERCEPTION_AGE].value)
    late = by_condition["own_latency=0.4"]
    assert late[PERCEPTION_AGE].value == pytest.approx(0.4)
    # the ego's mean speed counts the steps before the first answer as well
    assert late[PERCEPTION_MOVED].value == pytest.approx(0.4 * late[EGO_SPEED].value, rel=0.2)


def test_sizes_of_it_are_a_sweep_for_the_analysis() -> None:
    conditions = composed("interference=none", "sweep.own_latency=[0.2,0.4]")["interference"]
    (sweep,) = iterate_condition_sweeps(conditions)
    assert (sweep.name, sweep.asked) == ("own_latency", "seconds")
    assert list(sweep.sizes.values()) == [0.2, 0.4]
