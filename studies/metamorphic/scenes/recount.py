"""Counts again how often each agent hits each road user, after an operator changed its points.

Operators of objects count for themselves; weather leaves hits as they were before, since ground
truth does not depend on a disturbance. Here is the other column: what a beam still reaches.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.types.vocabulary import GroundTruth, Integers
from studies.metamorphic.scenes.owners import find_point_owners
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene


def count_points_on_actors(view: AgentView) -> Integers:
    """Return how many points of a view lie on each of its true boxes."""
    on = find_point_owners(view, np.arange(len(view.points_in_lidar)))
    actors, counts = np.unique(on, return_counts=True)
    known = dict(zip(actors.tolist(), counts.tolist(), strict=True))
    hits = [known.get(actor, 0) for actor in view.truth.actor_ids.tolist()]
    return np.array(hits, np.int64)


def recount_hits(before: CooperativeScene, after: CooperativeScene) -> CooperativeScene:
    """Return the scene after an operator with hits of its own points.

    Recorded hits change by as many points as came or went. With recorded surfaces, that is a plain
    count of points; without, points at the foot of a box are the ground's, before and after.
    """
    known = {view.agent: view for view in before.views}
    ego, *partners = (recount_view_hits(known.get(view.agent), view) for view in after.views)
    return replace(after, ego=ego, partners=tuple(partners))


def recount_view_hits(before: AgentView | None, after: AgentView) -> AgentView:
    """Return a view with hits of its own points, unless its operator has counted."""
    if before is None or after.points_in_lidar is before.points_in_lidar:
        return after
    if after.truth is not before.truth:
        return after
    truth = before.truth
    hits = np.maximum(
        truth.hits + count_points_on_actors(after) - count_points_on_actors(before), 0
    )
    return replace(after, truth=GroundTruth(truth.boxes_in_lidar, truth.actor_ids, hits))
