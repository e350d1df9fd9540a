"""Walkers: CARLA's pedestrians 0001 to 0052, with the sizes of their capsules there."""

from __future__ import annotations

from dataclasses import dataclass

from harness.carlite.actors import Kind
from harness.carlite.blueprints.model import (
    AttributeType,
    Blueprint,
    choice,
    constant,
    role,
    tags_of,
)
from harness.carlite.labels import Label

COUNT = 52
SMALL_CHILDREN = frozenset((9, 10, 11, 48, 49))
CHILDREN = frozenset((12, 13, 14))
ELDERLY = frozenset((4, 20, 21, 24, 25, 36))
FEMALE = frozenset((
    1, 5, 6, 7, 8, 10, 13, 14, 16, 17, 20, 21, 22, 23, 24, 27, 28, 29, 31, 33, 34, 38, 40, 41, 48,
    51, 52,
))  # fmt: skip
FIRST_OF_GENERATION_2 = 15
WHEELCHAIR_USERS = frozenset((16, 17, 19, 22, 26, 34, 36, 44))

RIDERS = tuple(
    str(number)
    for number in range(1, COUNT + 1)
    if number not in SMALL_CHILDREN | CHILDREN | ELDERLY
)
"""Who may ride a two-wheeler, by number."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A size of walker: half sizes, mass, mesh, and the speeds offered (still, walk, run)."""

    extent: tuple[float, float, float]
    mass: float
    body: str
    age: str
    speeds: tuple[str, str, str]


ADULT = Figure(
    extent=(0.188, 0.188, 0.93), mass=75.0, body="adult", age="adult", speeds=("0.0", "1.4", "2.8")
)
OLD = Figure(
    extent=(0.188, 0.188, 0.93),
    mass=75.0,
    body="adult",
    age="elderly",
    speeds=("0.0", "1.1", "2.0"),
)
CHILD = Figure(
    extent=(0.188, 0.188, 0.65), mass=30.0, body="child", age="child", speeds=("0.0", "1.2", "2.4")
)
SMALL_CHILD = Figure(
    extent=(0.25, 0.25, 0.55), mass=20.0, body="child", age="child", speeds=("0.0", "1.0", "2.0")
)


def walkers() -> list[Blueprint]:
    """Return the walker blueprints in the order of their numbers."""
    return [_blueprint(number) for number in range(1, COUNT + 1)]


def _figure(number: int) -> Figure:
    if number in SMALL_CHILDREN:
        return SMALL_CHILD
    if number in CHILDREN:
        return CHILD
    return OLD if number in ELDERLY else ADULT


def _blueprint(number: int) -> Blueprint:
    figure = _figure(number)
    text, integer, flag = AttributeType.STRING, AttributeType.INT, AttributeType.BOOL
    rolls = number in WHEELCHAIR_USERS
    blueprint_id = f"walker.pedestrian.{number:04d}"
    return Blueprint(
        id=blueprint_id,
        tags=tags_of(blueprint_id),
        attributes=(
            role("pedestrian"),
            choice("speed", AttributeType.FLOAT, *figure.speeds),
            choice("is_invincible", flag, "true"),
            choice("use_wheelchair", flag, *(("false", "true") if rolls else ("false",)),
                   restrict=True),
            constant("gender", text, "female" if number in FEMALE else "male"),
            constant("generation", integer, "2" if number >= FIRST_OF_GENERATION_2 else "1"),
            constant("age", text, figure.age),
            constant("can_use_wheelchair", flag, str(rolls).lower()),
        ),
        kind=Kind.WALKER,
        label=Label.PEDESTRIAN,
        extent=figure.extent,
        mass=figure.mass,
        body=figure.body,
    )  # fmt: skip
