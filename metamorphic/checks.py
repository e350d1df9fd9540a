"""Ground-truth checks: which errors a system makes in a scene (the papers' test oracles).

They never decide a relation. Judged are objects with enough returns of any one LiDAR, in the
window, not crossing its edge, and not made up by an operator; parked scenery never is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.channel.effects import Window
from harness.errors import UserError
from harness.precision import on_parked
from harness.vocabulary import Boxes, Floats, Integers, Mask
from metamorphic.answers import Answer
from metamorphic.matching import OVERLAP, best_overlap, lie_on, whole_in
from metamorphic.operators.operator import Expectation
from metamorphic.relations.relation import LEAST_HITS, Measure, Why, breaches
from metamorphic.scene import Scene

FAR = 30.0
"""Metres from which on an object is far. V2XGen has 50, about where our networks' window ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedBy:
    """Which objects are judged."""

    window: Window = (51.2, 38.4)  # m ahead or behind, and aside: of the shipped lite networks
    margin: float = 1.0  # m: nearer to the window's edge nothing is judged
    least_hits: int = LEAST_HITS  # of one LiDAR


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Objects:
    """Ground truth of a scene in the ego's LiDAR frame: what is judged, and what else is there."""

    judged: Boxes
    actor_ids: Integers  # of the judged
    others: Boxes  # neither to be found nor wrong to find
    parked: Boxes  # scenery: likewise
    places: Boxes  # in which background is made up: likewise
    judged_by: JudgedBy


DEFAULT = JudgedBy()


def objects_of(
    scene: Scene,
    expectation: Expectation,
    judged_by: JudgedBy = DEFAULT,
    hits: Integers | None = None,
) -> Objects:
    """Return what is judged; `hits` are the most of any LiDAR before the channel.

    Give them where partners' sweeps are those of another moment (latency), or partners are absent.
    """
    truth = scene.ego.truth
    seen = (scene.hits_anyone if hits is None else hits) >= judged_by.least_hits
    known = ~np.isin(truth.actor_ids, sorted(expectation.unjudged))
    inside = whole_in(truth.boxes_in_lidar, judged_by.window, judged_by.margin)
    clear = ~lie_on(truth.boxes_in_lidar, expectation.unjudged_in_ego)
    judged = seen & known & inside & clear
    return Objects(
        judged=truth.boxes_in_lidar[judged],
        actor_ids=truth.actor_ids[judged],
        others=truth.boxes_in_lidar[~judged],
        parked=scene.ego.parked_in_lidar,
        places=expectation.unjudged_in_ego,
        judged_by=judged_by,
    )


def misled(answer: Answer, objects: Objects, tau: float = OVERLAP) -> Measure:
    """MCE, misleading cooperation error (CooTest 3.1.2): D_E and not D_CP.

    An object that the ego detects alone and does not detect together; detected is an overlap of
    tau or more (4.3). Exposed: objects with D_E.
    """
    alone = best_overlap(objects.judged, answer.ego_alone) >= tau
    together = best_overlap(objects.judged, answer.cooperative) >= tau
    return errors(objects, alone, ~together)


def occlusion_errors(
    detections: Boxes, objects: Objects, occlusion: Floats, gamma: float = OVERLAP
) -> Measure:
    """OE and its rate OER (V2XGen 3.1): Occ_ego(o) > 0 and no box with IoU > gamma.

    One occlusion value for each judged object; where it is not known (NaN), the object is not
    exposed.
    """
    if len(occlusion) != len(objects.judged):
        raise UserError(f"{len(occlusion)} occlusion values of {len(objects.judged)} objects")
    return errors(objects, occlusion > 0, best_overlap(objects.judged, detections) <= gamma)


def long_range_errors(
    detections: Boxes, objects: Objects, beyond: float = FAR, gamma: float = OVERLAP
) -> Measure:
    """LE and its rate LER (V2XGen 3.1): distance to the ego > k and no box with IoU > gamma."""
    far = distances(objects.judged) > beyond
    return errors(objects, far, best_overlap(objects.judged, detections) <= gamma)


def missed(detections: Boxes, objects: Objects) -> Measure:
    """Object missing (MultiTest 3): no detection of its class overlaps it at all."""
    every = np.ones(len(objects.judged), np.bool_)
    return errors(objects, every, best_overlap(objects.judged, detections) <= 0)


def mislocalised(detections: Boxes, objects: Objects, tau: float = OVERLAP) -> Measure:
    """Localisation error (MultiTest 3): the best overlap is above 0 and no more than tau."""
    best = best_overlap(objects.judged, detections)
    return errors(objects, best > 0, best <= tau, "mislocalised")


def additional(detections: Boxes, objects: Objects, above: float = 0.0) -> Measure:
    """False detection (MultiTest 3): a detection that overlaps no object at all.

    Counted with a score above that only (MultiTest 4: 0.5). Exposed: detections that could be
    additional, that is, of nothing that is not judged, and whole in the window.
    """
    exposed = exposed_detections(detections, objects) & (detections.scores > above)
    wrong = exposed & (best_overlap(detections, objects.judged) <= 0)
    return Measure.rate(int(exposed.sum()), breaches("additional", detections[wrong]))


def exposed_detections(detections: Boxes, objects: Objects) -> Mask:
    """Return which detections are right or wrong: whole in the window, of nothing unjudged."""
    by = objects.judged_by
    truth = Boxes.join([objects.judged, objects.others])
    of_others = (best_overlap(detections, objects.others) > 0) & (
        best_overlap(detections, objects.judged) <= 0
    )
    ignored = of_others | on_parked(detections, truth, objects.parked)
    ignored |= lie_on(detections, objects.places)
    return np.asarray(whole_in(detections, by.window, by.margin) & ~ignored)


def errors(objects: Objects, exposed: Mask, failed: Mask, why: Why = "missing") -> Measure:
    """Return those of the exposed objects that failed."""
    wrong = objects.judged[exposed & failed]
    return Measure.rate(int(exposed.sum()), breaches(why, wrong))


def distances(boxes: Boxes) -> Floats:
    """Return metres from the ego's LiDAR in the plane."""
    return np.asarray(np.hypot(boxes.geometry[:, 0], boxes.geometry[:, 1]))
