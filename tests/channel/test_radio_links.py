"""Links: path loss against CARLA's source, sight by boxes, traces in blocks."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from harness.channel.links.carla_loss import (
    CarlaLink,
    compute_free_space_loss,
    compute_log_distance_loss,
    compute_two_ray_loss,
    compute_vehicle_loss,
    compute_winner_loss,
)
from harness.channel.links.link import Link
from harness.channel.links.sight import AirSurroundings, view_path
from harness.channel.links.trace import TraceLink
from harness.common.errors import UserError
from harness.types.vocabulary import PEDESTRIAN, VEHICLE, Message, Pose
from tests.channel.episode import PERIOD, Episode, some_boxes

CAR = [4.5, 1.9, 1.6]
EGO, OTHER = [0.0, 0.0, 0.8, *CAR, 0.0], [100.0, 0.0, 0.8, *CAR, 0.0]
ON_EGO, ON_OTHER = Pose(0.0, 0.0, 1.85), Pose(100.0, 0.0, 1.85)
NOTHING = np.zeros((0, 7))


def surround(
    *between: list[float], fixed: list[list[float]] | None = None, kind: int = VEHICLE
) -> AirSurroundings:
    """Return the ego, a car 100 m ahead, and road users of one kind in between."""
    users = np.array([EGO, OTHER, *between])
    classes = np.array([VEHICLE, VEHICLE, *(kind for _ in between)])
    return AirSurroundings(ON_EGO, users, classes, np.array(fixed) if fixed else NOTHING)


def message(sender: str = "vehicle-1", frame: int = 0) -> Message:
    return Message(
        sender=sender,
        kind="vehicle",
        capture_frame=frame,
        capture_time=0.05 * frame,
        lidar_in_world=ON_OTHER,
        payload=some_boxes(),
    )


def test_free_space_at_100_m_is_that_of_friis() -> None:
    """92.45 dB + 20 lg(GHz) + 20 lg(km): ITU-R P.525, equation (5), rounded there."""
    expected = 92.45 + 20 * math.log10(5.9) + 20 * math.log10(0.1)
    assert compute_free_space_loss(100.0, 5.9) == pytest.approx(expected, abs=0.01)


WINNER = [
    (10.0, 67.81704, 69.49951, 81.41910),
    (100.0, 87.81704, 86.19951, 111.41910),
    (350.0, 98.69840, 95.28545, 127.74114),
]
TWO_RAYS = [
    (20.0, 1.62, 1.62, 74.71516),
    (100.0, 1.62, 7.50, 87.89371),
    (300.0, 1.50, 3.20, 93.02626),
]
EDGES = [
    (50.0, 50.0, 3.82, 26.44690),
    (10.0, 90.0, 1.62, 23.45309),
    (5.0, 20.0, -2.00, 0.00000),
    (30.0, 70.0, -0.20, 3.72434),
]
"""What the functions of CARLA's PathLossModel.cpp returned, compiled by themselves with g++."""


@pytest.mark.parametrize(("distance", "near", "far", "blocked"), WINNER)
def test_winner_is_what_the_source_computes(
    distance: float, near: float, far: float, blocked: float
) -> None:
    assert compute_winner_loss(distance, 5.9, "highway", "LOS") == pytest.approx(near, abs=1e-4)
    assert compute_winner_loss(distance, 5.9, "urban", "NLOSv") == pytest.approx(far, abs=1e-4)
    assert compute_winner_loss(distance, 5.9, "rural", "NLOS") == pytest.approx(blocked, abs=1e-4)


@pytest.mark.parametrize(("distance", "first", "second", "loss"), TWO_RAYS)
def test_two_rays_are_what_the_source_computes(
    distance: float, first: float, second: float, loss: float
) -> None:
    assert compute_two_ray_loss(distance, 5.9, (first, second)) == pytest.approx(loss, abs=1e-3)


@pytest.mark.parametrize(("first", "second", "height", "loss"), EDGES)
def test_a_knife_edge_is_what_the_source_computes(
    first: float, second: float, height: float, loss: float
) -> None:
    edge = (first, second, height)
    assert compute_vehicle_loss([edge], 5.9) == pytest.approx(loss, abs=1e-3)
    # the largest counts, not the sum
    assert compute_vehicle_loss([edge, edge], 5.9) == compute_vehicle_loss([edge], 5.9)


def test_losses_grow_with_the_distance() -> None:
    distances = np.linspace(1.0, 500.0, 200)
    for losses in (
        [compute_free_space_loss(d, 5.9) for d in distances],
        [compute_log_distance_loss(d, 5.9, 2.7, 1.0) for d in distances],
        *([compute_winner_loss(d, 5.9, "urban", s) for d in distances] for s in ("LOS", "NLOS")),
    ):
        assert np.all(np.diff(losses) > 0)


def test_sight_is_what_stands_between() -> None:
    assert view_path(surround(), ON_OTHER).sight == "LOS"
    lorry = [50.0, 0.5, 1.9, 8.0, 2.5, 3.8, 0.0]
    behind_lorry = view_path(surround(lorry), ON_OTHER)
    assert behind_lorry.sight == "NLOSv"
    ((first, second, height),) = behind_lorry.obstacles
    assert (first, second) == (math.hypot(50.0, 0.5), math.hypot(50.0, 0.5))
    assert height == pytest.approx(3.82)
    # lower than the path, or aside of it
    low, aside = [50.0, 0.0, 0.5, 4.5, 1.9, 1.0, 0.0], [50.0, 1.9, 1.9, 8.0, 2.5, 3.8, 0.0]
    assert view_path(surround(low, aside), ON_OTHER).sight == "LOS"
    # turned by a right angle the lorry aside is in between
    assert view_path(surround([*aside[:6], math.pi / 2]), ON_OTHER).sight == "NLOSv"
    house = [30.0, 6.0, 5.0, 10.0, 14.0, 10.0, 0.0]
    assert view_path(surround(lorry, fixed=[house]), ON_OTHER).sight == "NLOS"
    assert (
        view_path(surround([50.0, 0.0, 1.0, 0.5, 0.5, 2.0, 0.0], kind=PEDESTRIAN), ON_OTHER).sight
        == "NLOS"
    )


