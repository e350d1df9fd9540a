"""Low-poly meshes of vehicles, walkers and props: what a ray finds where an actor stands."""

from __future__ import annotations

from functools import cache

from harness.carlite.blueprints import library as blueprints
from harness.carlite.bodies.cars import cars
from harness.carlite.bodies.lorries import lorries
from harness.carlite.bodies.model import Bodies, assemble
from harness.carlite.bodies.people import people
from harness.carlite.bodies.props import props

__all__ = ["Bodies", "library"]


@cache
def library() -> Bodies:
    """Return all bodies, by their own names and by the ids of the blueprints that use them."""
    shapes = {**cars(), **lorries(), **people(), **props()}
    users = {blueprint.id: blueprint.body for blueprint in blueprints().values() if blueprint.body}
    return assemble(shapes, users)
