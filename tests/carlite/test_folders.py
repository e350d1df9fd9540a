"""Machine code is loaded only from folders that no other user can write to."""

from __future__ import annotations

import os
import pwd
import tempfile
from pathlib import Path

import pytest

from harness.carlite.folders import NOWHERE, ensure_cache_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be a user without a home; return where the cache then belongs."""

    def unknown_user(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown_user)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"carlite-{os.getuid()}"


def test_it_is_made_for_this_user_alone(folder: Path) -> None:
    assert ensure_cache_folder() == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert ensure_cache_folder() == folder


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o1777])
def test_one_that_others_may_write_to_is_refused(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    assert ensure_cache_folder() == NOWHERE


def test_a_link_or_a_file_is_refused(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere")
    elsewhere.mkdir(mode=0o700)
    folder.symlink_to(elsewhere)
    assert ensure_cache_folder() == NOWHERE
    folder.unlink()
    folder.touch()
    assert ensure_cache_folder() == NOWHERE


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_the_folder_of_another_user_is_refused(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    assert ensure_cache_folder() == NOWHERE


def test_nothing_is_kept_nowhere() -> None:
    with pytest.raises(OSError, match="Not a directory"):
        NOWHERE.mkdir()


def test_a_chosen_folder_is_looked_at_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert ensure_cache_folder() == tmp_path / "cache" / "carlite"
    ensure_cache_folder().chmod(0o777)
    assert ensure_cache_folder() == NOWHERE
