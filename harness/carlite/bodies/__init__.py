"""Low-poly meshes of vehicles, walkers and props: what a ray finds where an actor stands."""

from __future__ import annotations

from functools import cache

from harness.carlite.blueprints import build_blueprint_library as blueprints
from harness.carlite.bodies.cars import build_car_bodies
from harness.carlite.bodies.lorries import build_lorry_bodies
from harness.carlite.bodies.model import BodyLibrary, pack_bodies
from harness.carlite.bodies.people import build_people_bodies
from harness.carlite.bodies.props import build_prop_bodies

__all__ = ["BodyLibrary", "build_body_library"]


@cache
def build_body_library() -> BodyLibrary:
    """Return all bodies, by their own names and by the ids of the blueprints that use them."""
    shapes = {
        **build_car_bodies(),
        **build_lorry_bodies(),
        **build_people_bodies(),
        **build_prop_bodies(),
    }
    users = {blueprint.id: blueprint.body for blueprint in blueprints().values() if blueprint.body}
    return pack_bodies(shapes, users)
