"""Whether the `decide.jsonl` of packed campaigns follows from their routes and results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from harness.campaign.folder.assignments import FOLDER, RouteAssignment
from harness.records.decided import DECIDE_FILE
from harness.records.packing.parts import PackedCampaign
from studies.decide.checking import find_decide_disagreement
from studies.decide.outcomes import extract_outcomes


def check_decided_campaigns(
    campaigns: Mapping[str, PackedCampaign], maps: Path | None
) -> tuple[list[str], list[str]]:
    """Return what does not follow, and a line for each campaign that `crucible decide` chose.

    Args:
        campaigns: packed ones, by name.
        maps: folder of OpenDRIVE files; None: those that are shipped.
    """
    wrong, checked = [], []
    for name, campaign in sorted(campaigns.items()):
        if campaign.decided is None:
            continue
        outcomes = {
            attempt.key: extract_outcomes(attempt.ours, f"{attempt.part.file}: {attempt.key}")
            for attempt in campaign.attempts
        }
        assignments = list(iter_packed_assignments(campaign))
        problem = find_decide_disagreement(campaign.decided, assignments, outcomes, maps)
        if problem:
            wrong.append(f"{name}: {problem}")
        else:
            lines = campaign.decided.count("\n")
            checked.append(f"{name}: {DECIDE_FILE}: all {lines} lines follow from the results")
    return wrong, checked


def iter_packed_assignments(campaign: PackedCampaign) -> Iterator[RouteAssignment]:
    """Yield the routes of a campaign; those that a condition alone has are left out."""
    for place, text in sorted(campaign.routes.items()):
        if PurePosixPath(place).parent == PurePosixPath(FOLDER):
            yield RouteAssignment.from_json(text)
