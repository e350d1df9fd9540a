"""Whether the ego may touch a road user in a tick: the report of that is then waited for."""

from __future__ import annotations

import numpy as np

from harness.evaluation.surrogates.boxes import build_rectangles, compute_gaps
from harness.types.vocabulary import Floats
from harness.world.scene import GroundTruthScene

NEAR = 0.1
"""Metres between two boxes up to which they may touch; in reported collisions 1 cm at most."""
MOVING = 0.005
"""Metres in a tick from which two move relative to each other."""


class ClosenessMonitor:
    """Road users next to the ego, tick by tick."""

    def __init__(self, ego_id: int) -> None:
        self._ego_id = ego_id
        self._offsets: dict[int, Floats] = {}

    def is_grazing(self, scene: GroundTruthScene) -> bool:
        """Return whether one is as good as in touch with the ego and moves relative to it."""
        geometry, ids = scene.boxes_in_world.geometry, scene.actor_ids
        (ego,) = geometry[ids == self._ego_id]
        # (actors, 2) m from the ego, (actors,) circles round both that touch
        away = geometry[:, :2] - ego[:2]
        diagonals = np.hypot(geometry[:, 3], geometry[:, 4]) + np.hypot(ego[3], ego[4])
        near = np.hypot(away[:, 0], away[:, 1]) <= diagonals / 2 + NEAR
        near &= ids != self._ego_id
        before = self._offsets
        self._offsets = dict(zip(ids[near].tolist(), away[near], strict=True))
        if not near.any():
            return False
        # gaps between rectangles only for those
        theirs = project_boxes_to_plane(geometry[near])
        ours = np.repeat(project_boxes_to_plane(ego[None]), len(theirs), axis=0)
        touching = ids[near][compute_gaps(ours, theirs) <= NEAR].tolist()
        return any(
            actor not in before or np.abs(self._offsets[actor] - before[actor]).max() > MOVING
            for actor in touching
        )


def project_boxes_to_plane(geometry: Floats) -> Floats:
    """Return rows `x y length width yaw` of boxes `x y z length width height yaw`."""
    return build_rectangles(geometry[:, [0, 1, 2, 6]], geometry[:, 3:6])
