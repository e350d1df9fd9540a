"""The definitions once more, word for word and slowly, on shapely's polygons.

Everything else in the house that knows about overlaps, patterns and precision is held against this.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import shapely

from harness.types.vocabulary import Floats

TOUCHING = 1e-9


def polygon(box: Floats, origin: Floats) -> shapely.Polygon:
    """A box seen from above; `origin` keeps far places exact."""
    cos, sin = math.cos(box[6]), math.sin(box[6])
    x, y = (box - origin)[:2]
    halves = [(sx * box[3] / 2, sy * box[4] / 2) for sx, sy in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    return shapely.Polygon([(x + cos * u - sin * v, y + sin * u + cos * v) for u, v in halves])


def shared_area(a: Floats, b: Floats) -> float:
    return float(polygon(a, a).intersection(polygon(b, a)).area)


def iou(a: Floats, b: Floats) -> float:
    """Intersection over union; less than `TOUCHING` is none."""
    shared = shared_area(a, b)
    return shared / (a[3] * a[4] + b[3] * b[4] - shared) if shared >= TOUCHING else 0.0


def ious(a: Floats, b: Floats) -> Floats:
    return np.array([[iou(p, q) for q in b] for p in a]).reshape(len(a), len(b))


def ego_has(true: Floats, ego: Floats, tau: float) -> bool:
    return any(iou(true, box) > tau for box in ego)


def is_missed(true: Floats, coop: Floats) -> bool:
    return all(iou(true, box) == 0 for box in coop)


def times_mislocalised(true: Floats, coop: Floats, tau: float, rule: str) -> int:
    overlaps = [iou(true, box) for box in coop]
    poor = [value for value in overlaps if 0 < value <= tau]
    if rule == "pairs":
        return len(poor)
    if rule == "exists":
        return int(bool(poor))
    return int(0 < max(overlaps, default=0.0) <= tau)


def count(
    truth: Floats, ego: Floats, coop: Floats, tau: float = 0.5, rule: str = "max"
) -> dict[str, int]:
    """The paper's section III-B, definition by definition."""
    additional = [box for box in coop if all(iou(true, box) == 0 for true in truth)]
    known = [true for true in truth if ego_has(true, ego, tau)]
    unknown = [true for true in truth if not ego_has(true, ego, tau)]
    return {
        "LCME": sum(is_missed(true, coop) for true in known),
        "LCLE": sum(times_mislocalised(true, coop, tau, rule) for true in known),
        "LADE": sum(all(iou(box, other) == 0 for other in ego) for box in additional),
        "CCME": sum(is_missed(true, coop) for true in unknown),
        "CCLE": sum(times_mislocalised(true, coop, tau, rule) for true in unknown),
        "CADE": sum(any(iou(box, other) > 0 for other in ego) for box in additional),
    }


def lies_on_parked(box: Floats, truth: Floats, parked: Floats) -> bool | None:
    """Whether a detection is of a parked car; `None` where the last digit decides."""
    best = max((iou(car, box) for car in parked), default=0.0)
    rival = max((iou(true, box) for true in truth), default=0.0)
    edges = [polygon(car, box).exterior.distance(shapely.Point(0, 0)) for car in parked]
    if abs(best - 0.1) < 1e-9 or 0 < abs(best - rival) < 1e-9 or min(edges, default=1.0) < 1e-9:
        return None
    inside = any(polygon(car, box).contains(shapely.Point(0, 0)) for car in parked)
    return (best >= 0.1 or inside) and best >= rival


def matched(
    truth: Floats, boxes: Floats, scores: Iterable[float], asked: float = 0.5
) -> list[tuple[float, bool]]:
    """Score and rightness of each detection: the best go first, and a true box is found once."""
    detected: set[int] = set()
    rows = []
    for score, box in sorted(zip(scores, boxes, strict=True), key=lambda item: -item[0]):
        overlaps = [iou(true, box) for true in truth]
        best = max(range(len(truth)), key=overlaps.__getitem__, default=-1)
        right = best >= 0 and overlaps[best] >= asked and best not in detected
        detected |= {best} if right else set()
        rows.append((float(score), right))
    return rows


def curve(rows: list[tuple[float, bool]], truths: int) -> list[tuple[float, float]]:
    """Recall and precision at every score that occurs."""
    points = []
    for threshold in sorted({score for score, _ in rows}, reverse=True):
        above = [right for score, right in rows if score >= threshold]
        points.append((sum(above) / truths, sum(above) / len(above)))
    return points


def best_beyond(points: list[tuple[float, float]], recall: float) -> float:
    return max((p for r, p in points if r >= recall), default=0.0)


def eleven_point(rows: list[tuple[float, bool]], truths: int) -> float:
    """The paper's section IV-E."""
    points = curve(rows, truths)
    return sum(best_beyond(points, step / 10) for step in range(11)) / 11


def all_point(rows: list[tuple[float, bool]], truths: int) -> float:
    """The area under the curve made falling."""
    points = curve(rows, truths)
    area, before = 0.0, 0.0
    for recall, _ in points:
        area += (recall - before) * best_beyond(points, recall)
        before = recall
    return area
