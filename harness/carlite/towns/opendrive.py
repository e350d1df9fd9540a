"""Reads OpenDRIVE 1.4. Anything broken is a ValueError that names the place.

Only elements and attributes are read: document types and entities are refused, so a file can
neither reach outside itself nor blow up. Elements may be nested 64 levels deep; maps have eight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Protocol, TypeVar
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.towns import furniture
from harness.carlite.towns.attributes import (
    read_positive_number,
    read_xml_integer,
    read_xml_number,
    read_xml_text,
)
from harness.carlite.towns.network import (
    ConnectionRecord,
    Contact,
    GeometryRecord,
    JunctionRecord,
    LaneRecord,
    OpendriveNetwork,
    RoadLink,
    RoadMark,
    RoadRecord,
    SectionRecord,
    SignalReference,
)

SPEED_UNITS = {"": 1.0, "m/s": 1.0, "km/h": 1 / 3.6, "kmh": 1 / 3.6, "mph": 0.44704}
LANE_CHANGES = {"increase": 1, "decrease": 2, "both": 3}
PARAMETERS: dict[str, tuple[str, ...]] = {
    "line": (),
    "arc": ("curvature",),
    "spiral": ("curvStart", "curvEnd"),
    "poly3": ("a", "b", "c", "d"),
    "paramPoly3": ("aU", "bU", "cU", "dU", "aV", "bV", "cV", "dV"),
}
SCENERY = "scenery."
"""What the codes of user data about scenery begin with."""
LONGEST, SHARPEST = 100_000.0, 100.0
"""Beyond these, a road's length or curvature is taken for a mistake."""
DEEPEST = 64
"""Levels of elements that a document may have."""
MOST_ELEMENTS = 1_000_000
"""Elements of a document: CARLA's Town05 has 60,000, and each takes half a kilobyte."""
PIECE = 1 << 16
"""Characters that are parsed before a problem with them is noticed."""


class _HasId(Protocol):
    @property
    def id(self) -> int: ...


_Item = TypeVar("_Item", bound=_HasId)


def parse_opendrive(document: str) -> OpendriveNetwork:
    """Return the road network of an OpenDRIVE document; ValueError says what is wrong where."""
    # records, each by its id
    root = _parse_xml_root(document)
    roads = _index_by_id("road", (_parse_road(node) for node in root.iter("road")))
    if not roads:
        raise ValueError("no road in it")
    junctions = _index_by_id("junction", (_parse_junction(node) for node in root.iter("junction")))
    controllers = {
        read_xml_text(node, "id", "controller"): tuple(
            dict.fromkeys(control.get("signalId", "") for control in node.iter("control"))
        )
        for node in root.findall("controller")
    }
    # the vendor and settings of our scenery, if any
    header = root.find("header")
    vendor = "" if header is None else header.get("vendor", "")
    network = OpendriveNetwork(
        roads=roads,
        junctions=junctions,
        controllers=controllers,
        vendor=vendor,
        scenery=_parse_scenery(header),
    )
    # references between records
    _check_links(network)
    return network


def _parse_xml_root(document: str) -> Element:
    if "<!DOCTYPE" in document or "<!ENTITY" in document:
        raise ValueError("document types and entities are not accepted; remove the DOCTYPE")
    document = document.lstrip("\ufeff \t\r\n")
    parser = ElementTree.XMLParser(target=_BoundedTree())
    try:
        for start in range(0, len(document), PIECE):
            parser.feed(document[start : start + PIECE])
        root: Element = parser.close()
    except (ElementTree.ParseError, UnicodeError) as error:
        raise ValueError(f"not well-formed XML ({error}); export the map again") from None
    if root.tag != "OpenDRIVE":
        raise ValueError(f"the root element is <{root.tag[:40]}>, not <OpenDRIVE>")
    return root


class _BoundedTree(ElementTree.TreeBuilder):
    """Builds elements; ValueError once they are nested too deeply."""

    _depth = 0
    _count = 0

    def start(self, tag: str, attrs: dict[str, str]) -> Element:
        """Open an element."""
        self._depth += 1
        self._count += 1
        if self._count > MOST_ELEMENTS:
            raise ValueError(f"more than {MOST_ELEMENTS:,} elements")
        if self._depth > DEEPEST:
            raise ValueError(f"<{tag[:40]}> is nested deeper than {DEEPEST} levels")
        return super().start(tag, attrs)

    def end(self, tag: str) -> Element:
        """Close an element."""
        self._depth -= 1
        return super().end(tag)


