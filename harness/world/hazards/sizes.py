"""Sizes of the actors of hazards, and how fast they set off: full length, width and height, m."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from harness.common.errors import UserError

Size: TypeAlias = tuple[float, float, float]

SIZES: dict[str, Size] = {
    "vehicle.mercedes.sprinter": (5.92, 1.99, 2.56),
    "vehicle.carlamotors.carlacola": (5.20, 2.63, 2.47),
    "vehicle.carlamotors.european_hgv": (7.94, 2.89, 3.46),
    "vehicle.audi.tt": (4.18, 1.99, 1.39),
    "vehicle.citroen.c3": (3.99, 1.85, 1.62),
    "vehicle.dodge.charger_2020": (5.01, 1.88, 1.54),
    "vehicle.bh.crossbike": (1.51, 0.87, 1.61),
    "vehicle.gazelle.omafiets": (1.84, 0.66, 1.78),
    "static.prop.kiosk_01": (1.63, 1.65, 3.25),
    "walker.pedestrian.*": (0.50, 0.50, 1.80),
}

PULLING_AWAY: dict[str, float] = {
    "vehicle.mercedes.sprinter": 2.5,
    "vehicle.carlamotors.carlacola": 1.5,
    "vehicle.carlamotors.european_hgv": 1.2,
    "vehicle.bh.crossbike": 1.5,
    "vehicle.gazelle.omafiets": 1.5,
    "walker.pedestrian.*": 2.5,
}
"""Accelerations, m/s², with which road users set off; cars otherwise."""
CARS_PULLING_AWAY = 3.5

EGO_LIDAR_FORWARD = 1.3
"""Metres from the ego's centre to its LiDAR."""


def add_sizes(sizes: Mapping[str, Size]) -> None:
    """Make sizes known; those of blueprints that are known already stay."""
    for blueprint, extent in sizes.items():
        SIZES.setdefault(blueprint, extent)


def get_blueprint_size(blueprint: str) -> Size:
    """Return the size of a blueprint, or raise an error that lists those with a known size."""
    if blueprint not in SIZES:
        raise UserError(f"unknown size of {blueprint}; valid: {', '.join(SIZES)}")
    return SIZES[blueprint]


def get_pull_away_acceleration(blueprint: str) -> float:
    """Return the acceleration, m/s², with which a road user sets off."""
    return PULLING_AWAY.get(blueprint, CARS_PULLING_AWAY)
