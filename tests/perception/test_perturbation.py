"""Attacks by gradient through real networks: lower losses than noise, bounded, repeatable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from agents.perception.cameras.systems import MixedIntermediate
from agents.perception.fusion.catalogue import INTERMEDIATE
from agents.perception.systems import Intermediate, Late
from harness.channel.attacks.attack import WORLD, AttackScene
from harness.channel.attacks.perturbation import (
    PerturbationAttack,
    add_to_maps,
    descend_gradient,
    measure_change,
)
from harness.channel.attacks.route_corridor import RouteCorridor
from harness.channel.channel import Channel
from harness.common.errors import UserError
from harness.types.geometry import compute_relative_pose, transform_boxes
from harness.types.gradients import ObjectiveRequest, has_gradient_path
from harness.types.vocabulary import VEHICLE, Boxes, EgoObservation, Features, Message, Route
from tests.perception.street import EGO_IN_WORLD, ROADSIDE_IN_WORLD, ego, partner, sent

BOUND = 0.5


@cache
def system_of(scheme: str) -> Intermediate:
    return Intermediate(INTERMEDIATE[scheme]())


@cache
def message_of(scheme: str) -> Message:
    return sent(partner(), system_of(scheme).share(partner()))


def features_of(message: Message) -> Features:
    assert isinstance(message.payload, Features)
    return message.payload


def standing_car(x: float = 12.0, y: float = 0.0) -> Boxes:
    """Return a car on the ego's way, in the ego's LiDAR frame."""
    geometry = np.array([[x, y, 0.8 - EGO_IN_WORLD.z, 4.5, 1.9, 1.6, 0.0]])
    return Boxes(geometry, np.array([VEHICLE]), np.ones(1))


def request(scheme: str, **more: Any) -> ObjectiveRequest:
    return ObjectiveRequest(
        **{
            "goal": "hide",
            "targets_in_ego": standing_car(),
            "sender_in_ego": compute_relative_pose(ROADSIDE_IN_WORLD, EGO_IN_WORLD),
            "ego_lidar_in_world": EGO_IN_WORLD,
            "honest": features_of(message_of(scheme)),
            "ego": ego(),
            **more,
        }
    )


def noise(features: Features, seed: int, bound: float = BOUND) -> Features:
    random = np.random.default_rng(seed)
    signs = [random.choice([-1.0, 1.0], level.shape) for level in features.maps]
    return add_to_maps(features, [np.asarray(bound * sign, np.float32) for sign in signs])


@pytest.mark.parametrize("goal", ["hide", "create"])
@pytest.mark.parametrize("scheme", sorted(INTERMEDIATE))
def test_gradients_lower_the_loss_more_than_noise_of_the_same_bound(scheme: str, goal: str) -> None:
    objective = system_of(scheme).make_objective(request(scheme, goal=goal))
    assert objective is not None
    honest = features_of(message_of(scheme))
    lowest = descend_gradient(objective, honest, bound=BOUND, steps=3)
    before, after = objective.measure_loss(honest), objective.measure_loss(lowest)
    noisy = [objective.measure_loss(noise(honest, seed)) for seed in range(3)]
    assert after < before
    assert after < min(noisy)
    # single precision of sums
    assert 0 < measure_change(lowest, honest) <= BOUND * (1 + 1e-5)
    assert type(lowest) is type(honest)


@pytest.mark.parametrize("scheme", ["attfuse", "v2vnet"])
def test_the_gradient_is_that_of_finite_differences(scheme: str) -> None:
    objective = system_of(scheme).make_objective(request(scheme))
    assert objective is not None
    honest = features_of(message_of(scheme))
    loss, gradients = objective.compute_gradient(honest)
    assert loss == pytest.approx(objective.measure_loss(honest), rel=1e-4)
    size = 0.02
    norm = np.sqrt(sum(float((one.astype(np.float64) ** 2).sum()) for one in gradients))
    steps = [np.asarray(size * one / norm, np.float32) for one in gradients]
    higher = objective.measure_loss(add_to_maps(honest, steps))
    lower = objective.measure_loss(add_to_maps(honest, [-step for step in steps]))
    assert (higher - lower) / (2 * size) == pytest.approx(norm, rel=0.05)


def test_a_created_car_is_detected_where_it_was_asked_for_and_noise_creates_none() -> None:
    scheme = "attfuse"
    system, honest = system_of(scheme), features_of(message_of(scheme))
    objective = system.make_objective(request(scheme, goal="create"))
    assert objective is not None

    def find_car(features: Features) -> bool:
        made = replace(message_of(scheme), payload=features)
        seen = system.perceive(ego(), (made,)).cooperative
        vehicles = seen.geometry[seen.classes == VEHICLE]
        return bool((np.hypot(vehicles[:, 0] - 12.0, vehicles[:, 1]) < 1.0).any())

    assert not find_car(honest)
    assert find_car(descend_gradient(objective, honest, bound=3.0, steps=10))
    assert not find_car(noise(honest, 1, bound=3.0))


def test_without_a_target_in_the_window_there_is_no_objective() -> None:
    far = standing_car(900.0)
    for goal in ("hide", "create"):
        asked = request("fcooper", goal=goal, targets_in_ego=far)
        assert system_of("fcooper").make_objective(asked) is None


def route() -> Route:
    rows = np.arange(200.0)
    still = np.zeros(200)
    return Route(
        name="r",
        town="Town05",
        xyz=np.column_stack([rows, still, still]),
        yaw=still,
        station=rows,
        lane_width=still + 3.5,
        speed_limit=still + 10.0,
        in_junction=np.zeros(200, bool),
        lane_change=np.zeros(200, bool),
    )


def send(
    attack: PerturbationAttack, users: Boxes, steps: Sequence[int] = (0,), scheme: str = "fcooper"
) -> tuple[Channel, list[Message]]:
    """Return the channel, and what reaches the ego in each step."""
    channel = Channel([attack])
    channel.reset(1, "r")
    attack.system = system_of(scheme)
    corridor = RouteCorridor(route())
    corridor.follow_ego(EGO_IN_WORLD)
    seen: EgoObservation = ego()
    arrived: list[Message] = []
    for step in steps:
        now = 5.0 + 0.2 * step
        channel.note_attack_scene(
            AttackScene(
                time=now,
                ego_lidar_in_world=EGO_IN_WORLD,
                route=corridor,
                present={"roadside-0": "roadside"},
                users_in_world=transform_boxes(users, EGO_IN_WORLD, WORLD),
                ego=seen,
            )
        )
        looked = replace(partner(), frame=100 + 4 * step, time=now)
        channel.audit.note_capture("roadside-0", looked.frame, now, ROADSIDE_IN_WORLD)
        believed = channel.add_pose_shifts(looked)
        message = replace(
            message_of(scheme),
            capture_frame=looked.frame,
            capture_time=now,
            lidar_in_world=believed.lidar_in_world,
        )
        channel.send_message(message)
        arrived += channel.deliver_messages(now, {"roadside-0"})
    return channel, arrived


@pytest.mark.parametrize(
    "settings",
    [
        {"knowledge": "victim"},
        {"knowledge": "network"},
        {"knowledge": "surrogate", "surrogate": "attfuse"},
        {"knowledge": "none"},
        {"knowledge": "victim", "aim": "create", "distance": 12.0},
    ],
    ids=str,
)
def test_messages_reach_the_ego_changed_within_the_bound_and_equally_again(
    settings: dict[str, Any],
) -> None:
    runs = []
    for _ in range(2):
        attack = PerturbationAttack(bound=BOUND, steps=2, **settings)
        channel, (message,) = send(attack, standing_car())
        captured = channel.find_captured("roadside-0", 100)
        assert isinstance(captured, Features)
        assert 0 < measure_change(features_of(message), captured) <= BOUND * (1 + 1e-5)
        runs.append((features_of(message), attack.lies["roadside-0", 100]))
    (first, lie), (second, again) = runs
    assert all(np.array_equal(a, b) for a, b in zip(first.maps, second.maps, strict=True))
    assert lie.loss == again.loss
    assert lie.loss is not None
    created = settings.get("aim") == "create"
    assert (len(lie.added), len(lie.gone)) == ((1, 0) if created else (0, 1))
    if settings["knowledge"] == "victim":
        assert lie.loss.after < lie.loss.before
    channel.audit.verify_deliveries()


def test_noise_differs_from_message_to_message() -> None:
    attack = PerturbationAttack(bound=BOUND, knowledge="none")
    _, (first, second) = send(attack, standing_car(), steps=(0, 1))
    honest = features_of(message_of("fcooper"))
    changes = [features_of(message).maps[0] - honest.maps[0] for message in (first, second)]
    assert not np.array_equal(changes[0], changes[1])


@pytest.mark.parametrize("settings", [{"partners": 0}, {"bound": 0.0}])
def test_without_a_budget_nothing_is_different(settings: dict[str, Any]) -> None:
    attack = PerturbationAttack(**settings)
    channel, (message,) = send(attack, standing_car())
    assert not channel.attacks
    for level, honest in zip(
        features_of(message).maps, features_of(message_of("fcooper")).maps, strict=True
    ):
        assert level.tobytes() == honest.tobytes()


def test_without_a_road_user_on_the_way_messages_stay_as_they_are() -> None:
    attack = PerturbationAttack(steps=1)
    channel, (message,) = send(attack, Boxes.none())
    captured = channel.find_captured("roadside-0", 100)
    assert isinstance(captured, Features)
    assert measure_change(features_of(message), captured) == 0
    assert not attack.lies


def test_systems_declare_their_gradient_path_and_their_surrogates() -> None:
    assert has_gradient_path(Intermediate)
    assert has_gradient_path(MixedIntermediate)
    assert not has_gradient_path(Late)
    fcooper = {"_target_": "agents.perception.fusion.fcooper.FCooper"}
    assert Intermediate.list_surrogates(fusion=fcooper) == [
        "attfuse",
        "disconet",
        "v2vnet",
        "v2xvit",
    ]
    codriving = {"_target_": "agents.perception.fusion.codriving.CoDriving"}
    assert Intermediate.list_surrogates(fusion=codriving) == []
    assert Intermediate.list_surrogates(fusion=fcooper, size="full") == []
    assert MixedIntermediate.list_surrogates(fusion=fcooper) == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"aim": "shift"}, "aim = shift: one of hide, create"),
        ({"knowledge": "all"}, "knowledge = all: one of victim, network, surrogate, none"),
        ({"knowledge": "surrogate"}, "a scheme such as attfuse is needed"),
        ({"surrogate": "attfuse"}, "and null else"),
        ({"bound": -1.0}, "bound = -1 : must be ≥ 0"),
        ({"steps": 0}, "steps = 0: must be ≥ 1"),
        ({"distance": 0.0}, "distance = 0 m: must be > 0"),
    ],
)
def test_bad_settings_are_one_line(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words) as raised:
        PerturbationAttack(**settings)
    assert "\n" not in str(raised.value)
