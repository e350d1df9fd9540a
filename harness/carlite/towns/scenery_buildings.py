"""Buildings along the streets, corner houses first; what closes the gaps between them."""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.scenery_frontage import (
    GroundPose,
    StreetCorner,
    StreetFrontage,
    shift_ground_pose,
)
from harness.carlite.towns.scenery_pieces import SceneryPiece, SceneryPieces
from harness.carlite.towns.scenery_plot import EVERYTHING, STREET, CellUse
from harness.carlite.towns.scenery_site import ScenerySite
from harness.carlite.towns.scenery_styles import Range, SceneryStyle

STOREY = 3.1
SLENDER = 2.2
"""No building is higher than this many times its shorter side."""
STEP_BACK = 2.0
HALF_WALL, BEHIND_WALK = 0.15, 0.5
Size = tuple[float, float, float]
"""Width along the street, depth and height, metres."""
GROUNDS = STREET | CellUse.BRIDGE | CellUse.ISLAND | CellUse.SOLID


def build_corner_houses(
    site: ScenerySite, corners: list[StreetCorner], rng: np.random.Generator
) -> None:
    """Build on street corners, close enough to hide one street from the other."""
    for corner in corners:
        along, deep = (_interpolate_range(site.style.width, float(u)) for u in rng.random(2))
        setback = site.style.setback[0] + float(rng.random()) * 0.5
        height = _sample_house_height(site.style, rng)
        if rng.random() > site.style.built:
            continue
        turn = corner.after - corner.before
        for back in (0.0, 0.75, 1.5, 2.5, 4.0):
            inner = setback + back
            start = (corner.x, corner.y, corner.before)
            ahead = -inner / math.tan(turn / 2) if abs(turn) > 0.1 else 0.0
            pose = shift_ground_pose(start, min(ahead, 0.0) - along / 2, inner + deep / 2)
            if site.plot.claim_box((*pose, along / 2, deep / 2), GROUNDS):
                _place_house_block(site.pieces, pose, (along, deep, height), rng)
                break


def build_house_rows(
    site: ScenerySite, frontages: list[StreetFrontage], rng: np.random.Generator
) -> None:
    """Build house after house along every frontage."""
    for frontage in frontages:
        station = float(rng.uniform(0, 4))
        while station < frontage.length - site.style.width[0] / 2:
            width = _interpolate_range(site.style.width, float(rng.random()))
            if rng.random() < site.style.built:
                width = _build_house(site, frontage, station=station, width=width, rng=rng)
            station += width


def _build_house(
    site: ScenerySite,
    frontage: StreetFrontage,
    *,
    station: float,
    width: float,
    rng: np.random.Generator,
) -> float:
    """Build one house; return how much frontage it took."""
    depth = _interpolate_range(site.style.depth, float(rng.random()))
    setback = _interpolate_range(site.style.setback, float(rng.random()))
    height = _sample_house_height(site.style, rng)
    gap = _interpolate_range(site.style.gap, float(rng.random()))
    if frontage.interpolate_walk_width(station) == 0:
        setback += 5.0
    for size, deep, back in ((width, depth, 0.0), (width, depth, STEP_BACK), (8.0, 7.0, 0.5)):
        pose = shift_ground_pose(
            frontage.interpolate_pose(station + size / 2), 0.0, setback + back + deep / 2
        )
        if site.plot.claim_box((*pose, size / 2, deep / 2), GROUNDS):
            _place_house_block(site.pieces, pose, (size, deep, height), rng)
            return size + gap
    return 3.0


def _place_house_block(
    pieces: SceneryPieces, pose: GroundPose, size: Size, rng: np.random.Generator
) -> None:
    """Put up a block, sometimes with a narrower top."""
    x, y, yaw = pose
    width, depth, height = size
    height = min(height, SLENDER * min(width, depth))
    pieces.add(
        SceneryPiece(x, y, yaw, (width / 2, depth / 2, height / 2), label=SemanticLabel.BUILDING)
    )
    if height > 4 * STOREY and rng.random() < 0.4:
        top = STOREY * float(rng.integers(1, 4))
        share = float(rng.uniform(0.5, 0.8))
        half = (width / 2 * share, depth / 2 * share, top / 2)
        pieces.add(SceneryPiece(x, y, yaw, half, label=SemanticLabel.BUILDING, lift=height))


def build_fences(
    site: ScenerySite, frontages: list[StreetFrontage], rng: np.random.Generator
) -> None:
    """Close open stretches of frontage with hedges, walls and fences."""
    for frontage in frontages:
        station = 1.0
        while station < frontage.length - 3:
            length = float(rng.uniform(4, 9))
            pose = shift_ground_pose(
                frontage.interpolate_pose(station + length / 2), 0.0, BEHIND_WALK + HALF_WALL
            )
            kind, coin = float(rng.random()), float(rng.random())
            if coin < 0.7 and site.plot.claim_box((*pose, length / 2, HALF_WALL), EVERYTHING):
                site.pieces.add(_make_fence(pose, length, kind, site.style))
                station += length + 0.4
            else:
                station += length if coin >= 0.7 else 1.5


def _make_fence(pose: GroundPose, length: float, kind: float, style: SceneryStyle) -> SceneryPiece:
    x, y, yaw = pose
    if kind < style.green:
        half = (length / 2, HALF_WALL, 0.5 + 0.5 * kind / style.green)
        return SceneryPiece(x, y, yaw, half, label=SemanticLabel.VEGETATION)
    if kind < (1 + style.green) / 2:
        return SceneryPiece(
            x, y, yaw, (length / 2, HALF_WALL * 0.7, 0.95), label=SemanticLabel.WALL
        )
    return SceneryPiece(x, y, yaw, (length / 2, 0.04, 0.7), label=SemanticLabel.FENCE)


def _interpolate_range(limits: Range, share: float) -> float:
    return limits[0] + (limits[1] - limits[0]) * share


def _sample_house_height(style: SceneryStyle, rng: np.random.Generator) -> float:
    storeys = round(_interpolate_range(style.storeys, float(rng.random()) ** 2))
    return STOREY * storeys + 0.8
