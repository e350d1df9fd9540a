"""Campaigns that hold the same attempts are kept apart by a factor of their arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from analysis.attempt import escape_surrogates
from harness.common.errors import UserError
from harness.records.arms import NONE, Arm
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords

CAMPAIGN = "campaign"
"""The factor of arms whose campaigns are compared; its values are their numbers and folders."""
UNKNOWN_TOWN = "?"
"""The town of a route that is not in its campaign's folder."""


def label_campaigns(
    campaigns: Sequence[CampaignRecords],
    finished: Sequence[Mapping[AttemptKey, Path]],
    clusters: Mapping[tuple[int, str], str],
) -> tuple[str, ...]:
    """Return the names of campaigns that hold the same attempt; none if all attempts differ.

    Where a folder has no routes its town is not known, and might be any: this is refused.
    """
    # attempts that more than one folder holds
    holders: dict[AttemptKey, list[int]] = {}
    for index, keys in enumerate(finished):
        for key in keys:
            holders.setdefault(key, []).append(index)
    shared = False
    # the same name in two towns is another attempt
    for key, places in ((key, places) for key, places in holders.items() if len(places) > 1):
        towns = [clusters.get((n, key.route), UNKNOWN_TOWN).partition("/")[0] for n in places]
        if UNKNOWN_TOWN in towns:
            folders = ", ".join(str(campaigns[n].folder) for n in places)
            raise UserError(
                f"{folders}: {key} is in more than one folder, and one has no routes folder to"
                " compare by; give one"
            )
        shared |= len(set(towns)) < len(towns)
    width = len(str(len(campaigns)))
    names = [escape_surrogates(campaign.folder.resolve().name) for campaign in campaigns]
    return tuple(f"{n:0{width}} {name}" for n, name in enumerate(names, 1)) if shared else ()


def add_campaign_labels(
    frame: pd.DataFrame, labels: Sequence[str], factors: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return rows whose arms have their campaign's name as a factor, and a column for it."""
    if not labels:
        return frame
    names = [labels[source] for source in frame["source"]]
    arms = [
        str(Arm.parse_name(arm).replace_factors(**{CAMPAIGN: name}))
        for arm, name in zip(frame["arm"], names, strict=True)
    ]
    frame = frame.assign(arm=arms)
    if factors is not None and factors[0] in frame:
        frame.insert(list(frame.columns).index(factors[-1]) + 1, CAMPAIGN, names)
    return frame


def restore_arm_names(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return attempts whose arms are called as in their campaigns."""
    return attempts.assign(arm=[str(parse_attempt_key(arm, "", 0).arm) for arm in attempts["arm"]])


def parse_attempt_key(arm: str, route: str, seed: int) -> AttemptKey:
    """Return the attempt of a row, as its campaign has it: without the factor of campaigns.

    Args:
        arm: its name in the table.
        route: its name.
        seed: of the attempt.
    """
    return AttemptKey(Arm.parse_name(arm).replace_factors(**{CAMPAIGN: NONE}), route, seed)
