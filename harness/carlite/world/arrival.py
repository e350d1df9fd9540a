"""How actors come into an episode: from a blueprint, or from a signal of the town."""

from __future__ import annotations

from harness.carlite import bodies
from harness.carlite.actors import ActorKind
from harness.carlite.blueprints import (
    ActorBlueprint,
    AttributeType,
    build_blueprint_library,
    resolve_actor_attributes,
)
from harness.carlite.errors import CallError
from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.model import TownSignal
from harness.carlite.wire.codec import Vector
from harness.carlite.wire.records import ActorDescription, AttributeValue, BoundingBox
from harness.carlite.world.population import Resident

MOVED = (ActorKind.VEHICLE, ActorKind.WALKER)
LIGHT = "traffic.traffic_light"
FRICTION = "static.trigger.friction"
CENTIMETRE = 0.01
FLAT = 0.1
"""Half the height up to which wheels roll over a prop: debris, tiles, planks, cans."""

SOFT = ("static.prop.plasticbag",)


def resolve_description(wanted: ActorDescription) -> tuple[ActorBlueprint, ActorDescription]:
    """Return the blueprint a client names and the actor's full description."""
    blueprint = build_blueprint_library().get(wanted.id)
    if blueprint is None:
        raise CallError(f"spawn_actor: unknown blueprint '{wanted.id}'")
    values = resolve_actor_attributes(blueprint, {one.id: one.value for one in wanted.attributes})
    attributes = tuple(
        AttributeValue(one.id, one.type, values[one.id]) for one in blueprint.attributes
    )
    return blueprint, ActorDescription(wanted.uid, wanted.id, attributes)


def make_resident(
    actor_id: int, blueprint: ActorBlueprint, description: ActorDescription, parent: int
) -> Resident:
    """Return the new actor."""
    box = BoundingBox(blueprint.box_centre, blueprint.extent, actor_id=actor_id)
    labels = () if blueprint.label == SemanticLabel.NONE else (int(blueprint.label),)
    return Resident(
        id=actor_id,
        kind=blueprint.kind,
        description=description,
        box=box,
        labels=labels,
        parent=parent,
    )


def make_table_columns(blueprint: ActorBlueprint, attached: bool) -> dict[str, object]:
    """Return what the actor table needs to know of a new actor; attached ones are just carried."""
    moved = blueprint.kind in MOVED and not attached
    return {
        "label": blueprint.label,
        "box_centre": blueprint.box_centre,
        "extent": blueprint.extent,
        "mirrors": blueprint.mirrors,
        "mass": blueprint.mass,
        "body": bodies.build_body_library().find_body_index(blueprint.body)
        if blueprint.body
        else -1,
        "simulated": moved,
        "gravity": moved,
        "solid": blueprint.mass > 0.0 and not attached and not is_litter(blueprint),
    }


def is_litter(blueprint: ActorBlueprint) -> bool:
    """Return whether vehicles drive over a prop without touching it."""
    flat = blueprint.extent[2] <= FLAT or blueprint.id in SOFT
    return blueprint.kind == ActorKind.PROP and flat


def read_friction_trigger(trigger: Resident) -> tuple[Vector, float]:
    """Return the half sizes of a friction trigger, in metres, and its friction."""
    x, y, z = (float(trigger.find_attribute(f"extent_{axis}")) * CENTIMETRE for axis in "xyz")
    return (x, y, z), float(trigger.find_attribute("friction"))


def make_signal_resident(actor_id: int, signal: TownSignal) -> Resident:
    """Return the actor of a traffic light or sign; its box is its trigger volume."""
    light = signal.type_id == LIGHT
    role = AttributeValue("role_name", AttributeType.STRING, "default")
    return Resident(
        id=actor_id,
        kind=ActorKind.TRAFFIC_LIGHT if light else ActorKind.TRAFFIC_SIGN,
        description=ActorDescription(0, signal.type_id, (role,)),
        box=BoundingBox(signal.trigger_centre, signal.trigger_extent, actor_id=actor_id),
        labels=(int(SemanticLabel.TRAFFIC_LIGHT if light else SemanticLabel.TRAFFIC_SIGN),),
    )
