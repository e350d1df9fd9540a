"""What a campaign folder may have built without its reader's consent.

A folder may come from a stranger. A class that its settings name is built only if the class
declares itself safe to be built from a file, in its own body: `safe_from_file: ClassVar[bool] =
True`. The declaration promises that its constructor and its methods start no program, write no
file, open no connection and change nothing of the process, whatever their arguments are. A subclass
declares for itself: nothing is inherited. All other classes need `--trust`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.campaign.settings.config import find_class
from harness.common.errors import UserError

DECLARATION = "safe_from_file"


def is_declared_safe(named: type[Any]) -> bool:
    """Return whether a class itself, not one that it inherits from, is declared safe to build."""
    return vars(named).get(DECLARATION) is True


def refuse_untrusted(folder: Path, settings: Mapping[str, object]) -> None:
    """Refuse settings of a folder that name any class which is not declared safe to build.

    Args:
        folder: that the settings are from.
        settings: of the folder.

    Raises:
        UserError: a class that is not declared safe.
    """
    for place, part in iter_targets(settings, ""):
        if not is_declared_safe(find_class(part["_target_"], place)):
            raise UserError(
                f"{folder}: {place} names {part['_target_']}, which is not declared safe to be"
                " built from a file; look at its campaign.yaml, and pass --trust if you trust it"
            )


def iter_targets(value: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every part of the settings that names a class, with its place.

    Args:
        value: settings, or a part of them.
        place: keys that lead there, dotted.
    """
    if isinstance(value, dict):
        if "_target_" in value:
            yield place, value
        for name, inner in value.items():
            yield from iter_targets(inner, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from iter_targets(inner, f"{place}.{number}")
