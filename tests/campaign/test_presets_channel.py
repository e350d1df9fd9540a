"""The three studies: who shares, how late, and how wrong about where it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.campaign.settings.conditions import build_condition_disturbances
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.channel.disturbance import Disturbance
from harness.channel.effects import compute_shift
from harness.types.vocabulary import Pose
from harness.world.attempt_context import AttemptContext
from harness.world.ego import EgoVehicle
from harness.world.partners import Ahead
from tests.campaign.test_presets_driving import STUDIES, by_study, studies
from tests.channel.episode import Episode, where
from tests.world.test_partners import context, ego, on_the_way

__all__ = ["context", "ego", "studies"]
LATE = {"paper_text": "latency", "paper_code": "paper_code_latency", "recommended": "latency"}
LOST = {
    "paper_text": "pose_error",
    "paper_code": "paper_code_pose_error",
    "recommended": "pose_error",
}
DEGREE = math.radians(1.0)


def disturbances(settings: CampaignSettings, name: str) -> list[Disturbance]:
    assert next(iter(settings["interference"])) == "none"
    return build_condition_disturbances(settings, name)


def shifts(episode: Episode, sender: str) -> np.ndarray:
    """Return the pose error of an agent at every step: x, y (m), yaw (degrees)."""
    errors = []
    for step in range(len(episode.given)):
        believed = episode.beliefs[sender, step].lidar_in_world
        shift = compute_shift(believed, where(sender, step))
        assert shift[3:] == (0.0, 0.0, 0.0)
        errors.append(shift[:3])
    return np.array(errors) / (1.0, 1.0, DEGREE)


@pytest.mark.parametrize(
    ("study", "places", "shared"),
    [("paper_text", 2, 30), ("paper_code", 24, 24), ("recommended", 4, 30)],
)
def test_the_roadside_unit(
    studies: dict[str, CampaignSettings],
    context: AttemptContext,
    ego: EgoVehicle,
    study: str,
    places: int,
    shared: int,
) -> None:
    """In 6 s at 8 m/s: set up twice; at each step that has one; or whenever it is passed."""
    ((name, settings),) = studies[study]["cooperation"].items()
    cooperation = build_part(settings, f"cooperation.{name}")
    assert isinstance(cooperation.roadside, Ahead)
    planned = on_the_way(context, ego, cooperation.roadside, 30)
    poses: list[Pose] = [pose for step in planned for pose in step]
    assert len(poses) == shared
    assert len({(round(pose.x, 3), round(pose.y, 3)) for pose in poses}) == places
    if study == "paper_code":
        assert [len(step) for step in planned] == [1, 1, 1, 1, 0] * 6


@pytest.mark.parametrize("study", ["paper_text", "recommended"])
def test_latency_is_one_sample_for_an_episode(
    studies: dict[str, CampaignSettings], study: str
) -> None:
    made = disturbances(studies[study], LATE[study])
    delays = set()
    for seed in range(40):
        ages = Episode(*made, seed=seed).run().ages()
        late = {age for now in ages for age in now}
        assert len(late) == 1
        delays |= late
    assert delays == {3, 4, 5}  # planning steps: 0.5 to 1 s


@pytest.mark.parametrize("study", ["paper_text", "recommended"])
def test_latency_does_not_know_the_route(studies: dict[str, CampaignSettings], study: str) -> None:
    made = disturbances(studies[study], LATE[study])
    ages = [Episode(*made, route=f"route-{number}").run().ages() for number in range(3)]
    assert ages[0] == ages[1] == ages[2]


@pytest.mark.parametrize(("number", "steps"), [(0, 4), (1, 5), (2, 3), (31, 5)])
def test_the_codes_latency_is_the_routes(
    studies: dict[str, CampaignSettings], number: int, steps: int
) -> None:
    made = disturbances(studies["paper_code"], LATE["paper_code"])
    ages = Episode(*made, route=f"town05_short_r{number}").run(30).ages()
    assert ages[:5] == [[0]] * 5  # the first second comes at once
    assert ages[-1] == [steps]
    assert Episode(*made, seed=2, route=f"town05_short_r{number}").run(30).ages() == ages


@pytest.mark.parametrize(
    ("study", "kinds"),
    by_study(
        paper_text={"roadside", "vehicle"},
        paper_code={"roadside"},
        recommended={"roadside", "vehicle"},
    ),
)
def test_whose_messages_are_late(
    studies: dict[str, CampaignSettings], study: str, kinds: set[str]
) -> None:
    (made,) = disturbances(studies[study], LATE[study])
    assert made.kinds == kinds


@pytest.mark.parametrize("study", ["paper_text", "recommended"])
def test_partners_are_wrong_for_an_episode(
    studies: dict[str, CampaignSettings], study: str
) -> None:
    made = disturbances(studies[study], LOST[study])
    episodes = [Episode(*made, seed=seed).run(5) for seed in range(60)]
    errors = np.array([shifts(episode, "roadside-0") for episode in episodes])
    assert np.ptp(errors, axis=1).max() < 1e-9
    assert (np.abs(errors) <= 0.6 + 1e-9).all()
    assert (np.abs(errors).min(axis=(0, 1)) < 0.1).all()
    assert (errors.min(axis=(0, 1)) < 0).all()
    assert (errors.max(axis=(0, 1)) > 0).all()
    assert not any(shifts(episode, "ego").any() for episode in episodes)


@pytest.mark.parametrize("who", ["ego", "roadside-0"])
def test_in_the_code_all_errors_are_sampled_every_frame(
    studies: dict[str, CampaignSettings], who: str
) -> None:
    made = disturbances(studies["paper_code"], LOST["paper_code"])
    errors = shifts(Episode(*made).run(60), who)
    assert len(np.unique(errors.round(9), axis=0)) == 60
    assert (np.abs(errors) >= 0.2 - 1e-9).all()
    assert (np.abs(errors) <= 0.6 + 1e-9).all()


@pytest.mark.parametrize("study", STUDIES)
def test_conditions_of_a_study(studies: dict[str, CampaignSettings], study: str) -> None:
    assert list(studies[study]["interference"]) == ["none", LATE[study], LOST[study]]
