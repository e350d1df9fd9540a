"""Files of a scenario: routes of egos, places of scripted actors, and MDrive's manifests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.errors import UserError
from harness.common.safe_reading import STUDY_RECORD, read_json_within
from harness.types.vocabulary import Floats
from harness.world.hazards.nominal import CRUISE
from harness.world.routes.documents import XmlElement, read_xml
from harness.world.routes.files import RouteSpec, read_routes
from harness.world.routes.resolve import resolve_mapped_route

EGO_BODY = "vehicle.lincoln.mkz_2017"
MANIFEST, BEHAVIOUR = "actors_manifest.json", "actors_behavior.json"
SPARSE = 2
"""Rows of a laid route, one for each metre, from one place of a script to the next."""
SCRIPTED_GROUPS = ("npc", "bicycle", "pedestrian", "static")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetActor:
    """One road user of a scenario.

    Attributes:
        name: in the set.
        file: with its places.
        blueprint: what it is.
        speed: m/s.
        laid: whether its points are a route to be laid on the roads; else its places.
    """

    name: str
    file: Path
    blueprint: str = EGO_BODY
    speed: float = CRUISE
    laid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetScenario:
    """A scenario: its egos, its other road users, and what starts those.

    Attributes:
        name: of the scenario.
        egos: in the order of the set.
        others: scripted in the set itself.
        triggers: nearness in metres, and whose, by the actor's name.
    """

    name: str
    egos: tuple[SetActor, ...]
    others: tuple[SetActor, ...] = ()
    triggers: Mapping[str, tuple[float, str]] | None = None


def read_manifest(manifest: Path, name: str) -> SetScenario:
    """Return a scenario of MDrive.

    Args:
        manifest: its file of actors; the file of what starts them is next to it.
        name: of the scenario.

    Raises:
        UserError: a file cannot be read, or an actor is started otherwise than scripts are.
    """
    inner, groups = manifest.parent, read_object(manifest)
    triggers = {}
    if (inner / BEHAVIOUR).is_file():
        triggers = read_triggers(read_object(inner / BEHAVIOUR), inner / BEHAVIOUR)
    return SetScenario(
        name=name,
        egos=tuple(
            parse_manifest_actor(entry, inner, laid=True) for entry in groups.get("ego", [])
        ),
        others=tuple(
            parse_manifest_actor(entry, inner)
            for group in SCRIPTED_GROUPS
            for entry in groups.get(group, [])
        ),
        triggers=triggers,
    )


def find_first_ego(manifest: Path) -> Path:
    """Return the file of the first ego of a scenario of MDrive, whatever else the scenario has.

    Raises:
        UserError: the manifest cannot be read, or has no ego.
    """
    egos = read_object(manifest).get("ego")
    if not isinstance(egos, list) or not egos:
        raise UserError(f"{manifest}: it has no ego")
    return parse_manifest_actor(egos[0], manifest.parent, laid=True).file


def read_object(file: Path) -> Mapping[str, Any]:
    """Return the object that a JSON file holds.

    Raises:
        UserError: it holds something else.
    """
    try:
        content = read_json_within(file, STUDY_RECORD)
    except ValueError as problem:
        raise UserError(f"{file}: {problem}") from None
    if not isinstance(content, dict):
        raise UserError(f"{file}: holds no object")
    return content


def parse_manifest_actor(entry: Any, folder: Path, *, laid: bool = False) -> SetActor:
    """Return an actor of a manifest.

    Args:
        entry: as the manifest has it.
        folder: of the scenario, in which its file lies.
        laid: whether its points are a route to be laid on the roads.
    """
    try:
        file, name = folder / str(entry["file"]), str(entry["name"])
        speed = float(entry.get("target_speed", entry.get("speed", CRUISE)))
        blueprint = str(entry.get("model", EGO_BODY))
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise UserError(f"{folder / MANIFEST}: an actor cannot be read: {problem!r}") from None
    if ".." in file.parts or not file.is_relative_to(folder):
        raise UserError(f"{folder / MANIFEST}: {entry['file']!r} is no file of the scenario")
    return SetActor(name=name, file=file, blueprint=blueprint, speed=speed, laid=laid)


def read_triggers(content: Mapping[str, Any], file: Path) -> dict[str, tuple[float, str]]:
    """Return what starts actors: nearness in metres of which vehicle, by the actor's name.

    Raises:
        UserError: it cannot be read, or has a trigger or an action of another kind.
    """
    try:
        return dict(iter_triggers(content, file))
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise UserError(f"{file}: what starts actors cannot be read: {problem!r}") from None


def iter_triggers(
    content: Mapping[str, Any], file: Path
) -> Iterator[tuple[str, tuple[float, str]]]:
    """Yield each actor that is started, and by the nearness of which vehicle.

    Raises:
        UserError: a trigger or an action of another kind.
    """
    for entry in content.get("behaviors", []):
        name, trigger, action = entry["actor_name"], entry["trigger"], entry.get("action")
        if trigger.get("type") != "distance_to_vehicle":
            raise UserError(f"{file}: {name}: trigger {trigger.get('type')!r} is not driven")
        if action is not None and action.get("type") != "start_motion":
            raise UserError(f"{file}: {name}: action {action.get('type')!r} is not driven")
        # without an action nothing is started: the actor stands
        if action is not None:
            yield str(name), (float(trigger["distance_m"]), str(trigger["vehicle"]))


def read_single_route(file: Path) -> RouteSpec:
    """Return the only route of a file."""
    routes = read_routes(file)
    if len(routes) != 1:
        raise UserError(f"{file}: holds {len(routes)} routes; one is needed")
    return routes[0]


def read_ego_route(scenario: SetScenario, ego: SetActor, town: str) -> RouteSpec:
    """Return the route of a driven ego, under the scenario's name.

    Raises:
        UserError: it is of another town than the first ego's.
    """
    route = read_single_route(ego.file)
    if route.town != town:
        raise UserError(f"{ego.file}: is of {route.town}, the first ego's route of {town}")
    # the file's own id is that of a template: one for all scenarios
    return replace(route, id=scenario.name)


def lay_places(file: Path, town: str, maps: Path | None) -> Floats:
    """Return places (N, 3) along a route, as it is laid on the roads of its town."""
    spec = read_single_route(file)
    if spec.town != town:
        raise UserError(f"{file}: is of {spec.town}, the driven ego's route of {town}")
    xyz = resolve_mapped_route(spec, maps).xyz
    return np.concatenate([xyz[:-1:SPARSE], xyz[-1:]])


def read_places(file: Path) -> tuple[Floats, float]:
    """Return the places (N, 3) of a scripted actor, and the yaw of the first one in degrees."""
    points = [
        point
        for route in read_xml(file).find_children("route")
        for point in route.find_children("waypoint")
    ]
    if not points:
        raise UserError(f"{file}: holds no route with places")
    places = np.array([[read_float(point, axis) for axis in "xyz"] for point in points])
    return places, read_float(points[0], "yaw")


def read_float(element: XmlElement, name: str) -> float:
    """Return a number of an element."""
    try:
        number = float(element.attributes.get(name, "0"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        element.raise_error(f"{name} is no number")
    return number
