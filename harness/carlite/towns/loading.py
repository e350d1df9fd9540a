"""Towns by name: Crucible's towns, CARLA's that come with it, or a file in a folder of maps."""

from __future__ import annotations

import lzma
import os
import stat
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from harness.carlite.errors import UserError
from harness.carlite.towns import (
    cache,
    crosswalks,
    ground,
    lanes,
    limits,
    opendrive,
    scenery,
    signals,
    spawn,
    structures,
)
from harness.carlite.towns.model import Town

SHIPPED_TOWNS = Path(__file__).parent / "data"
SUFFIX = ".xodr"
PACKED_SUFFIX = ".xodr.xz"
"""CARLA's towns come packed: Town05 has 0.2 MB instead of 4.7."""
LARGEST = 64_000_000
"""Bytes of a map: CARLA's Town05 has 4.7 million."""
LAST_PHASE_FIRST = frozenset({"Town01"})
"""Towns whose junctions begin an episode with their last controller, by CARLA 0.9.13's recorder.

CARLA takes a junction's controllers in the order in which its lights register, which no map states.
"""


def list_available_towns(maps: Path | None) -> list[str]:
    """Return the names `load_town` knows: shipped towns and the OpenDRIVE files in `maps`."""
    return sorted(_list_map_files(maps))


def list_designed_towns() -> list[str]:
    """Return the names of Crucible's designed towns: their files say where scenery is."""
    return sorted(path.stem for path in _list_files(SHIPPED_TOWNS) if path.suffix == SUFFIX)


def load_town(name: str, maps: Path | None) -> Town:
    """Return the town a client may also call `Carla/Maps/NAME` or `NAME_Opt`.

    It bears the name it was asked for by, `_Opt` included. A file of that name in `maps` goes
    before a shipped town. UserError: the town is unknown, or its file is broken.

    Args:
        name: as a client asks for it.
        maps: folder of further towns; None for none.
    """
    files = _list_map_files(maps)
    asked = name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(SUFFIX)
    short = asked if asked in files else asked.removesuffix("_Opt")
    if short not in files:
        close = get_close_matches(short, files, n=1)
        hint = f" did you mean {close[0]}?" if close else ""
        raise UserError(
            f"unknown town '{name[:80]}';{hint} valid towns: {', '.join(sorted(files))}"
        )
    return replace(_load_or_build_town(short, files[short]), name=asked)


def has_made_up_scenery(town: Town) -> bool:
    """Return whether the scenery is a guess: of a map that is not ours and says nothing of it."""
    short = town.name.removesuffix("_Opt")
    return short not in list_designed_towns() and not opendrive.has_scenery_data(town.opendrive)


def _load_or_build_town(name: str, path: Path) -> Town:
    try:
        text = _read_map_bytes(path).decode("utf-8-sig")
    except (OSError, lzma.LZMAError, UnicodeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None
    kept = cache.read_cached_town(name, text)
    if kept is not None:
        return kept
    try:
        town = from_opendrive(name, text)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    cache.write_cached_town(town)
    return town


def _read_map_bytes(path: Path) -> bytes:
    """Return what a map holds, if it is a regular file and no larger than maps are."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as opened:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            raise UserError(f"{path}: not a regular file of {LARGEST:,} bytes at most")
        content = opened.read(LARGEST)
    if path.name.endswith(PACKED_SUFFIX):
        return lzma.LZMADecompressor().decompress(content, max_length=LARGEST)
    return content


def from_opendrive(name: str, text: str) -> Town:
    """Build a town from the text of an OpenDRIVE file; ValueError says what is wrong with it.

    Args:
        name: of the town.
        text: of the file.
    """
    # each step needs those before: lanes, signals, limits, ground, scenery
    network = opendrive.parse_opendrive(text)
    sampled = lanes.build_lanes(network)
    posts = signals.build_signals(network, sampled, last_phase_first=name in LAST_PHASE_FIRST)
    sampled = limits.apply_posted_limits(network, sampled, posts)
    relief = ground.build_ground(sampled)
    given = structures.build_structures(network)
    return Town(
        name=name,
        opendrive=text,
        lanes=sampled,
        ground=relief,
        signals=posts,
        scenery=scenery.furnish_town(
            sampled, relief, posts, name, given=given, wanted=network.scenery
        ),
        spawn_points=spawn.build_spawn_points(sampled),
        crosswalks=crosswalks.build_crosswalks(network),
    )


def _list_map_files(maps: Path | None) -> dict[str, Path]:
    """Return the file of each town; those in `maps` go before shipped ones."""
    packed = {
        path.name.removesuffix(PACKED_SUFFIX): path
        for path in _list_files(SHIPPED_TOWNS)
        if path.name.endswith(PACKED_SUFFIX)
    }
    folders = [SHIPPED_TOWNS] if maps is None else [SHIPPED_TOWNS, maps]
    files = [path for folder in folders for path in _list_files(folder)]
    return packed | {path.stem: path for path in files if path.suffix == SUFFIX}


def _list_files(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise UserError(f"the folder of maps cannot be read: {error}") from None
