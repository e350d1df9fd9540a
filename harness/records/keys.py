"""What one attempt is called, and where its records lie."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from harness.records.arms import Arm
from harness.records.names import escape_file_name, unescape_file_name

MOST_ROUTES, MOST_SEEDS, MOST_ARMS = 10_000, 10_000, 5_000
"""How many a campaign can have: counted before they are multiplied."""
MOST_ATTEMPTS = 100_000
"""Attempts of a campaign, driven or planned: a machine drives that many in years."""
ROUTE_AND_SEED = re.compile(r"(.+)-s(0|[1-9][0-9]*)")


@dataclass(frozen=True, slots=True, order=True)
class AttemptKey:
    """One arm on one route with one seed: attempts of other arms on them are its pairs.

    Attributes:
        arm: system, cooperation, condition and other factors.
        route: its name.
        seed: of the campaign's list; all randomness of the attempt comes from it.
    """

    arm: Arm
    route: str
    seed: int

    @property
    def path(self) -> PurePosixPath:
        """The attempt's folder below `episodes/`."""
        return self.arm.path / f"{escape_file_name(self.route)}-s{self.seed}"

    @staticmethod
    def from_path(parts: Sequence[str]) -> AttemptKey:
        """Return the key whose folders these are.

        Args:
            parts: names of the folders below `episodes/`, that of the attempt last.

        Raises:
            ValueError: the folders are not those of an attempt.
        """
        *arm, route_and_seed = parts
        match = ROUTE_AND_SEED.fullmatch(route_and_seed)
        if match is None:
            raise ValueError(f"not an attempt's folder: {route_and_seed}")
        return AttemptKey(Arm.from_path(arm), unescape_file_name(match[1]), int(match[2]))

    def to_record(self) -> dict[str, Any]:
        """Return the key as JSON has it."""
        return {"arm": dict(self.arm.factors), "route": self.route, "seed": self.seed}

    @staticmethod
    def from_record(record: Any) -> AttemptKey:
        """Return the key that a record, perhaps with more in it, begins with; ValueError if none.

        It may come from an untrusted folder.
        """
        try:
            arm, route, seed = (record[name] for name in ("arm", "route", "seed"))
            whole = all(isinstance(value, str) for pair in arm.items() for value in pair)
            if whole and isinstance(route, str) and type(seed) is int:
                return AttemptKey(Arm.from_factors(arm), route, seed)
        except (KeyError, TypeError, AttributeError):
            pass
        raise ValueError("no attempt: an arm, a route and a seed are needed")

    def __str__(self) -> str:
        return f"{self.arm}/{self.route}-s{self.seed}"
