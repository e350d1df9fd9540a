"""What a campaign reads besides its settings: files, identified by short digests of their contents.

The sums are kept among the settings, so that other weights or other routes under the same names are
other settings, and two networks are never pooled.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from harness.campaign.settings.config import INPUTS, INTERVENTION, find_class, one_line
from harness.campaign.settings.declared import Part, Routes, Settings, WithInputs
from harness.campaign.settings.differences import differences
from harness.campaign.settings.routes import asking, route_source_of
from harness.errors import UserError
from harness.files import at_home
from harness.protocols import digest_of
from harness.safe_reading import CHECKPOINT, sum_of_file
from harness.world.routes.files import route_files

DIGITS = 12
"""Of a sum, in base 16."""


def with_inputs(settings: Settings) -> WithInputs:
    """Return settings with the sums of all files that they have read."""
    protocol = protocol_of(settings)
    of_interventions = of_parts(settings.get("intervention", {}), INTERVENTION)
    return {
        **settings,
        "inputs": {
            "routes": of_routes(settings["routes"]),
            "system": of_parts(settings["system"]),
            **({INTERVENTION: of_interventions} if of_interventions else {}),
            **({} if protocol is None else {"protocol": digest_of(protocol)}),
        },
    }


def protocol_of(settings: Settings) -> Path | None:
    """Return the study's protocol, if one is named."""
    named = settings["protocol"]
    return None if named is None else at_home(named, "protocol")


def of_routes(routes: Routes) -> dict[str, str]:
    """Return the sums of the files of routes and hazards; a folder's is over all of its routes."""
    source = route_source_of(routes)
    with asking(source):
        paths = dict(source.files())
    return {
        name: sum_of_folder(place) if place.is_dir() else short_sum(place)
        for name, place in paths.items()
    }


def of_parts(parts: Mapping[str, Part[Any]], group: str = "system") -> dict[str, dict[str, str]]:
    """Return the sums of the files that systems, or others, read; of those that read any."""
    digests = {name: by_name(files_of(part, f"{group}.{name}")) for name, part in parts.items()}
    return {name: sums for name, sums in digests.items() if sums}


def other_files(
    settings: Settings, names: Iterable[str], group: Literal["system", "intervention"] = "system"
) -> list[str]:
    """Return how systems' files differ from those that a campaign was started with."""
    known = settings.get(INPUTS)
    known = known.get(group) if isinstance(known, dict) else None
    if not isinstance(known, dict):
        return []
    chosen = {name: settings[group][name] for name in names}
    began = {name: value for name, value in known.items() if name in chosen}
    return list(differences(began, of_parts(chosen, group), f"{INPUTS}.{group}"))


def by_name(files: Iterable[Path]) -> dict[str, str]:
    """Return the sums of files; those of one name in several folders stand side by side."""
    sums: dict[str, list[str]] = defaultdict(list)
    for file in files:
        sums[file.name].append(short_sum(file))
    return {name: "+".join(digests) for name, digests in sums.items()}


def files_of(system: Part[Any], place: str) -> list[Path]:
    """Return the files that a system declares, else those that its arguments name."""
    given = {name: value for name, value in system.items() if name != "_target_"}
    files = getattr(find_class(system["_target_"], place), "files", None)
    if files is None:
        words = [value for value in given.values() if isinstance(value, str)]
        return [Path(word) for word in words if os.path.isfile(word)]  # noqa: PTH113 - of any text
    try:
        return [Path(file) for file in files(**given)]
    except UserError:
        raise
    except Exception as problem:  # any exception of a user's class
        raise UserError(f"configuration: {place}: files: {one_line(problem)}") from None


def sum_of_folder(folder: Path) -> str:
    """Return a few digits that change with the route files of a folder, and with their names."""
    lines = [f"{route_file.name} {short_sum(route_file)}\n" for route_file in route_files(folder)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:DIGITS]


def short_sum(file: Path) -> str:
    """Return a few digits that change with what a file holds."""
    try:
        return sum_of_file(file, follow=True, kind=CHECKPOINT)[:DIGITS]
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}") from None
