"""How well each agent of a scene can see each road user: occlusion by beams, and distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Floats, Integers
from studies.metamorphic.geometry.occlusion import measure_view_occlusions
from studies.metamorphic.scenes.operator import DoesNotApplyError
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AgentSight:
    """A row for each true box of the ego, a column for each agent, the ego first."""

    actor_ids: Integers
    occlusion: Floats  # hidden share; NaN where it is not known
    distances: Floats  # m, in the plane

    def select_actors(self, actor_ids: Integers) -> AgentSight:
        """Return the rows of these actors; of one that is not there, nothing is known."""
        row_of = {actor: row for row, actor in enumerate(self.actor_ids.tolist())}
        rows = np.array([row_of.get(actor, -1) for actor in actor_ids.tolist()], np.int64)
        known = rows >= 0
        columns = self.occlusion.shape[1]
        occlusion, away = np.full((2, len(rows), columns), np.nan)
        occlusion[known], away[known] = self.occlusion[rows[known]], self.distances[rows[known]]
        return AgentSight(actor_ids=actor_ids, occlusion=occlusion, distances=away)


def measure_sight(scene: CooperativeScene) -> AgentSight:
    """Return what the agents of a scene can see of the ego's true boxes."""
    ids = scene.ego.truth.actor_ids
    columns = [compute_hidden_shares(view, ids) for view in scene.views]
    return AgentSight(
        actor_ids=ids,
        occlusion=np.column_stack(columns),
        distances=np.column_stack([compute_box_distances(view, scene.ego) for view in scene.views]),
    )


def compute_hidden_shares(view: AgentView, actor_ids: Integers) -> Floats:
    """Return the hidden share of each actor for one agent; NaN if its beams are not known."""
    try:
        shares = dict(
            zip(view.truth.actor_ids.tolist(), measure_view_occlusions(view).tolist(), strict=True)
        )
    except DoesNotApplyError:
        shares = {}
    return np.array([shares.get(actor, np.nan) for actor in actor_ids.tolist()], np.float64)


def compute_box_distances(view: AgentView, ego: AgentView) -> Floats:
    """Return metres in the plane from an agent's LiDAR to the ego's true boxes."""
    boxes = transform_boxes(ego.truth.boxes_in_lidar, ego.lidar_in_world, view.lidar_in_world)
    return np.asarray(np.hypot(boxes.geometry[:, 0], boxes.geometry[:, 1]))