def test_antennas_are_on_roofs_and_posts() -> None:
    view = view_path(surround(), ON_OTHER)
    assert view.heights == (1.62, 1.62)
    assert view.distance == 100.0
    post = view_path(surround(), Pose(40.0, 30.0, 7.5))
    assert post.heights == pytest.approx((1.62, 7.5))
    assert post.distance == pytest.approx(math.hypot(50.0, 5.88))


def test_power_is_budget_less_loss_and_decides() -> None:
    link = CarlaLink(scenario="highway", path_loss_model="winner", use_etsi_fading=False)
    link.reset(1)
    link.note_surroundings(surround())
    carriage = link.carry_message(message(), ON_OTHER)
    assert carriage.power == pytest.approx(21.5 + 10.0 - 87.817, abs=1e-3)
    assert (carriage.outcome, carriage.arrival) == ("arrived", 0.0)
    deaf = CarlaLink(receiver_sensitivity=0.0)
    deaf.note_surroundings(surround())
    assert deaf.carry_message(message(), ON_OTHER).outcome == "lost"
    short = CarlaLink(filter_distance=100.0)
    short.note_surroundings(surround())
    assert short.carry_message(message(), ON_OTHER).lost


def powers(seed: int, senders: tuple[str, ...]) -> list[float]:
    link = CarlaLink()
    link.reset(seed)
    link.note_surroundings(surround())
    for frame in range(4000):
        for sender in senders:
            link.carry_message(message(sender, frame), ON_OTHER)
    return [one.power for one in link.carriages if one.sender == "a"]


def test_shadowing_repeats_by_seed_and_has_the_deviation_of_the_table() -> None:
    first = powers(1, ("a",))
    assert first == powers(1, ("b", "a"))
    assert first != powers(2, ("a",))
    # 5.2 dB, within four standard errors
    assert np.std(first) == pytest.approx(5.2, abs=4 * 5.2 / math.sqrt(2 * len(first)))


def episode_on(link: Link | None, seed: int = 1, steps: int = 40) -> Episode:
    episode = Episode(seed=seed)
    episode.channel.link = link
    episode.channel.reset(seed, "route-4")
    return episode.run(steps)


def write_trace(folder: Path, *lines: str) -> str:
    file = folder / "trace.csv"
    file.write_text("\n".join(("delay,lost", *lines, "")))
    return str(file)


def test_a_trace_delays_and_loses_and_the_audit_agrees(tmp_path: Path) -> None:
    file = write_trace(tmp_path, *["0.4,0"] * 20, *[",1"] * 20)
    episode = episode_on(TraceLink(file, block=10))
    episode.channel.audit.verify_deliveries()
    carriages = episode.channel.link.carriages if episode.channel.link else []
    assert len(carriages) == 40
    fates = episode.fates()
    assert [one.lost for one in carriages] == [fate == "lost" for fate in fates]
    assert {one.outcome for one in carriages} == {"arrived", "lost"}
    delays = {one.arrival - one.time for one in carriages if not one.lost}
    assert [*delays] == pytest.approx([2 * PERIOD] * len(delays))


def test_a_trace_of_nothing_is_the_ideal_link(tmp_path: Path) -> None:
    ideal = episode_on(None)
    punctual = episode_on(TraceLink(write_trace(tmp_path, "0,0")))
    assert punctual.ages() == ideal.ages()
    assert repr(punctual.channel.audit.close_audit()) == repr(ideal.channel.audit.close_audit())
    assert punctual.channel.audit.build_record() == ideal.channel.audit.build_record()


def delays_of(file: str, seed: int, senders: tuple[str, ...]) -> list[float]:
    link = TraceLink(file, block=5)
    link.reset(seed)
    for frame in range(30):
        for sender in senders:
            link.carry_message(message(sender, frame), ON_OTHER)
    return [one.delay for one in link.carriages if one.sender == "a"]


def test_blocks_are_consecutive_lines_and_repeat_by_seed(tmp_path: Path) -> None:
    file = write_trace(tmp_path, *(f"{number / 100},0" for number in range(90)))
    first = delays_of(file, 1, ("a",))
    assert first == delays_of(file, 1, ("b", "a"))
    assert first != delays_of(file, 2, ("a",))
    steps = np.rint(100 * np.array(first)).astype(int).reshape(6, 5)
    assert np.all(np.diff(steps) % 90 == 1)
    assert len(set(steps[:, 0])) > 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no column delay or lost"),
        ("delay\n1\n", "no column lost"),
        ("delay,lost\n", "no lines"),
        ("delay,lost\n0.1,2\n", r"line 2: lost = '2': must be 0 or 1"),
        ("delay,lost\n0.1\n", r"line 2: lost = 'None'"),
        ("delay,lost\n-1,0\n", r"line 2: delay = '-1': must be from 0"),
        ("delay,lost\nnan,0\n", r"line 2: delay = 'nan'"),
        ("delay,lost\nx,0\n", r"line 2: delay = 'x'"),
    ],
)
def test_bad_traces_are_one_line(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(UserError, match=words) as raised:
        TraceLink(str(file))
    assert "\n" not in str(raised.value)
