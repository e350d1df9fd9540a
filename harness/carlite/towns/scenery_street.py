"""Street furniture: lamps, the poles of lights and signs, trees, shelters, bins."""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.model import LaneKind, SceneryShape, TownLanes, TownSignal
from harness.carlite.towns.scenery_frontage import GroundPose, StreetFrontage, shift_ground_pose
from harness.carlite.towns.scenery_pieces import SceneryPiece
from harness.carlite.towns.scenery_plot import CELL, EVERYTHING, STREET, CellUse
from harness.carlite.towns.scenery_site import ScenerySite

LAMP_HEIGHT, LIGHT_HEIGHT, SIGN_HEIGHT = 7.0, 3.6, 2.3
LIGHT_HEAD = (0.16, 0.16, 0.45)
"""Half sizes of a traffic light's head, m."""

POLE_RADIUS = 0.09
BEHIND_KERB = 0.65
BEHIND_WALK = 0.5
SQUARE_METRES_PER_TREE = 600.0
WIDE_WALK = 2.15
"""Poles stand on sidewalks from this width on; behind narrower ones."""
PROPS = {
    "shelter": ((1.94, 0.95, 1.37), 0.12),
    "kiosk": ((0.82, 0.83, 1.62), 0.10),
    "cabinet": ((0.36, 0.44, 1.14), 0.22),
    "bench": ((0.77, 0.37, 0.48), 0.26),
    "bin": ((0.27, 0.32, 0.53), 0.30),
}
"""Half sizes, and shares, of what stands behind the sidewalk."""
ASIDE = [(0.0, 0.0)] + [
    (distance * math.cos(k * math.pi / 4), distance * math.sin(k * math.pi / 4))
    for distance in (0.4, 0.8, 1.2, 1.8, 2.4)
    for k in range(8)
]
POST = STREET | CellUse.BRIDGE | CellUse.ISLAND | CellUse.SOLID


def _make_pole(
    x: float, y: float, height: float, label: SemanticLabel = SemanticLabel.POLE
) -> SceneryPiece:
    half = (POLE_RADIUS, POLE_RADIUS, height / 2)
    return SceneryPiece(x, y, 0.0, half, label=label, shape=SceneryShape.CYLINDER)


def place_signal_posts(site: ScenerySite, signals: tuple[TownSignal, ...]) -> None:
    """Give every light and sign a pole and a face; poles step aside from the road if they must."""
    for signal in signals:
        for dx, dy in ASIDE:
            x, y = signal.position[0] + dx, signal.position[1] + dy
            if site.plot.claim_box(
                (x, y, 0.0, POLE_RADIUS, POLE_RADIUS), CellUse.BRIDGE | CellUse.SOLID
            ):
                is_light = signal.type_id == "traffic.traffic_light"
                site.pieces.add(
                    *(_make_light_post if is_light else _make_sign_post)(x, y, signal.yaw)
                )
                break


def _make_light_post(x: float, y: float, yaw: float) -> tuple[SceneryPiece, SceneryPiece]:
    face = SceneryPiece(
        x, y, yaw, LIGHT_HEAD, label=SemanticLabel.TRAFFIC_LIGHT, lift=LIGHT_HEIGHT - 0.95
    )
    return _make_pole(x, y, LIGHT_HEIGHT), face


def _make_sign_post(x: float, y: float, yaw: float) -> tuple[SceneryPiece, SceneryPiece]:
    half = (0.03, 0.33, 0.33)
    face = SceneryPiece(
        x, y, yaw, half, label=SemanticLabel.TRAFFIC_SIGN, lift=SIGN_HEIGHT - 0.7, solid=False
    )
    return _make_pole(x, y, SIGN_HEIGHT), face


def place_street_lamps(
    site: ScenerySite, frontages: list[StreetFrontage], rng: np.random.Generator
) -> None:
    """Line the streets with lamps."""
    for frontage in frontages:
        station = float(rng.uniform(3, 9))
        while station < frontage.length - 2:
            walk = frontage.interpolate_walk_width(station)
            wide = walk >= WIDE_WALK
            x, y, _ = frontage.interpolate_pose(station, BEHIND_KERB - walk if wide else 0.3)
            without = EVERYTHING & ~CellUse.WALK & ~CellUse.DRIVE if wide else EVERYTHING
            if site.plot.claim_box((x, y, 0.0, POLE_RADIUS, POLE_RADIUS), without):
                site.pieces.add(_make_pole(x, y, LAMP_HEIGHT))
                station += site.style.lamps
            else:
                station += 2.0


