"""Parked cars: in parking lanes, and in bays along the street."""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.model import LaneKind, SceneryShape, TownLanes
from harness.carlite.towns.scenery_frontage import GroundPose, StreetFrontage, shift_ground_pose
from harness.carlite.towns.scenery_pieces import SceneryPiece
from harness.carlite.towns.scenery_plot import STREET, CellUse
from harness.carlite.towns.scenery_site import ScenerySite

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
GROUNDS = STREET | CellUse.BRIDGE | CellUse.ISLAND | CellUse.SOLID


def park_in_lanes(site: ScenerySite, lanes: TownLanes, rng: np.random.Generator) -> None:
    """Park along the kerb; near a lane's ends, which are near crossings, vans are frequent."""
    parking = (lanes.kind == LaneKind.PARKING) & (lanes.junction < 0)
    for lane in np.flatnonzero(parking).tolist():
        # samples of the lane
        span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
        centre, length = lanes.points[span], float(lanes.length[lane])
        width = float(lanes.width[span].min())
        station = float(rng.uniform(0.3, 1.5))
        while station < length - 4.0:
            # choose a model; random numbers are taken whether or not it parks
            is_end = station < 7 or station > length - 13
            model = _sample_car_model(rng, NEAR_CROSSING if is_end else SHARES)
            half = MODELS[model]
            taken, lean, about = rng.random(3)
            # its place: at the kerb, which is the right edge
            middle = station + half[0]
            x, y = (float(np.interp(middle, lanes.station[span], centre[:, k])) for k in (0, 1))
            k = min(int(np.searchsorted(lanes.station[span], middle)), len(centre) - 1)
            pose = shift_ground_pose(
                (x, y, float(lanes.yaw[span][k])), 0, width / 2 - half[1] - FROM_KERB
            )
            if taken < site.style.parked and middle + half[0] < length:
                tilt = 0.015 * (lean - 0.5)
                _park_car(site, pose, model, without=CellUse.SOLID, lean=tilt, about=about < 0.08)
            station += 2 * half[0] + float(rng.uniform(*BUMPER_GAP))


def park_in_bays(
    site: ScenerySite, frontages: list[StreetFrontage], rng: np.random.Generator
) -> None:
    """Lay out rows of bays, nose to the street, where plots are open."""
    for frontage in frontages:
        station = float(rng.uniform(4, 10))
        while station < frontage.length - 3 * BAY_WIDTH:
            # a row of bays, if the plot is free
            bays = int(rng.integers(3, 8))
            row = shift_ground_pose(
                frontage.interpolate_pose(station + bays * BAY_WIDTH / 2), 0.0, 0.5 + BAY_DEPTH / 2
            )
            wanted = rng.random() < site.style.bays
            if wanted and site.plot.is_free((*row, bays * BAY_WIDTH / 2, BAY_DEPTH / 2), GROUNDS):
                # cars in them, most of them nose in
                for k in range(bays):
                    pose = shift_ground_pose(row, (k - (bays - 1) / 2) * BAY_WIDTH, 0.0)
                    taken, lean, about = rng.random(3)
                    model = _sample_car_model(rng, SHARES)
                    yaw = pose[2] + (math.pi / 2 if about < 0.4 else -math.pi / 2)
                    if taken < site.style.parked:
                        place = (pose[0], pose[1], yaw)
                        tilt = 0.04 * (lean - 0.5)
                        _park_car(site, place, model, without=GROUNDS, lean=tilt, about=False)
                station += bays * BAY_WIDTH + 6
            else:
                station += 6


def _sample_car_model(rng: np.random.Generator, shares: tuple[float, ...]) -> str:
    return str(rng.choice(list(MODELS), p=shares))


def _park_car(
    site: ScenerySite, pose: GroundPose, model: str, *, without: CellUse, lean: float, about: bool
) -> None:
    """Park one car, if there is room for it."""
    x, y, yaw = pose[0], pose[1], pose[2] + lean + (math.pi if about else 0.0)
    half = MODELS[model]
    if site.plot.claim_box((x, y, yaw, half[0], half[1]), without | CellUse.BRIDGE | CellUse.SOLID):
        site.pieces.add(
            SceneryPiece(
                x, y, yaw, half, label=SemanticLabel.CAR, shape=SceneryShape.BODY, body=model
            )
        )
