"""Where two servers differ, section by section."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.doctor.facts import Section, Value

NEAR = 0.5
"""Metres within which places are the same."""
PLACES = ("spawn points", "crosswalks")
"""Sections of places, which servers may list in any order."""
TOLERANCES = {
    "vehicles": (0.01, 0.0),  # m: sizes are given in centimetres
    "walkers": (0.01, 0.0),
    "physics": (1e-3, 0.01),
    "LiDAR": (1.0, 0.05),  # degrees; points
    "GNSS": (1e-7, 0.0),  # degrees: about 1 cm
    "driving": (0.3, 0.05),
    "traffic lights": (0.0, 0.0),
}
EXACT = (1e-4, 1e-4)
"""Absolute and relative: values come as single floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDifference:
    """One value in which the two servers differ."""

    section: str
    thing: str
    value: str
    carlite: str
    other: str

    def __str__(self) -> str:
        where = f"{self.thing}: {self.value}" if self.value else self.thing
        return f"{where}: {self.carlite} here, {self.other} there"


def compare_server_facts(
    carlite: Mapping[str, Section], other: Mapping[str, Section]
) -> list[ServerDifference]:
    """Return all differences, in the order of the sections."""
    differences: list[ServerDifference] = []
    for section in dict.fromkeys((*carlite, *other)):
        ours, theirs = carlite.get(section, {}), other.get(section, {})
        differ = compare_places if section in PLACES else compare_things
        differences += differ(section, ours, theirs)
    return differences


def compare_things(section: str, ours: Section, theirs: Section) -> Iterator[ServerDifference]:
    """Yield things that only one has, and values that differ."""
    tolerance = TOLERANCES.get(section, EXACT)
    for thing in dict.fromkeys((*ours, *theirs)):
        if thing not in theirs or thing not in ours:
            one, two = ("yes" if thing in facts else "no" for facts in (ours, theirs))
            yield ServerDifference(section=section, thing=thing, value="", carlite=one, other=two)
            continue
        for value in dict.fromkeys((*ours[thing], *theirs[thing])):
            here, there = ours[thing].get(value, "-"), theirs[thing].get(value, "-")
            if not is_within_tolerance(here, there, tolerance):
                yield ServerDifference(
                    section=section,
                    thing=thing,
                    value=value,
                    carlite=format_fact(here),
                    other=format_fact(there),
                )


def compare_places(section: str, ours: Section, theirs: Section) -> Iterator[ServerDifference]:
    """Yield how many places there are, if not as many, and how many have none near them."""
    if len(ours) != len(theirs):
        yield ServerDifference(
            section=section, thing="count", value="", carlite=str(len(ours)), other=str(len(theirs))
        )
    # places of one that have no place of the other near them
    here, there = (list(map(parse_place, facts.values())) for facts in (ours, theirs))
    alone = [
        sum(not is_near_place(place, others) for place in places)
        for places, others in ((here, there), (there, here))
    ]
    if any(alone):
        thing, (ours_alone, theirs_alone) = f"not within {NEAR} m of any of the other", alone
        yield ServerDifference(
            section=section,
            thing=thing,
            value="",
            carlite=str(ours_alone),
            other=str(theirs_alone),
        )


def parse_place(values: Mapping[str, Value]) -> tuple[float, float, float]:
    """Return a place; what failed is nowhere."""
    x, y, z = (float(values.get(axis, math.inf)) for axis in "xyz")
    return x, y, z


def is_near_place(
    place: tuple[float, float, float], others: Sequence[tuple[float, float, float]]
) -> bool:
    """Return whether one of the others is the same place."""
    return any(math.dist(place, other) <= NEAR for other in others)


def is_within_tolerance(here: Value, there: Value, tolerance: tuple[float, float]) -> bool:
    """Return whether two values are the same, numbers within a tolerance."""
    if isinstance(here, str | bool) or isinstance(there, str | bool):
        return here == there
    absolute, relative = tolerance
    return math.isclose(here, there, abs_tol=absolute, rel_tol=relative)


def format_fact(value: Value) -> str:
    """Return a value as it is printed."""
    return f"{value:g}" if isinstance(value, float) else str(value)
