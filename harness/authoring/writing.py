"""An OpenDRIVE document as text: fixed decimals, so that every machine writes the same bytes."""

from __future__ import annotations

from dataclasses import asdict
from xml.etree import ElementTree

from harness.authoring.document import (
    Crosswalk,
    Cubic,
    Document,
    Junction,
    Lane,
    Link,
    Road,
    Sign,
    StopLine,
)
from harness.authoring.geometry import Path
from harness.authoring.plan import Hall

FIRST_HALL = 100_000
SCENERY = "scenery."
"""What the codes of a header's user data about scenery begin with."""


def tidy(value: float, digits: int = 6) -> float:
    """Round in two steps, so that a last bit too much or too little does not tip a half."""
    return round(round(value, digits + 3), digits)


def fixed(value: float, digits: int = 6) -> str:
    """Print a number the same way on every machine: no exponent, no negative zero."""
    text = f"{tidy(value, digits):.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def _child(parent: ElementTree.Element, tag: str, **attributes: object) -> ElementTree.Element:
    return ElementTree.SubElement(
        parent,
        tag,
        {
            key: fixed(value) if isinstance(value, float) else str(value)
            for key, value in attributes.items()
        },
    )


def _cubic(parent: ElementTree.Element, tag: str, key: str, cubic: Cubic) -> None:
    station, *coefficients = cubic
    element = _child(parent, tag, **{key: station})
    for letter, coefficient in zip("abcd", coefficients, strict=True):
        element.set(letter, fixed(coefficient, 9))


def _link(parent: ElementTree.Element, tag: str, link: Link) -> None:
    kind = "junction" if link.contact is None else "road"
    element = _child(parent, tag, elementType=kind, elementId=link.element)
    if link.contact is not None:
        element.set("contactPoint", link.contact)


def _plan_view(parent: ElementTree.Element, path: Path) -> None:
    view = _child(parent, "planView")
    station = 0.0
    for piece in path.pieces:
        length = tidy(piece.length)
        geometry = _child(view, "geometry", s=station, x=piece.start.x, y=piece.start.y)
        geometry.set("hdg", fixed(piece.start.heading, 9))
        geometry.set("length", fixed(length))
        if piece.curvature:
            _child(geometry, "arc").set("curvature", fixed(piece.curvature, 9))
        else:
            _child(geometry, "line")
        station = tidy(station + length)


def _lane(parent: ElementTree.Element, lane: Lane) -> None:
    element = _child(parent, "lane", id=lane.id, type=lane.type, level="false")
    link = _child(element, "link")
    if lane.predecessor is not None:
        _child(link, "predecessor", id=lane.predecessor)
    if lane.successor is not None:
        _child(link, "successor", id=lane.successor)
    for width in lane.widths:
        _cubic(element, "width", "sOffset", width)
    for mark in lane.marks:
        _child(
            element,
            "roadMark",
            sOffset=mark.station,
            type=mark.type,
            weight="standard",
            color=mark.color,
            width=0.15 if mark.type == "curb" else 0.12,
            laneChange="both" if mark.change else "none",
        )


def _lanes(parent: ElementTree.Element, road: Road) -> None:
    lanes = _child(parent, "lanes")
    for offset in road.offset:
        _cubic(lanes, "laneOffset", "s", offset)
    for section in road.sections:
        element = _child(lanes, "laneSection", s=section.station)
        for side, sign in (("left", 1), ("center", 0), ("right", -1)):
            members = [x for x in section.lanes if (x.id > 0) - (x.id < 0) == sign]
            if members:
                group = _child(element, side)
                for lane in sorted(members, key=lambda x: -x.id):
                    _lane(group, lane)


def _hall(parent: ElementTree.Element, number: int, hall: Hall) -> None:
    _child(
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


def _crosswalk(parent: ElementTree.Element, walk: Crosswalk) -> None:
    element = _child(
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
    outline = _child(element, "outline")
    half = walk.depth / 2
    right, left = walk.right, walk.left
    for u, v in ((right, -half), (right, half), (left, half), (left, -half), (right, -half)):
        _child(outline, "cornerLocal", u=u, v=v, z=0.0)


def _stop_line(parent: ElementTree.Element, line: StopLine) -> None:
    _child(
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


def _sign(parent: ElementTree.Element, sign: Sign) -> None:
    element = _child(
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
    _child(element, "validity", fromLane=min(sign.lanes), toLane=max(sign.lanes))


def _road(parent: ElementTree.Element, road: Road) -> None:
    length = fixed(sum(tidy(piece.length) for piece in road.path.pieces))
    element = _child(
        parent, "road", name=road.name, length=length, id=road.id, junction=road.junction
    )
    link = _child(element, "link")
    _link(link, "predecessor", road.predecessor)
    _link(link, "successor", road.successor)
    _child(_child(element, "type", s=0.0, type="town"), "speed", max=road.speed, unit="km/h")
    _plan_view(element, road.path)
    profile = _child(element, "elevationProfile")
    for elevation in road.elevation:
        _cubic(profile, "elevation", "s", elevation)
    _child(element, "lateralProfile")
    _lanes(element, road)
    objects = _child(element, "objects")
    for walk in road.crosswalks:
        _crosswalk(objects, walk)
    for line in road.stop_lines:
        _stop_line(objects, line)
    for number, hall in enumerate(road.halls):
        _hall(objects, FIRST_HALL + 10 * road.id + number, hall)
    signals = _child(element, "signals")
    for sign in road.signs:
        _sign(signals, sign)


def _junction(parent: ElementTree.Element, junction: Junction) -> None:
    element = _child(parent, "junction", id=junction.id, name=junction.name)
    for connection in junction.connections:
        child = _child(
            element,
            "connection",
            id=connection.id,
            incomingRoad=connection.incoming,
            connectingRoad=connection.connecting,
            contactPoint="start",
        )
        for source, target in connection.links:
            _child(child, "laneLink", **{"from": source, "to": target})
    for controller in junction.controllers:
        _child(element, "controller", id=controller.id, type="0", sequence=controller.sequence)


def to_text(document: Document) -> str:
    """Spell the document out as XML."""
    root = ElementTree.Element("OpenDRIVE")
    header = _child(root, "header", revMajor=1, revMinor=4, name=document.name, version="1.00")
    reference = _child(header, "geoReference")
    reference.text = (
        f"+proj=tmerc +lat_0={fixed(document.latitude)} +lon_0={fixed(document.longitude)} "
        "+k=1 +x_0=0 +y_0=0 +datum=WGS84 +units=m +no_defs"
    )
    if document.surroundings is not None:
        for code, value in asdict(document.surroundings).items():
            _child(header, "userData", code=f"{SCENERY}{code}", value=value)
    for road in document.roads:
        _road(root, road)
    for junction in document.junctions:
        for controller in junction.controllers:
            element = _child(root, "controller", name=f"ctrl{controller.id}", id=controller.id)
            element.set("sequence", str(controller.sequence))
            for sign in controller.signs:
                _child(element, "control", signalId=sign, type="")
    for junction in document.junctions:
        _junction(root, junction)
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
