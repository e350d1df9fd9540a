"""Which ground truth the error patterns of a table were counted by: *seen*, *all*, or another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.collection import CampaignCollection, get_campaign_settings
from analysis.tables.table import EstimatesTable
from harness.records.reading import CampaignRecords
from harness.types.record_names import GROUND_TRUTHS, PATTERNS

NOT_RECORDED = "not recorded"


def add_ground_truth_titles(
    tables: Sequence[EstimatesTable], collection: CampaignCollection
) -> list[EstimatesTable]:
    """Return tables, those with error patterns with the ground truth in their titles."""
    ending = f"; ground truth: {describe_collection_truth(collection)}"
    return [
        replace(table, title=f"{table.title}{ending}")
        if set(PATTERNS).intersection(table.measures)
        else table
        for table in tables
    ]


def describe_collection_truth(collection: CampaignCollection) -> str:
    """Return the ground truth of all campaigns in a word or two; of each where they differ."""
    words = [describe_campaign_truth(campaign) for campaign in collection.campaigns]
    if len(set(words)) == 1:
        return words[0]
    names = collection.labels or [
        campaign.folder.resolve().name for campaign in collection.campaigns
    ]
    return ", ".join(f"{word} ({name})" for name, word in zip(names, words, strict=True))


def describe_campaign_truth(campaign: CampaignRecords) -> str:
    """Return the ground truth of one campaign: `seen`, `all`, or what must have hit a road user."""
    patterns = get_campaign_settings(campaign).get("patterns")
    truth_filter = str(patterns.get("truth_filter")) if isinstance(patterns, dict) else ""
    return GROUND_TRUTHS.get(truth_filter, NOT_RECORDED).partition(" (")[0]
