"""What the far end refuses before it loads anything."""

from __future__ import annotations

from typing import Any

import pytest

from agents.v2xverse.child.stack import refuse_disturbing, scale_max_speed

AGENT: dict[str, Any] = {"simulation": {"skip_frames": 4}, "perception": {}}
NOISE = {"args": {"pos_std": 0.2, "rot_std": 0.2, "pos_mean": 0.0, "rot_mean": 0.0}}


def test_settings_that_disturb_nothing_pass() -> None:
    refuse_disturbing(AGENT, {})
    refuse_disturbing(AGENT, {"noise_setting": {"add_noise": False}})
    refuse_disturbing({"simulation": {"comm_latency": 0}, "perception": {}}, {})


@pytest.mark.parametrize(
    ("agent", "checkpoint", "expected"),
    [
        ({"simulation": {"comm_latency": 12}}, {}, "simulation.comm_latency of the agent is set"),
        ({"perception": {"pose_error": NOISE["args"]}}, {}, "perception.pose_error of the agent"),
        ({}, {"noise_setting": {"add_noise": True, **NOISE}}, "add_noise of the checkpoint is set"),
    ],
)
def test_messages_are_disturbed_in_the_channel_only(
    agent: dict[str, Any], checkpoint: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ValueError, match=expected.replace(".", r"\.")):
        refuse_disturbing({**AGENT, **agent}, checkpoint)


def test_another_speed_changes_nothing_but_the_speed() -> None:
    agent = {**AGENT, "control": {"max_speed": 5, "clip_delta": 0.35}}
    faster = scale_max_speed(agent, 1.6)
    assert faster == {**AGENT, "control": {"max_speed": 8.0, "clip_delta": 0.35}}
    assert scale_max_speed(agent, 1.0) == agent
    assert agent["control"]["max_speed"] == 5
