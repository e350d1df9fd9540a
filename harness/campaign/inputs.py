"""What a campaign reads besides its settings: files, told apart by short sums of what they hold.

The sums are kept among the settings, so that other weights or other routes under the same names are
other settings, and two networks are never pooled.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from harness.campaign.config import Settings, find_class, find_file
from harness.errors import UserError

DIGITS = 12
"""Of a sum, in base 16."""
OF_ROUTES = ("file", "hazards")


def with_inputs(settings: Settings) -> Settings:
    """Return settings with the sums of all files that they have read."""
    routes = settings["routes"]
    named = {name: routes[name] for name in OF_ROUTES if routes[name] is not None}
    return {
        **settings,
        "inputs": {
            "routes": {
                name: short_sum(find_file(each, f"routes.{name}")) for name, each in named.items()
            },
            "system": of_systems(settings),
        },
    }


def of_systems(settings: Settings) -> dict[str, dict[str, str]]:
    """Return the sums of the files that systems read, of those that read any."""
    found = {
        name: {file.name: short_sum(file) for file in files_of(each, f"system.{name}")}
        for name, each in settings["system"].items()
    }
    return {name: each for name, each in found.items() if each}


def files_of(system: Settings, place: str) -> Sequence[Path]:
    """Return the files that a system says it reads, else those that its arguments name."""
    given = {name: each for name, each in system.items() if name != "_target_"}
    says = getattr(find_class(system["_target_"], place), "files", None)
    if says is not None:
        said: Sequence[Path] = says(**given)
        return said
    words = [each for each in given.values() if isinstance(each, str)]
    return [Path(each) for each in words if os.path.isfile(each)]  # noqa: PTH113 - of any text


def short_sum(file: Path) -> str:
    """Return a few digits that change with what a file holds."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()[:DIGITS]
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}") from None
