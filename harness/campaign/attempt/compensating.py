"""The compensation of an arm: how it is made, and what its records say of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from harness.campaign.attempt.blame import SetUpBlame
from harness.campaign.folder.inputs import refuse_flow_changes
from harness.campaign.settings.compensations import build_arm_compensation
from harness.campaign.settings.declared import CampaignSettings
from harness.channel.compensation.compensation import Compensation, MovedBoxes
from harness.records.arms import Arm
from harness.records.schema import COMPENSATED
from harness.types.systems import PrivilegedSystem, System
from harness.types.vocabulary import CLASSES


def set_up_compensation(
    settings: CampaignSettings, arm: Arm, system: System | PrivilegedSystem
) -> Compensation | None:
    """Return the compensation of an arm; None where messages are fused as old as they are.

    Args:
        settings: of the campaign.
        arm: of the attempt.
        system: of the ego, which may give a flow network.

    Raises:
        AttemptError: class `agent_setup`: the compensation cannot be made, or its files have
            changed.
    """
    with SetUpBlame():
        compensation = build_arm_compensation(settings, arm)
        if compensation is not None:
            if compensation.moves_features:
                refuse_flow_changes(settings)
            compensation.use_system(system)
        return compensation


def build_compensation_record(compensation: Compensation) -> dict[str, Any]:
    """Return the part of `result.json` on late messages: how many, and how far things moved."""
    if compensation.moves_features:
        return {"compensation": build_map_record(compensation)}
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


def list_moved_boxes(compensation: Compensation | None) -> list[MovedBoxes] | None:
    """Return what became of late boxes; None where none can be moved, which is no table."""
    return None if compensation is None or compensation.moves_features else compensation.rows


def build_map_record(compensation: Compensation) -> dict[str, Any]:
    """Return how many late feature maps there were, and how far their cells moved."""
    rows = compensation.moved_maps
    cells = sum(one.cells for one in rows)
    return {
        "name": compensation.name,
        "late_messages": len(rows),
        "with_motion": sum(one.known for one in rows),
        "cells": cells,
        "metres": sum(one.cells * one.mean for one in rows),
        "greatest": max((one.greatest for one in rows), default=0.0),
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
