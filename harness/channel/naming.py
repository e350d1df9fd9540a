"""Names of the parts of a condition, where several are of one sort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol


class NamedPart(Protocol):
    """What has a name of its sort, which is numbered where there are several."""

    name: str

    @property
    def sort(self) -> str:
        """What it is called where it is the only one of its sort."""


def number_equal_names(disturbances: Sequence[NamedPart]) -> None:
    """Number disturbances of one name, so that each has its own random streams."""
    seen: Counter[str] = Counter()
    for disturbance in disturbances:
        name = disturbance.sort
        seen[name] += 1
        disturbance.name = name if seen[name] == 1 else f"{name}-{seen[name]}"
