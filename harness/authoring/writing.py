"""An OpenDRIVE document as text: fixed decimals, so that every machine writes the same bytes."""

from __future__ import annotations

from dataclasses import asdict
from xml.etree import ElementTree

from harness.authoring.document import (
    CrosswalkRectangle,
    Cubic,
    LinkRecord,
    OpenDriveDocument,
    PlannedJunction,
    PlannedRoad,
    RoadLane,
    RoadSign,
    StopLine,
)
from harness.authoring.geometry import PlanePath
from harness.authoring.plan import Hall

FIRST_HALL = 100_000
SCENERY = "scenery."
"""What the codes of a header's user data about scenery begin with."""


def round_in_two_steps(value: float, digits: int = 6) -> float:
    """Round in two steps, so that a last bit too much or too little does not tip a half."""
    return round(round(value, digits + 3), digits)


def format_decimal(value: float, digits: int = 6) -> str:
    """Print a number the same way on every machine: no exponent, no negative zero."""
    text = f"{round_in_two_steps(value, digits):.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def _add_element(
    parent: ElementTree.Element, tag: str, **attributes: object
) -> ElementTree.Element:
    return ElementTree.SubElement(
        parent,
        tag,
        {
            key: format_decimal(value) if isinstance(value, float) else str(value)
            for key, value in attributes.items()
        },
    )


def _write_cubic(parent: ElementTree.Element, tag: str, key: str, cubic: Cubic) -> None:
    station, *coefficients = cubic
    element = _add_element(parent, tag, **{key: station})
    for letter, coefficient in zip("abcd", coefficients, strict=True):
        element.set(letter, format_decimal(coefficient, 9))


def _write_link(parent: ElementTree.Element, tag: str, link: LinkRecord) -> None:
    kind = "junction" if link.contact is None else "road"
    element = _add_element(parent, tag, elementType=kind, elementId=link.element)
    if link.contact is not None:
        element.set("contactPoint", link.contact)


def _write_plan_view(parent: ElementTree.Element, path: PlanePath) -> None:
    view = _add_element(parent, "planView")
    station = 0.0
    for piece in path.pieces:
        length = round_in_two_steps(piece.length)
        geometry = _add_element(view, "geometry", s=station, x=piece.start.x, y=piece.start.y)
        geometry.set("hdg", format_decimal(piece.start.heading, 9))
        geometry.set("length", format_decimal(length))
        if piece.curvature:
            _add_element(geometry, "arc").set("curvature", format_decimal(piece.curvature, 9))
        else:
            _add_element(geometry, "line")
        station = round_in_two_steps(station + length)


def _write_lane(parent: ElementTree.Element, lane: RoadLane) -> None:
    element = _add_element(parent, "lane", id=lane.id, type=lane.type, level="false")
    link = _add_element(element, "link")
    if lane.predecessor is not None:
        _add_element(link, "predecessor", id=lane.predecessor)
    if lane.successor is not None:
        _add_element(link, "successor", id=lane.successor)
    for width in lane.widths:
        _write_cubic(element, "width", "sOffset", width)
    for mark in lane.marks:
        _add_element(
            element,
            "roadMark",
            sOffset=mark.station,
            type=mark.type,
            weight="standard",
            color=mark.color,
            width=0.15 if mark.type == "curb" else 0.12,
            laneChange="both" if mark.change else "none",
        )


def _write_lanes(parent: ElementTree.Element, road: PlannedRoad) -> None:
    lanes = _add_element(parent, "lanes")
    for offset in road.offset:
        _write_cubic(lanes, "laneOffset", "s", offset)
    for section in road.sections:
        element = _add_element(lanes, "laneSection", s=section.station)
        for side, sign in (("left", 1), ("center", 0), ("right", -1)):
            members = [x for x in section.lanes if (x.id > 0) - (x.id < 0) == sign]
            if members:
                group = _add_element(element, side)
                for lane in sorted(members, key=lambda x: -x.id):
                    _write_lane(group, lane)


def _write_hall(parent: ElementTree.Element, number: int, hall: Hall) -> None:
    _add_element(
        parent,
        "object",
        type="building",
        name="Hall",
        id=number,
        s=hall.along,
        t=hall.aside,
        zOffset=0.0,
        hdg=0.0,
        pitch=0.0,
        roll=0.0,
        orientation="none",
        length=hall.length,
        width=hall.width,
        height=hall.height,
    )


