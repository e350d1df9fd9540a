"""What the probes of the contract compare, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from tests.carlite.surface.stage import Stage

Comparisons: TypeAlias = Iterator[tuple[str, Any, Any, float]]
"""Members (`Class.member member`), what was seen, what must be, and the tolerance (0: equal)."""

Probe: TypeAlias = Callable[[Stage], Comparisons]


def is_near(seen: Any, expected: Any, tolerance: float) -> bool:
    """Whether a value is as expected: equal, or a number within the tolerance."""
    return bool(abs(seen - expected) <= tolerance if tolerance else seen == expected)


def list_members(members: str) -> list[str]:
    """Return `Class.member` for every member that a comparison names."""
    names, prefix = [], ""
    for member in members.split():
        head, _, name = member.rpartition(".")
        prefix = head or prefix
        names.append(f"{prefix}.{name}")
    return names


def run_probe(probe: Probe, stage: Stage) -> tuple[set[str], list[str]]:
    """Return the members that a probe covers, and what is wrong with them."""
    covered: set[str] = set()
    wrong: list[str] = []
    for members, seen, expected, tolerance in probe(stage):
        covered |= set(list_members(members))
        if not is_near(seen, expected, tolerance):
            wrong.append(f"{members}: {seen!r}, not {expected!r} (tolerance {tolerance})")
    return covered, wrong
