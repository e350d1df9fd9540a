"""Hazard files: our own, and the Leaderboard's scenario files, by one door."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.vocabulary import Route
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.documents import finite, list_in, number_in, object_in, read_json, text_in
from harness.world.routes.scenarios import Sampling, hazards_from_triggers, triggers_by_town

VERSION = 1


def read_placements(
    path: str | Path,
    routes: Sequence[Route],
    kinds: Collection[str],
    sampling: Sampling = "v2xverse",
) -> list[HazardSpec]:
    """Return the hazards that a file, ours or the Leaderboard's, puts on routes."""
    path = Path(path)
    content = read_json(path)
    if "available_scenarios" in content:
        towns = triggers_by_town(content, path)
        return [
            spec
            for route in routes
            if route.town in towns
            for spec in hazards_from_triggers(route, towns[route.town], kinds, sampling)
        ]
    return _hazards(content, path, {route.name: route.length for route in routes}, kinds)


def read_hazards(
    path: str | Path, lengths: Mapping[str, float], kinds: Collection[str]
) -> list[HazardSpec]:
    """Return the hazards of a file of our own, on routes of these lengths."""
    return _hazards(read_json(Path(path)), Path(path), lengths, kinds)


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
    path.write_text(json.dumps({"version": VERSION, "hazards": rows}, indent=1) + "\n")


def _hazards(
    content: dict[str, Any], path: Path, lengths: Mapping[str, float], kinds: Collection[str]
) -> list[HazardSpec]:
    if content.get("version") != VERSION:
        raise UserError(
            f'{path}: is neither a hazard file nor a scenario file; begin with "version": {VERSION}'
            ' or "available_scenarios"'
        )
    hazards = list_in(content.get("hazards"), f"{path}: hazards")
    return [
        _hazard(hazard, f"{path}: hazards[{at}]", lengths, kinds)
        for at, hazard in enumerate(hazards)
    ]


def _hazard(
    value: object, place: str, lengths: Mapping[str, float], kinds: Collection[str]
) -> HazardSpec:
    hazard = object_in(value, place)
    if strange := sorted(set(hazard) - {"route", "kind", "station", "parameters"}):
        raise UserError(f'{place}: knows no "{strange[0]}"; delete it')
    route, kind = text_in(hazard, "route", place), text_in(hazard, "kind", place)
    station = number_in(hazard, "station", place)
    if kind not in kinds:
        raise UserError(
            f'{place}: there is no hazard "{kind}"; there are {", ".join(sorted(kinds))}'
        )
    if route not in lengths:
        raise UserError(f'{place}: there is no route "{route}"; name one of the route file\'s')
    if not 0.0 <= station <= lengths[route]:
        raise UserError(
            f"{place}: station {station:g} is not on route {route}, which is {lengths[route]:.0f} m"
            f" long; write 0 to {lengths[route]:.0f}"
        )
    parameters = object_in(hazard.get("parameters", {}), f"{place}.parameters")
    for name, given in parameters.items():
        if not isinstance(given, str) and finite(given) is None:
            raise UserError(f'{place}.parameters: "{name}" is neither number nor text; write one')
    return HazardSpec(
        route,
        kind,
        station,
        {name: text if isinstance(text, str) else float(text) for name, text in parameters.items()},
    )
