"""Tiny OpenDRIVE maps, written by hand: a straight road, a crossing with lights, an overpass."""

from __future__ import annotations

import math
from collections.abc import Sequence

LANE = 3.5


def document(*elements: str, vendor: str = "sample") -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<OpenDRIVE>'
        f'<header revMajor="1" revMinor="4" vendor="{vendor}"><geoReference>'
        "<![CDATA[+proj=tmerc +lat_0=0 +lon_0=0]]></geoReference></header>"
        + "\n".join(elements)
        + "\n</OpenDRIVE>\n"
    )


def geometry(s: float, x: float, y: float, heading: float, length: float, shape: str) -> str:
    return (
        f'<geometry s="{s!r}" x="{x!r}" y="{y!r}" hdg="{heading!r}" length="{length!r}">'
        f"{shape}</geometry>"
    )


def lane(lane_id: int, kind: str = "driving", width: str = "", link: str = "") -> str:
    width = width or f'<width sOffset="0" a="{LANE}" b="0" c="0" d="0"/>'
    mark = '<roadMark sOffset="0" type="broken" laneChange="both"/>'
    return f'<lane id="{lane_id}" type="{kind}"><link>{link}</link>{width}{mark}</lane>'


def section(lanes: Sequence[str], s: float = 0.0) -> str:
    left = "".join(text for text in lanes if '<lane id="-' not in text)
    right = "".join(text for text in lanes if '<lane id="-' in text)
    return (
        f'<laneSection s="{s!r}"><left>{left}</left>'
        '<center><lane id="0" type="none"><roadMark sOffset="0" type="solid" laneChange="none"/>'
        f"</lane></center><right>{right}</right></laneSection>"
    )


def road(
    road_id: int,
    length: float,
    plan: str,
    sections: str,
    *,
    junction: int = -1,
    link: str = "",
    elevation: str = '<elevation s="0" a="0" b="0" c="0" d="0"/>',
    offset: str = '<laneOffset s="0" a="0" b="0" c="0" d="0"/>',
    speed: str = '<speed max="50" unit="km/h"/>',
    furniture: str = "",
) -> str:
    return (
        f'<road name="" length="{length!r}" id="{road_id}" junction="{junction}">'
        f'<link>{link}</link><type s="0" type="town">{speed}</type><planView>{plan}</planView>'
        f"<elevationProfile>{elevation}</elevationProfile>"
        f"<lanes>{offset}{sections}</lanes>{furniture}</road>"
    )


def straight_road(length: float = 100.0) -> str:
    """One lane each way along the x axis."""
    plan = geometry(0.0, 0.0, 0.0, 0.0, length, "<line/>")
    return document(road(1, length, plan, section([lane(1), lane(-1)])))


def overpass(height: float = 6.0) -> str:
    """Two straight roads that cross at the origin, the one along y on a bridge."""
    level = geometry(0.0, -60.0, 0.0, 0.0, 120.0, "<line/>")
    above = geometry(0.0, 0.0, -60.0, math.pi / 2, 120.0, "<line/>")
    lanes = section([lane(1), lane(-1)])
    raised = f'<elevation s="0" a="{height}" b="0" c="0" d="0"/>'
    return document(road(1, 120.0, level, lanes), road(2, 120.0, above, lanes, elevation=raised))


def crossing(*, controllers: bool = True, light_type: str = "1000001") -> str:
    """Four arms of 60 m that meet at the origin, one lane each way, a light on each.

    Arm `k` (road k) comes in from direction k * 90 degrees and ends 12 m from the middle;
    connecting road 10 * a + b + 100 leads from arm a to arm b.
    """
    arms = [_arm(k, light_type) for k in range(4)]
    ways = [_way(a, b) for a in range(4) for b in range(4) if a != b]
    connections = "".join(
        f'<connection id="{number}" incomingRoad="{a}" connectingRoad="{100 + 10 * a + b}" '
        'contactPoint="start"><laneLink from="-1" to="-1"/></connection>'
        for number, (a, b) in enumerate((a, b) for a in range(4) for b in range(4) if a != b)
    )
    switches = "".join(
        f'<controller name="" id="{900 + k}" sequence="{k}"><control signalId="{500 + k}" type=""/>'
        f'<control signalId="{502 + k}" type=""/></controller>'
        for k in range(2 * controllers)
    )
    runs = "".join(f'<controller id="{900 + k}" type="0"/>' for k in range(2 * controllers))
    junction = f'<junction id="50" name="">{connections}{runs}</junction>'
    return document(*arms, *ways, switches, junction)


def _arm(k: int, light_type: str) -> str:
    out = k * math.pi / 2
    x, y = 72 * math.cos(out), 72 * math.sin(out)
    plan = geometry(0.0, x, y, out + math.pi, 60.0, "<line/>")
    light = (
        f'<signals><signal name="" id="{500 + k}" s="59" t="-6" zOffset="0" hOffset="0" '
        f'orientation="-" dynamic="yes" type="{light_type}" subtype="-1" value="-1" '
        'country="OpenDRIVE"><validity fromLane="-1" toLane="-1"/></signal></signals>'
    )
    return road(
        k,
        60.0,
        plan,
        section([lane(1), lane(-1)]),
        link='<successor elementType="junction" elementId="50"/>',
        furniture=light,
    )


def _way(a: int, b: int) -> str:
    start, turn = a * math.pi / 2, (b - a) % 4
    x, y = 12 * math.cos(start), 12 * math.sin(start)
    curvature = {1: -1 / 12, 2: 0.0, 3: 1 / 12}[turn]
    length = 24.0 if turn == 2 else 6 * math.pi
    shape = f'<arc curvature="{curvature!r}"/>' if curvature else "<line/>"
    links = '<predecessor id="-1"/><successor id="1"/>'
    return road(
        100 + 10 * a + b,
        length,
        geometry(0.0, x, y, start + math.pi, length, shape),
        section([lane(-1, link=links)]),
        junction=50,
        link=(
            f'<predecessor elementType="road" elementId="{a}" contactPoint="end"/>'
            f'<successor elementType="road" elementId="{b}" contactPoint="end"/>'
        ),
    )
