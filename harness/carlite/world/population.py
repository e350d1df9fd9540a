"""Who is there: the actor table, and for every actor what never changes about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.arrays import Floats, Ints
from harness.carlite.errors import CallError
from harness.carlite.wire import codec
from harness.carlite.wire.codec import LEVEL, Rotation, Vector
from harness.carlite.wire.records import Actor, ActorDescription, BoundingBox
from harness.carlite.world.attachment import move_attached_actors


@dataclass(kw_only=True)
class Resident:
    """An actor apart from its columns in the table.

    Attributes:
        box: its bounding box; the trigger volume of a light or sign.
        labels: semantic tags of its parts.
        parent: the actor it is attached to, 0 where none.
        offset, turn: its pose in the parent's frame, where it has one.
    """

    id: int
    kind: ActorKind
    description: ActorDescription
    box: BoundingBox
    labels: tuple[int, ...]
    parent: int = 0
    offset: Vector = (0.0, 0.0, 0.0)
    turn: Rotation = LEVEL
    children: list[int] = field(default_factory=list)

    @property
    def type_id(self) -> str:
        """What it is, e.g. `vehicle.tesla.model3`."""
        return self.description.id

    def find_attribute(self, name: str) -> str:
        """Return an attribute's value, empty where it has none of that name."""
        return next((a.value for a in self.description.attributes if a.id == name), "")

    def encode_record(self, token: bytes = b"") -> list[Any]:
        """Return the record by which clients know it; `token` names its stream."""
        labels = bytes(self.labels)
        return codec.encode_record(
            Actor(
                id=self.id,
                parent_id=self.parent,
                description=self.description,
                bounding_box=self.box,
                semantic_tags=labels,
                stream_token=token,
            )
        )


@dataclass(frozen=True)
class _AttachmentBonds:
    child: Ints
    parent: Ints
    offset: Floats
    turn: Floats


class ActorPopulation:
    """All actors of an episode, by id and by slot."""

    def __init__(self) -> None:
        self.table = ActorTable()
        self._residents: dict[int, Resident] = {}
        self._bonds: _AttachmentBonds | None = None
        self._slots: dict[ActorKind, Ints] = {}

    def __iter__(self) -> Iterator[Resident]:
        return iter(self._residents.values())

    def __len__(self) -> int:
        return len(self._residents)

    def get_resident(self, actor_id: int) -> Resident | None:
        """Return an actor, or None when there is none of that id."""
        return self._residents.get(actor_id)

    def find_resident(self, actor_id: int, *kinds: ActorKind) -> Resident:
        """Return an actor that is one of `kinds`; CallError when there is none."""
        resident = self._residents.get(actor_id)
        if resident is None:
            raise CallError(f"actor not found: {actor_id}")
        if kinds and resident.kind not in kinds:
            wanted = " or ".join(kind.name.lower().replace("_", " ") for kind in kinds)
            raise CallError(f"actor {actor_id} is a {resident.type_id}, not a {wanted}")
        return resident

    def find_slot(self, actor_id: int, *kinds: ActorKind) -> int:
        """Return the present slot of an actor; CallError when there is none of these kinds."""
        return self.table.find_slot(self.find_resident(actor_id, *kinds).id)

    def list_slots(self, kind: ActorKind) -> Ints:
        """Return the slots of all actors of a kind, oldest first."""
        slots = self._slots.get(kind)
        if slots is None:
            slots = self._slots[kind] = self.table.list_slots(kind)
        return slots

    def add_resident(self, resident: Resident, **values: object) -> int:
        """Let an actor in and return its slot."""
        slot = self.table.add_actor(
            resident.id, kind=resident.kind, parent=resident.parent, **values
        )
        self._residents[resident.id] = resident
        if resident.parent:
            self._residents[resident.parent].children.append(resident.id)
        self._forget_slots()
        return slot

    def remove_resident(self, actor_id: int) -> list[Resident]:
        """Take an actor and whatever is attached to it out; children come first."""
        resident = self.find_resident(actor_id)
        gone = [one for child in tuple(resident.children) for one in self.remove_resident(child)]
        if resident.parent:
            self._residents[resident.parent].children.remove(actor_id)
        del self._residents[actor_id]
        self.table.remove_actor(actor_id)
        self._forget_slots()
        return [*gone, resident]

    def place_attached(self, resident: Resident, offset: Vector, turn: Rotation) -> None:
        """Move an attached actor relative to its parent."""
        resident.offset, resident.turn = offset, turn
        self._bonds = None
        self.move_attached()

    def move_attached(self) -> None:
        """Carry attached actors along with their parents."""
        if self._bonds is None:
            self._bonds = self._list_bonds()
        bonds, table = self._bonds, self.table
        if len(bonds.child):
            move_attached_actors(
                bonds.child,
                bonds.parent,
                bonds.offset,
                bonds.turn,
                table.position,
                table.rotation,
                table.velocity,
                table.angular_velocity,
                table.acceleration,
                table.mass_centre,
            )

    def _list_bonds(self) -> _AttachmentBonds:
        """List attached actors, oldest first: a parent is always older than its children."""
        attached = [one for one in self._residents.values() if one.parent]
        return _AttachmentBonds(
            np.array([self.table.find_slot(one.id) for one in attached], np.int64),
            np.array([self.table.find_slot(one.parent) for one in attached], np.int64),
            np.array([one.offset for one in attached], np.float64).reshape(-1, 3),
            np.array([one.turn for one in attached], np.float64).reshape(-1, 3),
        )

    def _forget_slots(self) -> None:
        self._bonds = None
        self._slots.clear()
