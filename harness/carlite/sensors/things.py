"""Everything but the ground that rays can hit: placed meshes, the standing before the moving."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bytes, Floats, Int32s, Ints
from harness.carlite.compiled import allocating
from harness.carlite.sensors.frames import build_rotation_matrix


class PlacedThings(NamedTuple):
    """Placed meshes.

    Attributes:
        mesh: (N,) which of the `PackedMeshes`.
        centre: (N, 3) where the middle of the unit box goes.
        matrix: (N, 3, 3) from the unit box to the world.
        radius: (N,) of the sphere round the box.
        label: (N,) for faces without a label of their own.
        actor: (N,) actor id, 0 for scenery.
    """

    mesh: Int32s
    centre: Floats
    matrix: Floats
    radius: Floats
    label: Bytes
    actor: Ints


def make_empty_things(count: int) -> PlacedThings:
    """Make room for `count` things."""
    return PlacedThings(
        mesh=np.zeros(count, np.int32),
        centre=np.zeros((count, 3)),
        matrix=np.zeros((count, 3, 3)),
        radius=np.zeros(count),
        label=np.zeros(count, np.uint8),
        actor=np.zeros(count, np.int64),
    )


def join_things(first: PlacedThings, second: PlacedThings) -> PlacedThings:
    """Put things one after the other."""
    return PlacedThings(
        np.concatenate([first.mesh, second.mesh]),
        np.concatenate([first.centre, second.centre]),
        np.concatenate([first.matrix, second.matrix]),
        np.concatenate([first.radius, second.radius]),
        np.concatenate([first.label, second.label]),
        np.concatenate([first.actor, second.actor]),
    )


def place_things(
    mesh: Int32s, *, centre: Floats, extent: Floats, rotation: Floats, label: Bytes, actor: Ints
) -> PlacedThings:
    """Place meshes so that each fills a box of half sizes `extent`, rotated about its centre."""
    things = make_empty_things(len(mesh))
    things.mesh[:], things.centre[:] = mesh, centre
    things.label[:], things.actor[:] = label, actor
    _write_thing_poses(
        things, 0, np.arange(len(mesh)), centre, rotation, np.zeros_like(centre), extent
    )
    return things


def write_actor_things(
    things: PlacedThings, first: int, *, table: ActorTable, slots: Ints, meshes: Int32s
) -> None:
    """Write the actors in `slots` from place `first` on, at their present poses."""
    room = slice(first, first + len(slots))
    things.mesh[room] = meshes
    things.label[room] = table.label[slots]
    things.actor[room] = table.id[slots]
    _write_thing_poses(
        things, first, slots, table.position, table.rotation, table.box_centre, table.extent
    )


def write_shown_things(
    things: PlacedThings, first: int, *, table: ActorTable, slots: Ints, meshes: Int32s
) -> None:
    """Write the actors in `slots` from place `first` on, at the poses of the snapshot."""
    room = slice(first, first + len(slots))
    things.mesh[room] = meshes
    things.label[room] = table.label[slots]
    things.actor[room] = table.id[slots]
    position, rotation = round_to_wire(table.position[slots], table.rotation[slots])
    rows = np.arange(len(slots))
    _write_thing_poses(
        things, first, rows, position, rotation, table.box_centre[slots], table.extent[slots]
    )


def round_to_wire(position: Floats, rotation: Floats) -> tuple[Floats, Floats]:
    """Return poses as a client reads them, and can give them back.

    Snapshots hold single precision, in metres and degrees.

    Args:
        position: (..., 3) m.
        rotation: (..., 3) rad.
    """
    degrees = np.degrees(rotation).astype(np.float32).astype(np.float64)
    return position.astype(np.float32).astype(np.float64), np.radians(degrees)


@allocating
def _write_thing_poses(
    things: PlacedThings,
    first: int,
    slots: Ints,
    position: Floats,
    rotation: Floats,
    box_centre: Floats,
    extent: Floats,
) -> None:
    for n in range(len(slots)):
        slot = slots[n]
        axes = build_rotation_matrix(rotation[slot, 0], rotation[slot, 1], rotation[slot, 2])
        size = 0.0
        for i in range(3):
            size += extent[slot, i] ** 2
            things.centre[first + n, i] = position[slot, i]
            for j in range(3):
                things.centre[first + n, i] += axes[i, j] * box_centre[slot, j]
                things.matrix[first + n, i, j] = axes[i, j] * extent[slot, j]
        things.radius[first + n] = np.sqrt(size)
