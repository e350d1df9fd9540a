"""Hazard files: our own, and the Leaderboard's scenario files, by one door."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.world.hazards.spec import HazardSpec
from harness.world.maps import find_map
from harness.world.routes.documents import (
    check_json_list,
    check_json_object,
    get_json_number,
    get_json_text,
    parse_finite,
    read_json,
)
from harness.world.routes.files import RouteSpec
from harness.world.routes.resolve import resolve_routes
from harness.world.routes.scenarios import (
    Sampling,
    make_nested_hazards,
    make_trigger_hazards,
    read_town_triggers,
)
from harness.world.routes.trigger_grid import GRID_SEEDS, expand_trigger_grid

VERSION = 1


def read_hazards(
    path: str | Path,
    *,
    kinds: Collection[str],
    routes: Mapping[str, RouteSpec],
    maps: Path | None = None,
    sampling: Sampling = "v2xverse",
) -> list[HazardSpec]:
    """Return the hazards that a file, ours or the Leaderboard's, puts on these routes.

    A file of grid seeds is read as the Leaderboard's file that it stands for.

    A file of ours may speak of further routes, but not of other ones only; one of the Leaderboard's
    likewise of towns. Where the town's map is at hand the stations are checked; the Leaderboard's
    triggers cannot be laid without it.

    Args:
        path: the file.
        kinds: names of hazards that are known.
        routes: by id.
        maps: folder of OpenDRIVE files; None for shipped towns.
        sampling: which of the Leaderboard's triggers count.

    Returns:
        Hazards in the order of the file.

    Raises:
        UserError: the file cannot be read, or is for other routes.
    """
    path = Path(path)
    content = read_json(path)
    # places of a grid stand for one of the Leaderboard's
    if GRID_SEEDS in content:
        content = expand_trigger_grid(content, path)
    # the Leaderboard's: triggers, which need the town's map
    if "available_scenarios" in content:
        towns = read_town_triggers(content, path)
        _refuse_other_towns(path, towns, sorted({spec.town for spec in routes.values()}))
        return [
            spec
            for way in resolve_routes(routes.values(), maps).values()
            if way.town in towns
            for spec in make_trigger_hazards(way, towns[way.town], kinds, sampling)
        ]
    hazards = _parse_hazards(content, path, kinds)
    ours = [(place, hazard) for place, hazard in hazards if hazard.route in routes]
    if hazards and not ours:
        theirs = list(dict.fromkeys(hazard.route for _, hazard in hazards))
        raise UserError(
            f"{path}: its hazards are for routes {', '.join(theirs[:12])}, and the routes to drive"
            f" are {', '.join(list(routes)[:12])}; name their hazard file, or routes.hazards=null"
        )
    # ours: stations are checked where there is a map
    used = {hazard.route for _, hazard in ours}
    mapped = [spec for name, spec in routes.items() if name in used and find_map(spec.town, maps)]
    laid = resolve_routes(mapped, maps)
    for place, hazard in ours:
        if hazard.route in laid:
            _refuse_off_route(place, hazard, laid[hazard.route].length)
    return [hazard for _, hazard in ours]


def read_nested_hazards(
    *, kinds: Collection[str], routes: Mapping[str, RouteSpec], maps: Path | None = None
) -> list[HazardSpec]:
    """Return the hazards that Leaderboard 2.x routes carry themselves.

    Args:
        kinds: names of hazards that are known.
        routes: by id.
        maps: folder of OpenDRIVE files; None for shipped towns.
    """
    carrying = [spec for spec in routes.values() if spec.scenarios]
    laid = resolve_routes(carrying, maps)
    return [
        hazard
        for spec in carrying
        for hazard in make_nested_hazards(laid[spec.id], spec.scenarios, kinds)
    ]


def write_hazards(path: Path, hazards: Iterable[HazardSpec]) -> None:
    """Write hazards so that `read_hazards` gives them back."""
    rows = [
        {
            "route": hazard.route,
            "kind": hazard.kind,
            "station": hazard.station,
            "parameters": hazard.parameters,
        }
        for hazard in hazards
    ]
    write_whole(path, json.dumps({"version": VERSION, "hazards": rows}, indent=1) + "\n")


def _parse_hazards(
    content: dict[str, Any], path: Path, kinds: Collection[str]
) -> list[tuple[str, HazardSpec]]:
    """Return each hazard with the place it is at in the file."""
    if content.get("version") != VERSION:
        raise UserError(
            f'{path}: is neither a hazard file nor a scenario file; begin with "version": {VERSION}'
            ' or "available_scenarios"'
        )
    hazards = check_json_list(content.get("hazards"), f"{path}: hazards")
    places = [f"{path}: hazards[{at}]" for at in range(len(hazards))]
    return [
        (place, _parse_hazard(value, place, kinds))
        for place, value in zip(places, hazards, strict=True)
    ]


def _parse_hazard(value: object, place: str, kinds: Collection[str]) -> HazardSpec:
    hazard = check_json_object(value, place)
    if strange := sorted(set(hazard) - {"route", "kind", "station", "parameters"}):
        raise UserError(f"{place}: unknown key {strange[0][:40]!r}; delete it")
    kind = get_json_text(hazard, "kind", place)
    if kind not in kinds:
        there_are = ", ".join(sorted(kinds))
        raise UserError(f"{place}: unknown hazard {kind[:40]!r}; valid hazards: {there_are}")
    parameters = check_json_object(hazard.get("parameters", {}), f"{place}.parameters")
    for name, given in parameters.items():
        if not isinstance(given, str) and parse_finite(given) is None:
            raise UserError(
                f"{place}.parameters: {name[:40]!r} is neither number nor text; write one"
            )
    return HazardSpec(
        route=get_json_text(hazard, "route", place),
        kind=kind,
        station=get_json_number(hazard, "station", place),
        parameters={
            name: given if isinstance(given, str) else float(given)
            for name, given in parameters.items()
        },
    )


def _refuse_other_towns(path: Path, triggers: Collection[str], towns: Collection[str]) -> None:
    if towns and not any(town in triggers for town in towns):
        known = ", ".join(f"{town[:40]!r}" for town in triggers) or "none"
        raise UserError(f"{path}: has no scenarios in {', '.join(towns)}; its towns are {known}")


def _refuse_off_route(place: str, hazard: HazardSpec, length: float) -> None:
    if not 0.0 <= hazard.station <= length:
        raise UserError(
            f"{place}: station {hazard.station:g} is not on route {hazard.route}, which is"
            f" {length:.0f} m long; write 0 to {length:.0f}"
        )
