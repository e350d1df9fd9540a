"""Insiders: who lies, what their messages state, and what of it reaches the ego."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml

from harness.campaign.settings.config import build_part
from harness.channel.attacks.attack import WORLD, Attack, AttackScene, find_same_boxes
from harness.channel.attacks.ghost import GhostAttack
from harness.channel.attacks.hidden import RemovalAttack, ShiftAttack
from harness.channel.attacks.replay import ReplayAttack
from harness.channel.attacks.route_corridor import RouteCorridor
from harness.channel.attacks.sybil import SybilAttack
from harness.channel.attacks.wrong_pose import WrongPoseAttack
from harness.channel.interference.latency import Fixed
from harness.common.errors import AttemptError, UserError
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import (
    CYCLIST,
    PEDESTRIAN,
    VEHICLE,
    Boxes,
    Kind,
    Message,
    Payload,
    Points,
    Pose,
    Route,
)
from tests.channel.episode import Episode, some_boxes, some_features, some_points, time_of, where

FOLDER = Path(__file__).parents[2] / "conf" / "attack"
FILES = sorted(path for path in FOLDER.glob("*.yaml") if path.stem not in ("none", "perturbation"))
PARTNERS: tuple[tuple[str, Kind], ...] = (
    ("roadside-0", "roadside"),
    ("vehicle-1", "vehicle"),
    ("vehicle-2", "vehicle"),
)
CAR = [4.5, 1.9, 1.6]


def straight(length: int = 400) -> Route:
    """Return a route along x, on the ego's y."""
    rows = np.arange(float(length))
    y = where("ego", 0).y
    return Route(
        name="r",
        town="Town05",
        xyz=np.column_stack([rows, np.full(length, y), np.zeros(length)]),
        yaw=np.zeros(length),
        station=rows,
        lane_width=np.full(length, 3.5),
        speed_limit=np.full(length, 10.0),
        in_junction=np.zeros(length, bool),
        lane_change=np.zeros(length, bool),
    )


class Attacked(Episode):
    """An episode in which insiders are shown the scene before each step."""

    def __init__(self, *parts: Attack | Fixed, users: Boxes | None = None, seed: int = 1) -> None:
        super().__init__(*parts, seed=seed)
        self.corridor = RouteCorridor(straight())
        self.users = Boxes.none() if users is None else users

    def step(
        self,
        partners: Sequence[tuple[str, Kind]] = PARTNERS,
        payload: Callable[[], Payload] = some_boxes,
    ) -> tuple[Message, ...]:
        step = len(self.given)
        ego = where("ego", step)
        self.corridor.follow_ego(ego)
        self.channel.note_attack_scene(
            AttackScene(
                time=time_of(step),
                ego_lidar_in_world=ego,
                route=self.corridor,
                present=dict(partners),
                users_in_world=self.users,
            )
        )
        return super().step(partners, payload)


def described(name: str) -> Attack:
    made = build_part(yaml.safe_load((FOLDER / f"{name}.yaml").read_text())[name], f"attack.{name}")
    assert isinstance(made, Attack)
    return made


def in_world(message: Message) -> Boxes:
    assert isinstance(message.payload, Boxes)
    return transform_boxes(message.payload, message.lidar_in_world, WORLD)


def cars_ahead() -> Boxes:
    """Return, in the frame of a LiDAR, cars on the way and away from it, and others."""
    rows = [[x, y, -1.0, *CAR, 0.0] for x in (12.0, 25.0, 40.0) for y in (-20.0, 0.0, 3.0, 15.0)]
    classes = np.array([VEHICLE, PEDESTRIAN, CYCLIST] * 4)
    return Boxes(np.array(rows), classes, np.full(12, 0.8))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_attack_declares_itself_and_reaches_the_ego(path: Path) -> None:
    attack = described(path.stem)
    assert attack.goal
    assert attack.knowledge
    assert getattr(attack, "safe_from_file", False)
    driven = Attacked(attack)
    driven.run(40, PARTNERS, cars_ahead)
    assert attack.lies
    assert attack.acted > 0
    driven.channel.audit.verify_deliveries()
    plain = Episode().run(40, PARTNERS, cars_ahead)
    assert driven.channel.audit.build_record()["displaced"] or any(
        len(lying) != len(honest) or any(map(differs, lying, honest))
        for lying, honest in zip(driven.given, plain.given, strict=True)
    )


