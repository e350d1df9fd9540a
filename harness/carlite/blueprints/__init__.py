"""What can be spawned: CARLA 0.9.16's blueprints, their attributes and sizes."""

from __future__ import annotations

from functools import cache

from harness.carlite.blueprints.model import ActorAttribute, ActorBlueprint, AttributeType
from harness.carlite.blueprints.props import list_prop_blueprints
from harness.carlite.blueprints.sensors import list_helper_blueprints, list_sensor_blueprints
from harness.carlite.blueprints.validation import resolve_actor_attributes
from harness.carlite.blueprints.vehicles import list_vehicle_blueprints
from harness.carlite.blueprints.walkers import list_walker_blueprints

__all__ = [
    "ActorAttribute",
    "ActorBlueprint",
    "AttributeType",
    "build_blueprint_library",
    "resolve_actor_attributes",
]


@cache
def build_blueprint_library() -> dict[str, ActorBlueprint]:
    """Return every blueprint by its id, always in the same order."""
    listed = [
        *list_vehicle_blueprints(),
        *list_walker_blueprints(),
        *list_prop_blueprints(),
        *list_sensor_blueprints(),
        *list_helper_blueprints(),
    ]
    return {blueprint.id: blueprint for blueprint in listed}
