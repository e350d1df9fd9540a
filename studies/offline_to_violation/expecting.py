"""What a study of offline failures will do, and how long that takes: said before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from harness.campaign.planning.estimate import STARTING, estimate_by_metre
from harness.campaign.planning.paces import select_known_paces
from harness.campaign.printing.tables import format_quantity
from harness.campaign.printing.units import format_duration
from harness.campaign.settings.composing import compose_config
from harness.campaign.settings.config import resolve_settings
from harness.types.record_names import PATTERNS
from studies.offline_to_violation.driven import (
    list_drive_settings,
    list_group_specs,
    list_recording_settings,
)
from studies.offline_to_violation.plan import CONDITIONS, OfflinePlan

SECONDS_PER_ANSWER = 0.17
"""Of a system to a scene, or to what an operator makes of one; 684 of them took that on two cores
that had other work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSeconds:
    """What one route takes, as the mean of all.

    Attributes:
        offline: its recording drive, the systems' answers and the drives without a repair.
        repairs: the drives with a repaired pattern.
        measured: whether this machine has driven all systems before.
    """

    offline: float
    repairs: float
    measured: bool


def count_drives(plan: OfflinePlan) -> tuple[int, int]:
    """Return the drives of a route: without a repair, its recording too, and with one."""
    arms = len(plan.systems) * len(CONDITIONS)
    return 1 + arms, arms * len(PATTERNS)


def describe_study(plan: OfflinePlan, *, repairs: bool) -> str:
    """Return what is driven and asked, in words."""
    without, repaired = count_drives(plan)
    text = (
        f"{format_quantity(len(plan.routes), 'route')}, each"
        f" {format_quantity(without, 'drive')}, and {format_quantity(len(plan.systems), 'system')}"
        f" on at most {format_quantity(plan.scenes, 'scene')} under"
        f" {format_quantity(len(plan.operators), 'operator')}"
    )
    return f"{text}; then {repaired} drives with a repaired pattern" if repairs else text


def describe_work_left(left: int, to_repair: int, seconds: RouteSeconds) -> str:
    """Return how long it takes, in words.

    Args:
        left: routes that are not whole.
        to_repair: routes that may still be driven with repairs.
        seconds: of a route.
    """
    source = (
        "going by attempts that this machine drove before"
        if seconds.measured
        else "by a rule of thumb; this machine has not driven all of these systems"
    )
    parts = [f"{format_quantity(left, 'route')}: about {format_duration(left * seconds.offline)}"]
    if to_repair:
        parts.append(
            f"with repairs: at most about {format_duration(to_repair * seconds.repairs)} more"
        )
    return f"{'; '.join(parts)}; with 1 worker, {source}"


def estimate_route_seconds(plan: OfflinePlan) -> RouteSeconds:
    """Return what a route takes: as this machine drove the systems, else by rules of thumb."""
    metres = fmean(measure_route_metres(plan))
    first = plan.routes[0]
    recording, known = estimate_drive(list_recording_settings(plan, first), metres)
    driven, all_known = estimate_drive(list_drive_settings(plan, first, repairs=False), metres)
    answers = len(plan.systems) * plan.scenes * (1 + len(plan.operators))
    without, repaired = count_drives(plan)
    return RouteSeconds(
        offline=recording + (without - 1) * driven + SECONDS_PER_ANSWER * answers,
        repairs=repaired * driven,
        measured=known and all_known,
    )


def measure_route_metres(plan: OfflinePlan) -> list[float]:
    """Return the lengths of the plan's routes, straight from point to point of their files."""
    groups = dict.fromkeys(route.group for route in plan.routes)
    points = {
        (group, spec.id): spec.keypoints[:, :2]
        for group in groups
        for spec in list_group_specs(group, plan.settings)
    }
    return [
        float(np.linalg.norm(np.diff(points[route.group, route.route], axis=0), axis=1).sum())
        for route in plan.routes
    ]


def estimate_drive(settings: Sequence[str], metres: float) -> tuple[float, bool]:
    """Return the mean seconds of a campaign's systems on a route, and if all were measured here."""
    composed = resolve_settings(compose_config(list(settings)))
    paces = select_known_paces(composed)
    systems = composed["system"]
    seconds = fmean(estimate_by_metre(metres, paces.get(system))[0] for system in systems)
    return STARTING + seconds, all(system in paces for system in systems)
