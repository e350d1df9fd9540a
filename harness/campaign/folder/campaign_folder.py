"""The campaign folder: made once, locked while running, never mixed with another configuration."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from harness.campaign.folder.detectors import make_off_domain_field
from harness.campaign.settings.config import hash_settings
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.differences import list_setting_differences
from harness.common.environments import build_child_environment
from harness.common.errors import UserError
from harness.common.files import expand_home, refuse_links, write_whole
from harness.common.installation import PACKAGES
from harness.common.locks import lock_file
from harness.records import reading
from harness.records.names import escape_file_name
from harness.records.packing.layout import PACKED
from harness.records.schema import VERSION
from harness.types.record_names import IRRELEVANT_SETTINGS

OURS = re.compile(r"\.lock|\.\d+\.campaign\.yaml")
"""The files that a runner killed at its start leaves behind."""
LOOKS, LOOK = 3, 0.1
"""Times, and seconds apart, that a lock is tried before it counts as held."""
VERSIONED = ("v2x-crucible", "carla", "numpy", "numba", "torch", "hydra-core", "pyarrow")


class CampaignDumper(yaml.SafeDumper):
    """Writes everything in full; readers refuse aliases."""

    def ignore_aliases(self, data: object) -> bool:
        """Never use aliases."""
        return True


def get_campaign_path(settings: CampaignSettings) -> Path:
    """Return where a campaign with these settings lies."""
    chosen = settings["out"]
    if chosen is not None:
        return expand_home(chosen, "out")
    return Path("runs") / f"{escape_file_name(settings['study']['name'])}-{hash_settings(settings)}"


def prepare_campaign(folder: Path, settings: CampaignSettings, simulator: str) -> None:
    """Write `campaign.yaml` unless it exists.

    Args:
        folder: of the campaign.
        settings: resolved and checked.
        simulator: its name.

    Raises:
        UserError: the folder is of other settings.
    """
    file = folder / "campaign.yaml"
    refuse_foreign(folder, settings)
    if not file.exists():
        write_header(file, settings, simulator, **make_off_domain_field(settings))


def write_header(
    file: Path, settings: Mapping[str, object], simulator: str, **more: object
) -> None:
    """Write the settings and versions that a campaign is made with into `campaign.yaml`.

    Args:
        file: `campaign.yaml`.
        settings: resolved and checked.
        simulator: its name.
        more: further fields.
    """
    save_header(file, make_header(settings, simulator, **more))


def save_header(file: Path, header: Mapping[str, object]) -> None:
    """Write `campaign.yaml`, whole or not at all."""
    write_whole(file, yaml.dump(dict(header), Dumper=CampaignDumper, sort_keys=False))


def make_header(
    settings: Mapping[str, object], simulator: str, **more: object
) -> dict[str, object]:
    """Return what `campaign.yaml` holds: settings, and the versions that a campaign is made with.

    Args:
        settings: resolved and checked.
        simulator: its name.
        more: further fields.
    """
    return {
        "schema": VERSION,
        "digest": hash_settings(settings),
        "simulator": simulator,
        "git": read_git_revision(),
        "python": platform.python_version(),
        "versions": {
            name: installed for name in VERSIONED if (installed := get_package_version(name))
        },
        **more,
        "settings": settings,
    }


def refuse_foreign(folder: Path, settings: CampaignSettings) -> None:
    """Refuse a folder that is no campaign, or one that was made with other settings."""
    file = folder / "campaign.yaml"
    try:
        if file.exists():
            refuse_other_settings(file, settings)
        elif folder.exists() and not all(OURS.fullmatch(path.name) for path in folder.iterdir()):
            raise UserError(f"{folder}: not empty and not a campaign; choose another out=DIR")
    except OSError as problem:
        raise UserError(f"{folder}: {problem.strerror}") from None


def refuse_other_settings(file: Path, settings: CampaignSettings) -> None:
    """Compare with the settings a folder was made with."""
    header = load_campaign_header(file)
    refuse_unpacked(file.parent, header)
    known, chosen = (
        {name: value for name, value in given.items() if name not in IRRELEVANT_SETTINGS}
        for given in (header["settings"], settings)
    )
    if changes := list(list_setting_differences(known, chosen)):
        raise UserError(
            f"{file.parent}: made with other settings; choose another out=DIR or undo\n  "
            + "\n  ".join(changes)
        )


def refuse_unpacked(folder: Path, header: Mapping[str, object]) -> None:
    """Refuse to drive in a folder that was unpacked: its records are not whole."""
    if header.get(PACKED):
        raise UserError(
            f"{folder}: unpacked from a packed study, and read only; choose another out=DIR, or"
            " drive its attempts again with crucible verify"
        )


def load_campaign_header(file: Path) -> dict[str, Any]:
    """Return the contents of `campaign.yaml`, settings included."""
    header = reading.read_campaign_header(file)
    if not isinstance(header.get("settings"), dict):
        raise UserError(f"{file}: not a campaign's configuration")
    return header


@contextmanager
def lock_campaign(folder: Path) -> Iterator[None]:
    """Keep a second runner out of the folder; the lock goes with the process, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for inner in (folder, folder / "logs", folder / "routes"):
            refuse_links(inner)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(folder / ".lock", flags, 0o644)
    except OSError as problem:
        raise UserError(f"{folder}: {problem.strerror}") from None
    try:
        refuse_taken(folder, handle)
        yield
    finally:
        os.close(handle)


def refuse_taken(folder: Path, handle: int) -> None:
    """Take the lock, unless another process holds it or the file system has no locks."""
    try:
        ours = any(try_lock(handle) for _ in range(LOOKS))
    except OSError as problem:
        raise UserError(
            f"{folder}: cannot be locked ({problem.strerror}); choose an out=DIR on another disk"
        ) from None
    if not ours:
        raise UserError(f"{folder}: another campaign is running in it")


def try_lock(handle: int) -> bool:
    """Take the lock if it is free; a process that only checks holds it for an instant."""
    ours = lock_file(handle)
    if not ours:
        time.sleep(LOOK)
    return ours


def get_package_version(name: str) -> str | None:
    """Return the installed version, if it is installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def read_git_revision() -> str | None:
    """Return the project's revision, with a plus if files have changed since."""
    if not (PACKAGES / ".git").exists():
        return None
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
            cwd=PACKAGES,
            env=build_child_environment(),
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip()
