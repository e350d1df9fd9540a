"""How fast a run went: attempts an hour, and its real-time factor."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from harness.campaign.printing.tables import format_quantity
from harness.campaign.printing.units import format_duration
from harness.common.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.ledger import find_finished_tries
from harness.records.reading import read_json_object


@dataclass(frozen=True, slots=True)
class RunThroughput:
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
            f"{format_quantity(self.attempts, 'attempt')} in {format_duration(self.seconds)}:"
            f" {self.attempts_per_hour:.0f} attempts per hour,"
            f" real-time factor {self.real_time_factor:.1f}"
        )


def measure_throughput(
    folder: Path, before: Collection[AttemptKey], *, tick: float, seconds: float
) -> RunThroughput:
    """Return how fast the attempts were driven that have got a result since then."""
    new = [place for key, place in find_finished_tries(folder).items() if key not in before]
    return RunThroughput(len(new), tick * sum(map(read_tick_count, new)), seconds)


def read_tick_count(place: Path) -> int:
    """Return the ticks of a finished try, 0 if its records do not say."""
    try:
        return int(read_json_object(place / "timing.json")["ticks"])
    except (UserError, OSError, KeyError, TypeError, ValueError):
        return 0
