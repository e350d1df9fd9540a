"""Maps of towns from files, for work that needs no simulator."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

import carla

from harness.common.errors import UserError
from harness.common.safe_reading import OPENDRIVE_MAP, read_text_within
from harness.world.roads import RoadNetwork

SHIPPED_TOWNS = Path(__file__).parent.parent / "carlite" / "towns" / "data"
NAME = re.compile(r"\w{1,64}", re.ASCII)


def find_map(town: str, maps: Path | None) -> Path | None:
    """Return a town's OpenDRIVE file, from a folder of maps or of our own towns.

    Args:
        town: its name.
        maps: a folder that is looked in first; None for shipped towns only.

    Returns:
        None without a file of that name.
    """
    folders = [maps, SHIPPED_TOWNS] if maps is not None else [SHIPPED_TOWNS]
    candidates = [folder / f"{town}.xodr" for folder in folders if NAME.fullmatch(town)]
    return next((path for path in candidates if os.path.lexists(path)), None)


@lru_cache(maxsize=4)
def load_road_network(town: str, maps: Path | None) -> RoadNetwork:
    """Return the roads of a town whose map lies in a file.

    Args:
        town: its name.
        maps: a folder that is looked in first; None for shipped towns only.

    Returns:
        The roads, kept in memory for four towns.

    Raises:
        UserError: no map of that name, or one that cannot be read.
    """
    path = find_map(town, maps)
    if path is None:
        raise UserError(
            f"{town}: map not found: {town}.xodr in {maps or 'the folder of own towns'}; save one"
            f" from a running CARLA with `crucible maps export --town {town} --out DIR`"
            " and name that folder"
        )
    try:
        text = read_text_within(path, OPENDRIVE_MAP)
        network = RoadNetwork(carla.Map(town, text))
    except (OSError, ValueError, RuntimeError, IndexError) as problem:
        raise UserError(
            f"{path}: is no map that CARLA can read ({problem}); save it again"
        ) from None
    if not network.graph.waypoints:
        raise UserError(f"{path}: has no driving lanes; save it again")
    return network