def has_scenery_data(text: str) -> bool:
    """Return whether a file says what its scenery is like; any other's is made up."""
    return f'code="{SCENERY}' in text.partition("</header>")[0]


def _parse_scenery(header: Element | None) -> dict[str, float]:
    """Return what the header's user data say of the scenery: numbers by name."""
    nodes = [] if header is None else header.findall("userData")
    return {
        code.removeprefix(SCENERY): read_xml_number(node, "value", f"userData {code[:40]}")
        for node in nodes
        if (code := node.get("code", "")).startswith(SCENERY)
    }


def _parse_road(node: Element) -> RoadRecord:
    road_id = read_xml_integer(node, "id", "road")
    place = f"road {road_id}"
    length = read_positive_number(node, "length", place)
    if length > LONGEST:
        raise ValueError(f"{place}: it is {length:g} m long, more than {LONGEST:g} m")
    # the reference line
    plan = tuple(_parse_geometry(piece, place) for piece in node.findall("planView/geometry"))
    if not plan:
        raise ValueError(f"{place}: no <geometry> in its <planView>")
    if any(after.s <= before.s for before, after in pairwise(plan)):
        raise ValueError(f"{place}: its <geometry> elements are not in order of s")
    # furniture; speed signs among the objects count as signals
    signals, references = furniture.parse_road_signals(node, road_id, place)
    objects = [
        (piece, furniture.parse_outline(piece, road_id, place))
        for piece in node.findall("objects/object")
    ]
    posts = tuple(filter(None, (furniture.parse_speed_sign(*piece) for piece in objects)))
    # lanes, speeds and furniture along it
    return RoadRecord(
        id=road_id,
        length=length,
        junction=read_xml_integer(node, "junction", place, default=-1),
        predecessor=_parse_road_link(node.find("link/predecessor"), place),
        successor=_parse_road_link(node.find("link/successor"), place),
        plan=plan,
        elevation=_parse_profile(node.findall("elevationProfile/elevation"), "s", 0.0, place),
        lane_offset=_parse_profile(node.findall("lanes/laneOffset"), "s", 0.0, place),
        sections=_parse_sections(node, length, place),
        speeds=tuple(
            (read_xml_number(kind, "s", place, 0.0), speed)
            for kind in node.findall("type")
            if (speed := _parse_speed(kind.find("speed"), place)) is not None
        ),
        signals=signals + posts,
        references=references
        + tuple(
            SignalReference(
                id=sign.id, road=road_id, s=sign.s, orientation=sign.orientation, validity=()
            )
            for sign in posts
        ),
        crosswalks=tuple(o for piece, o in objects if piece.get("type") == "crosswalk"),
        structures=tuple(
            filter(None, (furniture.parse_structure(piece, place) for piece, _ in objects))
        ),
    )


def _parse_geometry(node: Element, place: str) -> GeometryRecord:
    # exactly one shape
    kinds = [child for child in node if child.tag in PARAMETERS]
    s = read_xml_number(node, "s", f"{place}: geometry")
    place = f"{place}: geometry at s={s:g}"
    if len(kinds) != 1:
        raise ValueError(f"{place}: wants exactly one of {', '.join(PARAMETERS)}")
    shape = kinds[0]
    parameters = tuple(read_xml_number(shape, name, place) for name in PARAMETERS[shape.tag])
    # parameters of paramPoly3 run over 0 to 1 or over metres
    by_arc_length = shape.get("pRange") == "arcLength"
    if shape.tag in ("arc", "spiral") and max(map(abs, parameters)) > SHARPEST:
        raise ValueError(f"{place}: its curvature is above {SHARPEST:g} per metre")
    return GeometryRecord(
        kind=shape.tag + ("ByLength" if shape.tag == "paramPoly3" and by_arc_length else ""),
        s=s,
        x=read_xml_number(node, "x", place),
        y=read_xml_number(node, "y", place),
        heading=read_xml_number(node, "hdg", place),
        length=read_positive_number(node, "length", place),
        parameters=parameters,
    )


def _parse_sections(road: Element, length: float, place: str) -> tuple[SectionRecord, ...]:
    nodes = road.findall("lanes/laneSection")
    if not nodes:
        raise ValueError(f"{place}: no <laneSection>")
    starts = [read_xml_number(node, "s", f"{place}: laneSection") for node in nodes]
    ends = [*starts[1:], length]
    if any(end < start for start, end in zip(starts, ends, strict=True)):
        raise ValueError(f"{place}: its <laneSection> elements are not in order within its length")
    sections = []
    for node, start, end in zip(nodes, starts, ends, strict=True):
        where = f"{place}, lane section at s={start:g}"
        lanes = _index_by_id(
            f"{where}: lane", (_parse_lane(lane, start, where) for lane in node.iter("lane"))
        )
        sections.append(SectionRecord(start, end, dict(sorted(lanes.items()))))
    return tuple(sections)


