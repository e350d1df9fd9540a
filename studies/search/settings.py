"""Settings of a search: the ledger holds them, and a resumed search must have equal ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.common.errors import UserError
from studies.space import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourAxis:
    """A measure of behaviour and the cells into which its range is divided."""

    name: str
    unit: str
    low: float
    high: float
    cells: int = 10

    def __post_init__(self) -> None:
        if not self.low < self.high or self.cells < 1:
            raise UserError(f"behaviour.{self.name}: must have low < high and cells ≥ 1")

    def find_cell(self, value: float) -> int:
        """Return the number of a value's cell; values outside count in the first or last one."""
        share = (value - self.low) / (self.high - self.low)
        return min(max(int(share * self.cells), 0), self.cells - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """What makes equal searches equal.

    Attributes:
        sampler: its name.
        seed: of the sampler.
        space: the parameters.
        behaviour: axes of the archive of MAP-Elites and CMA-ME.
    """

    sampler: str
    seed: int
    budget: int  # evaluations
    batch: int  # candidates that are proposed together, for any number of workers
    space: Space
    objectives: tuple[str, ...]  # minimised; MAP-Elites and CMA-ME use the first one alone
    behaviour: tuple[BehaviourAxis, ...]
    startup: int = 20  # random candidates before a sampler uses outcomes
    evaluation: Mapping[str, Any] = field(default_factory=dict)  # describes what is evaluated

    def __post_init__(self) -> None:
        for name in ("budget", "batch", "startup"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} = {getattr(self, name)}: must be ≥ 1")
        if self.budget % self.batch:
            raise UserError(f"budget = {self.budget}: must be a multiple of batch = {self.batch}")
        for name in ("space", "objectives"):
            if not getattr(self, name):
                raise UserError(f"{name}: must not be empty")

    def to_record(self) -> dict[str, Any]:
        """Return the settings as JSON gives them back."""
        record: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return record

    @property
    def population(self) -> int:
        """Return the size of a generation: whole batches, and enough to learn from."""
        least = 4 + 2 * len(self.space)
        return self.batch * -(-least // self.batch)


def compute_record_digest(record: Any) -> str:
    """Return a digest of what JSON can hold."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
