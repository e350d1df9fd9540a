"""How actors come into an episode: from a blueprint, or from a signal of the town."""

from __future__ import annotations

from harness.carlite import bodies
from harness.carlite.actors import Kind
from harness.carlite.blueprints import AttributeType, Blueprint, library, validate
from harness.carlite.errors import CallError
from harness.carlite.labels import Label
from harness.carlite.towns.model import Signal
from harness.carlite.wire.codec import Vector
from harness.carlite.wire.records import ActorDescription, AttributeValue, BoundingBox
from harness.carlite.world.population import Resident

MOVED = (Kind.VEHICLE, Kind.WALKER)
LIGHT = "traffic.traffic_light"
FRICTION = "static.trigger.friction"
CENTIMETRE = 0.01
FLAT = 0.1
"""Half the height up to which wheels roll over a prop: debris, tiles, planks, cans."""

SOFT = ("static.prop.plasticbag",)


def described(wanted: ActorDescription) -> tuple[Blueprint, ActorDescription]:
    """Return the blueprint a client names and the actor's full description."""
    blueprint = library().get(wanted.id)
    if blueprint is None:
        raise CallError(f"spawn_actor: unknown blueprint '{wanted.id}'")
    values = validate(blueprint, {one.id: one.value for one in wanted.attributes})
    attributes = tuple(
        AttributeValue(one.id, one.type, values[one.id]) for one in blueprint.attributes
    )
    return blueprint, ActorDescription(wanted.uid, wanted.id, attributes)


def resident_of(
    actor_id: int, blueprint: Blueprint, description: ActorDescription, parent: int
) -> Resident:
    """Return the new actor."""
    box = BoundingBox(blueprint.box_centre, blueprint.extent, actor_id=actor_id)
    labels = () if blueprint.label == Label.NONE else (int(blueprint.label),)
    return Resident(
        id=actor_id,
        kind=blueprint.kind,
        description=description,
        box=box,
        labels=labels,
        parent=parent,
    )


def columns_of(blueprint: Blueprint, attached: bool) -> dict[str, object]:
    """Return what the actor table needs to know of a new actor; attached ones are just carried."""
    moved = blueprint.kind in MOVED and not attached
    return {
        "label": blueprint.label,
        "box_centre": blueprint.box_centre,
        "extent": blueprint.extent,
        "mirrors": blueprint.mirrors,
        "mass": blueprint.mass,
        "body": bodies.library().index(blueprint.body) if blueprint.body else -1,
        "simulated": moved,
        "gravity": moved,
        "solid": blueprint.mass > 0.0 and not attached and not is_litter(blueprint),
    }


def is_litter(blueprint: Blueprint) -> bool:
    """Return whether vehicles drive over a prop without touching it."""
    flat = blueprint.extent[2] <= FLAT or blueprint.id in SOFT
    return blueprint.kind == Kind.PROP and flat


def friction_of(trigger: Resident) -> tuple[Vector, float]:
    """Return the half sizes of a friction trigger, in metres, and its friction."""
    x, y, z = (float(trigger.attribute(f"extent_{axis}")) * CENTIMETRE for axis in "xyz")
    return (x, y, z), float(trigger.attribute("friction"))


def signal_resident(actor_id: int, signal: Signal) -> Resident:
    """Return the actor of a traffic light or sign; its box is its trigger volume."""
    light = signal.type_id == LIGHT
    role = AttributeValue("role_name", AttributeType.STRING, "default")
    return Resident(
        id=actor_id,
        kind=Kind.TRAFFIC_LIGHT if light else Kind.TRAFFIC_SIGN,
        description=ActorDescription(0, signal.type_id, (role,)),
        box=BoundingBox(signal.trigger_centre, signal.trigger_extent, actor_id=actor_id),
        labels=(int(Label.TRAFFIC_LIGHT if light else Label.TRAFFIC_SIGN),),
    )
