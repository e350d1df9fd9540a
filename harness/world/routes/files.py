"""Route files as users write them: Leaderboard 1.0, Leaderboard 2.x, one file or many."""

from __future__ import annotations

import glob
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import carla
import numpy as np

from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.safe_reading import refuse_link
from harness.types.vocabulary import Floats
from harness.world.maps import NAME
from harness.world.routes.documents import XmlElement, parse_finite, read_xml

WEATHER = frozenset(
    [
        "cloudiness",
        "precipitation",
        "precipitation_deposits",
        "wind_intensity",
        "sun_azimuth_angle",
        "sun_altitude_angle",
        "fog_density",
        "fog_distance",
        "fog_falloff",
        "wetness",
        "scattering_intensity",
        "mie_scattering_scale",
        "rayleigh_scattering_scale",
        "dust_storm",
    ]
)


@dataclass(frozen=True, slots=True)
class NestedScenario:
    """A scenario inside a Leaderboard 2.x route."""

    name: str
    type: str
    trigger: tuple[float, float, float, float]  # x y z yaw
    parameters: dict[str, float | str]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RouteSpec:
    """A route as its file gives it: points that the way passes.

    Attributes:
        id: unique in a campaign.
        keypoints: metres and radians.
        weather: CARLA's parameters; None for none.
        scenarios: of a Leaderboard 2.x route.
        file: for messages.
        line: for messages.
    """

    id: str
    town: str
    keypoints: Floats  # (N, 4) x y z yaw; yaw is NaN where the file gives none
    weather: dict[str, float] | None
    scenarios: tuple[NestedScenario, ...]
    file: Path
    line: int

    @property
    def locations(self) -> list[carla.Location]:
        """The points as CARLA takes them."""
        return [carla.Location(*point) for point in self.keypoints[:, :3].tolist()]


def read_routes(path: str | Path, invalid: list[str] | None = None) -> list[RouteSpec]:
    """Return the routes of a file, of all XML files in a folder, or of all that a pattern names.

    An id that several files use is made unique by the file's name: `file:id`. With a list for them,
    files that cannot be read are left out, and what is wrong with each is added to the list.

    Args:
        path: a file, a folder, or a pattern.
        invalid: collects problems; None: the first problem is raised.

    Returns:
        In the natural order of the files.
    """
    files = list_route_files(Path(path))
    routes = [route for file in files for route in _try_read_routes(file, invalid)]
    if not routes:
        raise UserError(f"{path}: holds no routes; add <route> elements")
    uses = Counter(route.id for route in routes)
    named = [
        replace(route, id=f"{route.file.stem}:{route.id}") if uses[route.id] > 1 else route
        for route in routes
    ]
    _refuse_twins(named)
    return named


def _try_read_routes(file: Path, invalid: list[str] | None) -> list[RouteSpec]:
    try:
        return _read_route_file(file)
    except UserError as problem:
        if invalid is None:
            raise
        invalid.append(str(problem))
        return []


def _refuse_twins(routes: Iterable[RouteSpec]) -> None:
    seen: dict[str, RouteSpec] = {}
    for route in routes:
        other = seen.setdefault(route.id, route)
        if other is not route:
            raise UserError(
                f"{route.file}: line {route.line}: route {route.id} is in {other.file} too; give"
                " the files names of their own"
            )


