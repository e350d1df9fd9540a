"""What a campaign has at most: routes, seeds, arms, attempts, and lengths of their names."""

from __future__ import annotations

from collections.abc import Iterable

from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.partner_systems import list_fleets
from harness.common.errors import UserError
from harness.records.keys import MOST_ARMS, MOST_ATTEMPTS, MOST_ROUTES, MOST_SEEDS, AttemptKey


def refuse_many(*, routes: int, seeds: int, arms: int) -> None:
    """Refuse more attempts than a campaign can have, before they are multiplied."""
    for count, most, name in (
        (routes, MOST_ROUTES, "routes"),
        (seeds, MOST_SEEDS, "seeds"),
        (arms, MOST_ARMS, "arms"),
        (routes * seeds * arms, MOST_ATTEMPTS, "attempts"),
    ):
        if count > most:
            raise UserError(f"configuration: {count:,} {name}; a campaign has {most:,} at most")


def refuse_unnameable(keys: Iterable[AttemptKey]) -> None:
    """Refuse attempts whose factors or routes are too long for the name of a file.

    The largest seed has the longest name: with thousands of seeds the others need no look.
    """
    keys = list(keys)
    longest = max(key.seed for key in keys)
    for key in keys:
        if key.seed == longest:
            key.path  # noqa: B018 - raises UserError


def refuse_many_arms(settings: CampaignSettings, cooperations: int) -> None:
    """Refuse more arms than a campaign can have, before any of them is made."""
    count = len(settings["system"]) * max(cooperations, 1)
    count *= 1 + len(settings["interference"])
    count *= 1 + len(settings.get("intervention", {}))
    count *= (1 + len(settings.get("driver", {}))) * (1 + len(settings.get("brakes", {})))
    count *= 1 + len(settings.get("compute", {}))
    count *= (1 + len(settings.get("link", {}))) * (1 + len(settings.get("message_format", {})))
    count *= (1 + len(settings.get("attack", {}))) * (1 + len(settings.get("defence", {})))
    count *= 1 + len(settings.get("compensate", {}))
    count *= len(list_fleets(settings))
    if count > MOST_ARMS:
        raise UserError(f"configuration: {count:,} arms; a campaign has {MOST_ARMS:,} at most")
