"""What pictures are drawn from: tracks, sightings and scenery agree with the boxes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.records.schema import POSITION_UNIT, YAW_UNIT
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Boxes, Floats, Pose
from tests.campaign.plain import drive_mixed_once

pytestmark = pytest.mark.thorough
GEOMETRY = ["x", "y", "z", "length", "width", "height", "yaw"]
REACH = 80.0


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> CampaignRecords:
    """Drive a short route among traffic, with two kinds of partners."""
    return CampaignRecords(drive_mixed_once(tmp_path_factory))


@pytest.fixture(scope="module")
def key(campaign: CampaignRecords) -> AttemptKey:
    """Return its one attempt."""
    (key,) = campaign.find_attempts()
    return key


def true_boxes(campaign: CampaignRecords, key: AttemptKey) -> pd.DataFrame:
    """Return the ground truth of all planning steps, moved from the ego's LiDAR into the world."""
    boxes, poses = (
        campaign.read_attempt_table("boxes", key),
        campaign.read_attempt_table("poses", key),
    )
    truth = boxes[boxes["source"] == "truth"]
    parts = []
    for frame, rows in truth.groupby("frame"):
        (ego,) = poses[(poses["frame"] == frame) & (poses["sender"] == "ego")].to_dict("records")
        turns = ("x", "y", "z", "yaw", "pitch", "roll")
        lidar = Pose(*(float(ego[f"true_{name}"]) for name in turns))
        geometry = rows[GEOMETRY].to_numpy(np.float64)
        there = Boxes(geometry, np.zeros(len(rows), np.int64), np.ones(len(rows)))
        moved = transform_boxes(there, lidar, Pose(0.0, 0.0)).geometry
        parts.append(rows.assign(**dict(zip(GEOMETRY, moved.T, strict=True))))
    return pd.concat(parts)


def metres(tracks: pd.DataFrame) -> Floats:
    """Return x, y, z and yaw of tracks in metres and radians."""
    return tracks[["x", "y", "z", "yaw"]].to_numpy(np.float64) * [
        POSITION_UNIT,
        POSITION_UNIT,
        POSITION_UNIT,
        YAW_UNIT,
    ]


def test_tracks_hold_every_true_box_of_every_planning_step(
    campaign: CampaignRecords, key: AttemptKey
) -> None:
    tracks, actors = (
        campaign.read_attempt_table("tracks", key),
        campaign.read_attempt_table("actors", key),
    )
    truth = true_boxes(campaign, key)
    known = tracks.merge(actors, on="actor_id")
    met = truth.merge(known, on=["frame", "actor_id"], suffixes=("", "_known"))
    near = truth[np.hypot(*(truth[["x", "y"]] - ego_at(tracks, truth["frame"])).T.values) < 79]
    assert len(near) > 50
    assert len(met) >= len(near)
    off = (
        met[["x", "y", "z"]].to_numpy()
        - metres(
            met[["x_known", "y_known", "z_known", "yaw_known"]].set_axis([*"xyz", "yaw"], axis=1)
        )[:, :3]
    )
    assert np.abs(off).max() < 2e-3
    turned = met["yaw"].to_numpy() - met["yaw_known"].to_numpy() * YAW_UNIT
    assert np.abs(np.sin(turned)).max() < 2e-3
    for name in ("length", "width", "height"):
        np.testing.assert_allclose(met[name], met[f"{name}_known"], atol=1e-4)
    assert (met["class"].astype(str) == met["class_known"].astype(str)).all()


def ego_at(tracks: pd.DataFrame, frames: pd.Series) -> Floats:
    """Return where the ego was in some frames."""
    ego = tracks[tracks["actor_id"] == 0].set_index("frame")
    return np.asarray(ego.loc[frames, ["x", "y"]].to_numpy() * POSITION_UNIT)


def test_tracks_are_of_every_tick_and_no_farther_than_the_reach(
    campaign: CampaignRecords, key: AttemptKey
) -> None:
    tracks, frames = (
        campaign.read_attempt_table("tracks", key),
        campaign.read_attempt_table("frames", key),
    )
    ego = tracks[tracks["actor_id"] == 0]
    assert (np.diff(ego["frame"]) == 1).all()
    assert ego["frame"].iloc[0] == 0
    assert ego["frame"].iloc[-1] >= frames["frame"].iloc[-1]
    away = tracks[["x", "y"]].to_numpy() * POSITION_UNIT - ego_at(tracks, tracks["frame"])
    assert np.hypot(*away.T).max() < REACH + 0.01
    assert tracks["actor_id"].nunique() >= 4
    assert set(tracks["actor_id"]) == set(campaign.read_attempt_table("actors", key)["actor_id"])


def test_sightings_are_the_hits_of_the_boxes_by_observer(
    campaign: CampaignRecords, key: AttemptKey
) -> None:
    sightings, boxes = (
        campaign.read_attempt_table("sightings", key),
        campaign.read_attempt_table("boxes", key),
    )
    assert (sightings["hits"] > 0).all()
    senders = set(sightings["sender"].astype(str))
    assert "ego" in senders
    assert len(senders) > 1
    truth = boxes[boxes["source"] == "truth"].set_index(["frame", "actor_id"])
    by_ego = sightings[sightings["sender"] == "ego"].set_index(["frame", "actor_id"])["hits"]
    counted = by_ego.reindex(truth.index, fill_value=0)
    assert (counted == truth["hits_ego"]).all()
    most = sightings.groupby(["frame", "actor_id"])["hits"].max()
    assert (most.reindex(truth.index, fill_value=0) == truth["hits_anyone"]).all()


def test_scenery_is_the_level_near_the_route(campaign: CampaignRecords, key: AttemptKey) -> None:
    scenery, lines = (
        campaign.read_attempt_table("scenery", key),
        campaign.read_attempt_table("map", key),
    )
    assert {"building", "vegetation", "vehicle"} <= set(scenery["kind"].astype(str))
    assert (scenery[["length", "width", "height"]] > 0).all(axis=None)
    way = lines[lines["kind"] == "route"][["x", "y"]].to_numpy()
    gaps = np.linalg.norm(scenery[["x", "y"]].to_numpy()[:, None] - way[None], axis=-1).min(axis=1)
    beyond = gaps - np.hypot(scenery["length"], scenery["width"]) / 2
    assert beyond.max() <= REACH + 5
    assert beyond.max() > REACH - 20


def test_they_cost_at_most_half_as_much_again(campaign: CampaignRecords, key: AttemptKey) -> None:
    folder = campaign.get_result_path(key).parent
    sizes = {file.stem: file.stat().st_size for file in folder.glob("*.parquet")}
    added = sum(sizes.pop(name) for name in ("tracks", "actors", "sightings", "scenery"))
    rest = sum(sizes.values()) + Path(folder / "result.json").stat().st_size
    assert added <= 0.5 * rest, (added, rest)