def write_routes(path: Path, routes: Iterable[RouteSpec]) -> None:
    """Write routes as Leaderboard 1.0 does."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<routes>"]
    for route in routes:
        lines.append(f"  <route id={quoteattr(route.id)} town={quoteattr(route.town)}>")
        for x, y, z, yaw in route.keypoints.tolist():
            turn = 0.0 if math.isnan(yaw) else math.degrees(yaw)
            lines.append(
                f'    <waypoint x="{x:.3f}" y="{y:.3f}" z="{z:.3f}"'
                f' pitch="0.0" roll="0.0" yaw="{turn:.3f}"/>'
            )
        if route.weather is not None:
            values = " ".join(f'{name}="{value!r}"' for name, value in route.weather.items())
            lines.append(f"    <weather {values}/>")
        lines.append("  </route>")
    write_whole(path, "\n".join([*lines, "</routes>", ""]))


def list_route_files(path: Path) -> list[Path]:
    """Return the files that a path stands for: itself, those of a folder, or those of a pattern."""
    if path.is_dir():
        files = list(path.glob("*.xml"))
        for file in files:
            refuse_link(file)
    elif glob.has_magic(str(path)) and not path.exists():
        files = [Path(name) for name in glob.glob(str(path), recursive=True)]  # noqa: PTH207
    else:
        return [path]
    if not files:
        raise UserError(f"{path}: holds no route files; name an XML file or a folder with some")
    return sorted(files, key=_make_natural_key)


def _make_natural_key(path: Path) -> list[tuple[int, str]]:
    parts = re.findall(r"\d+|\D+", str(path))
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _read_route_file(file: Path) -> list[RouteSpec]:
    root = read_xml(file)
    if root.tag != "routes":
        root.raise_error("is not a route file's root; wrap the routes in <routes>")
    routes = [_parse_route(element) for element in root.find_children("route")]
    seen: dict[str, int] = {}
    for route in routes:
        if route.id in seen:
            raise UserError(
                f"{file}: line {route.line}: route {route.id} is there already, on line"
                f" {seen[route.id]}; give each an id of its own"
            )
        seen[route.id] = route.line
    return routes


def _parse_route(element: XmlElement) -> RouteSpec:
    town = element.read_text("town")
    if not NAME.fullmatch(town):
        element.raise_error(f'names the town {town[:40]!r}; write a name such as town="Town05"')
    nested = [
        position
        for group in element.find_children("waypoints")
        for position in group.find_children("position")
    ]
    points = element.find_children("waypoint") or nested
    if len(points) < 2:
        element.raise_error(
            f"has {len(points)} points; give it two at least, as <waypoint> (Leaderboard 1.0)"
            " or <waypoints><position> (2.x)"
        )
    return RouteSpec(
        id=element.read_text("id"),
        town=town,
        keypoints=np.array([_parse_route_point(point) for point in points]),
        weather=_parse_weather(element),
        scenarios=tuple(
            _parse_scenario(scenario)
            for group in element.find_children("scenarios")
            for scenario in group.find_children("scenario")
        ),
        file=element.file,
        line=element.line,
    )


def _parse_route_point(element: XmlElement) -> tuple[float, float, float, float]:
    yaw = math.radians(element.read_number("yaw")) if "yaw" in element.attributes else math.nan
    return element.read_number("x"), element.read_number("y"), element.read_number("z"), yaw


def _parse_weather(route: XmlElement) -> dict[str, float] | None:
    """Return the weather at the start; what 2.x changes along the route stays as it was."""
    nested = [
        weather
        for group in route.find_children("weathers")
        for weather in group.find_children("weather")
    ]
    records = route.find_children("weather") or sorted(nested, key=_get_route_percentage)
    if not records:
        return None
    first, names = records[0], [*records[0].attributes]
    for name in names:
        if name not in WEATHER | {"id", "route_percentage"}:
            first.raise_error(
                f"unknown attribute {name[:40]!r}; valid attributes: {', '.join(sorted(WEATHER))}"
            )
    return {name: first.read_number(name) for name in names if name in WEATHER}


def _get_route_percentage(weather: XmlElement) -> float:
    return weather.read_number("route_percentage")


def _parse_scenario(element: XmlElement) -> NestedScenario:
    triggers = element.find_children("trigger_point")
    if len(triggers) != 1:
        element.raise_error(f"has {len(triggers)} trigger points; give it one <trigger_point>")
    x, y, z, yaw = _parse_route_point(triggers[0])
    if math.isnan(yaw):
        triggers[0].raise_error('has no yaw; write yaw="…"')
    return NestedScenario(
        name=element.read_text("name"),
        type=element.read_text("type"),
        trigger=(x, y, z, yaw),
        parameters=_parse_scenario_parameters(
            child for child in element.children if child not in triggers
        ),
    )


def _parse_scenario_parameters(children: Iterable[XmlElement]) -> dict[str, float | str]:
    parameters: dict[str, float | str] = {}
    for child in children:
        for name, text in child.attributes.items():
            key = child.tag if name == "value" else f"{child.tag}.{name}"
            number = parse_finite(text)
            parameters[key] = text if number is None else number
    return parameters
