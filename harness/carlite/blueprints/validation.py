"""Checks what a client asks of a blueprint before anything is spawned from it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from harness.carlite.blueprints.model import ActorAttribute, ActorBlueprint, AttributeType
from harness.carlite.errors import CallError

_LIMITS = {
    "channels": (1, 1024),
    "range": (0.01, 10_000),
    "points_per_second": (1, 50_000_000),
    "rotation_frequency": (0.01, 10_000),
    "upper_fov": (-90, 90),
    "lower_fov": (-90, 90),
    "horizontal_fov": (0.01, 360),
    "vertical_fov": (0.01, 180),
    "image_size_x": (1, 8192),
    "image_size_y": (1, 8192),
    "fov": (0.1, 179),
    "sensor_tick": (0, 1e6),
    "distance": (0, 10_000),
    "hit_radius": (0, 100),
    "atmosphere_attenuation_rate": (0, 1e3),
    "dropoff_general_rate": (0, 1),
    "dropoff_intensity_limit": (0, 1e3),
    "dropoff_zero_intensity": (0, 1),
    "speed": (0, 100),
    "friction": (0, 100),
    "extent_x": (0, 1e6),
    "extent_y": (0, 1e6),
    "extent_z": (0, 1e6),
}
_DEVIATION_LIMITS = (0, 1e6)


def resolve_actor_attributes(blueprint: ActorBlueprint, given: Mapping[str, str]) -> dict[str, str]:
    """Return all attributes of an actor to be: the defaults, overlaid with what was given.

    CallError names the attribute that is unknown, fixed, of the wrong type or out of bounds.

    Args:
        blueprint: of the actor.
        given: texts by name.
    """
    known = {attribute.id: attribute for attribute in blueprint.attributes}
    values = {attribute.id: attribute.value for attribute in blueprint.attributes}
    for name, value in given.items():
        if name not in known:
            raise CallError(f"{blueprint.id} has no attribute '{name}'")
        problem = _describe_attribute_problem(known[name], value)
        if problem:
            raise CallError(f"{blueprint.id}: attribute '{name}' = '{value}' {problem}")
        values[name] = value
    return values


def _describe_attribute_problem(attribute: ActorAttribute, value: str) -> str:
    """Say what is wrong with a value, or nothing."""
    if not attribute.modifiable:
        return "" if value == attribute.value else f"cannot be changed from '{attribute.value}'"
    if attribute.type is AttributeType.BOOL:
        return "" if value.lower() in ("true", "false") else "is neither true nor false"
    if attribute.restrict and value not in attribute.recommended:
        return f"is not one of {', '.join(attribute.recommended)}"
    match attribute.type:
        case AttributeType.INT | AttributeType.FLOAT:
            return _describe_number_problem(attribute, value)
        case AttributeType.COLOUR:
            return "" if _is_colour(value) else "is not a colour 'r,g,b' of 0 to 255"
    return ""


def _describe_number_problem(attribute: ActorAttribute, value: str) -> str:
    try:
        number = float(value)
    except ValueError:
        return "is not a number"
    if not math.isfinite(number):
        return "is not finite"
    if attribute.type is AttributeType.INT and number != int(number):
        return "is not a whole number"
    limits = _LIMITS.get(attribute.id)
    if limits is None and "stddev" in attribute.id:
        limits = _DEVIATION_LIMITS
    if limits and not limits[0] <= number <= limits[1]:
        return f"is not between {limits[0]:g} and {limits[1]:g}"
    return ""


def _is_colour(value: str) -> bool:
    parts = value.split(",")
    return len(parts) == 3 and all(
        part.isascii() and part.isdigit() and int(part) <= 255 for part in parts
    )
