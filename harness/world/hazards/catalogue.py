"""All hazards by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import entry_points

from harness.common.errors import UserError
from harness.common.plugins import (
    describe_plugin_origin,
    list_installed_prefixes,
    list_plugin_packages,
    load_class,
)
from harness.common.suggestions import describe_unknown_name
from harness.world.hazards.control_loss import ControlLoss
from harness.world.hazards.crossing import CrossingVehicle, RedLightRunner
from harness.world.hazards.hazard import Hazard
from harness.world.hazards.kerbside import CutIn, OccludedCyclist, OccludedPedestrian
from harness.world.hazards.leading import HardBraking, StoppedVehicle
from harness.world.hazards.manoeuvre_opposite import ManoeuvreOpposite
from harness.world.hazards.oncoming_turn import OncomingTurn
from harness.world.hazards.scripted import ScriptedActor
from harness.world.hazards.spec import HazardSpec

SHIPPED_KINDS: dict[str, type[Hazard]] = {
    hazard.kind: hazard
    for hazard in (
        OccludedPedestrian,
        OccludedCyclist,
        CrossingVehicle,
        RedLightRunner,
        HardBraking,
        StoppedVehicle,
        CutIn,
        OncomingTurn,
        ControlLoss,
        ManoeuvreOpposite,
    )
}
PLACED_BY_SETS: dict[str, type[Hazard]] = {ScriptedActor.kind: ScriptedActor}
"""Kinds that only scenario sets of others place: no generator and no list has them."""

ENTRY_POINTS = "crucible.hazards"


class HazardKinds(Mapping[str, type[Hazard]]):
    """Hazards by name: shipped, those of installed packages, and classes by `package.module.Class`.

    An installed package names its kinds as entry points of the group `crucible.hazards`. Other
    classes are found in the packages of CRUCIBLE_PACKAGES and among installed plug-ins only.
    """

    @cached_property
    def _named(self) -> dict[str, type[Hazard]]:
        points = entry_points(group=ENTRY_POINTS)
        installed = {point.name: check_hazard_class(point.name, point.load()) for point in points}
        return {**installed, **SHIPPED_KINDS}

    def __getitem__(self, name: str) -> type[Hazard]:
        if name in PLACED_BY_SETS:
            return PLACED_BY_SETS[name]
        if name in self._named or "." not in name:
            return self._named[name]
        try:
            allowed = (*list_plugin_packages(), *list_installed_prefixes())
            return check_hazard_class(name, load_class(name, allowed))
        except LookupError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)


KINDS = HazardKinds()


def check_hazard_class(name: str, named: object) -> type[Hazard]:
    """Return a hazard's class; refuse what is none."""
    if not (isinstance(named, type) and issubclass(named, Hazard)):
        raise UserError(f"hazard {name}: not a subclass of Hazard")
    if isinstance(getattr(named, "kind", None), str):
        return named
    raise UserError(f"hazard {name}: it has no kind, its name in the records")


def build_hazard(spec: HazardSpec) -> Hazard:
    """Build the hazard of a placement, or raise an error that lists the valid kinds."""
    where = f"route {spec.route}, hazard {spec.kind!r}"
    if spec.kind not in KINDS:
        unknown = describe_unknown_name("kind", spec.kind, KINDS)
        raise UserError(f"{where}: {unknown}{describe_plugin_origin(spec.kind)}")
    named = KINDS[spec.kind]
    for name, value in spec.parameters.items():
        if name not in named.parameters:
            raise UserError(
                f"{where}: {describe_unknown_name('parameter', name, named.parameters)}"
            )
        named.parameters[name].refuse_value(f"{where}: {name}", value)
    return named(spec)