def differs(one: Message, other: Message) -> bool:
    assert isinstance(one.payload, Boxes)
    assert isinstance(other.payload, Boxes)
    return one.lidar_in_world != other.lidar_in_world or not np.array_equal(
        one.payload.geometry, other.payload.geometry
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("budget", [{"partners": 0}, {"partners": None, "share": 0.0}])
def test_without_a_budget_nothing_is_different(path: Path, budget: dict[str, object]) -> None:
    part = yaml.safe_load((FOLDER / f"{path.stem}.yaml").read_text())[path.stem]
    driven = Attacked(build_part({**part, **budget}, f"attack.{path.stem}"))
    driven.run(20, PARTNERS)
    plain = Episode().run(20, PARTNERS)
    assert not driven.channel.attacks
    for lying, honest in zip(driven.given, plain.given, strict=True):
        assert not any(map(differs, lying, honest))
    assert driven.channel.audit.build_record() == plain.channel.audit.build_record()


def test_equal_seeds_choose_equal_insiders_and_others_may_differ() -> None:
    def insiders(seed: int) -> set[str]:
        attack = WrongPoseAttack(partners=1)
        Attacked(attack, seed=seed).run(3, PARTNERS)
        return {sender for sender, _ in attack.lies}

    chosen = [insiders(seed) for seed in range(12)]
    assert chosen == [insiders(seed) for seed in range(12)]
    assert all(len(one) == 1 for one in chosen)
    assert set.union(*chosen) == {sender for sender, _ in PARTNERS}


@pytest.mark.parametrize("number", [1, 2, 3, 5])
def test_no_more_than_the_budget_lie_at_once(number: int) -> None:
    attack = WrongPoseAttack(partners=number)
    driven = Attacked(attack)
    random = np.random.default_rng(number)
    for _ in range(60):
        present = tuple(partner for partner in PARTNERS if random.random() < 0.7)
        driven.step(present)
        assert len(attack.liars) == min(number, len(present))
        assert attack.liars <= {sender for sender, _ in present}


def test_a_share_of_the_partners_lies() -> None:
    names: list[tuple[str, Kind]] = [(f"vehicle-{number}", "vehicle") for number in range(400)]
    attack = WrongPoseAttack(partners=None, share=0.3)
    Attacked(attack).step(names)
    # within four standard deviations of a binomial count
    assert abs(len(attack.liars) - 120) < 4 * math.sqrt(400 * 0.3 * 0.7)


def test_insiders_lie_from_the_start_that_is_set_and_only_of_their_kinds() -> None:
    attack = WrongPoseAttack(partners=3, start=2.0, kinds=["vehicle"])
    driven = Attacked(attack)
    for step in range(15):
        driven.step()
        assert attack.liars == ({"vehicle-1", "vehicle-2"} if step >= 10 else set())


def test_an_attack_does_not_change_the_samples_of_a_disturbance() -> None:
    delays = [
        [record.delay for record in driven.run(20, PARTNERS).channel.audit.close_audit()]
        for driven in (
            Attacked(Fixed(seconds=0.3)),
            Attacked(GhostAttack(start=0.0), Fixed(seconds=0.3)),
        )
    ]
    assert delays[0] == delays[1]


def test_the_ghost_stands_on_the_lane_until_it_is_passed() -> None:
    attack = GhostAttack(partners=1, start=0.0, distance=25.0)
    driven = Attacked(attack)
    seen = []
    for step in range(30):
        driven.step()
        lying = next(message for message in driven.given[-1] if message.sender in attack.liars)
        ghost = in_world(lying)[-1:].geometry[0]
        # on the lane, on the road, along it
        assert ghost[1] == pytest.approx(where("ego", 0).y)
        assert ghost[2] == pytest.approx(0.8)
        assert math.remainder(ghost[6], math.tau) == pytest.approx(0.0, abs=1e-9)
        seen.append(round(ghost[0], 6))
        assert seen[-1] > where("ego", step).x - 4
    # 25 m ahead of the start; the ego passes it by 3 m at x = 29 m, at 2 m a step
    assert sorted(set(seen)) == [25.0, 55.0]
    assert seen.count(25.0) == 15


def test_colluding_insiders_state_the_same_ghost() -> None:
    attack = GhostAttack(partners=2, start=0.0)
    driven = Attacked(attack)
    driven.run(5, PARTNERS)
    lying = [message for message in driven.given[-1] if message.sender in attack.liars]
    ghosts = [in_world(message).geometry[-1] for message in lying]
    assert len(ghosts) == 2
    np.testing.assert_allclose(ghosts[0], ghosts[1], atol=1e-9)


def test_a_ghost_in_points_is_where_the_box_is() -> None:
    attack = GhostAttack(partners=3, start=0.0)
    driven = Attacked(attack)
    driven.run(3, PARTNERS, some_points)
    message = driven.given[-1][0]
    assert isinstance(message.payload, Points)
    extra = message.payload.in_lidar[len(some_points().in_lidar) :]
    added = attack.lies[message.sender, message.capture_frame].added
    box = transform_boxes(added, WORLD, message.lidar_in_world).geometry[0]
    assert len(extra) > 50
    offset = extra[:, :2] - box[:2]
    along = offset @ [math.cos(box[6]), math.sin(box[6])]
    across = offset @ [-math.sin(box[6]), math.cos(box[6])]
    assert (np.abs(along) <= box[3] / 2 + 1e-3).all()
    assert (np.abs(across) <= box[4] / 2 + 1e-3).all()


def slow_targets(boxes: Boxes, ego: Pose, ahead: float, aside: float) -> list[bool]:
    """Return which boxes are near the way, written out: x is the station, y aside of the lane."""
    near = []
    for x, y in boxes.geometry[:, :2].tolist():
        start = round(ego.x)
        station = min(max(round(x), start), start + int(ahead))
        close = math.hypot(x - station, y - ego.y) <= aside
        near.append(close and math.hypot(x - ego.x, y - ego.y) > 2.5)
    return near


def test_removal_leaves_out_what_a_slow_search_finds() -> None:
    attack = RemovalAttack(partners=3, ahead=30.0, aside=6.0)
    driven = Attacked(attack)
    honest = Episode()
    gone = 0
    for step in range(12):
        driven.step(payload=cars_ahead)
        honest.step(PARTNERS, cars_ahead)
        for lying, message in zip(driven.given[-1], honest.given[-1], strict=True):
            near = slow_targets(in_world(message), where("ego", step), 30.0, 6.0)
            assert isinstance(message.payload, Boxes)
            assert isinstance(lying.payload, Boxes)
            left = message.payload.geometry[~np.array(near)]
            np.testing.assert_array_equal(lying.payload.geometry, left)
            gone += sum(near)
    assert gone > 20


def test_only_the_nearest_road_user_is_removed_where_that_is_asked() -> None:
    driven = Attacked(RemovalAttack(partners=3, most=1))
    driven.step(payload=cars_ahead)
    assert {12 - len(message.payload) for message in driven.given[-1]} <= {0, 1}  # type: ignore[arg-type]
    assert any(len(message.payload) == 11 for message in driven.given[-1])  # type: ignore[arg-type]


def test_points_on_removed_and_shifted_road_users_go_or_move() -> None:
    y = where("ego", 0).y
    user = Boxes(np.array([[20.0, y, 0.8, *CAR, 0.4]]), np.array([VEHICLE]), np.ones(1))

    def sweep() -> Points:
        local = np.random.default_rng(3).uniform(-0.5, 0.5, (200, 3)) * CAR
        turn = np.array([[math.cos(0.4), -math.sin(0.4)], [math.sin(0.4), math.cos(0.4)]])
        on = np.column_stack([local[:, :2] @ turn.T + [20.0, y], local[:, 2] + 0.8])
        off = np.array([[30.0, y + 12.0, 0.5]])
        # in the frame of the only partner
        place = where("roadside-0", 0)
        points = np.concatenate([on, off]) - [place.x, place.y, place.z]
        return Points(np.column_stack([points, np.full(201, 0.5)]).astype(np.float32))

    partner: tuple[tuple[str, Kind], ...] = (("roadside-0", "roadside"),)
    (gone,) = Attacked(RemovalAttack(partners=1), users=user).step(partner, sweep)
    (moved,) = Attacked(ShiftAttack(partners=1, right=4.0), users=user).step(partner, sweep)
    assert isinstance(gone.payload, Points)
    assert isinstance(moved.payload, Points)
    assert len(gone.payload.in_lidar) == 1
    offset = moved.payload.in_lidar[:, :3] - sweep().in_lidar[:, :3]
    np.testing.assert_allclose(offset[:200], np.tile([0.0, 4.0, 0.0], (200, 1)), atol=1e-4)
    np.testing.assert_array_equal(offset[200], 0.0)


def test_shifted_boxes_are_at_another_place_and_others_are_untouched() -> None:
    attack = ShiftAttack(partners=3, right=3.0, along=-2.0)
    driven = Attacked(attack)
    driven.step(payload=cars_ahead)
    moved = 0
    for message in driven.given[-1]:
        honest = transform_boxes(cars_ahead(), message.lidar_in_world, WORLD)
        before = honest.geometry
        after = in_world(message).geometry
        near = np.array(slow_targets(honest, where("ego", 0), 60.0, 6.0))
        np.testing.assert_allclose(after[near, :2] - before[near, :2], [[-2.0, 3.0]] * near.sum())
        assert isinstance(message.payload, Boxes)
        np.testing.assert_array_equal(message.payload.geometry[~near], cars_ahead().geometry[~near])
        moved += int(near.sum())
    assert moved > 3


@pytest.mark.parametrize("payload", [some_boxes, some_points, some_features])
def test_replayed_messages_are_those_of_seconds_ago_with_a_new_stamp(
    payload: Callable[[], Payload],
) -> None:
    count = iter(range(1000))

    def numbered() -> Payload:
        if payload is not some_boxes:
            return payload()
        number = next(count)
        boxes = some_boxes()
        return Boxes(boxes.geometry + 0.01 * number, boxes.classes, boxes.scores)

    attack = ReplayAttack(partners=1, age=1.0)
    driven = Attacked(attack)
    driven.run(20, PARTNERS[:1], numbered)
    driven.channel.audit.verify_deliveries()
    for step, (message,) in enumerate(driven.given):
        # five steps of 0.2 s ago
        old = step if step < 5 else step - 5
        assert message.capture_time == time_of(step)
        assert message.lidar_in_world.x == pytest.approx(where("roadside-0", old).x)
        assert message.lidar_in_world.yaw == pytest.approx(
            math.remainder(where("roadside-0", old).yaw, math.tau)
        )
        if isinstance(message.payload, Boxes):
            assert message.payload.geometry[0, 0] == pytest.approx(10.0 + 0.01 * old)
        if step >= 5:
            lie = attack.lies[message.sender, message.capture_frame]
            assert lie.content_age == pytest.approx(1.0)
            assert lie.moved == pytest.approx(10.0)


def test_a_wrong_pose_is_as_far_off_as_it_is_set() -> None:
    attack = WrongPoseAttack(partners=3, metres=3.0, degrees=5.0)
    driven = Attacked(attack)
    driven.run(10, PARTNERS)
    directions = set()
    for step, messages in enumerate(driven.given):
        for message in messages:
            true = where(message.sender, step)
            x, y = message.lidar_in_world.x - true.x, message.lidar_in_world.y - true.y
            assert math.hypot(x, y) == pytest.approx(3.0)
            turned = math.remainder(message.lidar_in_world.yaw - true.yaw, math.tau)
            assert abs(turned) == pytest.approx(math.radians(5.0))
            directions.add((message.sender, round(math.atan2(y, x), 6)))
    assert len(directions) == 3


def test_under_a_wrong_place_all_boxes_are_lies() -> None:
    attack = WrongPoseAttack(partners=3, metres=3.0)
    Attacked(attack).run(4, PARTNERS)
    assert len(attack.lies) == 12
    for lie in attack.lies.values():
        assert len(lie.added) == len(lie.gone) == len(some_boxes())
        offsets = lie.added.geometry[:, :2] - lie.gone.geometry[:, :2]
        np.testing.assert_allclose(np.hypot(*offsets.T), 3.0)


def test_forged_identities_state_the_ghost_and_what_their_insider_perceives() -> None:
    attack = SybilAttack(partners=1, start=0.0, identities=3)
    driven = Attacked(attack, Fixed(seconds=0.2))
    driven.run(10, PARTNERS)
    driven.channel.audit.verify_deliveries()
    (liar,) = attack.liars
    names = {message.sender for message in driven.given[-1]}
    assert len(names) == len(PARTNERS) + 3
    forged = [one for one in driven.given[-1] if one.sender.startswith(f"{liar}-alias-")]
    (of_liar,) = (one for one in driven.given[-1] if one.sender == liar)
    for message in forged:
        assert message.kind == "vehicle"
        np.testing.assert_allclose(
            in_world(message).geometry[:, :2], in_world(of_liar).geometry[:, :2]
        )
    assert len({message.lidar_in_world for message in forged}) == 3
    # they are silent when their insider is out of range
    others = tuple(partner for partner in PARTNERS if partner[0] != liar)
    names = {message.sender for message in driven.step(others)}
    assert not any(name.startswith(f"{liar}-alias-") for name in names)


@pytest.mark.parametrize("attack", [GhostAttack, SybilAttack, RemovalAttack, ShiftAttack])
def test_attacks_on_objects_refuse_feature_maps(attack: type[Attack]) -> None:
    driven = Attacked(attack(partners=3, start=0.0))
    with pytest.raises(AttemptError, match="which this disturbance does not know how to change"):
        driven.run(3, PARTNERS, some_features)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GhostAttack(partners=None), "set one, the other to null"),
        (lambda: GhostAttack(partners=1, share=0.5), "set one, the other to null"),
        (lambda: GhostAttack(partners=-1), r"partners = -1: must be ≥ 0"),
        (lambda: GhostAttack(partners=None, share=1.5), r"share = 1.5: must be from 0 to 1"),
        (lambda: GhostAttack(distance=0.0), r"distance = 0 m: must be > 0"),
        (lambda: GhostAttack(hold=0.0), r"hold = 0 s: must be > 0, or null"),
        (lambda: GhostAttack(score=2.0), r"score = 2: must be > 0 and ≤ 1"),
        (lambda: ReplayAttack(age=-1.0), r"age = -1 s: must be ≥ 0"),
        (lambda: RemovalAttack(most=0), r"most = 0: must be ≥ 1, or null"),
        (lambda: WrongPoseAttack(metres=-1.0), r"metres = -1 m: must be ≥ 0"),
        (lambda: SybilAttack(identities=-1), r"identities = -1: must be ≥ 0"),
        (lambda: ShiftAttack(start=-1.0), r"start = -1 s: must be ≥ 0"),
    ],
)
def test_bad_settings_are_one_line(make: Callable[[], Attack], words: str) -> None:
    with pytest.raises(UserError, match=words) as raised:
        make()
    assert "\n" not in str(raised.value)


def test_boxes_state_one_road_user_by_class_and_place() -> None:
    random = np.random.default_rng(2)
    a, b = (
        Boxes(random.uniform(0, 6, (30, 7)), random.integers(0, 3, 30), np.ones(30))
        for _ in range(2)
    )
    slow = [
        any(
            ca == cb and math.dist(ra[:2], rb[:2]) <= 1.0
            for rb, cb in zip(b.geometry, b.classes, strict=True)
        )
        for ra, ca in zip(a.geometry, a.classes, strict=True)
    ]
    assert 0 < sum(slow) < 30
    assert find_same_boxes(a, b).tolist() == slow
