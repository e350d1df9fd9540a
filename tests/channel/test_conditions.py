"""Every condition that can be named on the command line is one that happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from harness.campaign.settings.config import build_part
from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance
from harness.types.vocabulary import Kind, Payload
from tests.channel.episode import PERIOD, Episode, some_boxes, some_features, some_points

FOLDER = Path(__file__).parents[2] / "conf" / "interference"
ALL_FILES = sorted(FOLDER.glob("*.yaml"))
FILES = [path for path in ALL_FILES if "harness.world.changes." not in path.read_text()]
"""Those that concern the channel alone."""
PARTNERS: tuple[tuple[str, Kind], ...] = (("roadside-0", "roadside"), ("vehicle-1", "vehicle"))
SENT: dict[str, Callable[[], Payload]] = {
    "feature_corruption": some_features,
    "channel_corruption": some_features,
    "stray_points": some_points,
}


def condition(name: str) -> list[Disturbance]:
    """Return the disturbances of a condition."""
    described = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    assert list(described) == [name]
    return [build_part(record, f"interference.{name}") for record in described[name]]


def episode(name: str, seed: int = 1, steps: int = 60) -> Episode:
    """Drive through a condition with a roadside unit only, as most studies do."""
    driven = Episode(*condition(name), seed=seed, route="r31")
    return driven.run(steps, PARTNERS[:1], SENT.get(name, some_boxes))


@pytest.mark.thorough
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_happens_and_the_door_agrees(path: Path) -> None:
    driven = episode(path.stem)
    driven.channel.audit.verify_deliveries()
    undisturbed = Episode(route="r31").run(60, PARTNERS[:1], SENT.get(path.stem, some_boxes))
    changed = [
        [
            # as text: the stamp's error is NaN of what never arrived, which differs from itself
            (
                *(record.delay, record.measured_shift, record.fate, record.size_bytes),
                str(record.clock_measured),
            )
            for record in one
        ]
        for one in (driven.channel.audit.close_audit(), undisturbed.channel.audit.close_audit())
    ]
    corrupts = path.stem in ("feature_corruption", "channel_corruption")
    # of what is about messages, some is about vehicles' alone
    reaches = any(one.of_messages and "roadside" in one.kinds for one in condition(path.stem))
    assert (changed[0] == changed[1]) == (corrupts or not reaches)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_made_as_a_campaign_makes_it(path: Path) -> None:
    settings = {"_target_": "harness.channel.channel.Channel", "maximum_age": 2.0}
    disturbances = condition(path.stem)
    channel = build_part(settings, "channel", disturbances=disturbances, tick_seconds=0.05)
    assert isinstance(channel, Channel)
    assert [type(disturbance) for disturbance in channel.disturbances] == [
        type(disturbance) for disturbance in disturbances
    ]


@pytest.mark.parametrize("path", ALL_FILES, ids=lambda path: path.stem)
def test_settings_state_their_units(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("# ")
    for line in text.splitlines():
        name = line.strip().split(":")[0]
        metres_or_seconds = ("low", "high", "nearest", "farthest", "inside", "outside", "undelayed")
        if name.removeprefix("yaw_") in (*metres_or_seconds, "by_remainder", "lidar_height"):
            assert " # " in line, f"{path.name}: {line}"


def test_latency_is_what_the_sound_study_says() -> None:
    delays = {
        episode("latency", seed, 3).channel.audit.close_audit()[0].delay for seed in range(40)
    }
    assert len(delays) == 40
    assert 0.5 <= min(delays) < 0.55
    assert 0.95 < max(delays) <= 1.0


def test_two_together_are_sampled_as_either_alone() -> None:
    both, late, displaced = (
        episode(name).channel.audit.close_audit()[0]
        for name in ("latency_and_pose_error", "latency", "pose_error")
    )
    assert both.delay == late.delay
    assert both.asked_shift == displaced.asked_shift


def test_paper_code_latency_is_the_roadside_units_by_route_number() -> None:
    driven = episode("paper_code_latency", steps=20)
    delays = [record.delay for record in driven.channel.audit.close_audit()]
    assert delays == [0.0] * round(1.0 / PERIOD) + [1.0] * 15


def test_paper_code_pose_error_is_the_egos_too_and_of_every_frame() -> None:
    driven = episode("paper_code_pose_error")
    asked = driven.channel.audit._asked
    assert {sender for sender, _ in asked} == {"ego", "roadside-0"}
    for x, y, yaw, *others in asked.values():
        assert others == [0.0, 0.0, 0.0]
        assert 0.2 <= abs(x) <= 0.6
        assert 0.2 <= abs(y) <= 0.6
        assert 0.2 <= abs(yaw) * 57.29578 <= 0.6001
    assert len(set(asked.values())) == len(asked)


def test_the_bandwidth_lets_boxes_pass_and_holds_sweeps_up() -> None:
    boxes = episode("bandwidth")
    sweeps = Episode(*condition("bandwidth")).run(20, PARTNERS[:1], lambda: some_points(30_000))
    assert "unsent" not in boxes.fates()
    assert "unsent" in sweeps.fates()
    sweeps.channel.audit.verify_deliveries()
