"""A study goes on from its packed parts: what they hold is not driven again.

A study's records take gigabytes and stay where it was driven. Its parts are small and have each
result. With them the same command goes on in a new folder, here or on another machine. The folder
gets what is new, and is packed as the next part (`crucible pack --without`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.campaign.folder.assignments import write_assignments
from harness.campaign.folder.campaign_folder import save_header
from harness.campaign.settings.differences import list_setting_differences
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.safe_reading import LAID_ROUTE, read_text_within
from harness.records.decided import DECIDE_FILE
from harness.records.digests import hash_bytes, hash_file
from harness.records.keys import AttemptKey
from harness.records.names import escape_file_name
from harness.records.packing.layout import PACKED, ROUTES
from harness.records.packing.parts import PackedCampaign, read_packed_campaigns
from harness.records.packing.paths import make_portable_settings
from harness.types.record_names import IRRELEVANT_SETTINGS
from studies.decide.driving import make_study_header
from studies.decide.outcomes import extract_outcomes
from studies.decide.planning import DecidePlan

CONTINUED = "continued.json"
"""The file in a campaign's folder that names the parts from which it goes on."""
NO_DEFINITION = {"digest", PACKED, "settings"}
"""Fields of `campaign.yaml` that are compared apart, or not: paths are in the digest."""


def read_earlier_parts(files: Sequence[Path], folder: Path) -> PackedCampaign | None:
    """Return what parts hold of the campaign of a folder; None without parts.

    Args:
        files: packed parts of the study; none for a study that begins here.
        folder: of the campaign. Parts name a campaign as its folder.

    Raises:
        UserError: a part cannot be read, has no such campaign, or is needed and not given.
    """
    if not files:
        if os.path.lexists(folder / CONTINUED):
            raise UserError(
                f"{folder}: goes on from packed parts ({CONTINUED} names them); give --known FILE"
            )
        return None
    campaigns = read_packed_campaigns(files)
    name = escape_file_name(folder.resolve().name)
    if name not in campaigns:
        raise UserError(
            f"{files[0]}: no campaign {name}, but {', '.join(campaigns)}; a study goes on in a"
            " folder of the same name: out=DIR/NAME"
        )
    if campaigns[name].decided is None:
        raise UserError(f"{files[0]}: {name}: a campaign without a decide plan")
    return campaigns[name]


def refuse_other_study(plan: DecidePlan, earlier: PackedCampaign) -> None:
    """Refuse parts of another study, of another revision, or of other packages.

    Args:
        plan: of the study.
        earlier: what the parts hold.
    """
    known, here = earlier.contents, make_study_header(plan)
    fields, fields_here = (
        {name: value for name, value in header.items() if name not in NO_DEFINITION}
        for header in (known, here)
    )
    settings, settings_here = (
        {name: value for name, value in given.items() if name not in IRRELEVANT_SETTINGS}
        for given in (earlier.settings, make_portable_settings(plan.campaign))
    )
    changes = [
        *list_setting_differences(fields, fields_here),
        *list_setting_differences(settings, settings_here),
    ]
    if changes:
        raise UserError(
            f"{earlier.name}: the packed parts were driven otherwise; drive on as they were\n  "
            + "\n  ".join(changes)
        )


def prepare_continued_folder(
    plan: DecidePlan, folder: Path, earlier: PackedCampaign, files: Sequence[Path]
) -> None:
    """Write settings, routes and the record so far into the campaign folder, where they are not.

    The settings that change no result are those of the parts: all parts have one `campaign.yaml`.

    Args:
        plan: of the study.
        folder: of its campaign, locked.
        earlier: what the parts hold.
        files: the parts.

    Raises:
        UserError: a route is another one in the parts.
    """
    write_assignments(folder, plan.planned.assignments)
    write_earlier_routes(folder, earlier)
    if not (folder / DECIDE_FILE).exists():
        write_whole(folder / DECIDE_FILE, earlier.decided or "")
    parts = [{"file": file.name, "sha256": hash_file(file)} for file in files]
    write_whole(folder / CONTINUED, json.dumps({"parts": parts}, indent=1) + "\n")
    if not (folder / "campaign.yaml").exists():
        theirs = {
            name: value for name, value in earlier.settings.items() if name in IRRELEVANT_SETTINGS
        }
        header = {**earlier.contents, "settings": {**plan.campaign, **theirs}}
        header.pop(PACKED, None)
        save_header(folder / "campaign.yaml", header)


def write_earlier_routes(folder: Path, earlier: PackedCampaign) -> None:
    """Write the routes of parts that the folder does not have; refuse those that differ."""
    for place, text in earlier.routes.items():
        file = folder / place
        if os.path.lexists(file):
            here = read_text_within(file, LAID_ROUTE, within=folder)
            if hash_bytes(here.encode()) != earlier.sums[place]:
                raise UserError(
                    f"{earlier.name}: {place.removeprefix(ROUTES + '/')} is another route in the"
                    " packed parts"
                )
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, text)


def read_packed_outcomes(earlier: PackedCampaign) -> Mapping[AttemptKey, dict[str, float]]:
    """Return the outcomes of all attempts in the parts."""
    return {
        attempt.key: extract_outcomes(attempt.ours, f"{attempt.part.file}: {attempt.key}")
        for attempt in earlier.attempts
    }
