"""Furnish a town: what stands along its streets, sampled from its name, the same every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.carlite.randomness import stream
from harness.carlite.towns import (
    scenery_buildings,
    scenery_cars,
    scenery_rails,
    scenery_street,
)
from harness.carlite.towns.model import Ground, Lanes, Scenery, Signal
from harness.carlite.towns.scenery_frontage import corners, frontages
from harness.carlite.towns.scenery_pieces import Piece, Pieces
from harness.carlite.towns.scenery_plot import Plot, Use
from harness.carlite.towns.scenery_styles import style_of


def furnish(
    lanes: Lanes,
    ground: Ground,
    signals: tuple[Signal, ...],
    name: str,
    given: Sequence[Piece] = (),
    wanted: Mapping[str, float] | None = None,
) -> Scenery:
    """Return the scenery of a town; what comes first has the first choice of ground.

    `given` are the pieces that the town's file names; they stand where it says. `wanted` is what
    the file says of the style, by name.
    """
    style = style_of(name, wanted or {})
    plot, pieces = Plot(lanes, ground), Pieces()
    edges = frontages(lanes)
    rngs = {
        part: stream(0, "scenery", name, part)
        for part in ("corners", "bays", "rows", "cars", "lamps", "props", "trees", "fences")
    }
    pieces.add(*given)
    for piece in given:
        plot.claim((piece.x, piece.y, piece.yaw, *piece.half[:2]), Use(0))
    scenery_rails.bridge_rails(pieces, lanes, ground)
    scenery_street.signal_posts(plot, pieces, signals)
    scenery_buildings.corner_houses(plot, pieces, corners(lanes), style, rngs["corners"])
    scenery_cars.in_lanes(plot, pieces, lanes, style, rngs["cars"])
    scenery_street.lamps(plot, pieces, edges, style, rngs["lamps"])
    scenery_street.props(plot, pieces, edges, rngs["props"])
    scenery_cars.in_bays(plot, pieces, edges, style, rngs["bays"])
    scenery_buildings.rows(plot, pieces, edges, style, rngs["rows"])
    scenery_street.median_trees(plot, pieces, lanes, style, rngs["trees"])
    scenery_street.trees(plot, pieces, edges, style, rngs["trees"])
    scenery_street.block_trees(plot, pieces, rngs["trees"])
    scenery_buildings.fences(plot, pieces, edges, style, rngs["fences"])
    return pieces.on(ground)
