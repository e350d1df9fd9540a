"""Late fusion: whose box counts where several see the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

from agents.merging import merge_partner_boxes
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import PEDESTRIAN, VEHICLE, Boxes, Message, Payload, Points, Pose

WORLD = Pose(0.0, 0.0)
MOUNT = Pose(1.3, 0.0, 1.85)
EGO_LIDAR = Pose(10.0, 20.0, 1.85, yaw=0.5)
ROADSIDE = Pose(40.0, 10.0, 7.5, yaw=-2.0)
SIZES = {VEHICLE: (4.6, 1.9, 1.5), PEDESTRIAN: (0.5, 0.5, 1.8)}


def in_world(*rows: tuple[int, float, float], yaw: float = 0.3) -> Boxes:
    """Return boxes of a class at a place."""
    geometry = np.array([[x, y, 1.0, *SIZES[kind], yaw] for kind, x, y in rows]).reshape(-1, 7)
    return Boxes(geometry, np.array([kind for kind, _, _ in rows], np.int64), np.ones(len(rows)))


def message(payload: Payload, believed: Pose = ROADSIDE, time: float = 5.0) -> Message:
    """Return what a roadside unit sends."""
    return Message(
        sender="roadside-0",
        kind="roadside",
        capture_frame=round(20 * time),
        capture_time=time,
        lidar_in_world=believed,
        payload=payload,
    )


def test_a_partners_box_arrives_where_it_stands() -> None:
    theirs = in_world((VEHICLE, 30.0, 25.0))
    sent = transform_boxes(theirs, WORLD, ROADSIDE)
    merged = merge_partner_boxes(Boxes.none(), (message(sent),), EGO_LIDAR, MOUNT)
    back = transform_boxes(merged, EGO_LIDAR, WORLD)
    np.testing.assert_allclose(back.geometry, theirs.geometry, atol=1e-9)


def test_the_egos_box_counts_where_both_see_the_same() -> None:
    part = transform_boxes(in_world((VEHICLE, 30.0, 25.0)), WORLD, EGO_LIDAR)
    sent = transform_boxes(in_world((VEHICLE, 30.5, 25.4), (VEHICLE, 36.0, 25.0)), WORLD, ROADSIDE)
    merged = merge_partner_boxes(part, (message(sent),), EGO_LIDAR, MOUNT)
    assert len(merged) == 2
    np.testing.assert_array_equal(merged.geometry[0], part.geometry[0])


def test_a_pedestrian_next_to_a_car_is_not_the_car() -> None:
    part = transform_boxes(in_world((VEHICLE, 30.0, 25.0)), WORLD, EGO_LIDAR)
    sent = transform_boxes(in_world((PEDESTRIAN, 30.0, 26.3)), WORLD, ROADSIDE)
    assert len(merge_partner_boxes(part, (message(sent),), EGO_LIDAR, MOUNT)) == 2


def test_a_false_belief_displaces_what_is_shared() -> None:
    theirs = in_world((VEHICLE, 60.0, 10.0))
    sent = transform_boxes(theirs, WORLD, ROADSIDE)
    believed = Pose(ROADSIDE.x + 0.4, ROADSIDE.y, ROADSIDE.z, yaw=ROADSIDE.yaw + math.radians(0.6))
    merged = merge_partner_boxes(Boxes.none(), (message(sent, believed),), EGO_LIDAR, MOUNT)
    off = transform_boxes(merged, EGO_LIDAR, WORLD).geometry - theirs.geometry
    assert off[0, :2] == pytest.approx([0.4, 20.0 * math.radians(0.6)], abs=0.01)


def test_the_newest_message_counts_before_older_ones() -> None:
    old = transform_boxes(in_world((VEHICLE, 30.0, 25.0)), WORLD, ROADSIDE)
    new = transform_boxes(in_world((VEHICLE, 31.0, 25.0)), WORLD, ROADSIDE)
    messages = (message(old, time=4.0), message(new, time=4.6))
    merged = merge_partner_boxes(Boxes.none(), messages, EGO_LIDAR, MOUNT)
    assert transform_boxes(merged, EGO_LIDAR, WORLD).geometry[:, 0] == pytest.approx([31.0])


def test_partners_see_the_ego_and_the_ego_does_not_take_it_for_another() -> None:
    vehicle = (EGO_LIDAR.x - 1.3 * math.cos(0.5), EGO_LIDAR.y - 1.3 * math.sin(0.5))
    sent = transform_boxes(in_world((VEHICLE, *vehicle), yaw=0.5), WORLD, ROADSIDE)
    assert len(merge_partner_boxes(Boxes.none(), (message(sent),), EGO_LIDAR, MOUNT)) == 0


def test_points_are_no_boxes() -> None:
    points = Points(np.zeros((3, 4), np.float32))
    with pytest.raises(TypeError, match="roadside-0 sent no boxes"):
        merge_partner_boxes(Boxes.none(), (message(points),), EGO_LIDAR, MOUNT)
