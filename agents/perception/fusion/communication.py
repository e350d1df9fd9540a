"""`fusion_args.communication` of V2Xverse's settings: which cells of feature maps are sent."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.common.errors import UserError

RADIUS, SIGMA_REVERSE = 160.0, 2.0
"""Reach of a bump in cells of 0.25 m; cells of a bump per standard deviation. V2Xverse's own."""

NEEDED = ("thre", "cav_lidar_range", "driving_request")
"""V2Xverse's constructor reads these without a default."""

WITHOUT_EFFECT = ("driving_request", "gaussian_smooth", "round")
"""V2Xverse keeps these and never reads them; its agent gives the network no waypoints."""

KNOWN = (*NEEDED, *WITHOUT_EFFECT[1:], "radius", "sigma_reverse", "random_thre")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunicationSettings:
    """What decides which cells are sent."""

    threshold: float  # lowest confidence of a cell that is sent
    detection_range: tuple[float, ...]  # m: x y z from, x y z to; waypoints are placed in it
    radius: float = RADIUS
    sigma_reverse: float = SIGMA_REVERSE


def read_communication(given: Any, place: str) -> CommunicationSettings:
    """Return the settings in a checkpoint's `communication`; refuse what cannot be followed.

    Args:
        given: the value as it was read.
        place: file and key, for messages.

    Returns:
        The settings, with V2Xverse's defaults for what is not given.

    Raises:
        UserError: an unknown key, a missing one, or a threshold that is random.
    """
    # the keys first: an unknown one may change what is sent
    if not isinstance(given, dict):
        raise UserError(f"{place}: settings by name are needed")
    for name in given:
        if name not in KNOWN:
            raise UserError(f"{place}: unknown key {name} (valid: {', '.join(KNOWN)})")
    for name in NEEDED:
        if name not in given:
            raise UserError(f"{place}: {name} is missing; V2Xverse's constructor needs it")
    if given.get("random_thre"):
        raise UserError(
            f"{place}.random_thre is true: another threshold at every step, as in training; set it"
            " to false, and thre is used"
        )
    # then the values
    return CommunicationSettings(
        threshold=read_size(given, "thre", place),
        detection_range=read_range(given, place),
        radius=read_size(given, "radius", place, usual=RADIUS),
        sigma_reverse=read_size(given, "sigma_reverse", place, usual=SIGMA_REVERSE, lowest=1e-6),
    )


def read_size(
    given: Mapping[str, Any],
    name: str,
    place: str,
    *,
    usual: float | None = None,
    lowest: float = 0.0,
) -> float:
    """Return a finite number that is not below the lowest."""
    value = given.get(name, usual)
    if not is_finite_number(value) or value < lowest:
        raise UserError(f"{place}.{name} is {reprlib.repr(value)}; a number ≥ {lowest:g} is needed")
    return float(value)


def read_range(given: Mapping[str, Any], place: str) -> tuple[float, ...]:
    """Return the range in which waypoints are placed."""
    window = given["cav_lidar_range"]
    whole = isinstance(window, list) and len(window) == 6 and all(map(is_finite_number, window))
    if not whole or not (window[3] > window[0] and window[4] > window[1]):
        raise UserError(
            f"{place}.cav_lidar_range is {reprlib.repr(window)}; 6 numbers are needed, x y z from"
            " and x y z to"
        )
    return tuple(map(float, window))


def is_finite_number(value: Any) -> bool:
    """Return whether a setting is a finite number, not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
