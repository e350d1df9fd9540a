"""The compensation of an arm: how it is made, and what `result.json` says of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.campaign.settings.compensations import build_arm_compensation
from harness.campaign.settings.declared import CampaignSettings
from harness.channel.compensation.compensation import Compensation
from harness.common.errors import AttemptError, UserError
from harness.records.arms import Arm


def set_up_compensation(settings: CampaignSettings, arm: Arm) -> Compensation | None:
    """Return the compensation of an arm; None where messages are fused as old as they are.

    Raises:
        AttemptError: class `agent_setup`: the compensation cannot be made.
    """
    try:
        return build_arm_compensation(settings, arm)
    except UserError as problem:
        raise AttemptError("agent_setup", str(problem)) from None


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
