"""Our records in the leaderboards' words: counted infractions, and the share driven outside lanes.

A `result.json` lists all infractions of a drive. Those after the first violation do not count, and
lanes left cost the share of the road that was driven outside of them, which no message names.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords, read_json_object

COUNTED_KINDS = {
    "collision_pedestrian": "collisions_pedestrian",
    "collision_vehicle": "collisions_vehicle",
    "collision_layout": "collisions_layout",
    "red_light": "red_light",
    "stop_sign": "stop_infraction",
    "route_deviation": "route_dev",
    "timeout": "route_timeout",
    "blocked": "vehicle_blocked",
}
OUTSIDE_LANES = "outside_route_lanes"
Record = dict[str, Any]


def read_counted_records(campaign: CampaignRecords, key: AttemptKey) -> list[Record]:
    """Return the counted record of each driven ego of an attempt, that of the first one first.

    Args:
        campaign: with the attempt; a packed one has the first ego alone.
        key: a finished attempt.
    """
    _, *further = campaign.list_ego_folders(key)
    others = [read_json_object(place / "result.json", within=campaign.folder) for place in further]
    return [make_counted_record(result) for result in (campaign.read_result(key), *others)]


def make_counted_record(result: Record) -> Record:
    """Return a result with the messages that count in its score, in Leaderboard 1.0's words.

    Args:
        result: content of a `result.json`.

    Returns:
        Infractions up to the first violation; the share outside lanes as a percentage.
    """
    ours = result["crucible"]
    counted = Counter(COUNTED_KINDS.get(kind, "") for kind in ours["infractions"])
    infractions = {
        kind: list(messages)[: counted[kind]] for kind, messages in result["infractions"].items()
    }
    share = float(ours["outside_share"])
    driven = share * float(ours["completion"]) * float(result["meta"]["route_length"])
    infractions[OUTSIDE_LANES] = (
        [
            f"Agent went outside its route lanes for about {driven:.3f} meters"
            f" ({100 * share:.8f}% of the completed route)"
        ]
        if share
        else []
    )
    return {**result, "infractions": infractions}
