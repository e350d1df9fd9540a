"""What drives are compared by: numbers from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from harness.common.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords

Outcomes: TypeAlias = Mapping[AttemptKey, Mapping[str, float]]
"""Numbers from 0 to 1 of each attempt, by name."""


@dataclass(frozen=True, slots=True)
class DriveOutcome:
    """A number of a drive.

    Attributes:
        read: gives it from the part of `result.json` that is Crucible's.
        higher_is_better: whether an arm with more of it is superior.
    """

    read: Callable[[Mapping[str, Any]], float]
    higher_is_better: bool


OUTCOMES: Mapping[str, DriveOutcome] = {
    "violation": DriveOutcome(lambda ours: float(ours["violation"] is not None), False),
    "collision": DriveOutcome(lambda ours: float(bool(ours["collided"])), False),
    "driving_score": DriveOutcome(lambda ours: float(ours["driving_score"]) / 100, True),
    "completion": DriveOutcome(lambda ours: float(ours["completion"]), True),
}


def read_outcomes(campaign: CampaignRecords, key: AttemptKey) -> dict[str, float]:
    """Return all outcomes of a finished attempt."""
    ours = campaign.read_result(key)["crucible"]
    return extract_outcomes(ours, str(campaign.get_result_path(key)))


def extract_outcomes(ours: Mapping[str, Any], place: str) -> dict[str, float]:
    """Return all outcomes from the part of a result that is Crucible's.

    Args:
        ours: below the key `crucible`.
        place: of the result, for messages.
    """
    try:
        values = {name: outcome.read(ours) for name, outcome in OUTCOMES.items()}
    except (KeyError, TypeError, ValueError) as problem:
        raise UserError(f"{place}: not a whole result ({problem!r})") from None
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise UserError(f"{place}: {name} = {value}: must be 0 to 1")
    return values
