"""The condition and the hazards of an evaluation: a template with `${name}` where values go.

A condition is a list of parts as in `conf/interference`; whatever a campaign's condition may name
by `_target_` may stand here. Hazards of the campaign's routes are changed by parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.campaign.folder.assignments import RouteAssignment
from harness.common.suggestions import describe_unknown_name
from harness.world.hazards.catalogue import KINDS
from harness.world.hazards.spec import HazardSpec
from studies.search.setting_checks import (
    check_settings_mapping,
    make_settings_error,
    refuse_unknown_keys,
)
from studies.space import Space, Values

REFERENCE = re.compile(r"\$\{([^{}]*)\}")
ROUTE_PARAMETER = "route"
"""The parameter that chooses among several routes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardChange:
    """Values of the hazards of one kind, or of all."""

    kind: str | None
    parameters: Mapping[str, Any]
    station: Any = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that is set, by name."""
        more = {} if self.station is None else {"station": self.station}
        return {**self.parameters, **more}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionTemplate:
    """What values become."""

    condition: Sequence[Any]
    hazards: tuple[HazardChange, ...]
    whole: frozenset[str] = frozenset()  # parameters that are whole numbers

    def fill_parts(self, values: Values) -> list[Any]:
        """Return the condition's parts."""
        filled: list[Any] = fill_references(
            list(self.condition), self._convert_whole_values(values)
        )
        return filled

    def _convert_whole_values(self, values: Values) -> Mapping[str, Any]:
        """Return values with whole numbers as such."""
        return {name: int(at) if name in self.whole else at for name, at in values.items()}

    def fill_assignment(self, assignment: RouteAssignment, values: Values) -> RouteAssignment:
        """Return a route whose hazards have the values."""
        hazards = tuple(self._change_hazard(spec, values) for spec in assignment.hazards)
        return replace(assignment, hazards=hazards)

    def _change_hazard(self, spec: HazardSpec, values: Values) -> HazardSpec:
        for change in self.hazards:
            if change.kind in (None, spec.kind):
                given = {**spec.parameters, **fill_references(dict(change.parameters), values)}
                station = spec.station
                if change.station is not None:
                    station = fill_references(change.station, values)
                spec = replace(spec, parameters=given, station=station)
        return spec

    def refuse_without_hazard(self, assignments: Sequence[RouteAssignment]) -> None:
        """Refuse a change of hazards that some route does not have."""
        for change in self.hazards:
            for assignment in assignments:
                kinds = [spec.kind for spec in assignment.runnable]
                if not any(change.kind in (None, kind) for kind in kinds):
                    has = ", ".join(kinds) or "none"
                    raise make_settings_error(
                        "hazards",
                        f"route {assignment.route.name} has no hazard {change.kind or ''}".rstrip()
                        + f" (has: {has})",
                    )

    def get_source_values(
        self, space: Space, assignment: RouteAssignment
    ) -> dict[str, float | str]:
        """Return the values of parameters that hazards have without the search, where known."""
        source: dict[str, float | str] = {}
        names = {parameter.name for parameter in space}
        for change in self.hazards:
            for spec in assignment.runnable:
                if change.kind in (None, spec.kind):
                    for setting, value in change.settings.items():
                        match = REFERENCE.fullmatch(value) if isinstance(value, str) else None
                        if match and match[1] in names:
                            source[match[1]] = get_unchanged_value(spec, setting)
        return clip_to_ranges(space, source)


def get_unchanged_value(spec: HazardSpec, setting: str) -> float | str:
    """Return what a hazard has without the search."""
    if setting == "station":
        return spec.station
    return spec.parameters.get(setting, KINDS[spec.kind].parameters[setting].default)


