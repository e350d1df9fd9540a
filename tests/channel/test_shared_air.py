"""Several driven egos on one air: a message is sent once, and each receiver gets it by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from harness.channel.links.carla_loss import CarlaLink
from harness.channel.links.cellular import LteLink, NrLink
from harness.channel.links.csma import merge_times
from harness.channel.links.its_g5 import ItsG5Link
from harness.channel.links.link import Carriage, Link
from harness.channel.links.radio import RadioLink
from harness.channel.links.sight import AirSurroundings
from harness.channel.links.trace import TraceLink
from harness.types.vocabulary import VEHICLE, Features, Message, Pose

CAR = [4.5, 1.9, 1.6, 0.0]
LORRY = [50.0, 0.5, 1.9, 8.0, 2.5, 3.8, 0.0]
PLACES = [(0.0, 0.0), (100.0, 0.0), (60.0, 40.0)]
"""The lorry stands between the first and the second."""
START = 7.0
STEPS = 15
RADIOS = (NrLink, LteLink, ItsG5Link)
Far = Sequence[tuple[float, float]]


def drive(
    make: Callable[[], Link], places: Far = PLACES, size: int = 300, step: float = 0.0
) -> list[list[Carriage]]:
    """Let egos send to each other five times a second; return what each received.

    Args:
        make: gives the link of an ego.
        places: of the egos, metres.
        size: of a message, in bytes.
        step: metres that all egos move ahead between two messages.
    """
    links = [make() for _ in places]
    for number, link in enumerate(links):
        link.reset(3)
        link.join_air(links[0], f"ego-{number}")
    for count in range(STEPS):
        moved = [(x + step * count, y) for x, y in places]
        users = np.array([[x, y, 0.8, *CAR] for x, y in moved] + [LORRY])
        poses = [Pose(x, y, 1.85) for x, y in moved]
        for receiver, link in enumerate(links):
            classes = np.full(len(users), VEHICLE)
            surroundings = AirSurroundings(poses[receiver], users, classes, np.zeros((0, 7)))
            link.note_surroundings(surroundings)
            for sender in range(len(links)):
                if sender != receiver:
                    message = Message(
                        sender=f"ego-{sender}",
                        kind="vehicle",
                        capture_frame=4 * count,
                        capture_time=START + 0.2 * count,
                        lidar_in_world=poses[sender],
                        payload=Features((np.zeros(size // 4, np.float32),)),
                    )
                    link.carry_message(message, poses[sender])
    return [link.carriages for link in links]


def of_sender(carriages: Sequence[Carriage], number: int) -> list[Carriage]:
    """Return the messages of an ego, in order."""
    return [one for one in carriages if one.sender == f"ego-{number}"]


@pytest.mark.parametrize("make", RADIOS)
def test_a_message_is_on_the_air_once_for_all_receivers(make: Callable[..., RadioLink]) -> None:
    received = drive(lambda: make(stations=10))
    for sender, (one, other) in enumerate([(1, 2), (0, 2), (0, 1)]):
        first, second = (of_sender(received[receiver], sender) for receiver in (one, other))
        assert len(first) == len(second) == STEPS
        for here, there in zip(first, second, strict=True):
            sent = [(way.queue, way.airtime, way.fragments, way.busy) for way in (here, there)]
            assert sent[0] == sent[1]
            # what arrives is another matter
            assert here.distance != there.distance
            assert here.power != there.power


@pytest.mark.parametrize("make", RADIOS)
def test_egos_send_one_after_another(make: Callable[..., RadioLink]) -> None:
    """Each message of one packet has the air for itself."""
    received = drive(lambda: make(stations=0))
    spans = {
        (one.sender, one.frame): (one.time + one.queue, one.time + one.queue + one.airtime)
        for carriages in received
        for one in carriages
    }
    assert len(spans) == 3 * STEPS
    in_order = sorted(spans.values())
    assert all(late[0] >= early[1] - 1e-9 for early, late in pairwise(in_order))


@pytest.mark.parametrize("make", RADIOS)
def test_messages_of_egos_load_the_channel(make: Callable[..., RadioLink]) -> None:
    """Without other stations, a sender hears the other egos alone."""
    busy = []
    for places in (PLACES[:2], PLACES):
        received = drive(lambda: make(stations=0), places, size=20_000)
        later = [one for one in received[0] if one.frame and one.sender == "ego-1"]
        assert later
        busy.append(float(np.mean([one.busy for one in later])))
    assert 0.0 < busy[0] < busy[1] <= 1.0


@pytest.mark.parametrize("make", RADIOS)
def test_paths_have_their_sights_and_the_way_back_is_the_way_there(
    make: Callable[..., RadioLink],
) -> None:
    received = drive(lambda: make(stations=10), step=3.0)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        ways = of_sender(received[one], other), of_sender(received[other], one)
        there, back = ([carriage.power for carriage in way] for way in ways)
        assert there == pytest.approx(back, abs=1e-9)
        assert len({round(power, 6) for power in there}) > STEPS / 2
        assert [way.sight for way in ways[0]] == [way.sight for way in ways[1]]
        expected = "NLOSv" if (one, other) == (0, 1) else "LOS"
        assert ways[0][0].sight == expected
        gap = np.hypot(*np.subtract(PLACES[one], PLACES[other]))
        assert ways[0][0].distance == pytest.approx(gap)


@pytest.mark.parametrize(
    ("make", "far"),
    [
        (lambda: NrLink(stations=10, propagation="winner_b1"), 270.0),
        (lambda: ItsG5Link(stations=10, propagation="winner_b1"), 350.0),
        (lambda: CarlaLink(path_loss_model="winner", transmit_power=-22.5), 100.0),
    ],
    ids=["nr_v2x", "itsg5", "carla"],
)
def test_receivers_lose_messages_one_by_one(make: Callable[[], Link], far: float) -> None:
    received = drive(make, [(0.0, 0.0), (0.0, far), (0.0, -far)], step=8.0)
    lost = [[way.lost for way in of_sender(received[number], 0)] for number in (1, 2)]
    assert all(0 < sum(missed) < STEPS for missed in lost)
    assert lost[0] != lost[1]


def test_receivers_take_a_trace_from_different_places(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    lines = [f"{0.001 * number},0" for number in range(400)]
    file.write_text("\n".join(["delay,lost", *lines]))
    received = drive(lambda: TraceLink(str(file)))
    delays = [[way.delay for way in of_sender(received[number], 0)] for number in (1, 2)]
    assert delays[0] != delays[1]


def test_a_null_radio_delivers_all_at_once() -> None:
    def make() -> Link:
        return ItsG5Link(with_queue=False, with_airtime=False, with_loss=False)

    for carriages in drive(make):
        assert {(one.delay, one.lost) for one in carriages} == {(0.0, False)}


def test_intervals_that_touch_are_one() -> None:
    assert merge_times([(3.0, 4.0), (0.0, 1.0), (0.5, 2.0), (2.0, 2.5)]) == [(0.0, 2.5), (3.0, 4.0)]
