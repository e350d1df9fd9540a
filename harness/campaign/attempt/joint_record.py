"""The part of `result.json` about several egos together; there is none where one is driven."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from harness.campaign.attempt.ego_drive import EgoDrive
from harness.campaign.attempt.ego_parts import EgoParts
from harness.campaign.attempt.exchange import name_sending_ego
from harness.campaign.attempt.planning_step import EGO
from harness.evaluation.joint import (
    DEADLOCK_SECONDS,
    HELD_WITHIN,
    STANDING,
    SUCCESS,
    EgoTrack,
    ReportedContact,
    compute_interdrive_score,
    count_collisions,
    find_deadlock,
    find_held_steps,
)
from harness.evaluation.scoring import Coefficients, score
from harness.evaluation.surrogates.reasons import SignalInterval


def build_joint_record(
    egos: Sequence[EgoDrive], coefficients: Coefficients, parts: Sequence[EgoParts]
) -> dict[str, Any]:
    """Return what the drives of several egos come to together.

    Args:
        egos: the first one first.
        coefficients: of the driving score.
        parts: of each ego.
    """
    drives = [ego.driven.drive for ego in egos]
    collisions = count_collisions(
        iter_contacts(egos), same_seconds=drives[0].rules.same_actor_seconds
    )
    deadlock = find_deadlock([make_ego_track(ego) for ego in egos])
    points = compute_interdrive_score(drives, coefficients)
    return {
        "egos": [
            {**describe_ego(ego, coefficients), **describe_ego_system(ego, part)}
            for ego, part in zip(egos, parts, strict=True)
        ],
        "all_arrived": all(drive.finished for drive in drives),
        "collisions": [asdict(collision) for collision in collisions],
        "deadlock": None if deadlock is None else asdict(deadlock),
        "interdrive": {"score": points, "success": points > SUCCESS},
        "rules": {
            "standing_speed": STANDING,
            "deadlock_seconds": DEADLOCK_SECONDS,
            "held_within": HELD_WITHIN,
        },
    }


def describe_ego(ego: EgoDrive, coefficients: Coefficients) -> dict[str, Any]:
    """Return how the drive of one ego ended."""
    drive, marks = ego.driven.drive, score(ego.driven.drive, coefficients)
    violation = drive.violation
    return {
        "arrived": drive.finished,
        "completion": marks.completion,
        "driving_score": marks.driving_score,
        "violation": None if violation is None else violation.kind,
        "time": drive.last_time - ego.recorder.start,
    }


def describe_ego_system(ego: EgoDrive, parts: EgoParts) -> dict[str, str]:
    """Return the name of an ego's system, where not all egos have one and the same."""
    if not parts.sharing.is_mixed:
        return {}
    return {"system": parts.sharing.find_name(name_sending_ego(ego.driven.number), EGO)}


def iter_contacts(egos: Sequence[EgoDrive]) -> Iterator[ReportedContact]:
    """Yield the collisions with other egos that each ego reports."""
    numbers = {ego.driven.vehicle.actor.id: ego.driven.number for ego in egos}
    for ego in egos:
        for infraction in ego.driven.drive.infractions:
            if infraction.with_actor in numbers:
                yield ReportedContact(
                    ego=ego.driven.number,
                    other=numbers[infraction.with_actor],
                    time=infraction.time - ego.recorder.start,
                    relative_speed=infraction.relative_speed,
                    x=infraction.x,
                    y=infraction.y,
                )


def make_ego_track(ego: EgoDrive) -> EgoTrack:
    """Return an ego at its planning steps, as recorded."""
    frames = ego.recorder.frames
    signals = [SignalInterval(**signal) for signal in ego.recorder.surrogates["signals"]]
    return EgoTrack(
        times=np.array(frames["time"], np.float64),
        speeds=np.array(frames["speed"], np.float64),
        held=find_held_steps(
            np.array(frames["station"], np.float64), np.array(frames["frame"], np.int64), signals
        ),
    )


def describe_joint_outcome(joint: dict[str, Any]) -> str:
    """Describe the joint outcomes in a few words."""
    egos = joint["egos"]
    words = [f"{sum(ego['arrived'] for ego in egos)} of {len(egos)} egos arrived"]
    words += [f"egos {one['egos'][0]} and {one['egos'][1]} collided" for one in joint["collisions"]]
    if joint["deadlock"] is not None:
        words.append("deadlock")
    return "; " + ", ".join(words)
