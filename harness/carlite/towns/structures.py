"""What an OpenDRIVE file itself places along its roads: buildings, trees, poles, barriers."""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.model import SceneryShape
from harness.carlite.towns.network import OpendriveNetwork, RoadRecord, StructureRecord
from harness.carlite.towns.reference_line import evaluate_cubic, evaluate_reference_line
from harness.carlite.towns.scenery_pieces import SceneryPiece

LABELS = {
    "barrier": SemanticLabel.WALL,
    "building": SemanticLabel.BUILDING,
    "obstacle": SemanticLabel.STATIC,
    "pole": SemanticLabel.POLE,
    "tree": SemanticLabel.VEGETATION,
    "vegetation": SemanticLabel.VEGETATION,
}


def build_structures(network: OpendriveNetwork) -> tuple[SceneryPiece, ...]:
    """Return every structure of the file, in its order."""
    return tuple(
        _make_structure_piece(road, structure)
        for road in network.roads.values()
        for structure in road.structures
    )


def _make_structure_piece(road: RoadRecord, structure: StructureRecord) -> SceneryPiece:
    # (1,) the place along the road; t is to its left
    s = np.array([min(max(structure.s, 0.0), road.length)])
    x, y, heading = (float(value[0]) for value in evaluate_reference_line(road.plan, s))
    round_ = structure.radius > 0.0
    half = (
        (structure.radius, structure.radius)
        if round_
        else (structure.length / 2, structure.width / 2)
    )
    return SceneryPiece(
        x=x - structure.t * math.sin(heading),
        y=-(y + structure.t * math.cos(heading)),
        yaw=-(heading + structure.heading),
        half=(*half, structure.height / 2),
        label=LABELS[structure.type],
        shape=SceneryShape.CYLINDER if round_ else SceneryShape.BOX,
        level=float(evaluate_cubic(road.elevation, s)[0][0]),
    )
