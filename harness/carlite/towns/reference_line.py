"""Points along a road's reference line: lines, arcs, spirals and cubic curves, many at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.towns.network import GeometryRecord

Curve = tuple[Floats, Floats, Floats]
"""Local x along the start heading, local y to its left, and the heading gained."""

TABLE = 4001
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def evaluate_reference_line(plan: Sequence[GeometryRecord], s: Floats) -> Curve:
    """Return x, y and heading at stations `s`; stations beyond the ends are held at the ends.

    Args:
        plan: pieces in order of their stations.
        s: (stations,) m along the road.

    Returns:
        (stations,) each: m, m and rad in OpenDRIVE's frame, y to the left.
    """
    # (stations,) the piece that each lies on
    starts = np.array([piece.s for piece in plan])
    owner = np.clip(np.searchsorted(starts, s, side="right") - 1, 0, len(plan) - 1)
    x, y, heading = np.empty_like(s), np.empty_like(s), np.empty_like(s)
    # piece by piece: places in its frame, then on the map
    for index in np.unique(owner):
        piece, mine = plan[index], owner == index
        along = np.clip(s[mine] - piece.s, 0.0, piece.length)
        u, v, turned = SHAPES[piece.kind](along, piece)
        cos, sin = np.cos(piece.heading), np.sin(piece.heading)
        x[mine] = piece.x + cos * u - sin * v
        y[mine] = piece.y + sin * u + cos * v
        heading[mine] = piece.heading + turned
    return x, y, heading


def evaluate_cubic(profile: Floats, s: Floats) -> tuple[Floats, Floats]:
    """Return value and slope at `s` of piecewise cubics given as rows (s, a, b, c, d).

    Args:
        profile: (pieces, 5), in order of `s`.
        s: (stations,) m along the road.

    Returns:
        (stations,) both.
    """
    row = np.clip(np.searchsorted(profile[:, 0], s, side="right") - 1, 0, len(profile) - 1)
    start, a, b, c, d = profile[row].T
    ds = s - start
    return a + ds * (b + ds * (c + ds * d)), b + ds * (2 * c + ds * 3 * d)


def _evaluate_line(along: Floats, _: GeometryRecord) -> Curve:
    zero = np.zeros_like(along)
    return along, zero, zero


def _evaluate_arc(along: Floats, piece: GeometryRecord) -> Curve:
    (curvature,) = piece.parameters
    return (
        _integrate_clothoid(along, curvature, 0.0)
        if abs(curvature) < 1e-9
        else _evaluate_circle(along, curvature)
    )


def _evaluate_circle(along: Floats, curvature: float) -> Curve:
    turned = along * curvature
    return np.sin(turned) / curvature, (1 - np.cos(turned)) / curvature, turned


def _evaluate_spiral(along: Floats, piece: GeometryRecord) -> Curve:
    start, end = piece.parameters
    return _integrate_clothoid(along, start, (end - start) / piece.length)


def _integrate_clothoid(along: Floats, curvature: float, sharpness: float) -> Curve:
    """Integrate the direction along a curve whose curvature grows linearly."""
    length = float(along.max(initial=0.0))
    most = abs(curvature) + abs(sharpness) * length
    panels = max(1, int(np.ceil(length * most)))
    edges = np.arange(panels)[:, None] / panels
    nodes = (edges + (NODES + 1) / (2 * panels)).ravel()
    weights = np.tile(WEIGHTS / (2 * panels), panels)
    at = along[:, None] * nodes
    direction = at * (curvature + 0.5 * sharpness * at)
    turned = along * (curvature + 0.5 * sharpness * along)
    return along * (np.cos(direction) @ weights), along * (np.sin(direction) @ weights), turned


def _evaluate_poly3(along: Floats, piece: GeometryRecord) -> Curve:
    """Follow v = a + b u + c u2 + d u3 by arc length."""
    return _sample_by_arc_length(along, piece.length, (0.0, 1.0, 0.0, 0.0, *piece.parameters))


def _evaluate_normalised_poly3(along: Floats, piece: GeometryRecord) -> Curve:
    return _sample_by_arc_length(along, 1.0, piece.parameters)


def _evaluate_unscaled_poly3(along: Floats, piece: GeometryRecord) -> Curve:
    return _sample_by_arc_length(along, piece.length, piece.parameters)


def _sample_by_arc_length(along: Floats, last: float, cubics: tuple[float, ...]) -> Curve:
    """Follow u(p), v(p) for p up to `last` by arc length, from a fine table of chords."""
    p = np.linspace(0.0, last, TABLE)
    u, v, _ = _evaluate_parametric_cubic(p, cubics)
    chords = np.hypot(np.diff(u), np.diff(v))
    return _evaluate_parametric_cubic(
        np.interp(along, np.concatenate([[0.0], np.cumsum(chords)]), p), cubics
    )


def _evaluate_parametric_cubic(p: Floats, cubics: tuple[float, ...]) -> Curve:
    au, bu, cu, du, av, bv, cv, dv = cubics
    u = au + p * (bu + p * (cu + p * du))
    v = av + p * (bv + p * (cv + p * dv))
    return u, v, np.arctan2(bv + p * (2 * cv + p * 3 * dv), bu + p * (2 * cu + p * 3 * du))


SHAPES: dict[str, Callable[[Floats, GeometryRecord], Curve]] = {
    "line": _evaluate_line,
    "arc": _evaluate_arc,
    "spiral": _evaluate_spiral,
    "poly3": _evaluate_poly3,
    "paramPoly3": _evaluate_normalised_poly3,
    "paramPoly3ByLength": _evaluate_unscaled_poly3,
}
