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
from harness.carlite.towns.scenery_site import Site
from harness.carlite.towns.scenery_styles import style_of


def furnish(
    lanes: Lanes,
    ground: Ground,
    signals: tuple[Signal, ...],
    name: str,
    *,
    given: Sequence[Piece] = (),
    wanted: Mapping[str, float] | None = None,
) -> Scenery:
    """Return the scenery of a town; what comes first has the first choice of ground.

    `given` are the pieces that the town's file names; they stand where it says. `wanted` is what
    the file says of the style, by name.
    """
    site = Site(Plot(lanes, ground), Pieces(), style_of(name, wanted or {}))
    edges = frontages(lanes)
    rngs = {
        part: stream(0, "scenery", name, part)
        for part in ("corners", "bays", "rows", "cars", "lamps", "props", "trees", "fences")
    }
    site.pieces.add(*given)
    for piece in given:
        site.plot.claim((piece.x, piece.y, piece.yaw, *piece.half[:2]), Use(0))
    scenery_rails.bridge_rails(site.pieces, lanes, ground)
    scenery_street.signal_posts(site, signals)
    scenery_buildings.corner_houses(site, corners(lanes), rngs["corners"])
    scenery_cars.in_lanes(site, lanes, rngs["cars"])
    scenery_street.lamps(site, edges, rngs["lamps"])
    scenery_street.props(site, edges, rngs["props"])
    scenery_cars.in_bays(site, edges, rngs["bays"])
    scenery_buildings.rows(site, edges, rngs["rows"])
    scenery_street.median_trees(site, lanes, rngs["trees"])
    scenery_street.trees(site, edges, rngs["trees"])
    scenery_street.block_trees(site, rngs["trees"])
    scenery_buildings.fences(site, edges, rngs["fences"])
    return site.pieces.on(ground)
