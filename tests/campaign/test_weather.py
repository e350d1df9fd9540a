"""Weather where it is driven: what it may not change, what is left to hit, twins, plans."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import carla
import numpy as np
import pandas as pd
import pytest

from harness.campaign.attempt.lidar_hits import count_remaining_hits
from harness.campaign.planning.plan import plan_campaign
from harness.channel.channel import Channel
from harness.channel.interference.weather import Fog, Rain
from harness.common.errors import UserError
from harness.records.arms import NONE
from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.schema import AFTER_SENSING, TABLES
from harness.types.vocabulary import Boxes, GroundTruth, Observation
from harness.world.attempt_context import AttemptContext
from harness.world.ego import EgoVehicle
from harness.world.rig import LidarScan, ScanningPost, read_rig
from tests.campaign.tiny import HAZARD, composed, environment, run, write_route
from tests.conftest import ROOT
from tests.once import once
from tests.profiles import ONLY_WITH_ALL
from tests.world.test_partners import context, ego, fleet_of

__all__ = ["context", "ego"]  # fixtures

RIG = read_rig()
SHARP = replace(RIG.ego, r_max=120.0)
STUDY = (
    "system=oracle",
    "+system.clusters._target_=agents.examples.clusters.Clusters",
    "interference=[none,rain,fog,stray_returns]",
    "rig=v2xverse_200m",
    "attempts_per_route=1",
    "traffic=none",
)
WEATHERS = ("none", "rain", "fog", "stray_returns")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "weather", drive)


def drive(folder: Path) -> Path:
    """Drive past a lorry, in all weathers, with systems that read points, or nothing at all."""
    out = folder / "out"
    routes = write_route(folder, "hop")
    hazards = {"version": 1, "hazards": [{**HAZARD, "route": "hop", "station": 24.0}]}
    (routes / "hazards.json").write_text(json.dumps(hazards))
    done = run(routes, *STUDY, f"out={out}")
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def attempt(out: Path, system: str, condition: str) -> Path:
    cooperation = NONE if system == "oracle" else "ahead"
    return next(
        place
        for key, place in CampaignRecords(out).find_attempts().items()
        if (key.arm.system, key.arm["cooperation"], key.arm.condition)
        == (system, cooperation, condition)
    )


def truth_of(place: Path) -> pd.DataFrame:
    boxes = read_stored_table(place / "boxes.parquet", "boxes")
    return boxes[boxes["source"].astype(str) == "truth"].reset_index(drop=True)


@pytest.mark.thorough
@pytest.mark.parametrize("condition", WEATHERS[1:])
def test_a_system_that_reads_nothing_drives_the_same_in_all_weathers(
    out: Path, condition: str
) -> None:
    dry, wet = (attempt(out, "oracle", name) for name in ("none", condition))
    for name in TABLES:
        assert (dry / f"{name}.parquet").read_bytes() == (wet / f"{name}.parquet").read_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize("condition", WEATHERS)
def test_ground_truth_is_that_of_undisturbed_sweeps_and_hits_after_are_fewer(
    out: Path, condition: str
) -> None:
    true = truth_of(attempt(out, "clusters", condition))
    dry = truth_of(attempt(out, "clusters", "none"))
    columns = ["x", "y", "hits_ego", "hits_anyone", "hits_reference", "counted"]
    first = [frame[frame["frame"] == 0][columns].reset_index(drop=True) for frame in (true, dry)]
    pd.testing.assert_frame_equal(first[0], first[1], check_exact=True)
    assert first[0]["hits_ego"].sum() > 50
    for hits, after in (("hits_ego", "hits_after_ego"), ("hits_anyone", "hits_after_anyone")):
        assert (true[after] <= true[hits]).all()
        assert true[after].sum() > 0
    sightings = read_stored_table(
        attempt(out, "clusters", condition) / "sightings.parquet", "sightings"
    )
    assert (sightings["hits_after"] <= sightings["hits"]).all()
    of_ego = sightings[sightings["sender"].astype(str) == "ego"]
    seen = true[true["hits_ego"] > 0]
    assert of_ego["hits_after"].tolist() == seen["hits_after_ego"].tolist()


@pytest.mark.thorough
def test_fog_leaves_fewer_hits_than_dry_air(out: Path) -> None:
    left = {name: truth_of(attempt(out, "clusters", name)) for name in ("none", "fog")}
    shares = {
        name: true["hits_after_ego"].sum() / true["hits_ego"].sum() for name, true in left.items()
    }
    assert shares["fog"] < shares["none"]


@pytest.mark.thorough
@pytest.mark.parametrize("condition", WEATHERS[1:])
def test_what_reached_the_system_is_counted(out: Path, condition: str) -> None:
    result = json.loads((attempt(out, "clusters", condition) / "result.json").read_text())
    messages = result["crucible"]["messages"]
    frames = len(
        read_stored_table(attempt(out, "clusters", condition) / "frames.parquet", "frames")
    )
    assert messages["sensed"] == messages["disturbances"][condition]
    assert messages["sensed"] == frames * (1 if condition == "stray_returns" else 2)
    assert not messages["late"] + messages["displaced"] + messages["changed"]


@ONLY_WITH_ALL
@pytest.mark.thorough
def test_a_twin_without_weather_is_the_drive_in_dry_air(out: Path, tmp_path: Path) -> None:
    copy = tmp_path / "out"
    subprocess.run(["cp", "-r", out, copy], check=True)
    case = "clusters/ahead/rain/hop-s1"
    line = (
        sys.executable,
        "-m",
        "harness",
        "twin",
        str(copy),
        case,
        "--without",
        "rain",
        "--trust",
    )
    done = subprocess.run(
        line, check=False, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (twin,) = CampaignRecords(copy / "twins").find_attempts().values()
    dry = attempt(out, "clusters", "none")
    for name in TABLES:
        assert (twin / f"{name}.parquet").read_bytes() == (dry / f"{name}.parquet").read_bytes()
    one, other = (json.loads((place / "result.json").read_text()) for place in (twin, dry))
    for result in (one, other):
        for name in ("attempt", "messages"):
            del result["crucible"][name]
    assert one["crucible"] == other["crucible"]


def scan_and_truth(context: AttemptContext, ego: EgoVehicle) -> tuple[LidarScan, GroundTruth]:
    """Return the ego's sweep of cars ahead, and these cars."""
    fleet = fleet_of(context, ego, [12.0, 25.0, 40.0])
    post = ScanningPost(
        context, SHARP, period=0.2, reads_points=True, reads_surfaces=True, carrier=ego.actor
    )
    post.start_scanning()
    scan = post.collect_scan(context.world.tick())
    post.destroy_sensors()
    ids = np.array([actor.id for actor in fleet])
    hits = np.array([scan.hits.get(int(number), 0) for number in ids])
    boxes = Boxes(np.ones((3, 7)), np.zeros(3, np.int64), np.ones(3))
    return scan, GroundTruth(boxes, ids, hits)


