"""Actors below the ground, where programs park those that they need later.

Nothing is below the ground, so nothing carries them and nothing moves them: they stay where they
were put. An actor of which a part is still above is not parked: springs or feet bring it up.

Why they do not fall: decision 0029.
"""

from __future__ import annotations

import numpy as np

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bools, Float32s, Floats, Ints
from harness.carlite.compiled import allocating
from harness.carlite.towns.lookup import find_ground_height, to_ground_arrays
from harness.carlite.towns.model import TownGround


def find_buried_actors(table: ActorTable, slots: Ints, ground: TownGround) -> Bools:
    """Return which actors in `slots` are below the ground from head to foot.

    Args:
        table: of all actors.
        slots: (actors,) rows of the table.
        ground: of the town.

    Returns:
        (actors,)
    """
    result: Bools = _find_buried_boxes(
        slots, *to_ground_arrays(ground), table.position, table.rotation, table.box_centre,
        table.extent,
    )  # fmt: skip
    return result


@allocating
def _find_buried_boxes(
    slots: Ints, x0: float, y0: float, cell: float, lower: Float32s, upper: Float32s,
    position: Floats, rotation: Floats, box_centre: Floats, extent: Floats,
) -> Bools:  # fmt: skip
    """Compare the top of each box with the ground below its middle and its corners."""
    result = np.zeros(len(slots), np.bool_)
    for index in range(len(slots)):
        slot = slots[index]
        x, y, z = position[slot]
        # most are above the ground at their middle
        top = z + box_centre[slot, 2] + extent[slot, 2]
        if top >= find_ground_height(x0, y0, cell, lower, upper, x, y, z):
            continue
        # below it at all four corners
        cos, sin = np.cos(rotation[slot, 1]), np.sin(rotation[slot, 1])
        below = True
        for corner in range(4):
            ahead = extent[slot, 0] if corner < 2 else -extent[slot, 0]
            aside = extent[slot, 1] if corner % 2 == 0 else -extent[slot, 1]
            corner_x, corner_y = x + ahead * cos - aside * sin, y + ahead * sin + aside * cos
            below = below and top < find_ground_height(
                x0, y0, cell, lower, upper, corner_x, corner_y, z
            )
        result[index] = below
    return result
