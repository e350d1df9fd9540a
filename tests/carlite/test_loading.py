"""Towns by name, and the cache of built towns on disk."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from harness.carlite import compiled, towns
from harness.carlite.errors import UserError
from harness.carlite.towns import cache, navmesh
from harness.carlite.towns.model import Town
from tests.carlite import opendrive_samples as samples
from tests.carlite.client_map import MAPS
from tests.profiles import ONLY_WITH_ALL


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "carlite"


@pytest.fixture
def maps(tmp_path: Path) -> Path:
    folder = tmp_path / "maps"
    folder.mkdir()
    (folder / "Corner.xodr").write_text(samples.crossing(), encoding="utf-8")
    (folder / "Lane_Opt.xodr").write_text(samples.straight_road(), encoding="utf-8")
    (folder / "notes.txt").write_text("not a map", encoding="utf-8")
    return folder


def assert_same(a: Town, b: Town) -> None:
    for part in ("lanes", "ground", "scenery"):
        for field in fields(getattr(a, part)):
            mine, other = (
                getattr(getattr(a, part), field.name),
                getattr(getattr(b, part), field.name),
            )
            np.testing.assert_array_equal(mine, other, err_msg=f"{part}.{field.name}")
            if isinstance(mine, np.ndarray):
                assert mine.dtype == other.dtype
                assert mine.flags.c_contiguous
                assert other.flags.c_contiguous
    assert (a.name, a.opendrive, a.signals) == (b.name, b.opendrive, b.signals)
    np.testing.assert_array_equal(a.spawn_points, b.spawn_points)
    assert len(a.crosswalks) == len(b.crosswalks)
    for mine, other in zip(a.crosswalks, b.crosswalks, strict=True):
        np.testing.assert_array_equal(mine, other)


def digest_of(town: Town) -> str:
    total = hashlib.sha256(repr(town.signals).encode())
    for part in ("lanes", "ground", "scenery"):
        for field in fields(getattr(town, part)):
            total.update(np.asarray(getattr(getattr(town, part), field.name)).tobytes())
    for array in (town.spawn_points, *town.crosswalks):
        total.update(array.tobytes())
    return total.hexdigest()


def test_shipped_towns_and_a_folder_of_maps_are_listed(maps: Path) -> None:
    shipped = towns.list_available_towns(None)
    assert "Crucible05" in shipped
    assert shipped == sorted(shipped)
    assert towns.list_available_towns(maps) == sorted([*shipped, "Corner", "Lane_Opt"])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("Corner", "Corner"),
        ("Carla/Maps/Corner", "Corner"),
        ("/Game/Carla/Maps/Corner", "Corner"),
        ("/Game/Carla/Maps/Corner_Opt", "Corner_Opt"),
        ("Lane_Opt", "Lane_Opt"),
    ],
)
def test_clients_may_spell_a_town_in_several_ways(maps: Path, asked: str, given: str) -> None:
    assert towns.load_town(asked, maps).name == given


@pytest.mark.parametrize("name", ["Nowhere", "", "..", "../maps/Corner.txt", "/etc/passwd", "a\0b"])
def test_unknown_towns_are_refused_with_the_valid_names(maps: Path, name: str) -> None:
    with pytest.raises(UserError, match="unknown town") as refusal:
        towns.load_town(name, maps)
    assert "Crucible05" in str(refusal.value)
    assert "Corner" in str(refusal.value)


def test_the_nearest_town_is_named(maps: Path) -> None:
    with pytest.raises(UserError, match=r"^unknown town 'Crucible5'; did you mean Crucible05\?"):
        towns.load_town("Crucible5", maps)


def test_a_folder_of_maps_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        towns.list_available_towns(tmp_path / "nothing")


def test_a_file_that_is_not_text(maps: Path) -> None:
    (maps / "Corner.xodr").write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(UserError, match=r"Corner\.xodr: cannot be read"):
        towns.load_town("Corner", maps)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["Crucible05", "CrucibleRing", pytest.param("Town05", marks=ONLY_WITH_ALL)]
)
def test_a_town_comes_back_from_the_cache_as_it_was(name: str, cache_folder: Path) -> None:
    if MAPS is None and name.startswith("Town"):
        pytest.skip("CRUCIBLE_MAPS is not set: CARLA's own towns are not checked")
    folder = Path(MAPS) if MAPS else None
    built = towns.load_town(name, folder)
    assert len(list(cache_folder.iterdir())) == 1
    kept = towns.load_town(name, folder)
    assert_same(built, kept)


def test_a_changed_file_is_built_again(maps: Path) -> None:
    before = towns.load_town("Corner", maps)
    (maps / "Corner.xodr").write_text(samples.straight_road(), encoding="utf-8")
    after = towns.load_town("Corner", maps)
    assert len(after.lanes.key) < len(before.lanes.key)


@pytest.mark.thorough
def test_damaged_entries_are_built_again(maps: Path, cache_folder: Path) -> None:
    town = towns.load_town("Corner", maps)
    (entry,) = cache_folder.iterdir()
    whole = entry.read_bytes()
    rng = random.Random(2)
    for trial in range(60):
        broken = bytearray(whole)
        if trial % 3:
            for _ in range(rng.randint(1, 50)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
        else:
            del broken[rng.randrange(len(broken)) :]
        entry.write_bytes(bytes(broken))
        kept = cache.read_cached_town(town.name, town.opendrive)
        if kept is not None:
            assert_same(kept, town)
    entry.write_bytes(b"")
    assert_same(towns.load_town("Corner", maps), town)
    assert cache.read_cached_town(town.name, town.opendrive) is not None


def test_a_cache_that_cannot_be_written_is_not_missed(maps: Path, cache_folder: Path) -> None:
    cache_folder.parent.mkdir(parents=True)
    cache_folder.write_text("in the way", encoding="utf-8")
    assert towns.load_town("Corner", maps).name == "Corner"


def test_old_entries_make_room(maps: Path, cache_folder: Path) -> None:
    for length in range(50, 50 + cache.KEPT_PER_TOWN + 3):
        (maps / "Corner.xodr").write_text(samples.straight_road(float(length)), encoding="utf-8")
        towns.load_town("Corner", maps)
    assert len(list(cache_folder.iterdir())) == cache.KEPT_PER_TOWN


def test_a_navigation_mesh_is_built_once(maps: Path, cache_folder: Path) -> None:
    (maps / "Street.xodr").write_text(street(2.0), encoding="utf-8")
    town = towns.load_town("Street", maps)
    built = navmesh.load_navigation_mesh(town)
    assert built == navmesh.build_navigation_mesh(town) != b""
    cache.write_cached_mesh(town, b"kept")
    assert navmesh.load_navigation_mesh(town) == b"kept"
    (entry,) = cache_folder.glob("*.walkers-*")
    entry.write_bytes(entry.read_bytes()[:-100])
    assert navmesh.load_navigation_mesh(town) == built
    assert navmesh.load_navigation_mesh(town) == built == cache.read_cached_mesh(town)


def test_another_town_of_that_name_has_another_mesh(maps: Path) -> None:
    meshes = []
    for width in (2.0, 3.0):
        (maps / "Street.xodr").write_text(street(width), encoding="utf-8")
        meshes.append(navmesh.load_navigation_mesh(towns.load_town("Street", maps)))
    assert meshes[0] != meshes[1]


def street(sidewalk: float) -> str:
    """A straight road with sidewalks of this width."""
    width = f'<width sOffset="0" a="{sidewalk}" b="0" c="0" d="0"/>'
    sidewalks = [samples.lane(number, "sidewalk", width) for number in (2, -2)]
    row = samples.section([sidewalks[0], samples.lane(1), samples.lane(-1), sidewalks[1]])
    plan = samples.geometry(0.0, 0.0, 0.0, 0.0, 100.0, "<line/>")
    return samples.document(samples.road(1, 100.0, plan, row))


@pytest.mark.thorough
def test_another_process_builds_the_same_town(tmp_path: Path) -> None:
    """Equal bytes whatever the process, its hash seed and the place of its cache."""
    script = (
        "from harness.carlite import towns\n"
        "from tests.carlite.test_loading import digest_of\n"
        "print(digest_of(towns.load_town('CrucibleOld', None)))\n"
    )
    other = tmp_path / "other" / "carlite"
    other.mkdir(parents=True)
    (other / "compiled").symlink_to(compiled.FOLDER)
    environment = os.environ | {"PYTHONHASHSEED": "77", "XDG_CACHE_HOME": str(other.parent)}
    answer = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert answer.stdout.split()[-1] == digest_of(towns.load_town("CrucibleOld", None))
