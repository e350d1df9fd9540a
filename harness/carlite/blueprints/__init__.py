"""What can be spawned: CARLA 0.9.16's blueprints, their attributes and sizes."""

from __future__ import annotations

from functools import cache

from harness.carlite.blueprints.model import Attribute, AttributeType, Blueprint
from harness.carlite.blueprints.props import props
from harness.carlite.blueprints.sensors import helpers, sensors
from harness.carlite.blueprints.validation import validate
from harness.carlite.blueprints.vehicles import vehicles
from harness.carlite.blueprints.walkers import walkers

__all__ = ["Attribute", "AttributeType", "Blueprint", "library", "validate"]


@cache
def library() -> dict[str, Blueprint]:
    """Return every blueprint by its id, always in the same order."""
    listed = [*vehicles(), *walkers(), *props(), *sensors(), *helpers()]
    return {blueprint.id: blueprint for blueprint in listed}
