"""Ground-truth checks: which errors a system makes in a scene (the papers' test oracles).

They never decide a relation. Judged are objects with enough returns of any one LiDAR, in the
window, not crossing its edge, and not made up by an operator; parked scenery never is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.channel.effects import Window
from harness.common.errors import UserError
from harness.types.precision import find_parked_detections
from harness.types.vocabulary import Boxes, Floats, Integers, Mask
from studies.metamorphic.relations.matching import (
    OVERLAP,
    compute_best_overlap,
    is_on_places,
    is_whole_in_window,
)
from studies.metamorphic.relations.relation import LEAST_HITS, RelationMeasure, Why, make_breaches
from studies.metamorphic.scenes.answers import SystemAnswer
from studies.metamorphic.scenes.operator import TruthExpectation
from studies.metamorphic.scenes.scene import CooperativeScene

LONG_RANGE = 30.0
"""Metres from which on an object is far. V2XGen has 50, about where our networks' window ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingRules:
    """Which objects are judged."""

    window: Window = (51.2, 38.4)  # m ahead or behind, and aside: of the shipped lite networks
    margin: float = 1.0  # m: nearer to the window's edge nothing is judged
    least_hits: int = LEAST_HITS  # of one LiDAR


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedObjects:
    """Ground truth of a scene in the ego's LiDAR frame: what is judged, and what else is there."""

    judged: Boxes
    actor_ids: Integers  # of the judged
    others: Boxes  # neither to be found nor wrong to find
    parked: Boxes  # scenery: likewise
    places: Boxes  # in which background is made up: likewise
    judged_by: JudgingRules


DEFAULT = JudgingRules()


def select_judged_objects(
    scene: CooperativeScene,
    expectation: TruthExpectation,
    judged_by: JudgingRules = DEFAULT,
    hits: Integers | None = None,
) -> JudgedObjects:
    """Return what is judged; `hits` are the most of any LiDAR before the channel.

    Give them where partners' sweeps are those of another moment (latency), or partners are absent.
    """
    truth = scene.ego.truth
    seen = (scene.hits_anyone if hits is None else hits) >= judged_by.least_hits
    known = ~np.isin(truth.actor_ids, sorted(expectation.unjudged))
    inside = is_whole_in_window(truth.boxes_in_lidar, judged_by.window, judged_by.margin)
    clear = ~is_on_places(truth.boxes_in_lidar, expectation.unjudged_in_ego)
    judged = seen & known & inside & clear
    return JudgedObjects(
        judged=truth.boxes_in_lidar[judged],
        actor_ids=truth.actor_ids[judged],
        others=truth.boxes_in_lidar[~judged],
        parked=scene.ego.parked_in_lidar,
        places=expectation.unjudged_in_ego,
        judged_by=judged_by,
    )


def check_misled(
    answer: SystemAnswer, objects: JudgedObjects, tau: float = OVERLAP
) -> RelationMeasure:
    """MCE, misleading cooperation error (CooTest 3.1.2): D_E and not D_CP.

    An object that the ego detects alone and does not detect together; detected is an overlap of
    tau or more (4.3). Exposed: objects with D_E.
    """
    alone = compute_best_overlap(objects.judged, answer.ego_alone) >= tau
    together = compute_best_overlap(objects.judged, answer.cooperative) >= tau
    return measure_exposed_errors(objects, alone, ~together)


def check_occlusion_errors(
    detections: Boxes, objects: JudgedObjects, occlusion: Floats, gamma: float = OVERLAP
) -> RelationMeasure:
    """OE and its rate OER (V2XGen 3.1): Occ_ego(o) > 0 and no box with IoU > gamma.

    One occlusion value for each judged object; where it is not known (NaN), the object is not
    exposed.
    """
    if len(occlusion) != len(objects.judged):
        raise UserError(f"{len(occlusion)} occlusion values of {len(objects.judged)} objects")
    return measure_exposed_errors(
        objects, occlusion > 0, compute_best_overlap(objects.judged, detections) <= gamma
    )


def check_long_range_errors(
    detections: Boxes, objects: JudgedObjects, beyond: float = LONG_RANGE, gamma: float = OVERLAP
) -> RelationMeasure:
    """LE and its rate LER (V2XGen 3.1): distance to the ego > k and no box with IoU > gamma."""
    far = compute_ego_distances(objects.judged) > beyond
    return measure_exposed_errors(
        objects, far, compute_best_overlap(objects.judged, detections) <= gamma
    )


def check_missed(detections: Boxes, objects: JudgedObjects) -> RelationMeasure:
    """Object missing (MultiTest 3): no detection of its class overlaps it at all.

    Args:
        detections: in the ego's LiDAR frame.
        objects: that are judged.
    """
    every = np.ones(len(objects.judged), np.bool_)
    return measure_exposed_errors(
        objects, every, compute_best_overlap(objects.judged, detections) <= 0
    )


def check_mislocalised(
    detections: Boxes, objects: JudgedObjects, tau: float = OVERLAP
) -> RelationMeasure:
    """Localisation error (MultiTest 3): the best overlap is above 0 and no more than tau.

    Args:
        detections: in the ego's LiDAR frame.
        objects: that are judged.
        tau: overlap ratio, 0 to 1.
    """
    best = compute_best_overlap(objects.judged, detections)
    return measure_exposed_errors(objects, best > 0, best <= tau, "mislocalised")


def check_additional(
    detections: Boxes, objects: JudgedObjects, above: float = 0.0
) -> RelationMeasure:
    """False detection (MultiTest 3): a detection that overlaps no object at all.

    Counted with a score above that only (MultiTest 4: 0.5). Exposed: detections that could be
    additional, that is, of nothing that is not judged, and whole in the window.

    Args:
        detections: in the ego's LiDAR frame.
        objects: that are judged.
        above: score, 0 to 1.
    """
    exposed = select_exposed_detections(detections, objects) & (detections.scores > above)
    wrong = exposed & (compute_best_overlap(detections, objects.judged) <= 0)
    return RelationMeasure.from_breaches(
        int(exposed.sum()), make_breaches("additional", detections[wrong])
    )


def select_exposed_detections(detections: Boxes, objects: JudgedObjects) -> Mask:
    """Return which detections are right or wrong: whole in the window, of nothing unjudged."""
    by = objects.judged_by
    truth = Boxes.join([objects.judged, objects.others])
    of_others = (compute_best_overlap(detections, objects.others) > 0) & (
        compute_best_overlap(detections, objects.judged) <= 0
    )
    ignored = of_others | find_parked_detections(detections, truth, objects.parked)
    ignored |= is_on_places(detections, objects.places)
    return np.asarray(is_whole_in_window(detections, by.window, by.margin) & ~ignored)


def measure_exposed_errors(
    objects: JudgedObjects, exposed: Mask, failed: Mask, why: Why = "missing"
) -> RelationMeasure:
    """Return those of the exposed objects that failed."""
    wrong = objects.judged[exposed & failed]
    return RelationMeasure.from_breaches(int(exposed.sum()), make_breaches(why, wrong))


def compute_ego_distances(boxes: Boxes) -> Floats:
    """Return metres from the ego's LiDAR in the plane."""
    return np.asarray(np.hypot(boxes.geometry[:, 0], boxes.geometry[:, 1]))
