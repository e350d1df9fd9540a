"""What a campaign reads besides its settings: files, told apart by short sums of what they hold.

The sums are kept among the settings, so that other weights or other routes under the same names are
other settings, and two networks are never pooled.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from harness.campaign.settings.config import Settings, find_class, find_file, one_line
from harness.campaign.settings.differences import differences
from harness.errors import UserError
from harness.world.routes.files import route_files

DIGITS = 12
"""Of a sum, in base 16."""
OF_ROUTES = ("file", "hazards")


def with_inputs(settings: Settings) -> Settings:
    """Return settings with the sums of all files that they have read."""
    return {
        **settings,
        "inputs": {"routes": of_routes(settings["routes"]), "system": of_systems(settings)},
    }


def of_routes(routes: Settings) -> dict[str, str]:
    """Return the sums of the files of routes and hazards; a folder's is over all of its routes."""
    named = {name: routes[name] for name in OF_ROUTES if routes[name] is not None}
    found = {name: find_file(each, f"routes.{name}") for name, each in named.items()}
    return {
        name: sum_of_folder(place) if place.is_dir() else short_sum(place)
        for name, place in found.items()
    }


def of_systems(settings: Settings) -> dict[str, dict[str, str]]:
    """Return the sums of the files that systems read, of those that read any."""
    found = {
        name: by_name(files_of(each, f"system.{name}")) for name, each in settings["system"].items()
    }
    return {name: each for name, each in found.items() if each}


def other_files(settings: Settings, systems: Iterable[str]) -> list[str]:
    """Return how systems' files differ from those a campaign began with; old ones know of none."""
    known = settings.get("inputs")
    known = known.get("system") if isinstance(known, dict) else None
    if not isinstance(known, dict):
        return []
    chosen = {name: settings["system"][name] for name in systems}
    began = {name: each for name, each in known.items() if name in chosen}
    return list(differences(began, of_systems({"system": chosen}), "inputs.system"))


def by_name(files: Iterable[Path]) -> dict[str, str]:
    """Return the sums of files; those of one name in several folders stand side by side."""
    sums: dict[str, list[str]] = defaultdict(list)
    for file in files:
        sums[file.name].append(short_sum(file))
    return {name: "+".join(each) for name, each in sums.items()}


def files_of(system: Settings, place: str) -> list[Path]:
    """Return the files that a system says it reads, else those that its arguments name."""
    given = {name: each for name, each in system.items() if name != "_target_"}
    says = getattr(find_class(system["_target_"], place), "files", None)
    if says is None:
        words = [each for each in given.values() if isinstance(each, str)]
        return [Path(each) for each in words if os.path.isfile(each)]  # noqa: PTH113 - of any text
    try:
        return [Path(each) for each in says(**given)]
    except UserError:
        raise
    except Exception as problem:  # whatever a class of somebody else's raises
        raise UserError(f"configuration: {place}: files: {one_line(problem)}") from None


def sum_of_folder(folder: Path) -> str:
    """Return a few digits that change with the route files of a folder, and with their names."""
    told = [f"{each.name} {short_sum(each)}\n" for each in route_files(folder)]
    return hashlib.sha256("".join(told).encode()).hexdigest()[:DIGITS]


def short_sum(file: Path) -> str:
    """Return a few digits that change with what a file holds."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()[:DIGITS]
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}") from None
