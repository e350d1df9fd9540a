"""The space that generated hazards are sampled from: what kinds declare, or less by a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import yaml

from harness.common.errors import UserError
from harness.common.nesting import NestingError
from harness.common.safe_reading import read_yaml_within
from harness.world.hazards.catalogue import SHIPPED_KINDS
from harness.world.hazards.emerging import ANY
from harness.world.hazards.encounter import TIMING
from harness.world.hazards.parameters import ChoiceParameter, NumberParameter, Parameter, Value
from harness.world.routes.documents import parse_finite
from harness.world.routes.hazard_sites import CROSSING, EMERGING

REVEAL = NumberParameter(
    default=1.0,
    low=0.5,
    high=6.0,
    unit="s",
    meaning="from when an ego alone could first see the mover to the conflict; computed",
)
OPEN = (ANY, "either")
"""Words that leave a choice to the place; a generator chooses itself."""
NOTHING = "nothing"
"""At a kerb it hides no mover; at a junction houses may."""

Space: TypeAlias = Mapping[str, Mapping[str, Parameter]]
"""Parameters by kind; `reveal` is no parameter of a hazard but a demand on its place."""


def build_declared_space(kinds: Sequence[str]) -> dict[str, dict[str, Parameter]]:
    """Return all that the kinds declare but the timing, which is left to the seed of an attempt."""
    return {
        kind: {
            name: _drop_open_options(parameter, (*OPEN, NOTHING) if kind in EMERGING else OPEN)
            for name, parameter in SHIPPED_KINDS[kind].parameters.items()
            if name not in TIMING
        }
        | ({"reveal": REVEAL} if kind in EMERGING + CROSSING else {})
        for kind in kinds
    }


def read_space(path: Path, kinds: Sequence[str]) -> dict[str, dict[str, Parameter]]:
    """Return the declared space, narrowed by a file: kind, parameter, then a range or words."""
    try:
        content = read_yaml_within(path, follow=True, aliases=True)
    except (OSError, UnicodeDecodeError, NestingError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise UserError(f"{path}: cannot be read ({reason})") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise UserError(f"{path}: is not valid YAML") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: must map kinds to their parameters")
    space = build_declared_space(kinds)
    for kind, ranges in content.items():
        if kind not in space:
            raise UserError(f"{path}: unknown hazard {kind}; valid hazards: {', '.join(space)}")
        if not isinstance(ranges, dict):
            raise UserError(f"{path}: {kind} must map parameters to their ranges")
        known = {**space[kind], **SHIPPED_KINDS[kind].parameters}
        for name, given in ranges.items():
            place = f"{path}: {kind}.{name}"
            if name not in known:
                raise UserError(f"{place}: unknown parameter; valid parameters: {', '.join(known)}")
            space[kind][name] = _narrow_parameter(known[name], given, place)
    return space


def sample_parameters(
    space: Mapping[str, Parameter], random: np.random.Generator
) -> dict[str, Value]:
    """Return a value for each parameter of a hazard."""
    return {
        name: parameter.sample_value(random)
        for name, parameter in space.items()
        if name != "reveal"
    }


def _drop_open_options(parameter: Parameter, without: Sequence[str]) -> Parameter:
    if not isinstance(parameter, ChoiceParameter):
        return parameter
    options = tuple(option for option in parameter.options if option not in without)
    return replace(parameter, options=options)


def _narrow_parameter(parameter: Parameter, given: object, place: str) -> Parameter:
    values = given if isinstance(given, list) else [given]
    if isinstance(parameter, ChoiceParameter):
        words = [str(value) for value in values]
        for word in words:
            parameter.refuse_value(place, word)
        if not words:
            raise UserError(f"{place}: name one of {parameter.range}")
        return replace(parameter, options=tuple(words))
    if not isinstance(parameter, NumberParameter):
        raise UserError(f"{place}: texts are not sampled")
    numbers = [number for value in values if (number := parse_finite(value)) is not None]
    if len(numbers) != len(values) or len(values) not in (1, 2) or numbers[0] > numbers[-1]:
        raise UserError(f"{place}: write a number, or a range [low, high]")
    for number in numbers:
        parameter.refuse_value(place, number)
    return replace(parameter, low=numbers[0], high=numbers[-1])