def _parse_lane(node: Element, section_s: float, place: str) -> LaneRecord:
    lane_id = read_xml_integer(node, "id", f"{place}: lane")
    place = f"{place}, lane {lane_id}"
    width = _parse_profile(node.findall("width"), "sOffset", section_s, place)
    return LaneRecord(
        id=lane_id,
        type=node.get("type", "none"),
        width=width,
        marks=tuple(
            RoadMark(
                s=section_s + read_xml_number(mark, "sOffset", place, 0.0),
                change=LANE_CHANGES.get(mark.get("laneChange", "none").lower(), 0),
                kind=mark.get("type", "none").lower(),
                colour=mark.get("color", "standard").lower(),
                width=max(read_xml_number(mark, "width", place, 0.0), 0.0),
                bold=mark.get("weight") == "bold",
            )
            for mark in node.findall("roadMark")
        ),
        speeds=tuple(
            (section_s + read_xml_number(speed, "sOffset", place, 0.0), limit)
            for speed in node.findall("speed")
            if (limit := _parse_speed(speed, place)) is not None
        ),
        predecessor=_parse_lane_link(node.find("link/predecessor"), place),
        successor=_parse_lane_link(node.find("link/successor"), place),
    )


def _parse_junction(node: Element) -> JunctionRecord:
    junction_id = read_xml_integer(node, "id", "junction")
    place = f"junction {junction_id}"
    connections = []
    for piece in node.findall("connection"):
        links = tuple(
            (read_xml_integer(link, "from", place), read_xml_integer(link, "to", place))
            for link in piece.findall("laneLink")
        )
        connections.append(
            ConnectionRecord(
                read_xml_integer(piece, "incomingRoad", place),
                read_xml_integer(piece, "connectingRoad", place),
                _parse_contact(piece),
                links,
            )
        )
    controllers = tuple(read_xml_text(piece, "id", place) for piece in node.findall("controller"))
    return JunctionRecord(junction_id, tuple(connections), controllers)


def _check_links(network: OpendriveNetwork) -> None:
    for road in network.roads.values():
        for link in (road.predecessor, road.successor):
            known = network.junctions if link and link.junction else network.roads
            if link and link.id not in known:
                kind = "junction" if link.junction else "road"
                raise ValueError(f"road {road.id}: links to {kind} {link.id}, which is not there")
    for junction in network.junctions.values():
        for connection in junction.connections:
            for road_id in (connection.incoming, connection.connecting):
                if road_id not in network.roads:
                    raise ValueError(
                        f"junction {junction.id}: connects road {road_id}, which is not there"
                    )


def _parse_road_link(node: Element | None, place: str) -> RoadLink | None:
    if node is None:
        return None
    is_junction = node.get("elementType") == "junction"
    return RoadLink(is_junction, read_xml_integer(node, "elementId", place), _parse_contact(node))


def _parse_contact(node: Element) -> Contact:
    return "end" if node.get("contactPoint") == "end" else "start"


def _parse_lane_link(node: Element | None, place: str) -> int | None:
    return None if node is None else read_xml_integer(node, "id", place)


def _parse_profile(nodes: Sequence[Element], station: str, base: float, place: str) -> Floats:
    """Return polynomials as rows (s, a, b, c, d), in order of s; one row of zeros if none."""
    rows = [
        (
            base + read_xml_number(node, station, place, 0.0),
            *(read_xml_number(node, name, place, 0.0) for name in "abcd"),
        )
        for node in nodes
    ] or [(base, 0.0, 0.0, 0.0, 0.0)]
    return np.array(sorted(rows, key=lambda row: row[0]))


def _parse_speed(node: Element | None, place: str) -> float | None:
    """Return a limit in metres per second; None where the file sets none."""
    if node is None or node.get("max") in (None, "no limit", "undefined"):
        return None
    unit = node.get("unit", "")
    if unit not in SPEED_UNITS:
        raise ValueError(f"{place}: speed unit '{unit[:20]}' is none of m/s, km/h, mph")
    return read_positive_number(node, "max", place) * SPEED_UNITS[unit]


def _index_by_id(kind: str, items: Iterable[_Item]) -> dict[int, _Item]:
    by_id: dict[int, _Item] = {}
    for item in items:
        if item.id in by_id:
            raise ValueError(f"{kind} {item.id} is there twice")
        by_id[item.id] = item
    return by_id
