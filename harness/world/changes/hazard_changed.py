"""A hazard that is earlier, later, faster, ...: parameters that hazard files may set, changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from harness.common.errors import UserError
from harness.world.changes.census import SceneCensus
from harness.world.changes.change import PlannedScene, SceneChange
from harness.world.hazards.catalogue import KINDS, build_hazard
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.parameters import NumberParameter, Value
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track


class HazardChanged(SceneChange):
    """The route's hazards of a kind, with some of their declared parameters replaced or scaled."""

    safe_from_file = True
    name = "hazard_changed"

    def __init__(
        self,
        kind: str | None = None,  # kind of hazards; null: all hazards with the parameters
        *,
        replaced: Mapping[str, float | str] | None = None,  # new values by parameter
        scaled: Mapping[str, float] | None = None,  # factors by parameter
        added: Mapping[str, float] | None = None,  # summands by parameter: phase: -0.1 s
    ) -> None:
        super().__init__()
        self.kind = kind
        self.replaced, self.scaled = dict(replaced or {}), dict(scaled or {})
        self.added = dict(added or {})
        self.parameters = [*self.replaced, *self.scaled, *self.added]
        if not self.parameters:
            raise UserError("hazard_changed: no parameter is replaced, scaled or added to")
        if len(set(self.parameters)) < len(self.parameters):
            raise UserError(f"hazard_changed: {', '.join(self.parameters)}: one is named twice")
        if kind is not None and kind in KINDS:
            declared = KINDS[kind].parameters
            for name in self.parameters:
                if name not in declared:
                    valid = ", ".join(declared) or "none"
                    raise UserError(f"hazard_changed: {kind} has no {name}; valid: {valid}")
            for name, value in self.replaced.items():
                declared[name].refuse_value(f"hazard_changed: {kind}: {name}", value)
        self._asked: list[HazardSpec] = []

    @property
    def size_zero(self) -> bool:
        """Whether all parameters stay as they are."""
        same = all(factor == 1 for factor in self.scaled.values())
        return not self.replaced and same and not any(self.added.values())

    def unfit(self, scene: PlannedScene) -> str:
        """Return whether no hazard is meant, a value is out of range, or the plan fails by it."""
        meant = [spec for spec in scene.hazards if self._is_meant(spec)]
        if not meant:
            kind = self.kind or f"with {', '.join(self.parameters)}"
            return f"the route has no hazard {kind}"
        for spec in meant:
            try:
                changed = self._change_parameters(spec)
                hazard = build_hazard(changed)
            except UserError as problem:
                return str(problem)
            if changed == spec:
                return f"{spec.kind} at {spec.station:g} m has these parameters already"
            if why := hazard.explain_impossible(scene.track):
                return f"{spec.kind} at {spec.station:g} m, changed: {why}"
            if has_hidden_mover(spec, scene.track) and not has_hidden_mover(changed, scene.track):
                return f"{spec.kind} at {spec.station:g} m, changed: nothing hides it any more"
        return ""

    def hazards(self, specs: tuple[HazardSpec, ...]) -> tuple[HazardSpec, ...]:
        """Return the hazards with changed parameters."""
        self._asked = [self._change_parameters(spec) for spec in specs if self._is_meant(spec)]
        return tuple(
            self._change_parameters(spec) if self._is_meant(spec) else spec for spec in specs
        )

    def undelivered(self, census: SceneCensus) -> str:
        """Return which hazard does not report the parameters that were asked for."""
        there = {(hazard.spec.kind, hazard.spec.station): hazard for hazard in census.hazards}
        if not self._asked:
            return "the route has no such hazard"
        for spec in self._asked:
            hazard = there.get((spec.kind, spec.station))
            if hazard is None:
                return f"{spec.kind} at {spec.station:g} m has no place, changed so"
            report = hazard.report_encounter()
            reported = hazard.spec.parameters if report is None else report.parameters
            for name in self.parameters:
                if reported.get(name) != spec.parameters[name]:
                    return (
                        f"{spec.kind} at {spec.station:g} m reports {name} = {reported.get(name)},"
                        f" not {spec.parameters[name]}"
                    )
        return ""

    def _is_meant(self, spec: HazardSpec) -> bool:
        if self.kind is not None:
            return spec.kind == self.kind
        declared = KINDS[spec.kind].parameters
        return all(name in declared for name in self.parameters)

    def _change_parameters(self, spec: HazardSpec) -> HazardSpec:
        """Return a hazard with these parameters; `build_hazard` refuses those out of range."""
        values = dict(spec.parameters)
        declared = KINDS[spec.kind].parameters
        for name in self.parameters:
            place = f"{spec.kind} at {spec.station:g} m: {name}"
            if name not in declared:
                raise UserError(f"{place}: no such parameter; valid: {', '.join(declared)}")
            parameter = declared[name]
            value: Value = self.replaced.get(name, values.get(name, parameter.default))
            if name not in self.replaced:
                if not isinstance(parameter, NumberParameter) or isinstance(value, str):
                    raise UserError(f"{place}: a word can be replaced only")
                value = round(value * self.scaled.get(name, 1.0) + self.added.get(name, 0.0), 9)
            values[name] = value
        return replace(spec, parameters=values)


def has_hidden_mover(spec: HazardSpec, track: Track) -> bool:
    """Return whether something of a hazard hides its mover, by the map alone."""
    hazard = build_hazard(spec)
    if not isinstance(hazard, Encounter):
        return False
    plan = next(iter(hazard.plans(track)), None)
    return plan is not None and hazard.is_mover_hidden(track, plan)
