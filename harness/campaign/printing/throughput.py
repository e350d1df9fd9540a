"""How fast a run went: attempts an hour, and its real-time factor."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from harness.campaign.printing.tables import counted
from harness.campaign.printing.units import format_duration
from harness.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.ledger import tries
from harness.records.reading import read_json


@dataclass(frozen=True, slots=True)
class Throughput:
    """What all workers of a run did together."""

    attempts: int  # that got a result
    simulated: float  # s, of these attempts
    seconds: float  # of wall-clock, starting included

    @property
    def attempts_per_hour(self) -> float:
        """Attempts that got a result in an hour of wall-clock."""
        return 3600.0 * self.attempts / self.seconds

    @property
    def real_time_factor(self) -> float:
        """Simulated seconds for each second of wall-clock."""
        return self.simulated / self.seconds

    def __str__(self) -> str:
        return (
            f"{counted(self.attempts, 'attempt')} in {format_duration(self.seconds)}:"
            f" {self.attempts_per_hour:.0f} attempts per hour,"
            f" real-time factor {self.real_time_factor:.1f}"
        )


def throughput(
    folder: Path, before: Collection[AttemptKey], *, tick: float, seconds: float
) -> Throughput:
    """Return how fast the attempts were driven that have got a result since then."""
    new = [place for key, place in tries(folder).items() if key not in before]
    return Throughput(len(new), tick * sum(map(ticks_of, new)), seconds)


def ticks_of(place: Path) -> int:
    """Return the ticks of a finished try, 0 if its records do not say."""
    try:
        return int(read_json(place / "timing.json")["ticks"])
    except (UserError, OSError, KeyError, TypeError, ValueError):
        return 0
