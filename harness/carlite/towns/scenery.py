"""Furnish a town: what stands along its streets, sampled from its name, the same every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.carlite.randomness import make_random_stream
from harness.carlite.towns import (
    scenery_buildings,
    scenery_cars,
    scenery_rails,
    scenery_street,
)
from harness.carlite.towns.model import TownGround, TownLanes, TownScenery, TownSignal
from harness.carlite.towns.scenery_frontage import find_frontages, find_street_corners
from harness.carlite.towns.scenery_pieces import SceneryPiece, SceneryPieces
from harness.carlite.towns.scenery_plot import CellUse, OccupancyGrid
from harness.carlite.towns.scenery_site import ScenerySite
from harness.carlite.towns.scenery_styles import choose_scenery_style


def furnish_town(
    lanes: TownLanes,
    ground: TownGround,
    signals: tuple[TownSignal, ...],
    name: str,
    *,
    given: Sequence[SceneryPiece] = (),
    wanted: Mapping[str, float] | None = None,
) -> TownScenery:
    """Return the scenery of a town; what comes first has the first choice of ground.

    `given` are the pieces that the town's file names; they stand where it says. `wanted` is what
    the file says of the style, by name.
    """
    site = ScenerySite(
        OccupancyGrid(lanes, ground), SceneryPieces(), choose_scenery_style(name, wanted or {})
    )
    edges = find_frontages(lanes)
    # a stream for each part: more of one part does not move the others
    rngs = {
        part: make_random_stream(0, "scenery", name, part)
        for part in ("corners", "bays", "rows", "cars", "lamps", "props", "trees", "fences")
    }
    # the order is that of importance: who comes later takes what is free
    site.pieces.add(*given)
    for piece in given:
        site.plot.claim_box((piece.x, piece.y, piece.yaw, *piece.half[:2]), CellUse(0))
    scenery_rails.build_bridge_rails(site.pieces, lanes, ground)
    scenery_street.place_signal_posts(site, signals)
    scenery_buildings.build_corner_houses(site, find_street_corners(lanes), rngs["corners"])
    scenery_cars.park_in_lanes(site, lanes, rngs["cars"])
    scenery_street.place_street_lamps(site, edges, rngs["lamps"])
    scenery_street.place_street_props(site, edges, rngs["props"])
    scenery_cars.park_in_bays(site, edges, rngs["bays"])
    scenery_buildings.build_house_rows(site, edges, rngs["rows"])
    scenery_street.plant_median_trees(site, lanes, rngs["trees"])
    scenery_street.plant_street_trees(site, edges, rngs["trees"])
    scenery_street.plant_block_trees(site, rngs["trees"])
    scenery_buildings.build_fences(site, edges, rngs["fences"])
    return site.pieces.place_pieces(ground)
