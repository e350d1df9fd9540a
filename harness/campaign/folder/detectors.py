"""Systems of a campaign whose detectors are far below what they detect on their own data sets."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from harness.campaign.folder.inputs import list_system_files
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.partner_systems import list_all_systems
from harness.common.errors import UserError
from harness.common.scene_precision import (
    SCENE_PRECISION_KEY,
    ScenePrecision,
    read_scene_precision,
)


def find_off_domain(settings: CampaignSettings) -> dict[str, ScenePrecision]:
    """Return what was measured of detectors that are far below, by system.

    Args:
        settings: of the campaign. Systems whose files are missing are refused elsewhere.

    Raises:
        UserError: a record of `crucible models check` cannot be read.
    """
    far_below = {}
    for system in list_all_systems(settings):
        try:
            files = [one for one in list_system_files(system.part, system.place) if one.is_file()]
        except UserError:
            continue
        known = read_scene_precision(files)
        if known is not None and known.far_below:
            far_below[system.name] = known
    return far_below


def make_off_domain_field(settings: CampaignSettings) -> dict[str, Any]:
    """Return what `campaign.yaml` says of such systems; nothing without any."""
    far_below = find_off_domain(settings)
    records = {name: asdict(known) for name, known in far_below.items()}
    return {SCENE_PRECISION_KEY: records} if records else {}
