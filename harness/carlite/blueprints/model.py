"""What a blueprint is: an id, the attributes a client may set, and the body it stands for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from harness.carlite.actors import ActorKind
from harness.carlite.labels import SemanticLabel

Extent = tuple[float, float, float]


class AttributeType(IntEnum):
    """Attribute types, numbered as the client numbers them."""

    BOOL = 1
    INT = 2
    FLOAT = 3
    STRING = 4
    COLOUR = 5


@dataclass(frozen=True, kw_only=True)
class ActorAttribute:
    """One attribute; every value is text, as it travels.

    Attributes:
        value: the default.
        recommended: what the client offers; the first one is the default.
        modifiable: whether the client may set it.
        restrict: whether only recommended values are allowed.
    """

    id: str
    type: AttributeType
    value: str
    recommended: tuple[str, ...] = ()
    modifiable: bool = True
    restrict: bool = False


@dataclass(frozen=True, kw_only=True)
class ActorBlueprint:
    """Something that can be spawned.

    An actor stands on the ground when `position.z + box_centre.z - extent.z` is the ground's
    height. Vehicles and props have their origin on the ground; walkers, as in CARLA, in the middle
    of the body (`box_centre` zero), so a walker's z is half its height above its feet.

    Attributes:
        tags: comma separated, as the client searches them.
        extent: half sizes of the bounding box; zero where there is nothing to touch.
        box_centre: centre of the box in the actor's frame.
        mass: kilograms, zero where there is nothing to push.
        body: name of its mesh in `bodies.build_body_library()`, empty where nothing is to be seen.
        wheels: number of wheels.
        mirrors: metres on each side of the box that touch nothing.
    """

    id: str
    tags: str
    attributes: tuple[ActorAttribute, ...]
    kind: ActorKind
    label: SemanticLabel = SemanticLabel.NONE
    extent: Extent = (0.0, 0.0, 0.0)
    box_centre: Extent = (0.0, 0.0, 0.0)
    mass: float = 0.0
    body: str = ""
    wheels: int = 0
    mirrors: float = 0.0

    @property
    def touching(self) -> Extent:
        """Half sizes of what other things can touch: the box without its mirrors. Decision 0016."""
        length, width, height = self.extent
        return length, width - self.mirrors, height


def format_blueprint_tags(blueprint_id: str) -> str:
    """Return the tags of an id: its parts."""
    return blueprint_id.replace(".", ",")


def make_fixed_attribute(name: str, kind: AttributeType, value: str) -> ActorAttribute:
    """Return an attribute that only informs.

    Args:
        name: as CARLA calls it.
        kind: of the value.
        value: as text.
    """
    return ActorAttribute(id=name, type=kind, value=value, modifiable=False)


def make_choice_attribute(
    name: str, kind: AttributeType, *recommended: str, restrict: bool = False
) -> ActorAttribute:
    """Return an attribute the client may set, with the first recommended value as default.

    Args:
        name: as CARLA calls it.
        kind: of the value.
        recommended: values as texts.
        restrict: refuse other values.
    """
    return ActorAttribute(
        id=name, type=kind, value=recommended[0], recommended=recommended, restrict=restrict
    )


def make_role_attribute(*names: str) -> ActorAttribute:
    """Return the `role_name` every blueprint carries."""
    return make_choice_attribute("role_name", AttributeType.STRING, *names)
