"""Which ground truth the error patterns of a table were counted by: *seen*, *all*, or another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.collection import Collection, settings_of
from analysis.tables.table import Table
from harness.records.reading import Campaign
from harness.vocabulary import GROUND_TRUTHS, PATTERNS

UNKNOWN = "not recorded"


def named_by_truth(tables: Sequence[Table], collection: Collection) -> list[Table]:
    """Return tables, those with error patterns with the ground truth in their titles."""
    ending = f"; ground truth: {ground_truth_of(collection)}"
    return [
        replace(table, title=f"{table.title}{ending}")
        if set(PATTERNS).intersection(table.measures)
        else table
        for table in tables
    ]


def ground_truth_of(collection: Collection) -> str:
    """Return the ground truth of all campaigns in a word or two; of each where they differ."""
    words = [truth_of(campaign) for campaign in collection.campaigns]
    if len(set(words)) == 1:
        return words[0]
    names = collection.labels or [
        campaign.folder.resolve().name for campaign in collection.campaigns
    ]
    return ", ".join(f"{word} ({name})" for name, word in zip(names, words, strict=True))


def truth_of(campaign: Campaign) -> str:
    """Return the ground truth of one campaign: `seen`, `all`, or what must have hit a road user."""
    patterns = settings_of(campaign).get("patterns")
    truth_filter = str(patterns.get("truth_filter")) if isinstance(patterns, dict) else ""
    return GROUND_TRUTHS.get(truth_filter, UNKNOWN).partition(" (")[0]
