"""The attempts of a plan that have no result yet, and how often each may be tried."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.campaign.attempt.tasks import AttemptOutcome
from harness.common.errors import FailureClass
from harness.records.keys import AttemptKey
from harness.records.ledger import (
    INFRASTRUCTURE_FAILURES,
    TryCount,
    count_tries,
    list_finished_attempts,
)

PERMANENT_FAILURES: frozenset[FailureClass] = frozenset(
    {"agent_setup", "route_invalid", "interference_not_delivered"}
)
"""Failures that the same inputs give again: not tried again in the same run."""
MAX_INFRASTRUCTURE_RETRIES = 10
"""Tries of one attempt that may fail in one run because of the infrastructure."""


@dataclass(frozen=True, slots=True)
class CampaignProgress:
    """How far a campaign has come when a run begins."""

    attempts: int
    done: int
    given_up: int  # without a result, and tried as often as allowed


class WorkQueue:
    """Returns attempts in the order of the plan; one that failed is retried first.

    Args:
        attempts: of the plan, in order.
        folder: of the campaign.
        tries: of an attempt, before it counts as failed.
        retry_failed: whether attempts that have used up their tries get as many again.
    """

    def __init__(
        self, attempts: Sequence[AttemptKey], folder: Path, tries: int, retry_failed: bool
    ) -> None:
        self._tries = tries
        self._tried = count_tries(folder)
        self._infrastructure_retries: Counter[AttemptKey] = Counter()
        done = list_finished_attempts(folder)
        missing = [key for key in attempts if key not in done]
        if retry_failed:
            for key in missing:
                self._get_try_count(key).failed = 0
        self._todo = deque(key for key in missing if self._get_try_count(key).failed < tries)
        self.progress = CampaignProgress(
            len(attempts), len(attempts) - len(missing), len(missing) - len(self._todo)
        )

    def __len__(self) -> int:
        return len(self._todo)

    def list_waiting(self) -> list[AttemptKey]:
        """Return the attempts that wait, in order."""
        return list(self._todo)

    def take_next(self) -> tuple[AttemptKey, int]:
        """Take an attempt, with the number of its next try."""
        key = self._todo.popleft()
        tries = self._get_try_count(key)
        tries.last += 1
        return key, tries.last

    def record_ending(self, outcome: AttemptOutcome) -> bool:
        """Note how a try ended; return whether the attempt is retried in this run."""
        key, failure = outcome.key, outcome.failure
        if failure is None:
            return False
        # failures of the infrastructure do not use up tries, but are not endless
        if failure in INFRASTRUCTURE_FAILURES:
            self._infrastructure_retries[key] += 1
            again = self._infrastructure_retries[key] < MAX_INFRASTRUCTURE_RETRIES
        else:
            self._get_try_count(key).failed += 1
            again = (
                failure not in PERMANENT_FAILURES and self._get_try_count(key).failed < self._tries
            )
        if again:
            self._todo.appendleft(key)
        return again

    def _get_try_count(self, key: AttemptKey) -> TryCount:
        return self._tried.setdefault(key, TryCount())
