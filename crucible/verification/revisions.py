"""The revisions that drove a study: other code drives otherwise, and records differ for that."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.records.packing.parts import PackedCampaign

REVISION = re.compile(r"[0-9a-f]{7,40}\+?")
"""As `campaign.yaml` has it; with a plus, files were changed since."""


def list_study_revisions(campaigns: Iterable[PackedCampaign]) -> list[str]:
    """Return the revisions that campaigns name, without those that are no revision of git."""
    named = {str(campaign.contents.get("git")) for campaign in campaigns}
    return sorted(filter(REVISION.fullmatch, named))


def describe_other_revision(of_study: Iterable[str], here: str | None) -> str:
    """Return a line if a study was driven by other code than this; else nothing.

    Args:
        of_study: revisions that drove it.
        here: this revision; None if it is not known, as in an installed package.
    """
    others = [revision for revision in of_study if revision != here]
    if not others:
        return ""
    ours = f"revision {here}" if here else "another or unknown revision"
    return (
        f"the study was driven at revision {', '.join(others)}, and this is {ours}: where the car,"
        " traffic or a system changed in between, drives differ on every machine; check out"
        f" {others[0].rstrip('+')} to compare equal code"
    )