def clip_to_ranges(space: Space, values: Mapping[str, float | str]) -> dict[str, float | str]:
    """Return values inside the ranges of their parameters; a choice that is none is left out."""
    inside: dict[str, float | str] = {}
    for parameter in space:
        value = values.get(parameter.name)
        if isinstance(value, str):
            if value in parameter.choices:
                inside[parameter.name] = value
        elif value is not None and parameter.kind != "choice":
            inside[parameter.name] = float(min(max(value, parameter.low), parameter.high))
    return inside


def fill_references(value: Any, values: Mapping[str, Any]) -> Any:
    """Return settings with values in the place of references."""
    if isinstance(value, dict):
        return {name: fill_references(inner, values) for name, inner in value.items()}
    if isinstance(value, list):
        return [fill_references(inner, values) for inner in value]
    if isinstance(value, str) and (match := REFERENCE.fullmatch(value)):
        return values[match[1]]
    return value


def iterate_references(value: Any) -> Iterator[str]:
    """Yield the names that are referred to, and text that only contains a reference."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from iterate_references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from iterate_references(inner)
    elif isinstance(value, str) and "${" in value:
        match = REFERENCE.fullmatch(value)
        yield match[1] if match else value


def read_template(given: Mapping[str, Any], space: Space) -> ConditionTemplate:
    """Return the template of a search's settings.

    Args:
        given: settings of the search.
        space: its parameters, which the template may refer to.
    """
    # parts of the condition
    condition = given.get("condition") or []
    if not isinstance(condition, list):
        raise make_settings_error("condition", "must be a list of parts, each with a _target_")
    for number, part in enumerate(condition):
        if not isinstance(part, dict) or "_target_" not in part:
            raise make_settings_error(f"condition[{number}]", "needs a _target_")
    # changes of hazards
    hazards = given.get("hazards") or []
    if not isinstance(hazards, list):
        raise make_settings_error(
            "hazards", "must be a list of changes, each with parameters or a station"
        )
    template = ConditionTemplate(
        condition=condition,
        hazards=tuple(read_hazard_change(change, number) for number, change in enumerate(hazards)),
        whole=frozenset(parameter.name for parameter in space if parameter.kind == "whole"),
    )
    refuse_references(template, space)
    return template


def read_hazard_change(change: Any, number: int) -> HazardChange:
    """Return one change of hazards."""
    place = f"hazards[{number}]"
    given = check_settings_mapping(change, place)
    refuse_unknown_keys(given, ("kind", "parameters", "station"), place)
    # which hazards: those of a kind, or all
    kind = given.get("kind")
    if kind is not None and kind not in KINDS:
        raise make_settings_error(
            f"{place}.kind", describe_unknown_name("hazard", str(kind), KINDS)
        )
    # what changes
    parameters = check_settings_mapping(given.get("parameters") or {}, f"{place}.parameters")
    station = given.get("station")
    if not parameters and station is None:
        raise make_settings_error(place, "changes nothing; parameters or a station are needed")
    known = KINDS[kind].parameters if kind is not None else None
    for name in parameters if known is not None else ():
        if known is not None and name not in known:
            raise make_settings_error(
                f"{place}.parameters", describe_unknown_name("parameter", name, known)
            )
    return HazardChange(kind=kind, parameters=parameters, station=station)


def refuse_references(template: ConditionTemplate, space: Space) -> None:
    """Refuse references to no parameter of the space, and parameters that nothing refers to."""
    names = [parameter.name for parameter in space if parameter.name != ROUTE_PARAMETER]
    used = [
        *iterate_references(list(template.condition)),
        *iterate_references([dict(change.settings) for change in template.hazards]),
    ]
    for name in used:
        if name not in names:
            if "${" in name:
                raise make_settings_error(
                    "condition", f"{name!r}: a reference stands alone, as in ${{delay}}"
                )
            raise make_settings_error("condition", describe_unknown_name("parameter", name, names))
    for name in names:
        if name not in used:
            raise make_settings_error(
                f"space.{name}", f"nothing in condition or hazards is ${{{name}}}"
            )
