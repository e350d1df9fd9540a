"""What stands along and is painted on the roads of an OpenDRIVE file."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from harness.carlite.towns.attributes import read_xml_integer, read_xml_number, read_xml_text
from harness.carlite.towns.network import (
    OutlineRecord,
    SignalRecord,
    SignalReference,
    StructureRecord,
)

SPEED_SIGN = "274"
STRUCTURES = ("barrier", "building", "obstacle", "pole", "tree", "vegetation")
"""Object types that stand up from the ground."""


def parse_road_signals(
    road: Element, road_id: int, place: str
) -> tuple[tuple[SignalRecord, ...], tuple[SignalReference, ...]]:
    """Return the signals along a road and all references of signals to its lanes."""
    signals, references = [], []
    # a signal is also a reference to the lanes of its road
    for node in road.findall("signals/signal"):
        signal_id = read_xml_text(node, "id", f"{place}: signal")
        where = f"{place}: signal {signal_id}"
        signals.append(
            SignalRecord(
                id=signal_id,
                type=node.get("type", ""),
                subtype=node.get("subtype", ""),
                name=node.get("name", ""),
                road=road_id,
                s=read_xml_number(node, "s", where),
                t=read_xml_number(node, "t", where),
                z_offset=read_xml_number(node, "zOffset", where, 0.0),
                h_offset=read_xml_number(node, "hOffset", where, 0.0),
                orientation=node.get("orientation", "none"),
                value=read_xml_number(node, "value", where, -1.0),
            )
        )
        references.append(_parse_signal_reference(node, road_id, where))
    references += [
        _parse_signal_reference(node, road_id, f"{place}: signalReference")
        for node in road.findall("signals/signalReference")
    ]
    return tuple(signals), tuple(references)


def _parse_signal_reference(node: Element, road_id: int, place: str) -> SignalReference:
    return SignalReference(
        id=read_xml_text(node, "id", place),
        road=road_id,
        s=read_xml_number(node, "s", place),
        orientation=node.get("orientation", "none"),
        validity=tuple(
            (read_xml_integer(lanes, "fromLane", place), read_xml_integer(lanes, "toLane", place))
            for lanes in node.findall("validity")
        ),
    )


def parse_outline(node: Element, road_id: int, place: str) -> OutlineRecord:
    """Return where an object lies, and its corners if it is drawn with any."""
    place = f"{place}: object {node.get('id', '?')}"
    return OutlineRecord(
        name=node.get("name", ""),
        road=road_id,
        s=read_xml_number(node, "s", place),
        t=read_xml_number(node, "t", place),
        z_offset=read_xml_number(node, "zOffset", place, 0.0),
        heading=read_xml_number(node, "hdg", place, 0.0),
        corners=tuple(
            (
                read_xml_number(corner, "u", place),
                read_xml_number(corner, "v", place),
                read_xml_number(corner, "z", place, 0.0),
            )
            for corner in node.findall("outline/cornerLocal")
        ),
    )


def parse_structure(node: Element, place: str) -> StructureRecord | None:
    """Read an object that stands at the road and has a size."""
    place = f"{place}: object {node.get('id', '?')}"
    size = [read_xml_number(node, side, place, 0.0) for side in ("length", "width", "height")]
    radius = read_xml_number(node, "radius", place, 0.0)
    if node.get("type") not in STRUCTURES or size[2] <= 0.0:
        return None
    if radius <= 0.0 and min(size) <= 0.0:
        return None
    return StructureRecord(
        type=node.get("type", ""),
        s=read_xml_number(node, "s", place),
        t=read_xml_number(node, "t", place),
        heading=read_xml_number(node, "hdg", place, 0.0),
        length=size[0],
        width=size[1],
        height=size[2],
        radius=max(radius, 0.0),
    )


def parse_speed_sign(node: Element, post: OutlineRecord) -> SignalRecord | None:
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
