"""Parked cars: in parking lanes, and in bays along the street."""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.labels import Label
from harness.carlite.towns.model import LaneKind, Lanes, Shape
from harness.carlite.towns.scenery_frontage import Frontage, GroundPose, shifted
from harness.carlite.towns.scenery_pieces import Piece
from harness.carlite.towns.scenery_plot import STREET, Use
from harness.carlite.towns.scenery_site import Site

MODELS = {
    "compact": (1.95, 0.88, 0.76),
    "sedan": (2.36, 0.92, 0.74),
    "suv": (2.30, 0.94, 0.83),
    "coupe": (2.15, 0.90, 0.69),
    "offroad": (2.20, 0.94, 0.94),
    "microbus": (2.23, 0.90, 1.00),
    "van": (2.76, 0.97, 1.28),
}
"""Half sizes of what parks; the vans are high enough to hide a walker."""
SHARES = (0.26, 0.30, 0.17, 0.09, 0.06, 0.05, 0.07)
NEAR_CROSSING = (0.10, 0.12, 0.10, 0.04, 0.08, 0.16, 0.40)
FROM_KERB = 0.12
BUMPER_GAP = (0.7, 1.6)
BAY_WIDTH, BAY_DEPTH = 2.7, 5.4
GROUNDS = STREET | Use.BRIDGE | Use.ISLAND | Use.SOLID


def in_lanes(site: Site, lanes: Lanes, rng: np.random.Generator) -> None:
    """Park along the kerb; near a lane's ends, which are near crossings, vans are frequent."""
    parking = (lanes.kind == LaneKind.PARKING) & (lanes.junction < 0)
    for lane in np.flatnonzero(parking).tolist():
        span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
        centre, length = lanes.points[span], float(lanes.length[lane])
        width = float(lanes.width[span].min())
        station = float(rng.uniform(0.3, 1.5))
        while station < length - 4.0:
            is_end = station < 7 or station > length - 13
            model = _model(rng, NEAR_CROSSING if is_end else SHARES)
            half = MODELS[model]
            taken, lean, about = rng.random(3)
            middle = station + half[0]
            x, y = (float(np.interp(middle, lanes.station[span], centre[:, k])) for k in (0, 1))
            k = min(int(np.searchsorted(lanes.station[span], middle)), len(centre) - 1)
            pose = shifted((x, y, float(lanes.yaw[span][k])), 0, width / 2 - half[1] - FROM_KERB)
            if taken < site.style.parked and middle + half[0] < length:
                tilt = 0.015 * (lean - 0.5)
                _park(site, pose, model, without=Use.SOLID, lean=tilt, about=about < 0.08)
            station += 2 * half[0] + float(rng.uniform(*BUMPER_GAP))


def in_bays(site: Site, frontages: list[Frontage], rng: np.random.Generator) -> None:
    """Lay out rows of bays, nose to the street, where plots are open."""
    for frontage in frontages:
        station = float(rng.uniform(4, 10))
        while station < frontage.length - 3 * BAY_WIDTH:
            bays = int(rng.integers(3, 8))
            row = shifted(frontage.at(station + bays * BAY_WIDTH / 2), 0.0, 0.5 + BAY_DEPTH / 2)
            wanted = rng.random() < site.style.bays
            if wanted and site.plot.is_free((*row, bays * BAY_WIDTH / 2, BAY_DEPTH / 2), GROUNDS):
                for k in range(bays):
                    pose = shifted(row, (k - (bays - 1) / 2) * BAY_WIDTH, 0.0)
                    taken, lean, about = rng.random(3)
                    model = _model(rng, SHARES)
                    yaw = pose[2] + (math.pi / 2 if about < 0.4 else -math.pi / 2)
                    if taken < site.style.parked:
                        place = (pose[0], pose[1], yaw)
                        tilt = 0.04 * (lean - 0.5)
                        _park(site, place, model, without=GROUNDS, lean=tilt, about=False)
                station += bays * BAY_WIDTH + 6
            else:
                station += 6


def _model(rng: np.random.Generator, shares: tuple[float, ...]) -> str:
    return str(rng.choice(list(MODELS), p=shares))


def _park(
    site: Site, pose: GroundPose, model: str, *, without: Use, lean: float, about: bool
) -> None:
    """Park one car, if there is room for it."""
    x, y, yaw = pose[0], pose[1], pose[2] + lean + (math.pi if about else 0.0)
    half = MODELS[model]
    if site.plot.claim((x, y, yaw, half[0], half[1]), without | Use.BRIDGE | Use.SOLID):
        site.pieces.add(Piece(x, y, yaw, half, label=Label.CAR, shape=Shape.BODY, body=model))
