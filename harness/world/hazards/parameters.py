"""What a hazard file may set of a hazard: numbers, and vehicles whose sizes are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from harness.errors import UserError
from harness.world.hazards.sizes import SIZES

Value: TypeAlias = float | str


@dataclass(frozen=True, slots=True)
class Number:
    """A number above `least`, or from it on where that is given."""

    default: float
    least: float | None = None

    def refuse(self, place: str, value: Value) -> None:
        """Refuse what is no number, and numbers with which nothing would happen."""
        if isinstance(value, str):
            raise UserError(f"{place} must be a number, not {value!r}")
        if self.least is None and value <= 0:
            raise UserError(f"{place} = {value:g}: must be > 0")
        if self.least is not None and value < self.least:
            raise UserError(f"{place} = {value:g}: must be ≥ {self.least:g}")


@dataclass(frozen=True, slots=True)
class Vehicle:
    """The blueprint of a vehicle that plans know the size of."""

    default: str

    def refuse(self, place: str, value: Value) -> None:
        """Refuse what is no such vehicle."""
        if not isinstance(value, str):
            raise UserError(f"{place} must be a word, not {value!r}")
        known = [name for name in SIZES if name.startswith("vehicle.")]
        if value not in known:
            raise UserError(f"{place} = {value!r}: unknown; valid: {', '.join(known)}")


Parameter: TypeAlias = Number | Vehicle
