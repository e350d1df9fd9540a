"""Built towns on disk: what takes seconds to build is read back in a fraction of one.

An entry's name is made of the town's name, its OpenDRIVE text and the source code that builds
towns, so an entry is never out of date; the navigation mesh, which few programs ask for, has an
entry of its own, named after all of the town but its ground. Entries are written aside and moved
into place whole. One that cannot be read is built again; one that cannot be written is not missed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from harness.carlite.folders import ensure_cache_folder
from harness.carlite.towns.model import (
    LaneStopLine,
    Town,
    TownGround,
    TownLanes,
    TownScenery,
    TownSignal,
)

KEPT_PER_TOWN = 3
Arrays = dict[str, np.ndarray[Any, Any]]
SOURCES = ("towns", "bodies")


def read_cached_town(name: str, text: str) -> Town | None:
    """Return the town kept for this name and text, None if there is none fit to use."""
    try:
        return _unpack_town(name, text, _load_entry(name, _compute_town_key(name, text)))
    except Exception:  # whatever is wrong with the entry, the town can be built
        return None


def write_cached_town(town: Town) -> None:
    """Keep a town for the next start."""
    _save_entry(town.name, _compute_town_key(town.name, town.opendrive), _pack_town(town))


def read_cached_mesh(town: Town) -> bytes | None:
    """Return the navigation mesh kept for a town, None if there is none fit to use."""
    try:
        return _load_entry(f"{town.name}.walkers", _compute_mesh_key(town))["mesh"].tobytes()
    except Exception:  # whatever is wrong with the entry, the mesh can be built
        return None


def write_cached_mesh(town: Town, mesh: bytes) -> None:
    """Keep a town's navigation mesh for the next start."""
    arrays: Arrays = {"mesh": np.frombuffer(mesh, np.uint8)}
    _save_entry(f"{town.name}.walkers", _compute_mesh_key(town), arrays)


def _load_entry(label: str, key: str) -> Arrays:
    with np.load(_build_entry_path(label, key), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _save_entry(label: str, key: str, arrays: Arrays) -> None:
    """Write an entry, and remove the oldest ones of its label."""
    path = _build_entry_path(label, key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=path.parent) as aside:
            part = Path(aside) / path.name
            np.savez(part, allow_pickle=False, **arrays)
            part.replace(path)
        entries = sorted(path.parent.glob(f"{label}-*.npz"), key=lambda p: p.stat().st_mtime)
        for stale in entries[:-KEPT_PER_TOWN]:
            stale.unlink(missing_ok=True)


def _build_entry_path(label: str, key: str) -> Path:
    return ensure_cache_folder() / f"{label}-{key[:32]}.npz"


def _compute_town_key(name: str, text: str) -> str:
    return hashlib.sha256(f"{_compute_builder_digest()}\n{name}\n{text}".encode()).hexdigest()


def _compute_mesh_key(town: Town) -> str:
    digest = hashlib.sha256(_compute_builder_digest().encode())
    for name, array in sorted(_pack_town(town).items()):
        if not name.startswith("ground."):
            digest.update(f"{name} {array.dtype} {array.shape}\n".encode() + array.tobytes())
    return digest.hexdigest()


@functools.cache
def _compute_builder_digest() -> str:
    """Return a digest of all source code that has a say in how a town is built."""
    digest = hashlib.sha256(np.__version__.encode())
    for path in _list_builder_sources():
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _list_builder_sources() -> Iterator[Path]:
    package = Path(__file__).parent.parent
    for folder in SOURCES:
        yield from sorted((package / folder).glob("*.py"))
    yield from sorted(package.glob("*.py"))


def _pack_town(town: Town) -> Arrays:
    arrays: Arrays = {}
    for part in ("lanes", "ground", "scenery"):
        record = getattr(town, part)
        arrays |= {f"{part}.{f.name}": np.asarray(getattr(record, f.name)) for f in fields(record)}
    signals = json.dumps([asdict(signal) for signal in town.signals])
    arrays["signals"] = np.frombuffer(signals.encode(), np.uint8)
    arrays["spawn_points"] = town.spawn_points
    arrays["corners"] = np.concatenate([np.zeros((0, 3)), *town.crosswalks])
    arrays["crosswalks"] = np.array([len(polygon) for polygon in town.crosswalks], np.int64)
    return arrays


def _unpack_town(name: str, text: str, arrays: Arrays) -> Town:
    def part(prefix: str) -> dict[str, Any]:
        return {
            key.removeprefix(f"{prefix}."): value
            for key, value in arrays.items()
            if key.startswith(f"{prefix}.")
        }

    # arrays are stored flat; corners of crosswalks end to end
    ground = part("ground")
    corners = np.split(arrays["corners"], np.cumsum(arrays["crosswalks"]))[:-1]
    return Town(
        name=name,
        opendrive=text,
        lanes=TownLanes(**part("lanes")),
        ground=TownGround(**ground | {key: float(ground[key]) for key in ("x", "y", "cell")}),
        signals=tuple(_unpack_signal(entry) for entry in json.loads(arrays["signals"].tobytes())),
        scenery=TownScenery(**part("scenery")),
        spawn_points=arrays["spawn_points"],
        crosswalks=tuple(corners),
    )


def _unpack_signal(entry: dict[str, Any]) -> TownSignal:
    lines = tuple(
        LaneStopLine(line["lane"], tuple(line["position"]), line["yaw"], line["width"])
        for line in entry["stop_lines"]
    )
    places = {key: tuple(entry[key]) for key in ("position", "trigger_centre", "trigger_extent")}
    return TownSignal(**entry | places | {"stop_lines": lines})