def _write_crosswalk(parent: ElementTree.Element, walk: CrosswalkRectangle) -> None:
    element = _add_element(
        parent,
        "object",
        type="crosswalk",
        name="SimpleCrosswalk",
        id=walk.id,
        s=walk.station,
        t=0.0,
        zOffset=0.0,
        hdg=1.570796,
        pitch=0.0,
        roll=0.0,
        orientation="none",
        length=walk.left - walk.right,
        width=walk.depth,
    )
    outline = _add_element(element, "outline")
    half = walk.depth / 2
    right, left = walk.right, walk.left
    for u, v in ((right, -half), (right, half), (left, half), (left, -half), (right, -half)):
        _add_element(outline, "cornerLocal", u=u, v=v, z=0.0)


def _write_stop_line(parent: ElementTree.Element, line: StopLine) -> None:
    _add_element(
        parent,
        "object",
        type="-1",
        name="StopLine",
        id=line.id,
        s=line.station,
        t=line.lateral,
        zOffset=0.0,
        hdg=1.570796,
        pitch=0.0,
        roll=0.0,
        orientation="none",
        length=line.width,
        width=0.0,
    )


def _write_sign(parent: ElementTree.Element, sign: RoadSign) -> None:
    element = _add_element(
        parent,
        "signal",
        name=sign.name,
        id=sign.id,
        s=sign.station,
        t=sign.lateral,
        zOffset=sign.height,
        hOffset=3.141593 if sign.against else 0.0,
        roll=0.0,
        pitch=0.0,
        orientation="+" if sign.against else "-",
        dynamic="yes" if sign.dynamic else "no",
        country="OpenDRIVE",
        type=sign.type,
        subtype=sign.subtype,
        value=sign.value,
        text="",
        height=0.9,
        width=0.4,
    )
    _add_element(element, "validity", fromLane=min(sign.lanes), toLane=max(sign.lanes))


def _write_road(parent: ElementTree.Element, road: PlannedRoad) -> None:
    length = format_decimal(sum(round_in_two_steps(piece.length) for piece in road.path.pieces))
    element = _add_element(
        parent, "road", name=road.name, length=length, id=road.id, junction=road.junction
    )
    # neighbours and the limit
    link = _add_element(element, "link")
    _write_link(link, "predecessor", road.predecessor)
    _write_link(link, "successor", road.successor)
    _add_element(
        _add_element(element, "type", s=0.0, type="town"), "speed", max=road.speed, unit="km/h"
    )
    # shape and lanes
    _write_plan_view(element, road.path)
    profile = _add_element(element, "elevationProfile")
    for elevation in road.elevation:
        _write_cubic(profile, "elevation", "s", elevation)
    _add_element(element, "lateralProfile")
    _write_lanes(element, road)
    # what stands on and along it; the order is that of the standard
    objects = _add_element(element, "objects")
    for walk in road.crosswalks:
        _write_crosswalk(objects, walk)
    for line in road.stop_lines:
        _write_stop_line(objects, line)
    for number, hall in enumerate(road.halls):
        _write_hall(objects, FIRST_HALL + 10 * road.id + number, hall)
    signals = _add_element(element, "signals")
    for sign in road.signs:
        _write_sign(signals, sign)


def _write_junction(parent: ElementTree.Element, junction: PlannedJunction) -> None:
    element = _add_element(parent, "junction", id=junction.id, name=junction.name)
    for connection in junction.connections:
        child = _add_element(
            element,
            "connection",
            id=connection.id,
            incomingRoad=connection.incoming,
            connectingRoad=connection.connecting,
            contactPoint="start",
        )
        for source, target in connection.links:
            _add_element(child, "laneLink", **{"from": source, "to": target})
    for controller in junction.controllers:
        _add_element(
            element, "controller", id=controller.id, type="0", sequence=controller.sequence
        )


def format_opendrive(document: OpenDriveDocument) -> str:
    """Spell the document out as XML."""
    root = ElementTree.Element("OpenDRIVE")
    # header, with the place on the Earth and what scenery is to be like
    header = _add_element(
        root, "header", revMajor=1, revMinor=4, name=document.name, version="1.00"
    )
    reference = _add_element(header, "geoReference")
    reference.text = (
        f"+proj=tmerc +lat_0={format_decimal(document.latitude)}"
        f" +lon_0={format_decimal(document.longitude)} "
        "+k=1 +x_0=0 +y_0=0 +datum=WGS84 +units=m +no_defs"
    )
    if document.surroundings is not None:
        for code, value in asdict(document.surroundings).items():
            _add_element(header, "userData", code=f"{SCENERY}{code}", value=value)
    # roads, controllers, junctions: the order of the standard
    for road in document.roads:
        _write_road(root, road)
    for junction in document.junctions:
        for controller in junction.controllers:
            element = _add_element(
                root, "controller", name=f"ctrl{controller.id}", id=controller.id
            )
            element.set("sequence", str(controller.sequence))
            for sign in controller.signs:
                _add_element(element, "control", signalId=sign, type="")
    for junction in document.junctions:
        _write_junction(root, junction)
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
