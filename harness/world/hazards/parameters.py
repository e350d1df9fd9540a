"""What a hazard file may set of a hazard: the declaration that generators and sweeps sample too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from harness.common.errors import UserError

Value: TypeAlias = float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberParameter:
    """A number within the range of what is plausible.

    Attributes:
        default: used where a file sets none.
        low: the least value that is valid.
        high: the greatest value that is valid.
        unit: of all three.
        meaning: for people.
    """

    default: float
    low: float
    high: float
    unit: str
    meaning: str

    @property
    def range(self) -> str:
        """The range and the unit, for people."""
        return f"{self.low:g} to {self.high:g} {self.unit}"

    def refuse_value(self, place: str, value: Value) -> None:
        """Refuse what is no number, and numbers outside the range.

        Args:
            place: file and key, for the message.
            value: what the file sets.

        Raises:
            UserError: no number, or one outside the range.
        """
        if isinstance(value, str):
            raise UserError(f"{place} must be a number, not {value!r}")
        if not self.low <= value <= self.high:
            raise UserError(f"{place} = {value:g}: must be {self.range}")

    def sample_value(self, random: np.random.Generator) -> float:
        """Return a value, uniform over the range, to three digits behind the point.

        Args:
            random: of the hazard.
        """
        return round(float(random.uniform(self.low, self.high)), 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceParameter:
    """One of some words: blueprints, or ways to hide.

    Attributes:
        default: used where a file sets none.
        options: valid words.
        meaning: for people.
    """

    default: str
    options: tuple[str, ...]
    meaning: str

    @property
    def range(self) -> str:
        """The words, for people."""
        return ", ".join(self.options)

    def refuse_value(self, place: str, value: Value) -> None:
        """Refuse what is none of the words."""
        if not isinstance(value, str):
            raise UserError(f"{place} must be a word, not {value!r}")
        if value not in self.options:
            raise UserError(f"{place} = {value!r}: unknown; valid: {self.range}")

    def sample_value(self, random: np.random.Generator) -> str:
        """Return one of the words."""
        return self.options[int(random.integers(len(self.options)))]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextParameter:
    """A word that is no choice of a few, such as a blueprint or places.

    Attributes:
        default: used where a file sets none.
        pattern: what a whole value fits.
        meaning: for people.
    """

    default: str
    pattern: str
    meaning: str

    @property
    def range(self) -> str:
        """The pattern, for people."""
        return f"a text like {self.pattern}"

    def refuse_value(self, place: str, value: Value) -> None:
        """Refuse what does not fit the pattern."""
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value):
            raise UserError(f"{place} = {str(value)[:60]!r}: must be {self.range}")

    def sample_value(self, random: np.random.Generator) -> str:
        """Return the default: texts are not sampled."""
        return self.default


Parameter: TypeAlias = NumberParameter | ChoiceParameter | TextParameter
