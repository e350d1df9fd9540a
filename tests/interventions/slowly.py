"""What a repair promises, read slowly and independently: the patterns once more, on polygons."""

from __future__ import annotations

import numpy as np

from harness.evaluation.interventions.intervention import Scene
from harness.types.vocabulary import Boxes, Floats
from tests.evaluation import slowly


def patterns(scene: Scene, cooperative: Boxes) -> dict[str, int]:
    """Count the six patterns among boxes that count, definition by definition."""
    settings = scene.settings
    result = dict.fromkeys(("LCME", "LCLE", "LADE", "CCME", "CCLE", "CADE"), 0)
    true = scene.truth.boxes_in_lidar
    for kind in (0, 1, 2):
        there = true.geometry[true.classes == kind]
        ego = of_class(scene, scene.perceived.ego_alone, kind)
        coop = of_class(scene, cooperative, kind)
        hits = scene.hits_observers[true.classes == kind]
        counts = [
            inside(box, scene) and (settings.truth_filter == "none" or count >= settings.least_hits)
            for box, count in zip(there, hits, strict=True)
        ]
        for box, count in zip(there, counts, strict=True):
            group = "L" if slowly.ego_has(box, ego, settings.taus[kind]) else "C"
            if count:
                result[f"{group}CME"] += slowly.is_missed(box, coop)
                result[f"{group}CLE"] += slowly.times_mislocalised(
                    box, coop, settings.taus[kind], settings.rule
                )
        for box in coop:
            if inside(box, scene) and all(slowly.iou(other, box) == 0 for other in there):
                shared = any(slowly.iou(box, other) > 0 for other in ego)
                result["CADE" if shared else "LADE"] += 1
    return result


def of_class(scene: Scene, boxes: Boxes, kind: int) -> Floats:
    """The boxes of one class that are of no parked car."""
    chosen = boxes.geometry[boxes.classes == kind]
    true = scene.truth.boxes_in_lidar
    there = true.geometry[true.classes == kind]
    parked = scene.parked.geometry[scene.parked.classes == kind]
    of_parked = [bool(slowly.lies_on_parked(box, there, parked)) for box in chosen]
    return np.asarray(chosen[~np.array(of_parked, bool)])


def inside(box: Floats, scene: Scene) -> bool:
    """Whether a box has its centre in the window."""
    rules = scene.settings
    return bool(-rules.behind <= box[0] <= rules.ahead and abs(box[1]) <= rules.lateral)
