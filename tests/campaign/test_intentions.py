"""Driven egos send what they plan: through the channel, into their drivers, into the records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agents.driving.driver import Driver
from agents.driving.proposing.idm_driver import IdmDriver
from agents.driving.scaled import ScaledDriver
from harness.campaign.attempt.intending import (
    WORLD,
    find_intending_driver,
    receive_intentions,
    state_intention,
)
from harness.campaign.planning.plan import plan_campaign
from harness.campaign.settings.config import hash_settings
from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance
from harness.channel.interference.latency import Fixed
from harness.channel.interference.loss import Loss
from harness.common.errors import AttemptError, UserError
from harness.records.reading import CampaignRecords, read_stored_table
from harness.types.drivers import is_intending_driver
from harness.types.intentions import place_motion
from harness.types.vocabulary import (
    Boxes,
    EgoObservation,
    Intention,
    Message,
    Observation,
    PlannedMotion,
    Pose,
)
from tests.campaign.egos import TOWN, run, write_scenario
from tests.campaign.test_several_egos import NORTH, WEST
from tests.campaign.tiny import composed

PLUS = "+cooperation.connected.intentions=true"
TICK = 0.05
SPEED, BRAKING = 8.0, 1.0
TIMES = np.linspace(0.0, 4.8, 25)
SENDER, RECEIVER = Pose(10.0, -4.0, 2.0, yaw=0.7), Pose(-3.0, 6.0, 2.0, yaw=-2.0)


def plan_at(time: float) -> PlannedMotion:
    """Return a plan of that time: braking along x, from the origin at time 0."""
    times = time + TIMES
    way = SPEED * times - 0.5 * BRAKING * times**2
    return PlannedMotion(
        times=times,
        centre=np.stack([way, np.full(25, 3.0)], -1),
        yaw=np.zeros(25),
        speed=SPEED - BRAKING * times,
        length=4.9,
        width=2.1,
    )


def observe(frame: int, believed: Pose = RECEIVER) -> EgoObservation:
    """Return what the receiver observes in a frame."""
    return EgoObservation(
        sender="ego-0",
        kind="ego",
        frame=frame,
        time=frame * TICK,
        lidar_in_world=believed,
        points_in_lidar=np.zeros((0, 4), np.float32),
        vehicle_in_world=Pose(RECEIVER.x, RECEIVER.y, yaw=RECEIVER.yaw),
        lidar_in_vehicle=Pose(0.0, 0.0, 2.0),
        speed=0.0,
        lights=(),
    )


def send(
    channel: Channel, frame: int, planned: PlannedMotion | None, believed: Pose = SENDER
) -> None:
    """Let a partner send its boxes, and what it planned, in a frame."""
    time = frame * TICK
    channel.audit.note_capture("ego-1", frame, time, SENDER)
    seen = Observation(
        sender="ego-1",
        kind="vehicle",
        frame=frame,
        time=time,
        lidar_in_world=SENDER,
        points_in_lidar=np.zeros((0, 4), np.float32),
    )
    channel.add_pose_shifts(seen)
    channel.send_message(
        Message(
            sender="ego-1",
            kind="vehicle",
            capture_frame=frame,
            capture_time=time,
            lidar_in_world=believed,
            payload=Boxes(np.ones((2, 7)), np.zeros(2, np.int64), np.ones(2)),
            intention=state_intention(planned, SENDER, time),
        )
    )


def open_channel(*disturbances: Disturbance, maximum_age: float = 2.0) -> Channel:
    """Return a channel at the start of an attempt."""
    channel = Channel(disturbances, TICK, maximum_age=maximum_age)
    channel.reset(1, "somewhere")
    return channel


def hear(channel: Channel, frame: int) -> tuple[Intention, ...]:
    """Return the intentions that the receiver has in a frame, in the world."""
    observation = observe(frame)
    messages = channel.deliver_messages(frame * TICK, {"ego-1"})
    return tuple(
        Intention(one.sender, place_motion(one.motion, RECEIVER, WORLD))
        for one in receive_intentions(messages, observation)
    )


def test_a_plan_on_time_is_where_it_was_planned() -> None:
    channel = open_channel()
    # planned a step ago, at 1.0 s
    send(channel, 24, plan_at(1.0))
    (heard,) = hear(channel, 24)
    motion = heard.motion
    assert heard.sender == "ego-1"
    assert motion.times == pytest.approx(np.arange(24) * 0.2)
    there = 1.2 + motion.times
    assert motion.centre[:, 0] == pytest.approx(SPEED * there - 0.5 * BRAKING * there**2)
    assert motion.centre[:, 1] == pytest.approx(3.0)
    assert motion.speed == pytest.approx(SPEED - BRAKING * there)
    assert motion.yaw == pytest.approx(0.0, abs=1e-9)
    # bytes of the message: two boxes, 24 places, the body
    (record,) = channel.audit.close_audit()
    assert record.size_bytes == 2 * 33 + 24 * 20 + 8


def test_a_late_plan_is_moved_on_by_its_times() -> None:
    channel = open_channel(Fixed(0.5))
    send(channel, 24, plan_at(1.0))
    assert hear(channel, 28) == ()
    (heard,) = hear(channel, 36)
    # 0.6 s after its capture, at 1.8 s
    assert heard.motion.times[[0, 1, -1]] == pytest.approx([0.0, 0.2, 4.0])
    there = 1.8 + heard.motion.times
    assert heard.motion.centre[:, 0] == pytest.approx(SPEED * there - 0.5 * BRAKING * there**2)
    # between two of its times: in proportion
    (heard,) = hear(channel, 37)
    assert heard.motion.centre[0, 0] == pytest.approx(
        0.75 * plan_at(1.0).centre[4, 0] + 0.25 * plan_at(1.0).centre[5, 0]
    )


def test_a_plan_older_than_its_horizon_is_dropped() -> None:
    channel = open_channel(maximum_age=10.0)
    send(channel, 24, plan_at(1.0))
    # it ends at 5.8 s
    assert len(hear(channel, 115)) == 1
    assert len(channel.deliver_messages(116 * TICK, {"ego-1"})) == 1
    assert hear(channel, 116) == ()
    # a sender whose plan has ended sends none
    assert state_intention(plan_at(1.0), SENDER, 5.8) is None
    assert state_intention(None, SENDER, 5.8) is None


def test_a_lost_message_has_no_plan_either() -> None:
    channel = open_channel(Loss(1.0))
    send(channel, 24, plan_at(1.0))
    assert hear(channel, 24) == ()


def test_a_wrong_pose_displaces_a_plan() -> None:
    channel = open_channel()
    send(channel, 24, plan_at(1.0), replace(SENDER, x=SENDER.x + 2.0, yaw=SENDER.yaw + 0.1))
    (heard,) = hear(channel, 24)
    # turned about the LiDAR that is wrong by 2 m
    off = plan_at(1.0).centre[1] - (SENDER.x, SENDER.y)
    cos, sin = np.cos(0.1), np.sin(0.1)
    turned = (cos * off[0] - sin * off[1], sin * off[0] + cos * off[1])
    assert heard.motion.centre[0] == pytest.approx((12.0 + turned[0], -4.0 + turned[1]))
    assert heard.motion.yaw == pytest.approx(0.1)
    # the receiver's own error moves it the other way
    send(channel, 28, plan_at(1.2))
    messages = channel.deliver_messages(28 * TICK, {"ego-1"})
    wrong = observe(28, replace(RECEIVER, x=RECEIVER.x + 1.0))
    (mine,) = receive_intentions(messages, wrong)
    assert place_motion(mine.motion, RECEIVER, WORLD).centre[0] == pytest.approx(
        plan_at(1.2).centre[1] - (1.0, 0.0)
    )


def test_only_drivers_that_state_their_plan_can_send_it() -> None:
    assert is_intending_driver(Driver)
    assert is_intending_driver(ScaledDriver(0.5))
    assert not is_intending_driver(IdmDriver())
    assert not is_intending_driver(ScaledDriver(0.5, IdmDriver()))
    with pytest.raises(AttemptError, match="object has no driver that says what it plans"):
        find_intending_driver(object())


def test_without_intentions_settings_are_as_before() -> None:
    settings = composed("system=ideal_late", "cooperation=egos")
    assert "intentions" not in settings["cooperation"]["egos"]
    off = composed("system=ideal_late", "cooperation=egos", "cooperation.egos.intentions=false")
    on = composed("system=ideal_late", "cooperation=egos", "cooperation.egos.intentions=true")
    assert hash_settings(settings) == hash_settings(off) != hash_settings(on)
    # the two files of cooperations differ in nothing else
    named = composed("system=ideal_late", "cooperation=egos_intentions")["cooperation"]
    assert named["egos_intentions"] == on["cooperation"]["egos"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            ["routes.source.driven=one", "cooperation=connected", "traffic=few", PLUS],
            "needs a route with several driven egos; choose routes.source.driven=all",
        ),
        (["system=oracle", "interference=[none]"], "needs a system that reads messages"),
        (["message_format=cpm"], "and message_format=cpm has no planned paths; choose message_"),
        (["driver=idm"], "and the driver of ideal_late under driver=idm does not say what it pla"),
        (
            ["system=[]", "+system.mine._target_=agents.examples.clusters.Clusters"],
            "and the driver of mine under driver=default does not say what it plans",
        ),
    ],
)
def test_what_sends_no_plan_is_refused(tmp_path: Path, line: list[str], words: str) -> None:
    checkout = write_scenario(tmp_path, "r3_a_ins_c", WEST, NORTH)
    usual = {
        "routes": "interdrive",
        "routes.checkout": str(checkout),
        "routes.source.town": TOWN,
        "routes.source.driven": "all",
        "system": "ideal_late",
        "cooperation": "egos_intentions",
        "interference": "[latency]",
    }
    asked = usual | dict(one.split("=", 1) for one in line)
    settings = composed(*(f"{name}={value}" for name, value in asked.items()))
    with pytest.raises(UserError) as refused:
        plan_campaign(settings)
    said = str(refused.value)
    assert said.startswith(f"configuration: cooperation.{asked['cooperation']}.intentions=true")
    assert words in said
    assert "\n" not in said


@pytest.mark.thorough
def test_one_of_two_crossing_egos_yields_as_recorded(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arms = ("system=ideal_late", "cooperation=[egos,egos_intentions]", "interference=[latency]")
    done = run(write_scenario(tmp_path, "r3_a_ins_c", WEST, NORTH), out, *arms, "lights=green")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("2 of 2 egos arrived") == 2
    campaign = CampaignRecords(out)
    places = {
        key.arm.cooperation: campaign.list_ego_folders(key) for key in campaign.find_attempts()
    }
    # without intentions: no table, and messages of boxes alone
    for place in places["egos"]:
        assert not (place / "precedences.parquet").exists()
        assert (read_stored_table(place / "messages.parquet", "messages").bytes % 33 == 0).all()
    first, second = (
        read_stored_table(place / "precedences.parquet", "precedences")
        for place in places["egos_intentions"]
    )
    # both arrive together: the second one yields
    assert set(first.other) <= {"ego-1"}
    assert set(second.other) == {"ego-0"}
    assert first.ego_first.all()
    assert not second.ego_first.any()
    assert "number" in set(second.reason) <= {"number", "cannot_stop", "earlier", "waits"}
    assert second.frame.is_monotonic_increasing
    # a plan of a step ago: 24 places, from the second message of a sender on
    for place in places["egos_intentions"]:
        messages = read_stored_table(place / "messages.parquet", "messages")
        boxes = messages.bytes - (24 * 20 + 8) * (messages.capture_frame > 0)
        assert (boxes % 33 == 0).all()
        assert (boxes >= 0).all()
