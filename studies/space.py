"""Parameters of an operator, with their ranges: a study samples them, a search moves in them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from harness.common.errors import UserError
from harness.types.vocabulary import Floats

ParameterKind = Literal["number", "log", "whole", "choice"]
Values: TypeAlias = Mapping[str, float | str]
"""A value for each parameter, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceParameter:
    """One parameter; `log` is sampled evenly in its logarithm, `choice` among names.

    Attributes:
        name: dotted, as settings have it.
        unit: of `low` and `high`.
        low: the least value.
        high: the greatest value.
        kind: number, whole, log or choice.
        choices: names, of a choice.
    """

    name: str
    unit: str
    low: float = 0.0
    high: float = 0.0
    kind: ParameterKind = "number"
    choices: tuple[str, ...] = ()

    def get_value(self, share: float) -> float | str:
        """Return the value at a share, from 0 up to 1, of the range."""
        if self.kind == "choice":
            return self.choices[min(int(share * len(self.choices)), len(self.choices) - 1)]
        if self.kind == "whole":
            count = round(self.high) - round(self.low) + 1
            return float(round(self.low) + min(int(share * count), count - 1))
        if self.kind == "log":
            return math.exp(math.log(self.low) * (1 - share) + math.log(self.high) * share)
        return self.low * (1 - share) + self.high * share


Space: TypeAlias = tuple[SpaceParameter, ...]


def map_shares_to_values(space: Space, shares: Floats) -> dict[str, float | str]:
    """Return the values at a point of the unit cube.

    Args:
        space: d parameters.
        shares: (d,) from 0 up to 1.
    """
    return {
        parameter.name: parameter.get_value(float(share))
        for parameter, share in zip(space, shares, strict=True)
    }


def sample_values(space: Space, random: np.random.Generator) -> dict[str, float | str]:
    """Return values from all over a space.

    Args:
        space: the parameters.
        random: the stream; a number is taken from it for each parameter.
    """
    return map_shares_to_values(space, random.random(len(space)))


def get_numeric_value(values: Values, name: str) -> float:
    """Return the value of a parameter that is a number.

    Args:
        values: by name of the parameter.
        name: of one of them.

    Raises:
        UserError: the value is a word.
    """
    value = values[name]
    if isinstance(value, str):
        raise UserError(f"{name} = {value!r}: must be a number")
    return value
