"""What stands along and is painted on the roads of an OpenDRIVE file."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from harness.carlite.towns.attributes import integer, number, text
from harness.carlite.towns.network import Outline, SignalRecord, SignalReference, Structure

SPEED_SIGN = "274"
STRUCTURES = ("barrier", "building", "obstacle", "pole", "tree", "vegetation")
"""Object types that stand up from the ground."""


def signals(
    road: Element, road_id: int, place: str
) -> tuple[tuple[SignalRecord, ...], tuple[SignalReference, ...]]:
    """Return the signals along a road and all references of signals to its lanes."""
    signals, references = [], []
    for node in road.findall("signals/signal"):
        signal_id = text(node, "id", f"{place}: signal")
        where = f"{place}: signal {signal_id}"
        signals.append(
            SignalRecord(
                id=signal_id,
                type=node.get("type", ""),
                subtype=node.get("subtype", ""),
                name=node.get("name", ""),
                road=road_id,
                s=number(node, "s", where),
                t=number(node, "t", where),
                z_offset=number(node, "zOffset", where, 0.0),
                h_offset=number(node, "hOffset", where, 0.0),
                orientation=node.get("orientation", "none"),
                value=number(node, "value", where, -1.0),
            )
        )
        references.append(_reference(node, road_id, where))
    references += [
        _reference(node, road_id, f"{place}: signalReference")
        for node in road.findall("signals/signalReference")
    ]
    return tuple(signals), tuple(references)


def _reference(node: Element, road_id: int, place: str) -> SignalReference:
    return SignalReference(
        id=text(node, "id", place),
        road=road_id,
        s=number(node, "s", place),
        orientation=node.get("orientation", "none"),
        validity=tuple(
            (integer(lanes, "fromLane", place), integer(lanes, "toLane", place))
            for lanes in node.findall("validity")
        ),
    )


def outline(node: Element, road_id: int, place: str) -> Outline:
    """Return where an object lies, and its corners if it is drawn with any."""
    place = f"{place}: object {node.get('id', '?')}"
    return Outline(
        name=node.get("name", ""),
        road=road_id,
        s=number(node, "s", place),
        t=number(node, "t", place),
        z_offset=number(node, "zOffset", place, 0.0),
        heading=number(node, "hdg", place, 0.0),
        corners=tuple(
            (
                number(corner, "u", place),
                number(corner, "v", place),
                number(corner, "z", place, 0.0),
            )
            for corner in node.findall("outline/cornerLocal")
        ),
    )


def structure(node: Element, place: str) -> Structure | None:
    """Read an object that stands at the road and has a size."""
    place = f"{place}: object {node.get('id', '?')}"
    size = [number(node, side, place, 0.0) for side in ("length", "width", "height")]
    radius = number(node, "radius", place, 0.0)
    if node.get("type") not in STRUCTURES or size[2] <= 0.0:
        return None
    if radius <= 0.0 and min(size) <= 0.0:
        return None
    return Structure(
        type=node.get("type", ""),
        s=number(node, "s", place),
        t=number(node, "t", place),
        heading=number(node, "hdg", place, 0.0),
        length=size[0],
        width=size[1],
        height=size[2],
        radius=max(radius, 0.0),
    )


def speed_sign(node: Element, post: Outline) -> SignalRecord | None:
    """Read the objects that CARLA takes for speed limit signs."""
    name = post.name
    digits = name.rsplit("_", 1)[-1]
    if not (name.lower().startswith("speed_") and digits.isdecimal()):
        return None
    return SignalRecord(
        id=node.get("id", ""),
        type=SPEED_SIGN,
        subtype=digits,
        name=name,
        road=post.road,
        s=post.s,
        t=post.t,
        z_offset=post.z_offset,
        h_offset=post.heading,
        orientation=node.get("orientation", "none"),
        value=float(digits),
    )
