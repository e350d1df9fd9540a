"""Windows of interventions need a meeting: routes without one are refused before anything runs."""

from __future__ import annotations

from collections.abc import Iterable

from harness.campaign.folder.assignments import RouteAssignment
from harness.campaign.settings.config import INTERVENTION
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.interventions import build_interventions
from harness.common.errors import UserError
from harness.world.hazards.catalogue import KINDS

SHOWN = 6
"""Routes that are named."""


def refuse_windows_without_meeting(
    settings: CampaignSettings, assignments: Iterable[RouteAssignment]
) -> None:
    """Refuse a window where a route has no hazard that meets the ego.

    Args:
        settings: of the campaign.
        assignments: routes with their hazards.
    """
    names = [name for name, part in build_interventions(settings).items() if part.window]
    without = [
        assignment.route.name
        for assignment in assignments
        if not any(KINDS[hazard.kind].meets_ego for hazard in assignment.runnable)
    ]
    if names and without:
        shown = ", ".join(without[:SHOWN]) + (", …" if len(without) > SHOWN else "")
        raise UserError(
            f"configuration: {INTERVENTION}.{names[0]}.window: no meeting on {shown}: no hazard"
            " there comes to meet the ego; leave such routes out with routes.only"
        )
