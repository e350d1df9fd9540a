"""The three systems with truth: what each of them lets itself see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from agents.ideal_late import IdealLate
from agents.ideal_single import IdealSingle
from agents.oracle import Oracle
from harness.types.systems import get_fusion_stage
from harness.types.vocabulary import Boxes, EgoObservation, GroundTruth, Message, Observation, Pose
from tests.agents.little_world import straight

EGO = EgoObservation(
    sender="ego",
    kind="ego",
    frame=100,
    time=5.0,
    lidar_in_world=Pose(11.3, 0.0, 1.85),
    points_in_lidar=np.zeros((0, 4), np.float32),
    vehicle_in_world=Pose(10.0, 0.0),
    lidar_in_vehicle=Pose(1.3, 0.0, 1.85),
    speed=8.0,
    lights=(),
)

EARLIER = replace(EGO, frame=96, time=4.8)


def truth(*rows: tuple[float, float, int]) -> GroundTruth:
    """Return pedestrians at places in the LiDAR's frame, hit so often."""
    geometry = np.array([[x, y, 0.0, 0.5, 0.5, 1.8, 0.0] for x, y, _ in rows])
    hits = np.array([hits for _, _, hits in rows])
    count = len(rows)
    boxes = Boxes(geometry, np.ones(count, np.int64), np.ones(count))
    return GroundTruth(boxes, np.arange(count) + 7, hits)


SCENE = truth((12.0, 0.0, 0), (20.0, 6.0, 4), (30.0, -6.0, 5), (90.0, 0.0, 50))


def test_the_oracle_sees_who_is_hidden_and_brakes() -> None:
    oracle = Oracle()
    oracle.reset(1, straight())
    oracle.step(EARLIER, (), SCENE)
    step = oracle.step(EGO, (), SCENE)
    assert len(step.cooperative) == 3  # one is out of range
    assert step.ego_alone is step.cooperative
    assert step.control.brake > 0.3


def test_the_ideal_single_sees_what_the_egos_lidar_hits() -> None:
    single = IdealSingle()
    single.reset(1, straight())
    step = single.step(EGO, (), SCENE)
    assert step.cooperative.geometry[:, 0].tolist() == [30.0]
    assert step.control.brake == 0.0


def test_how_many_hits_make_a_box_visible_is_a_setting() -> None:
    single = IdealSingle(min_hits=4)
    single.reset(1, straight())
    assert len(single.step(EGO, (), SCENE).cooperative) == 2


def test_the_window_is_a_setting() -> None:
    oracle = Oracle(range_window=(36.0, 5.0))
    oracle.reset(1, straight())
    assert oracle.step(EGO, (), SCENE).cooperative.geometry[:, 0].tolist() == [12.0]


def test_ideal_late_shares_what_partners_hit_and_drives_by_it() -> None:
    system = IdealLate()
    system.reset(1, straight())
    pose = Pose(23.3, 3.0, 7.5)
    partner = Observation(
        sender="roadside-0",
        kind="roadside",
        frame=100,
        time=5.0,
        lidar_in_world=pose,
        points_in_lidar=np.zeros((0, 4), np.float32),
    )
    payload = system.share(partner, truth((0.0, -3.0, 40), (9.0, 9.0, 0)))
    assert len(payload) == 1
    message = Message(
        sender="roadside-0",
        kind="roadside",
        capture_frame=100,
        capture_time=5.0,
        lidar_in_world=pose,
        payload=payload,
    )
    system.step(EARLIER, (message,), SCENE)
    step = system.step(EGO, (message,), SCENE)
    assert step.ego_alone.geometry[:, 0].tolist() == [30.0]
    assert sorted(step.cooperative.geometry[:, 0].round(6).tolist()) == [12.0, 30.0]
    assert step.control.brake > 0.3


def test_ideal_systems_declare_their_stage_of_fusion() -> None:
    stages = [get_fusion_stage(system) for system in (Oracle(), IdealSingle(), IdealLate())]
    assert stages == ["none", "none", "late"]


def test_who_an_actor_is_changes_nothing() -> None:
    results = []
    for ids in (SCENE.actor_ids, SCENE.actor_ids[::-1] + 40):
        system = IdealLate()
        system.reset(1, straight())
        scene = replace(SCENE, actor_ids=ids)
        results += [system.step(replace(EGO, time=5.0 + k), (), scene).control for k in range(3)]
    first, second = results[:3], results[3:]
    assert [(c.throttle, c.brake) for c in first] == [(c.throttle, c.brake) for c in second]
