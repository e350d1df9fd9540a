"""Whether changes of the scene can be made on the routes, as far as the map shows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from harness.campaign.folder.assignments import RouteAssignment
from harness.campaign.settings.conditions import build_condition_changes
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.common.errors import UserError
from harness.world.changes.change import PlannedScene
from harness.world.hazards.track import Track
from harness.world.maps import load_road_network


def refuse_unfit_scenes(
    settings: CampaignSettings,
    assignments: Sequence[RouteAssignment],
    conditions: Collection[str],
    maps: Path | None,
) -> None:
    """Refuse a condition with a change that some route has no place for, naming each route.

    All arms meet the same routes, so that no route is left out of one arm alone.

    Args:
        settings: of the campaign.
        assignments: routes with their hazards.
        conditions: those that are driven.
        maps: folder of OpenDRIVE files; None for shipped towns.
    """
    changed = {
        name: changes
        for name in sorted(conditions)
        if (changes := build_condition_changes(settings, name))
    }
    if not changed:
        return
    scenes = {one.route.name: scene for one, scene in plan_scenes(settings, assignments, maps)}
    for condition, changes in changed.items():
        for change in changes:
            whys = {route: why for route, scene in scenes.items() if (why := change.unfit(scene))}
            if whys:
                fit = [route for route in scenes if route not in whys]
                hint = f"routes.only=[{','.join(fit)}]" if fit else "another condition"
                listed = "; ".join(f"route {route}: {why}" for route, why in whys.items())
                place = f"configuration: interference.{condition}: {change.name}"
                raise UserError(f"{place}: {listed}; choose {hint}")


def plan_scenes(
    settings: CampaignSettings, assignments: Sequence[RouteAssignment], maps: Path | None
) -> Iterator[tuple[RouteAssignment, PlannedScene]]:
    """Yield every route with what is known of its scene."""
    traffic, rig = build_part(settings["traffic"], "traffic"), build_part(settings["rig"], "rig")
    for assignment in assignments:
        track = Track(load_road_network(assignment.route.town, maps).map, assignment.route)
        yield (
            assignment,
            PlannedScene(track=track, hazards=assignment.runnable, traffic=traffic, rig=rig),
        )
