"""Maps of towns from files, for work that needs no simulator."""

from __future__ import annotations

import lzma
import os
import re
from functools import lru_cache
from pathlib import Path

import carla

from harness.common.errors import UserError
from harness.common.safe_reading import OPENDRIVE_MAP, read_within
from harness.world.roads import RoadNetwork

SHIPPED_TOWNS = Path(__file__).parent.parent / "carlite" / "towns" / "data"
NAME = re.compile(r"\w{1,64}", re.ASCII)
PACKED = ".xz"


def find_map(town: str, maps: Path | None) -> Path | None:
    """Return a town's OpenDRIVE file, from a folder of maps or of shipped towns.

    Args:
        town: its name.
        maps: a folder that is looked in first; None for shipped towns only.

    Returns:
        None without a file of that name.
    """
    if not NAME.fullmatch(town):
        return None
    candidates = [maps / f"{town}.xodr"] if maps is not None else []
    candidates += [SHIPPED_TOWNS / f"{town}.xodr", SHIPPED_TOWNS / f"{town}.xodr{PACKED}"]
    return next((path for path in candidates if os.path.lexists(path)), None)


def read_map_bytes(path: Path) -> bytes:
    """Return the OpenDRIVE text of a file that `find_map` gave, unpacked, in UTF-8.

    Raises:
        UserError, OSError, ValueError: the file is no map.
    """
    content = read_within(path, OPENDRIVE_MAP)
    if path.suffix == PACKED:
        try:
            content = lzma.LZMADecompressor().decompress(content, max_length=OPENDRIVE_MAP.most)
        except lzma.LZMAError as problem:
            raise ValueError(str(problem)) from None
    return content


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
            f"{town}: map not found: {town}.xodr in {maps or 'the shipped towns'}; save one"
            f" from a running CARLA with `crucible maps export --town {town} --out DIR`"
            " and name that folder"
        )
    try:
        network = RoadNetwork(carla.Map(town, read_map_bytes(path).decode()))
    except (OSError, ValueError, RuntimeError, IndexError) as problem:
        raise UserError(
            f"{path}: is no map that CARLA can read ({problem}); save it again"
        ) from None
    if not network.graph.waypoints:
        raise UserError(f"{path}: has no driving lanes; save it again")
    return network
