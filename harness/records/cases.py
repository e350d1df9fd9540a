"""Violations by number: the same everywhere, as long as no attempt is added."""

from __future__ import annotations

from harness.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign


def violations(campaign: Campaign) -> list[AttemptKey]:
    """Return the attempts that ended in a violation, in order: case 1, case 2 and so on."""
    return [
        key
        for key in sorted(campaign.attempts())
        if campaign.result(key)["crucible"].get("violation") is not None
    ]


def case(campaign: Campaign, name: str) -> AttemptKey:
    """Return the attempt of a name such as `late/latency/7-s1`, or of a violation's number."""
    if name.isascii() and name.isdigit():
        found = violations(campaign)
        if not 1 <= int(name) <= len(found):
            raise UserError(f"{campaign.folder}: no case {name}; it has {len(found)} violations")
        return found[int(name) - 1]
    attempts = {str(key): key for key in campaign.attempts()}
    if name not in attempts:
        like = next(iter(attempts), "system/condition/route-s1")
        raise UserError(
            f"{campaign.folder}: no result of {name!r}; give a violation's number or a name"
            f" such as {like}"
        )
    return attempts[name]