@pytest.mark.thorough
def test_hits_after_are_the_points_that_are_left(context: AttemptContext, ego: EgoVehicle) -> None:
    scan, truth = scan_and_truth(context, ego)
    assert (truth.hits > 5).all()
    seen = Observation(
        sender="ego",
        kind="ego",
        frame=0,
        time=0.0,
        lidar_in_world=scan.lidar_in_world,
        points_in_lidar=scan.points_in_lidar,
    )
    for weather in (None, Rain(50.0), Fog(30.0, calibration="lambert")):
        channel = Channel([] if weather is None else [weather])
        channel.reset(1, "4")
        sweep = channel.sense_sweep(seen, scan.surfaces, scan.sensitivity)
        sensed = replace(scan, points_in_lidar=sweep.points_in_lidar, surfaces=sweep.surfaces)
        after = count_remaining_hits(truth, sensed, ego.actor.id)
        assert after.tolist() == [recount(scan, sensed, int(id_)) for id_ in truth.actor_ids]
        assert (after <= truth.hits).all()
    assert after.sum() < truth.hits.sum()
    assert count_remaining_hits(truth, replace(scan, surfaces=None), 0).tolist() == [0, 0, 0]
    assert count_remaining_hits(truth, scan, int(truth.actor_ids[0]))[0] == 0


def recount(raw: LidarScan, sensed: LidarScan, actor: int) -> int:
    """Count an actor's points one by one: those left on a ray that hit it, and as far away."""
    assert raw.surfaces is not None
    assert raw.surfaces.actors is not None
    hit = raw.points_in_lidar[raw.surfaces.actors == actor, :3].astype(np.float64)
    ranges = np.linalg.norm(hit, axis=1)
    count = 0
    for point in sensed.points_in_lidar[:, :3].astype(np.float64):
        away = np.linalg.norm(point)
        along = hit @ point / (ranges * away)
        nearest = int(along.argmax())
        same_ray = np.linalg.norm(hit[nearest] / ranges[nearest] - point / away) < 1e-5
        count += bool(same_ray and abs(ranges[nearest] - away) < 0.5)
    return count


