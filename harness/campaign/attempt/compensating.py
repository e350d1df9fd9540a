"""The compensation of an arm: how it is made, and what its records say of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from harness.campaign.attempt.blame import SetUpBlame
from harness.campaign.settings.compensations import build_arm_compensation
from harness.campaign.settings.declared import CampaignSettings
from harness.channel.compensation.compensation import Compensation, MovedBoxes
from harness.records.arms import Arm
from harness.records.schema import COMPENSATED
from harness.types.vocabulary import CLASSES


def set_up_compensation(settings: CampaignSettings, arm: Arm) -> Compensation | None:
    """Return the compensation of an arm; None where messages are fused as old as they are.

    Raises:
        AttemptError: class `agent_setup`: the compensation cannot be made.
    """
    with SetUpBlame():
        return build_arm_compensation(settings, arm)


def build_compensation_record(compensation: Compensation) -> dict[str, Any]:
    """Return the part of `result.json` on boxes of late messages: how many, how far they moved."""
    rows = compensation.rows
    gone = [np.hypot(*(one.moved - one.stated)[:, :2].T) for one in rows]
    metres = np.concatenate([*gone, np.zeros(0)])
    return {
        "compensation": {
            "name": compensation.name,
            "late_messages": len(rows),
            "boxes": len(metres),
            "moved": int((metres > 0).sum()),
            "metres": float(metres.sum()),
        }
    }


def build_compensation_columns(
    messages: Iterable[MovedBoxes], first_frame: int
) -> dict[str, list[Any]]:
    """Return the table of where boxes of late messages were stated, and where they were moved."""
    columns: dict[str, list[Any]] = {name: [] for name in COMPENSATED.names}
    for message in messages:
        count = len(message.classes)
        rows: dict[str, Iterable[Any]] = {
            "frame": [message.frame - first_frame] * count,
            "sender": [message.sender] * count,
            "capture_frame": [message.capture_frame - first_frame] * count,
            "box": range(count),
            "class": np.array(CLASSES)[message.classes],
            "age": [message.age] * count,
            "velocity": message.sources,
            **dict(zip(("stated_x", "stated_y", "stated_yaw"), message.stated.T, strict=True)),
            **dict(zip(("moved_x", "moved_y", "moved_yaw"), message.moved.T, strict=True)),
        }
        for name, values in rows.items():
            columns[name].extend(values)
    return columns
