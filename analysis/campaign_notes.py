"""Notes on campaigns that follow from their headers, for readers of any table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.sampled import describe_sampled_routes
from harness.common.scene_precision import (
    ScenePrecision,
    describe_off_domain,
    parse_system_records,
)
from harness.records.reading import CampaignRecords

WARNING_PREFIX = "warning:"
"""Start of the notes that are shown first."""


def describe_campaigns(campaigns: Sequence[CampaignRecords]) -> Iterator[str]:
    """Yield notes on routes that were sampled, and on detectors off their domain."""
    yield from describe_sampled_routes(campaigns)
    yield from describe_detectors(campaigns)


def describe_detectors(campaigns: Sequence[CampaignRecords]) -> Iterator[str]:
    """Yield a warning if systems are far below what they detect on their own data sets."""
    known: dict[str, ScenePrecision] = {}
    for campaign in campaigns:
        known |= parse_system_records(campaign.header, campaign.folder / "campaign.yaml")
    if known:
        yield f"{WARNING_PREFIX} {describe_off_domain(known)}"
