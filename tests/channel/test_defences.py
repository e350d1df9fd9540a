"""Checks of messages: what they reject, next to slow searches and written-out formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from harness.campaign.settings.config import build_part
from harness.channel.defences.consensus import (
    Consensus,
    compute_jaccard_index,
    count_trials,
    join_boxes_without_duplicates,
)
from harness.channel.defences.defence import Defence, DefenceScene, apply_judgements
from harness.channel.defences.free_space import FreeSpace, count_rays, count_rays_of_box
from harness.channel.defences.layered import Layered
from harness.channel.defences.match import Match
from harness.channel.defences.omission import Omission
from harness.channel.defences.plausibility import Plausibility
from harness.channel.defences.reputation import Reputation
from harness.common.errors import UserError
from harness.types.vocabulary import (
    PEDESTRIAN,
    VEHICLE,
    Boxes,
    EgoObservation,
    Floats,
    Kind,
    Mask,
    Message,
    Payload,
    Points,
    Pose,
    Singles,
)

FOLDER = Path(__file__).parents[2] / "conf" / "defence"
FILES = sorted(path for path in FOLDER.glob("*.yaml") if path.stem != "none")
CAR = [4.5, 1.9, 1.6]


def car(x: float, y: float, yaw: float = 0.0) -> Boxes:
    return Boxes(np.array([[x, y, -1.0, *CAR, yaw]]), np.array([VEHICLE]), np.array([0.9]))


def message(payload: Payload, sender: str = "roadside-0", **more: Any) -> Message:
    kind: Kind = "roadside" if sender.startswith("roadside") else "vehicle"
    return Message(
        sender=sender,
        kind=kind,
        capture_frame=more.get("frame", 40),
        capture_time=more.get("time", 2.0),
        lidar_in_world=more.get("at", Pose(0.0, 0.0, 1.8)),
        payload=payload,
    )


def scene(
    points: Singles | None = None,
    *,
    ego_boxes: Boxes | None = None,
    road: Callable[[Floats], Mask] = lambda points: np.ones(len(points), np.bool_),
    frame: int = 40,
    fusion: Callable[[Sequence[Message]], Boxes] | None = None,
) -> DefenceScene:
    here = Pose(0.0, 0.0, 1.8)
    return DefenceScene(
        observation=EgoObservation(
            sender="ego",
            kind="ego",
            frame=frame,
            time=2.0,
            lidar_in_world=here,
            points_in_lidar=np.zeros((0, 4), np.float32) if points is None else points,
            vehicle_in_world=Pose(0.0, 0.0),
            lidar_in_vehicle=here,
            speed=5.0,
            lights=(),
        ),
        ego_boxes=ego_boxes,
        find_on_road=road,
        perceive_with=fusion,
    )


def sweep_of(*walls: tuple[float, float], count: int = 800, seed: int = 1) -> Singles:
    """Return returns of a plane behind everything, and what bearings have nearer ones."""
    random = np.random.default_rng(seed)
    bearing = random.uniform(-0.5, 0.5, count)
    height = random.uniform(-1.7, 0.5, count)
    distance = np.full(count, 25.0)
    for at, wide in walls:
        distance[np.abs(bearing) < wide] = at
    columns = [distance * np.cos(bearing), distance * np.sin(bearing), height, np.full(count, 0.5)]
    return np.column_stack(columns).astype(np.float32)


def slow_count(sweep: Singles, box: Floats, margin: float) -> tuple[int, int]:
    """Walk along every ray in small steps."""
    crossing = inside = 0
    half = box[3:6] / 2
    smaller = np.maximum(half - margin, 0.05)
    for end in sweep[:, :3].astype(float):
        if is_in(end, box, half + 0.3) and end[2] >= box[2] - half[2] + 0.3:
            inside += 1
            continue
        ways = np.linspace(0.0, 1.0, 6000)[:, None] * end
        crossing += bool(is_in(ways, box, smaller).any())
    return crossing, inside


def is_in(points: Floats, box: Floats, half: Floats) -> Mask:
    offset = np.atleast_2d(points) - box[:3]
    along = offset[:, 0] * math.cos(box[6]) + offset[:, 1] * math.sin(box[6])
    across = offset[:, 1] * math.cos(box[6]) - offset[:, 0] * math.sin(box[6])
    inside: Mask = np.all(np.abs(np.column_stack([along, across, offset[:, 2]])) < half, axis=1)
    return inside


@pytest.mark.parametrize("seed", range(6))
def test_rays_are_counted_as_by_a_walk_along_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    sweep = sweep_of((12.0, 0.2), count=120, seed=seed)
    sweep[::3, :3] *= random.uniform(0.1, 1.0, (40, 1)).astype(np.float32)
    rows = [
        [random.uniform(-20, 30), random.uniform(-8, 8), -0.8, *CAR, random.uniform(-3, 3)]
        for _ in range(8)
    ]
    boxes = Boxes(np.array(rows), np.zeros(8, np.int64), np.ones(8))
    crossing, inside = count_rays(sweep, boxes, margin=0.4)
    slow = np.array([slow_count(sweep, row, 0.4) for row in boxes.geometry])
    np.testing.assert_array_equal(inside, slow[:, 1])
    # a ray that touches a corner only may be missed by the walk
    assert (np.abs(crossing - slow[:, 0]) <= 1).all()
    assert crossing.sum() + inside.sum() > 0


def test_no_return_near_a_box_is_left_out_by_its_direction() -> None:
    random = np.random.default_rng(3)
    bearings, distances = random.uniform(-math.pi, math.pi, 20000), random.exponential(20, 20000)
    heights = random.uniform(-2, 2, 20000)
    flat = distances[:, None] * np.column_stack([np.cos(bearings), np.sin(bearings)])
    sweep = np.column_stack([flat, heights, np.ones(20000)]).astype(np.float32)
    middles = np.vstack([random.normal(0, 20, (60, 2)), [[0, 0], [-10, 0]]])  # around, and behind
    sizes = random.uniform((0.5, 0.5, 1.0), (8.0, 2.5, 3.0), (62, 3))
    rows = np.column_stack([middles, np.full(62, -0.5), sizes, random.uniform(-4, 4, 62)])
    counts = count_rays(sweep, Boxes(rows, np.zeros(62, np.int64), np.ones(62)), margin=0.4)
    ends = sweep[:, :3].astype(np.float64)
    whole = np.array([count_rays_of_box(ends, row, margin=0.4) for row in rows]).T
    np.testing.assert_array_equal(np.stack(counts), whole)


def test_a_ghost_in_free_space_is_rejected_and_a_hidden_or_hit_box_is_not() -> None:
    ghost, hidden, hit = car(20.0, 0.0), car(30.0, -6.0), car(20.0, 0.0)
    looked_through, blocked = sweep_of(), sweep_of((10.0, 1.0))
    on_the_car = sweep_of((18.0, 0.04))
    for boxes, sweep, kept in (
        (ghost, looked_through, False),
        (hidden, blocked, True),
        (hit, on_the_car, True),
        (ghost, sweep_of(count=3), True),
    ):
        (judged,) = FreeSpace().judge_messages(scene(sweep), [message(boxes)])
        assert judged.kept.tolist() == [kept]
        assert not judged.whole
    assert FreeSpace().judge_messages(scene(looked_through), []) == []
    # each message has the verdict on its own boxes
    apart = FreeSpace().judge_messages(
        scene(looked_through), [message(hidden), message(ghost), message(Boxes.none())]
    )
    assert [one.kept.tolist() for one in apart] == [[True], [False], []]


def test_the_road_under_a_ghost_does_not_speak_for_it() -> None:
    # 64 channels from 1.9 m above an empty plane
    down, bearing = np.meshgrid(np.radians(np.linspace(1.6, 30.0, 48)), np.linspace(-0.2, 0.2, 120))
    distance = (1.9 / np.tan(down)).ravel()
    turn = bearing.ravel()
    rows = [distance * np.cos(turn), distance * np.sin(turn), np.full(len(turn), -1.9), 0 * turn]
    plane = np.column_stack(rows).astype(np.float32)
    for away in (10.0, 20.0, 25.0, 35.0):
        ghost = car(away, 0.0)
        ghost.geometry[0, 2] = 0.8 - 1.9
        (judged,) = FreeSpace().judge_messages(scene(plane), [message(ghost)])
        assert not judged.kept[0], away


def test_trials_are_those_of_the_paper() -> None:
    # README and code of ROBOSAC: 6 agents, 1 attacker, groups of 3: N = 7
    assert count_trials(0.2, 3, probability=0.99) == 7
    for attackers, partners, size in ((1, 5, 2), (2, 6, 3), (3, 8, 2)):
        trials = count_trials(attackers / partners, size, probability=0.99)
        clean = (1 - attackers / partners) ** size
        assert 1 - (1 - clean) ** trials >= 0.99 > 1 - (1 - clean) ** (trials - 1)
    assert count_trials(0.0, 3, probability=0.99) == 1
    assert count_trials(1.0, 1, probability=0.99) == math.inf


def test_the_jaccard_index_counts_road_users_once() -> None:
    a = Boxes.join([car(10.0, 0.0), car(20.0, 0.0), car(30.0, 0.0)])
    b = Boxes.join([car(20.4, 0.0), car(30.0, 0.5), car(40.0, 0.0), car(50.0, 0.0)])
    assert compute_jaccard_index(a, b) == pytest.approx(2 / 5)
    assert compute_jaccard_index(b, a) == pytest.approx(2 / 5)
    assert compute_jaccard_index(Boxes.none(), Boxes.none()) == 1.0
    assert len(join_boxes_without_duplicates([a, b])) == 5


def test_only_a_group_that_agrees_with_the_ego_is_used() -> None:
    seen = Boxes.join([car(8.0, 0.0), car(16.0, 3.0), car(12.0, -4.0)])
    ghosts = Boxes.join([car(x, y) for x in (5.0, 12.0, 20.0) for y in (-9.0, 9.0, 14.0, -14.0)])
    honest = [message(seen, f"vehicle-{number}") for number in (1, 2)]
    liar = message(Boxes.join([seen, ghosts]), "vehicle-3")
    used: set[str] = set()
    for frame in range(30):
        check = Consensus(attackers=1, threshold=0.5)
        check.reset(4)
        judged = check.judge_messages(scene(ego_boxes=seen, frame=frame), [*honest, liar])
        assert {one.message.sender for one in judged if not one.whole} <= {
            "vehicle-1",
            "vehicle-2",
        }
        used |= {one.message.sender for one in judged if not one.whole}
    assert used == {"vehicle-1", "vehicle-2"}
    # where nothing agrees, the ego is alone
    check.reset(4)
    assert all(one.whole for one in check.judge_messages(scene(ego_boxes=seen), [liar, liar]))


def test_trust_is_the_mean_of_a_beta_distribution_and_falls_with_bad_messages() -> None:
    check = Reputation(FreeSpace(), threshold=0.4, forgetting=1.0)
    check.reset(1)
    ghost, real = car(20.0, 0.0), car(20.0, 0.0)
    good = bad = 0
    for frame in range(12):
        liar = message(ghost, "vehicle-1", frame=frame)
        honest = message(real, "vehicle-2", frame=frame)
        liar_judged = check.judge_messages(scene(sweep_of()), [liar])
        check.judge_messages(scene(sweep_of((18.0, 0.05))), [honest])
        good, bad = good + 1, bad + 1
        assert check.compute_trust("vehicle-1") == pytest.approx(1 / (bad + 2))
        assert check.compute_trust("vehicle-2") == pytest.approx((good + 1) / (good + 2))
        # the check itself rejects the ghost; from 1/3 on, the sender is not listened to
        assert not liar_judged[0].kept.any()
        assert liar_judged[-1].whole == (1 / (bad + 2) < 0.4)
    # the same message again is no new evidence
    before = check.compute_trust("vehicle-1")
    check.judge_messages(scene(sweep_of()), [message(ghost, "vehicle-1", frame=11)])
    assert check.compute_trust("vehicle-1") == before


def follow(speed: float, steps: int = 6, kind: str = "vehicle-1") -> list[bool]:
    """Return whether messages of a sender that moves so are kept."""
    check = Plausibility(position_error=1.0, sender_speed=50.0)
    check.reset(1)
    kept = []
    for step in range(steps):
        at = Pose(20.0 + speed * 0.2 * step, 5.0, 1.8)
        sent = message(Boxes.none(), kind, frame=4 * step, time=0.2 * step, at=at)
        (judged,) = check.judge_messages(scene(), [sent])
        kept.append(not judged.whole)
    return kept


def test_senders_must_not_jump() -> None:
    assert follow(10.0) == [True] * 6
    assert follow(56.0) == [True, *[False] * 5]
    # roadside units are set up elsewhere from time to time
    assert follow(56.0, kind="roadside-0") == [True] * 6


def test_senders_and_boxes_must_be_possible() -> None:
    def whole(sender: str, at: Pose, check: Plausibility, **more: Any) -> bool:
        check.reset(1)
        (judged,) = check.judge_messages(scene(**more), [message(car(5, 0), sender, at=at)])
        return judged.whole

    def off_road(points: Floats) -> Mask:
        return np.abs(points[:, 1]) < 10.0

    here, far, off = Pose(30.0, 0.0, 1.8), Pose(130.0, 0.0, 1.8), Pose(30.0, 12.0, 1.8)
    inside = Pose(0.5, 0.2, 1.8)
    assert not whole("vehicle-1", here, Plausibility())
    assert whole("vehicle-1", far, Plausibility())
    assert whole("vehicle-1", inside, Plausibility())
    assert not whole("vehicle-1", inside, Plausibility(inside_ego=False))
    assert whole("vehicle-1", off, Plausibility(), road=off_road)
    assert not whole("vehicle-1", off, Plausibility(on_road=False), road=off_road)
    assert not whole("roadside-0", off, Plausibility(), road=off_road)
    # boxes: in reach; out of the sensor's range; off the road; a walker there; too large
    boxes = Boxes.join([car(10, 0), car(90, 0), car(10, 30), car(10, 30), car(5, 0)])
    classes = boxes.classes.copy()
    classes[3] = PEDESTRIAN
    geometry = boxes.geometry.copy()
    geometry[3, 3:6] = 0.8
    geometry[4, 3] = 40.0
    sent = message(Boxes(geometry, classes, boxes.scores))
    (judged,) = Plausibility().judge_messages(scene(road=off_road), [sent])
    assert judged.kept.tolist() == [True, False, False, True, False]
    # of points, only the sender is judged
    points = Points(np.zeros((5, 4), np.float32))
    (judged,) = Plausibility().judge_messages(scene(), [message(points, "vehicle-1", at=far)])
    assert judged.whole


NEVER: Sequence[Defence] = (
    Plausibility(
        sender_distance=1e9, sender_speed=1e9, sensor_range=1e9, on_road=False, inside_ego=False
    ),
    FreeSpace(reach=0.0),
    Consensus(attackers=0, threshold=0.0),
    Reputation(FreeSpace(reach=0.0), threshold=0.0),
    Layered([FreeSpace(reach=0.0), Consensus(attackers=0, threshold=0.0)]),
    Match(loss=2.0, added_score=1.0),
    Omission(share=1.0),
    Reputation(Match(loss=2.0, added_score=1.0), threshold=0.0),
)


@pytest.mark.parametrize("check", NEVER, ids=lambda check: check.name)
def test_a_defence_that_rejects_nothing_returns_the_messages_themselves(check: Defence) -> None:
    check.reset(1)
    sent = [message(car(20.0, 0.0), "vehicle-1"), message(car(9.0, 3.0), "roadside-0")]
    seen = scene(sweep_of(), ego_boxes=car(20.0, 0.0), fusion=lambda chosen: Boxes.none())
    judged = check.judge_messages(seen, sent)
    left = apply_judgements(sent, judged)
    assert len(left) == 2
    assert all(a is b for a, b in zip(left, sent, strict=True))


def test_layers_judge_what_the_one_before_left() -> None:
    layers = Layered([Plausibility(on_road=False), FreeSpace()])
    layers.reset(1)
    sent = message(Boxes.join([car(20.0, 0.0), car(90.0, 0.0), car(30.0, -40.0)]))
    judged = layers.judge_messages(scene(sweep_of()), [sent])
    assert [one.check for one in judged] == ["plausibility", "free_space"]
    assert [len(one.kept) for one in judged] == [3, 2]
    (left,) = apply_judgements([sent], judged)
    assert isinstance(left.payload, Boxes)
    np.testing.assert_array_equal(left.payload.geometry[:, :2], [[30.0, -40.0]])
    assert layers.needs_points
    assert layers.payloads == (Boxes,)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_make_defences(path: Path) -> None:
    part = yaml.safe_load(path.read_text())[path.stem]
    made = build_part(part, f"defence.{path.stem}")
    assert isinstance(made, Defence)
    assert made.name == path.stem
    assert getattr(made, "safe_from_file", False)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FreeSpace(rays=0), r"rays = 0: must be ≥ 1"),
        (lambda: FreeSpace(margin=-1.0), r"margin = -1 m: must be ≥ 0"),
        (lambda: Consensus(threshold=2.0), r"threshold = 2: must be from 0 to 1"),
        (lambda: Consensus(probability=1.0), r"probability = 1: must be between 0 and 1"),
        (lambda: Consensus(trials=0), r"trials = 0: must be ≥ 1"),
        (lambda: Consensus(attackers=-1), r"attackers = -1: must be ≥ 0"),
        (lambda: Reputation(FreeSpace(), forgetting=0.0), r"forgetting = 0: must be > 0"),
        (lambda: Reputation("none"), r"witness needs the _target_ of a defence"),  # type: ignore[arg-type]
        (lambda: Layered([]), r"checks: a list with the _target_ of one defence"),
        (lambda: Plausibility(sender_speed=-1.0), r"sender_speed = -1 m/s: must be ≥ 0"),
        (lambda: Match(loss=-1.0), r"loss = -1 : must be ≥ 0"),
        (lambda: Omission(share=2.0), r"share = 2: must be from 0 to 1"),
        (lambda: Omission(classes=["car"]), r"classes = \['car'\]: one or more of vehicle, ped"),
        (lambda: Omission(witnesses=0), r"witnesses = 0: must be ≥ 1"),
        (lambda: Omission(forgetting=0.0), r"forgetting = 0: must be > 0 and ≤ 1"),
    ],
)
def test_bad_settings_are_one_line(make: Callable[[], Defence], words: str) -> None:
    with pytest.raises(UserError, match=words) as raised:
        make()
    assert "\n" not in str(raised.value)


def test_trust_is_forgotten() -> None:
    check = Reputation(FreeSpace(), forgetting=0.5)
    check.reset(1)
    trusts = []
    for frame in range(6):
        sweep = sweep_of() if frame < 2 else sweep_of((18.0, 0.05))
        check.judge_messages(scene(sweep), [message(car(20.0, 0.0), "vehicle-1", frame=frame)])
        trusts.append(check.compute_trust("vehicle-1"))
    assert all(later > earlier for earlier, later in pairwise(trusts[1:]))
