"""What is refused before anything is started, and what is passed to V2Xverse."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.v2xverse.roads import TownRoads
from agents.v2xverse.system import (
    CONFIG,
    V2Xverse,
    V2XverseAlone,
    leave_out_ego,
    make_step_request,
    select_nearest_messages,
)
from harness.carlite.towns import load_town
from harness.common.errors import UserError
from harness.types.vocabulary import EgoObservation, Message, Points, Pose
from tests.agents.little_world import straight
from tests.v2xverse.published_folder import NAMED_BY_AGENT, write_checkout

LIDAR = Pose(1.3, 0.0, 1.85)
NO_POINTS = np.zeros((0, 4), np.float32)


def checkout(folder: Path) -> Path:
    return write_checkout(folder, CONFIG.format(method="codriving"))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no checkout of V2Xverse: it has no opencood"):
        V2Xverse(str(tmp_path))
    root = str(checkout(tmp_path))
    with pytest.raises(UserError, match=r"no agent_config .*pnp_config_late_5_10.yaml"):
        V2Xverse(root, "late")
    with pytest.raises(UserError, match="python: interpreter not found: nobodys_python"):
        V2Xverse(root, python="nobodys_python")
    with pytest.raises(UserError, match=r"method=single is for .*V2XverseAlone"):
        V2Xverse(root, "single")
    with pytest.raises(UserError, match=r"method=single is for .*V2XverseAlone"):
        V2XverseAlone(root, "late")


def test_what_is_missing_is_named_before_a_campaign_begins(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no checkout of V2Xverse"):
        V2Xverse.files(str(tmp_path))
    root = str(checkout(tmp_path))
    assert V2Xverse.files(root, python=sys.executable) == [
        tmp_path / CONFIG.format(method="codriving"),
        *(tmp_path / NAMED_BY_AGENT[number] for number in (0, 1, 3, 2)),
    ]
    with pytest.raises(UserError, match="interpreter not found: nobodys_python; name that"):
        V2Xverse.files(root, python="nobodys_python")
    with pytest.raises(UserError, match="no agent_config"):
        V2Xverse.files(root, "late")
    with pytest.raises(UserError, match=r"method=single is for .*V2XverseAlone"):
        V2XverseAlone.files(root)


def test_a_checkout_that_does_not_run_says_so_in_one_line(tmp_path: Path) -> None:
    root = str(checkout(tmp_path))
    with pytest.raises(UserError, match=r"it ended with exit code 1 at hello; .*Error") as caught:
        V2Xverse(root, python="python3")
    assert "\n" not in str(caught.value)


def message(sender: str, x: float) -> Message:
    return Message(
        sender=sender,
        kind="vehicle",
        capture_frame=4,
        capture_time=0.2,
        lidar_in_world=Pose(x, 0.0, 2.0, 0.5),
        payload=Points(NO_POINTS),
    )


def test_partners_nearest_first_and_no_more_than_it_takes() -> None:
    messages = tuple(message(f"vehicle-{x}", float(x)) for x in (50, 10, 30, 20, 40))
    kept = select_nearest_messages(messages, Pose(0.0, 0.0))
    assert [item.sender for item in kept] == [f"vehicle-{x}" for x in (10, 20, 30, 40)]


def test_what_it_believes_and_where_it_is_on_its_route() -> None:
    here = Pose(100.0, 50.0, yaw=math.pi / 2)
    believed = Pose(100.4, 51.3, 1.85, math.pi / 2)  # true would be 100, 51.3
    observation = EgoObservation(
        sender="ego",
        kind="ego",
        frame=4,
        time=0.2,
        lidar_in_world=believed,
        points_in_lidar=NO_POINTS,
        vehicle_in_world=here,
        lidar_in_vehicle=LIDAR,
        speed=3.0,
        lights=(),
    )
    words, arrays = make_step_request(observation, [message("vehicle-9", 90.0)])
    assert words["ego"]["lidar"] == [100.4, 51.3, 1.85, math.pi / 2]
    assert np.allclose(words["ego"]["vehicle"], [100.4, 50.0])
    assert words["ego"]["on_route"] == [100.0, 50.0, math.pi / 2]
    assert words["partners"][0]["lidar"] == [90.0, 0.0, 2.0, 0.5]
    assert set(arrays) == {"ego", "vehicle-9"}


def test_the_ego_is_no_detection() -> None:
    order = [(1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 0), (1, 0, 1), (1, 1, 1), (0, 1, 1), (0, 0, 1)]
    body = np.array([[4.9, 2.1, 1.5] * np.array(item) for item in order]) - [2.45, 1.05, 0.0]
    places = np.array([[-1.3, 0.0, 0.0], [10.0, 3.0, 0.0]])  # of the ego from its LiDAR, and ahead
    result = {
        "alone_corners": (body + places[:, None]).reshape(2, 24),
        "alone_scores": np.array([0.9, 0.8]),
        "alone_classes": np.zeros(2, np.int64),
    }
    here = Pose(100.0, 50.0, 1.85)
    observation = EgoObservation(
        sender="ego",
        kind="ego",
        frame=4,
        time=0.2,
        lidar_in_world=here,
        points_in_lidar=NO_POINTS,
        vehicle_in_world=here,
        lidar_in_vehicle=LIDAR,
        speed=3.0,
        lights=(),
    )
    (box,) = leave_out_ego("alone", result, observation).geometry
    assert np.allclose(box[:2], [10.0, 3.0])


def test_the_road_is_rendered_as_the_planner_sees_it() -> None:
    route = straight()
    width = float(route.lane_width[0])
    x, y = route.xyz[20, :2]
    picture = TownRoads.from_route(route, None).render_picture(Pose(x, y, yaw=float(route.yaw[20])))
    assert picture.shape == (192, 96)
    across = picture[100]
    assert across.sum() == pytest.approx(4 * width, abs=2)
    assert np.flatnonzero(across).mean() == pytest.approx(47.5, abs=0.5)
    to_the_right = TownRoads.from_route(route, None).render_picture(
        Pose(x, y, yaw=float(route.yaw[20]) + 0.4)
    )
    ahead, behind = (np.flatnonzero(to_the_right[row]).mean() for row in (100, 180))
    assert ahead < 47.5 < behind


@pytest.mark.thorough
def test_with_a_map_all_lanes_are_rendered(tmp_path: Path) -> None:
    (tmp_path / "Town05.xodr").write_text(load_town("Town05", None).opendrive)
    roads = TownRoads.from_route(replace(straight(), town="Town05"), str(tmp_path))
    part = TownRoads.from_route(straight(), None)
    here = Pose(30.0, 0.0)
    assert part.render_picture(here).sum() > 0
    assert not np.array_equal(roads.render_picture(here), part.render_picture(here))
    x, y = roads.centres[len(roads.centres) // 2]
    assert roads.render_picture(Pose(float(x), float(y)))[143:145, 47:49].all()


class Listener:
    """Keeps what is asked, in the place of the child."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def ask_child(
        self, words: dict[str, Any], arrays: dict[str, Any], seconds: float
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        self.asked.append(words)
        return {"kind": words["kind"]}, {}


def test_another_speed_is_asked_for_from_the_next_reset_on(monkeypatch: pytest.MonkeyPatch) -> None:
    system = V2Xverse.__new__(V2Xverse)
    child = Listener()
    for name, value in {"_child": child, "_maps": None, "_patience": 1, "_speed_factor": 1}.items():
        monkeypatch.setattr(system, name, value, raising=False)
    for factor in (None, 1.6):
        if factor is not None:
            system.scale_speed(factor)
        system.reset(3, straight())
    assert child.asked == [
        {"kind": "reset", "seed": 3, "speed_factor": factor} for factor in (1, 1.6)
    ]
