"""What a campaign reads besides its settings: files, identified by short digests of their contents.

The sums are kept among the settings, so that other weights or other routes under the same names are
other settings, and two networks are never pooled.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from harness.campaign.settings.compensations import list_flow_files
from harness.campaign.settings.config import INPUTS, INTERVENTION, find_class, format_one_line
from harness.campaign.settings.declared import (
    CampaignSettings,
    PartSettings,
    RouteSettings,
    WithInputs,
)
from harness.campaign.settings.differences import list_setting_differences
from harness.campaign.settings.drivers import list_named_drivers
from harness.campaign.settings.links import list_named_links
from harness.campaign.settings.partner_systems import PARTNER_PLACE, list_partner_systems
from harness.campaign.settings.routes import build_route_source, convert_source_errors
from harness.common.errors import UserError
from harness.common.files import expand_home
from harness.common.protocols import hash_protocol
from harness.common.safe_reading import CHECKPOINT, sum_of_file
from harness.records.arms import COMPENSATE, DRIVER, LINK, PARTNER_FLEET
from harness.world.routes.files import list_route_files

DIGITS = 12
"""Of a sum, in base 16."""
FileGroup: TypeAlias = Literal["system", "intervention", "driver", "link", "partners"]
"""Groups of the settings of which files are known."""


def with_inputs(settings: CampaignSettings) -> WithInputs:
    """Return settings with the sums of all files that they have read."""
    protocol = get_protocol_path(settings)
    of_interventions = hash_files_of_parts(settings.get("intervention", {}), INTERVENTION)
    of_links = hash_files_of_parts(list_named_links(settings), LINK)
    of_drivers = hash_files_of_parts(list_named_drivers(settings), DRIVER)
    of_partners = hash_files_of_parts(list_partner_systems(settings), PARTNER_PLACE)
    of_flows = hash_flow_files(settings)
    return {
        **settings,
        "inputs": {
            "routes": hash_route_files(settings["routes"]),
            "system": hash_files_of_parts(settings["system"]),
            **({INTERVENTION: of_interventions} if of_interventions else {}),
            **({DRIVER: of_drivers} if of_drivers else {}),
            **({LINK: of_links} if of_links else {}),
            **({PARTNER_FLEET: of_partners} if of_partners else {}),
            **({COMPENSATE: of_flows} if of_flows else {}),
            **({} if protocol is None else {"protocol": hash_protocol(protocol)}),
        },
    }


def get_protocol_path(settings: CampaignSettings) -> Path | None:
    """Return the study's protocol, if one is named."""
    named = settings["protocol"]
    return None if named is None else expand_home(named, "protocol")


def hash_route_files(routes: RouteSettings) -> dict[str, str]:
    """Return the sums of the files of routes and hazards; a folder's is over all of its routes."""
    source = build_route_source(routes)
    with convert_source_errors(source):
        paths = dict(source.files())
    return {
        name: hash_route_folder(place) if place.is_dir() else hash_short(place)
        for name, place in paths.items()
    }


def hash_files_of_parts(
    parts: Mapping[str, PartSettings[Any]], group: str = "system"
) -> dict[str, dict[str, str]]:
    """Return the sums of the files that systems, or others, read; of those that read any."""
    digests = {
        name: sum_files_by_name(list_system_files(part, f"{group}.{name}"))
        for name, part in parts.items()
    }
    return {name: sums for name, sums in digests.items() if sums}


def refuse_file_changes(settings: CampaignSettings, name: str, group: FileGroup) -> None:
    """Refuse files of a part of the settings that are not those that a campaign began with."""
    if changes := list_file_changes(settings, [name], group):
        raise UserError(f"other files than the campaign began with: {'; '.join(changes)}")


def list_file_changes(
    settings: CampaignSettings, names: Iterable[str], group: FileGroup = "system"
) -> list[str]:
    """Return how systems' files differ from those that a campaign was started with.

    Args:
        settings: as the campaign has them, with digests of its files.
        names: of systems, interventions, drivers, links or systems of partners.
        group: of the settings.

    Returns:
        A line for each file that has other contents now.
    """
    known = settings.get(INPUTS)
    known = known.get(group) if isinstance(known, dict) else None
    if not isinstance(known, dict):
        return []
    of_partners = group == PARTNER_FLEET
    parts: Mapping[str, Any] = list_partner_systems(settings) if of_partners else settings[group]
    chosen = {name: part for name in names if (part := parts[name]) is not None}
    began = {name: value for name, value in known.items() if name in chosen}
    now = hash_files_of_parts(chosen, PARTNER_PLACE if of_partners else group)
    return list(list_setting_differences(began, now, f"{INPUTS}.{group}"))


def list_all_file_changes(settings: CampaignSettings) -> list[str]:
    """Return how the files of all systems, also of partners, differ from those of the start."""
    of_partners = list_file_changes(settings, list_partner_systems(settings), PARTNER_FLEET)
    of_flows = list_flow_changes(settings)
    return [*list_file_changes(settings, settings["system"]), *of_partners, *of_flows]


def hash_flow_files(settings: CampaignSettings) -> dict[str, dict[str, str]]:
    """Return the sums of the flow networks of compensations, by the names of these."""
    return {name: sum_files_by_name(files) for name, files in list_flow_files(settings).items()}


def list_flow_changes(settings: CampaignSettings) -> list[str]:
    """Return how flow networks differ from those that a campaign was started with."""
    known = settings.get(INPUTS)
    known = known.get(COMPENSATE) if isinstance(known, dict) else None
    if not isinstance(known, dict):
        return []
    now = hash_flow_files(settings)
    return list(list_setting_differences(known, now, f"{INPUTS}.{COMPENSATE}"))


def refuse_flow_changes(settings: CampaignSettings) -> None:
    """Refuse flow networks that are not those that a campaign began with."""
    if changes := list_flow_changes(settings):
        raise UserError(f"other files than the campaign began with: {'; '.join(changes)}")


def sum_files_by_name(files: Iterable[Path]) -> dict[str, str]:
    """Return the sums of files; those of one name in several folders stand side by side."""
    sums: dict[str, list[str]] = defaultdict(list)
    for file in files:
        sums[file.name].append(hash_short(file))
    return {name: "+".join(digests) for name, digests in sums.items()}


def list_system_files(system: PartSettings[Any], place: str) -> list[Path]:
    """Return the files that a system declares, else those that its arguments name."""
    given = {name: value for name, value in system.items() if name != "_target_"}
    files = getattr(find_class(system["_target_"], place), "files", None)
    if files is None:
        words = [value for value in given.values() if isinstance(value, str)]
        return [Path(word) for word in words if os.path.isfile(word)]  # noqa: PTH113 - of any text
    try:
        return [Path(file) for file in files(**given)]
    except UserError:
        raise
    except Exception as problem:  # any exception of a user's class
        raise UserError(f"configuration: {place}: files: {format_one_line(problem)}") from None


def hash_route_folder(folder: Path) -> str:
    """Return a few digits that change with the route files of a folder, and with their names."""
    lines = [
        f"{route_file.name} {hash_short(route_file)}\n" for route_file in list_route_files(folder)
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:DIGITS]


def hash_short(file: Path) -> str:
    """Return a few digits that change with what a file holds."""
    try:
        return sum_of_file(file, follow=True, kind=CHECKPOINT)[:DIGITS]
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}") from None
