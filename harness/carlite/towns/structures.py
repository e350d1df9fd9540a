"""What an OpenDRIVE file itself places along its roads: buildings, trees, poles, barriers."""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.labels import Label
from harness.carlite.towns.model import Shape
from harness.carlite.towns.network import Network, Road, Structure
from harness.carlite.towns.reference_line import cubic, evaluate
from harness.carlite.towns.scenery_pieces import Piece

LABELS = {
    "barrier": Label.WALL,
    "building": Label.BUILDING,
    "obstacle": Label.STATIC,
    "pole": Label.POLE,
    "tree": Label.VEGETATION,
    "vegetation": Label.VEGETATION,
}


def build(network: Network) -> tuple[Piece, ...]:
    """Return every structure of the file, in its order."""
    return tuple(
        _piece(road, structure) for road in network.roads.values() for structure in road.structures
    )


def _piece(road: Road, structure: Structure) -> Piece:
    s = np.array([min(max(structure.s, 0.0), road.length)])
    x, y, heading = (float(value[0]) for value in evaluate(road.plan, s))
    round_ = structure.radius > 0.0
    half = (
        (structure.radius, structure.radius)
        if round_
        else (structure.length / 2, structure.width / 2)
    )
    return Piece(
        x=x - structure.t * math.sin(heading),
        y=-(y + structure.t * math.cos(heading)),
        yaw=-(heading + structure.heading),
        half=(*half, structure.height / 2),
        label=LABELS[structure.type],
        shape=Shape.CYLINDER if round_ else Shape.BOX,
        level=float(cubic(road.elevation, s)[0][0]),
    )