def test_surfaces_name_the_actors_that_are_hit(context: AttemptContext, ego: EgoVehicle) -> None:
    scan, truth = scan_and_truth(context, ego)
    assert scan.surfaces is not None
    assert scan.surfaces.actors is not None
    counts = [(scan.surfaces.actors == number).sum() for number in truth.actor_ids]
    assert counts == truth.hits.tolist()
    assert (scan.surfaces[scan.surfaces.actors == truth.actor_ids[0]].labels == 14).all()
    assert carla.CityObjectLabel.Car == 14


def planned(*settings: str) -> Any:
    return plan_campaign(composed("routes.only=[1]", "seeds=[1]", *settings))


def arms(*settings: str) -> set[tuple[str, str]]:
    return {(key.arm.system, key.arm.condition) for key in planned(*settings).attempts}


def test_systems_without_messages_are_planned_in_weather() -> None:
    study = ("rig=v2xverse_200m", "interference=[none,rain,latency]")
    assert arms("system=[oracle,late]", *study) == {
        ("oracle", "none"),
        ("oracle", "rain"),
        ("late", "none"),
        ("late", "rain"),
        ("late", "latency"),
    }


@pytest.mark.thorough
def test_systems_that_read_messages_and_no_points_are_left_out() -> None:
    study = ("system=[ideal_late,late]", "rig=v2xverse_200m", "interference=[none,rain]")
    made = planned(*study)
    assert ("ideal_late", "rain") not in arms(*study)
    assert "ideal_late / rain: rain changes points, and the system reads none" in made.unfit
    assert ("ideal_late", "rain") in arms(*study, "record.points=true")


@pytest.mark.thorough
def test_weather_needs_a_sensitivity() -> None:
    with pytest.raises(UserError, match=r"rain needs to know what .* rig\.ego\.r_max is null; "):
        planned("system=late", "interference=[none,rain]")
    planned("system=late", "interference=[none,rain]", "rig=v2xverse_200m")
    fog = "{_target_: harness.channel.interference.weather.Fog, visibility: 50}"
    rain = "{_target_: harness.channel.interference.weather.Rain, rate: 5}"
    both = f"+interference.both=[{rain},{fog}]"
    with pytest.raises(UserError, match="rain and fog in one condition"):
        planned("system=late", "rig=v2xverse_200m", both)


def test_a_sensitivity_needs_all_returns() -> None:
    assert RIG.ego.sensitivity is None
    assert SHARP.sensitivity is not None
    with pytest.raises(UserError, match="r_max = 120 m with dropoff"):
        replace(SHARP, dropoff_general_rate=0.1)


def test_the_sheet_is_the_shipped_rig_with_a_sensitivity() -> None:
    sheet, shipped = (composed(*more)["rig"] for more in (("rig=v2xverse_200m",), ()))
    for mount in ("ego", "roadside", "vehicle"):
        assert sheet[mount].pop("r_max") == 200.0
        assert shipped[mount].pop("r_max") is None
    assert sheet == shipped


def test_sizes_of_weather_are_swept() -> None:
    swept = (
        "sweep.rain=[0,5,20]",
        "sweep.fog=[50,200]",
        "sweep.wet_ground=[1]",
    )
    planned_arms = arms("system=late", "interference=none", "rig=v2xverse_200m", *swept)
    names = ("none", "rain=5", "rain=20", "fog=50", "fog=200", "wet_ground=1")
    assert planned_arms == {("late", name) for name in names}
    with pytest.raises(UserError, match=r"sweep.rain = .* 80 must be from 0 to 50"):
        planned("system=late", "rig=v2xverse_200m", "sweep.rain=[80]")


@pytest.mark.thorough
def test_tables_of_attempts_with_and_without_hits_after_can_be_pooled(out: Path) -> None:
    campaign = CampaignRecords(out)
    boxes = campaign.read_attempt_tables("boxes", campaign.find_attempts())
    names = [field.name for field in AFTER_SENSING["boxes"]]
    of_oracle = boxes["system"].astype(str) == "oracle"
    assert boxes.loc[of_oracle, names].isna().all(axis=None)
    assert boxes.loc[~of_oracle, names].notna().all(axis=None)