def plant_street_trees(
    site: ScenerySite, frontages: list[StreetFrontage], rng: np.random.Generator
) -> None:
    """Plant trees behind the sidewalks, two rows deep where there is room."""
    for frontage in frontages:
        for nearest in (1.2, 7.0, 14.0):
            station = float(rng.uniform(2, site.style.trees))
            while station < frontage.length - 2:
                back = nearest + float(rng.uniform(0, 3))
                _plant_tree(site, frontage.interpolate_pose(station, back), rng)
                station += site.style.trees * float(rng.uniform(0.6, 1.4))


def plant_block_trees(site: ScenerySite, rng: np.random.Generator) -> None:
    """Scatter trees over what ground is left."""
    plot = site.plot
    rows, columns = plot.grid.shape
    for _ in range(int(rows * columns * CELL**2 / SQUARE_METRES_PER_TREE)):
        across, down = rng.random(2)
        x, y = plot.x + columns * CELL * float(across), plot.y + rows * CELL * float(down)
        _plant_tree(site, (x, y, 0.0), rng)


def plant_median_trees(site: ScenerySite, lanes: TownLanes, rng: np.random.Generator) -> None:
    """Plant slim trees on strips between the two directions of a street."""
    wide = np.flatnonzero((lanes.kind == LaneKind.OTHER) & (lanes.junction < 0)).tolist()
    for lane in wide:
        span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
        if lanes.key[lane, 2] != -1 or float(lanes.width[span].min()) < 1.5:
            continue
        # (samples, 2) the left edge of the strip: the middle between both directions
        half = lanes.width[span] / 2
        left = lanes.points[span, :2] + np.column_stack(
            [np.sin(lanes.yaw[span]) * half, -np.cos(lanes.yaw[span]) * half]
        )
        station = 3.0
        while station < float(lanes.length[lane]) - 3:
            x, y = (float(np.interp(station, lanes.station[span], left[:, k])) for k in (0, 1))
            _plant_tree(site, (x, y, 0.0), rng, largest=1.3)
            station += site.style.trees * 0.6


def _plant_tree(
    site: ScenerySite, pose: GroundPose, rng: np.random.Generator, largest: float = 2.8
) -> None:
    x, y, _ = pose
    # all numbers first: the stream does not depend on whether there is room
    crown = float(rng.uniform(0.45, 1.0)) * largest
    trunk, height = float(rng.uniform(0.12, 0.22)), float(rng.uniform(2.4, 3.2))
    top = crown * float(rng.uniform(1.5, 2.4))
    if not site.plot.is_free((x, y, 0.0, trunk, trunk), EVERYTHING & ~CellUse.CROWN):
        return
    # crowns may overlap sidewalks, trunks may not
    if site.plot.claim_box(
        (x, y, 0.0, crown, crown),
        CellUse.DRIVE | CellUse.BRIDGE | CellUse.SOLID | CellUse.CROWN,
        CellUse.CROWN,
    ):
        site.plot.claim_box((x, y, 0.0, trunk, trunk), CellUse.DRIVE)
        stem = (trunk, trunk, height / 2)
        leaves = (crown, crown, top / 2)
        site.pieces.add(
            SceneryPiece(
                x, y, 0.0, stem, label=SemanticLabel.VEGETATION, shape=SceneryShape.CYLINDER
            ),
            SceneryPiece(
                x,
                y,
                0.0,
                leaves,
                label=SemanticLabel.VEGETATION,
                shape=SceneryShape.CYLINDER,
                lift=height - 0.2,
                solid=False,
            ),
        )


def place_street_props(
    site: ScenerySite, frontages: list[StreetFrontage], rng: np.random.Generator
) -> None:
    """Put shelters, kiosks, benches and bins behind the sidewalks, facing the street."""
    names, shares = list(PROPS), [share for _, share in PROPS.values()]
    for frontage in frontages:
        station = float(rng.uniform(5, 30))
        # one place after another, whether or not there is room
        while station < frontage.length - 4:
            name = str(rng.choice(names, p=shares))
            half = PROPS[name][0]
            x, y, yaw = shift_ground_pose(
                frontage.interpolate_pose(station), 0.0, half[1] + BEHIND_WALK
            )
            if frontage.interpolate_walk_width(station) and site.plot.claim_box(
                (x, y, yaw, half[0], half[1]), POST
            ):
                facing = yaw + math.pi
                site.pieces.add(
                    SceneryPiece(
                        x,
                        y,
                        facing,
                        half,
                        label=SemanticLabel.STATIC,
                        shape=SceneryShape.BODY,
                        body=name,
                    )
                )
            station += float(rng.uniform(14, 40))
