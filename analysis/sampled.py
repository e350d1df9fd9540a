"""Routes that `crucible decide` sampled: notes, weighted means, a table of weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from harness.records.arms import Arm
from harness.records.decided import DecidedComparison, DecideRecord, read_decide_record
from harness.records.reading import CampaignRecords

SAMPLED_COLUMNS = ("batch", "route", "seed", "stratum", "share", "chance", "weight")


def read_sampling(campaigns: Sequence[CampaignRecords]) -> dict[int, DecideRecord]:
    """Return the plans that routes were chosen by, by number of the campaign."""
    records = {at: read_decide_record(one.folder) for at, one in enumerate(campaigns)}
    return {at: record for at, record in records.items() if record is not None}


def describe_sampled_routes(campaigns: Sequence[CampaignRecords]) -> Iterator[str]:
    """Yield a note on each campaign whose routes were sampled with unequal chances."""
    for at, record in read_sampling(campaigns).items():
        yield (
            f"{campaigns[at].folder}: routes and seeds were chosen by crucible decide"
            f" ({record.name}): {len(record.pairs)} pairs in {record.batches} batches; means over"
            " drives are not means of the population, and tests of a fixed size do not hold;"
            " decide.jsonl has the weights"
        )


def find_decided(
    campaigns: Sequence[CampaignRecords], a: Arm, b: Arm
) -> list[tuple[DecideRecord, DecidedComparison]]:
    """Return what plans know of two arms, in either direction."""
    return [
        (record, one)
        for record in read_sampling(campaigns).values()
        for one in record.comparisons
        if {one.a, one.b} == {a, b}
    ]


def describe_decided(campaigns: Sequence[CampaignRecords], a: Arm, b: Arm) -> Iterator[str]:
    """Yield the weighted estimates of arm b less arm a, with intervals that hold at any time.

    Args:
        campaigns: that were read.
        a: the arm that is compared with.
        b: the arm that is compared.
    """
    for record, one in find_decided(campaigns, a, b):
        sign = 1 if one.a == a else -1
        low, high = sorted((sign * one.low, sign * one.high))
        state = one.state if sign > 0 else f"{one.state}, of {one.b} against {one.a}"
        yield (
            f"weighted to the population ({record.name}, {one.name}): {one.outcome}"
            f" {sign * one.estimate:+.3f} ({100 * (1 - record.level):.0f} % at any time"
            f" {low:+.2f} .. {high:+.2f}), {one.pairs} pairs, {state}"
        )


def build_sampling_frame(campaigns: Sequence[CampaignRecords]) -> pd.DataFrame:
    """Return a row for each pair that was sampled, with its weight.

    Returns:
        Columns: `source`, the number of the campaign, and those of `SAMPLED_COLUMNS`.
    """
    rows = [
        (at, *(getattr(pair, name) for name in SAMPLED_COLUMNS))
        for at, record in read_sampling(campaigns).items()
        for pair in record.pairs
    ]
    return pd.DataFrame(rows, columns=["source", *SAMPLED_COLUMNS])
