"""Towns by name: our own, or any OpenDRIVE file in a folder of maps."""

from __future__ import annotations

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
LARGEST = 64_000_000
"""Bytes of a map: CARLA's Town05 has 4.7 million."""


def list_available_towns(maps: Path | None) -> list[str]:
    """Return the names `load_town` knows: our own towns and the OpenDRIVE files in `maps`."""
    return sorted(_list_map_files(maps))


def load_town(name: str, maps: Path | None) -> Town:
    """Return the town a client may also call `Carla/Maps/NAME` or `NAME_Opt`.

    It bears the name it was asked for by, `_Opt` included. A file of that name in `maps` goes
    before a town of our own. UserError: the town is unknown, or its file is broken.

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
    return short not in list_available_towns(None) and not opendrive.has_scenery_data(
        town.opendrive
    )


def _load_or_build_town(name: str, path: Path) -> Town:
    try:
        text = _content(path).decode("utf-8-sig")
    except (OSError, UnicodeError) as error:
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


def _content(path: Path) -> bytes:
    """Return what a map holds, if it is a regular file and no larger than maps are."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as opened:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            raise UserError(f"{path}: not a regular file of {LARGEST:,} bytes at most")
        return opened.read(LARGEST)


def from_opendrive(name: str, text: str) -> Town:
    """Build a town from the text of an OpenDRIVE file; ValueError says what is wrong with it.

    Args:
        name: of the town.
        text: of the file.
    """
    # each step needs those before: lanes, signals, limits, ground, scenery
    network = opendrive.parse_opendrive(text)
    sampled = lanes.build_lanes(network)
    posts = signals.build_signals(network, sampled)
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
    folders = [SHIPPED_TOWNS] if maps is None else [SHIPPED_TOWNS, maps]
    try:
        return {
            path.stem: path
            for folder in folders
            for path in sorted(folder.iterdir())
            if path.suffix == SUFFIX
        }
    except OSError as error:
        raise UserError(f"the folder of maps cannot be read: {error}") from None
