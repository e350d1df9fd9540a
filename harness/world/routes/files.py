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

from harness.errors import UserError
from harness.files import write_whole
from harness.safe_reading import refuse_link
from harness.vocabulary import Floats
from harness.world.maps import NAME
from harness.world.routes.documents import Element, finite, read_xml

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
    """A route as its file gives it: points that the way passes."""

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
    """
    files = route_files(Path(path))
    routes = [route for file in files for route in _tried(file, invalid)]
    if not routes:
        raise UserError(f"{path}: holds no routes; add <route> elements")
    uses = Counter(route.id for route in routes)
    named = [
        replace(route, id=f"{route.file.stem}:{route.id}") if uses[route.id] > 1 else route
        for route in routes
    ]
    _refuse_twins(named)
    return named


def _tried(file: Path, invalid: list[str] | None) -> list[RouteSpec]:
    try:
        return _routes_in(file)
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


def route_files(path: Path) -> list[Path]:
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
    return sorted(files, key=_natural)


def _natural(path: Path) -> list[tuple[int, str]]:
    parts = re.findall(r"\d+|\D+", str(path))
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _routes_in(file: Path) -> list[RouteSpec]:
    root = read_xml(file)
    if root.tag != "routes":
        root.wrong("is not a route file's root; wrap the routes in <routes>")
    routes = [_route(element) for element in root.all("route")]
    seen: dict[str, int] = {}
    for route in routes:
        if route.id in seen:
            raise UserError(
                f"{file}: line {route.line}: route {route.id} is there already, on line"
                f" {seen[route.id]}; give each an id of its own"
            )
        seen[route.id] = route.line
    return routes


def _route(element: Element) -> RouteSpec:
    town = element.text("town")
    if not NAME.fullmatch(town):
        element.wrong(f'names the town {town[:40]!r}; write a name such as town="Town05"')
    nested = [position for group in element.all("waypoints") for position in group.all("position")]
    points = element.all("waypoint") or nested
    if len(points) < 2:
        element.wrong(
            f"has {len(points)} points; give it two at least, as <waypoint> (Leaderboard 1.0)"
            " or <waypoints><position> (2.x)"
        )
    return RouteSpec(
        id=element.text("id"),
        town=town,
        keypoints=np.array([_point(point) for point in points]),
        weather=_weather(element),
        scenarios=tuple(
            _scenario(scenario)
            for group in element.all("scenarios")
            for scenario in group.all("scenario")
        ),
        file=element.file,
        line=element.line,
    )


def _point(element: Element) -> tuple[float, float, float, float]:
    yaw = math.radians(element.number("yaw")) if "yaw" in element.attributes else math.nan
    return element.number("x"), element.number("y"), element.number("z"), yaw


def _weather(route: Element) -> dict[str, float] | None:
    """Return the weather at the start; what 2.x changes along the route stays as it was."""
    nested = [weather for group in route.all("weathers") for weather in group.all("weather")]
    records = route.all("weather") or sorted(nested, key=_share)
    if not records:
        return None
    first, names = records[0], [*records[0].attributes]
    for name in names:
        if name not in WEATHER | {"id", "route_percentage"}:
            first.wrong(
                f"unknown attribute {name[:40]!r}; valid attributes: {', '.join(sorted(WEATHER))}"
            )
    return {name: first.number(name) for name in names if name in WEATHER}


def _share(weather: Element) -> float:
    return weather.number("route_percentage")


def _scenario(element: Element) -> NestedScenario:
    triggers = element.all("trigger_point")
    if len(triggers) != 1:
        element.wrong(f"has {len(triggers)} trigger points; give it one <trigger_point>")
    x, y, z, yaw = _point(triggers[0])
    if math.isnan(yaw):
        triggers[0].wrong('has no yaw; write yaw="…"')
    return NestedScenario(
        name=element.text("name"),
        type=element.text("type"),
        trigger=(x, y, z, yaw),
        parameters=_parameters(child for child in element.children if child not in triggers),
    )


def _parameters(children: Iterable[Element]) -> dict[str, float | str]:
    parameters: dict[str, float | str] = {}
    for child in children:
        for name, text in child.attributes.items():
            key = child.tag if name == "value" else f"{child.tag}.{name}"
            number = finite(text)
            parameters[key] = text if number is None else number
    return parameters
