"""Walkers: CARLA's pedestrians 0001 to 0052, with the sizes of their capsules there."""

from __future__ import annotations

from dataclasses import dataclass

from harness.carlite.actors import ActorKind
from harness.carlite.blueprints.model import (
    ActorBlueprint,
    AttributeType,
    format_blueprint_tags,
    make_choice_attribute,
    make_fixed_attribute,
    make_role_attribute,
)
from harness.carlite.labels import SemanticLabel

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
class WalkerSize:
    """A size of walker: half sizes, mass, mesh, and the speeds offered (still, walk, run)."""

    extent: tuple[float, float, float]
    mass: float
    body: str
    age: str
    speeds: tuple[str, str, str]


ADULT = WalkerSize(
    extent=(0.188, 0.188, 0.93), mass=75.0, body="adult", age="adult", speeds=("0.0", "1.4", "2.8")
)
OLD = WalkerSize(
    extent=(0.188, 0.188, 0.93),
    mass=75.0,
    body="adult",
    age="elderly",
    speeds=("0.0", "1.1", "2.0"),
)
CHILD = WalkerSize(
    extent=(0.188, 0.188, 0.65), mass=30.0, body="child", age="child", speeds=("0.0", "1.2", "2.4")
)
SMALL_CHILD = WalkerSize(
    extent=(0.25, 0.25, 0.55), mass=20.0, body="child", age="child", speeds=("0.0", "1.0", "2.0")
)


def list_walker_blueprints() -> list[ActorBlueprint]:
    """Return the walker blueprints in the order of their numbers."""
    return [_make_walker_blueprint(number) for number in range(1, COUNT + 1)]


def _choose_walker_size(number: int) -> WalkerSize:
    if number in SMALL_CHILDREN:
        return SMALL_CHILD
    if number in CHILDREN:
        return CHILD
    return OLD if number in ELDERLY else ADULT


def _make_walker_blueprint(number: int) -> ActorBlueprint:
    figure = _choose_walker_size(number)
    text, integer, flag = AttributeType.STRING, AttributeType.INT, AttributeType.BOOL
    rolls = number in WHEELCHAIR_USERS
    blueprint_id = f"walker.pedestrian.{number:04d}"
    return ActorBlueprint(
        id=blueprint_id,
        tags=format_blueprint_tags(blueprint_id),
        attributes=(
            make_role_attribute("pedestrian"),
            make_choice_attribute("speed", AttributeType.FLOAT, *figure.speeds),
            make_choice_attribute("is_invincible", flag, "true"),
            make_choice_attribute("use_wheelchair", flag, *(("false",
                "true") if rolls else ("false",)),
                   restrict=True),
            make_fixed_attribute("gender", text, "female" if number in FEMALE else "male"),
            make_fixed_attribute("generation", integer,
                "2" if number >= FIRST_OF_GENERATION_2 else "1"),
            make_fixed_attribute("age", text, figure.age),
            make_fixed_attribute("can_use_wheelchair", flag, str(rolls).lower()),
        ),
        kind=ActorKind.WALKER,
        label=SemanticLabel.PEDESTRIAN,
        extent=figure.extent,
        mass=figure.mass,
        body=figure.body,
    )  # fmt: skip
