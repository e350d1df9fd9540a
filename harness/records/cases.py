"""Violations by number: the same everywhere, as long as no attempt is added."""

from __future__ import annotations

from harness.common.errors import UserError
from harness.records.arms import is_arm_meant
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords


def list_violations(campaign: CampaignRecords) -> list[AttemptKey]:
    """Return the attempts that ended in a violation, in order: case 1, case 2 and so on."""
    return [
        key
        for key in sorted(campaign.find_attempts())
        if campaign.read_result(key)["crucible"].get("violation") is not None
    ]


def find_case(campaign: CampaignRecords, name: str) -> AttemptKey:
    """Return the attempt of a violation's number, or of a name such as `late/ahead/latency/7-s1`.

    Factors may be left out of a name where that leaves one attempt: `late/latency/7-s1`.

    Args:
        campaign: with its finished attempts.
        name: a number from 1 on, or a name.

    Returns:
        The one attempt that is meant.

    Raises:
        UserError: none, or several, are called so.
    """
    # a number: the violations in the order of their keys
    if name.isascii() and name.isdigit():
        matching = list_violations(campaign)
        if not 1 <= int(name) <= len(matching):
            raise UserError(f"{campaign.folder}: no case {name}; it has {len(matching)} violations")
        return matching[int(name) - 1]
    # a name: a whole one counts before those with factors left out
    attempts = campaign.find_attempts()
    matching = [key for key in attempts if is_case_called(name, key)]
    matching = [key for key in matching if str(key) == name] or matching
    if len(matching) == 1:
        return matching[0]
    # ambiguous or unknown: the message lists what can be given
    if matching:
        known = ", ".join(map(str, sorted(matching)))
        raise UserError(f"{campaign.folder}: {name} may be any of {known}")
    like = next(map(str, attempts), "system/cooperation/condition/route-s1")
    raise UserError(
        f"{campaign.folder}: no result of {name!r}; give a violation's number or a name such as"
        f" {like}"
    )


def is_case_called(name: str, key: AttemptKey) -> bool:
    """Return whether an attempt is meant, by its whole name or with some factors left out."""
    route_and_seed = f"/{key.route}-s{key.seed}"
    return name.endswith(route_and_seed) and is_arm_meant(
        name.removesuffix(route_and_seed), key.arm
    )
