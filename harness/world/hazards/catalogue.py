"""All hazards by name."""

from __future__ import annotations

from harness.errors import UserError
from harness.world.hazards.control_loss import ControlLoss
from harness.world.hazards.crossing import CrossingVehicle, RedLightRunner
from harness.world.hazards.hazard import Hazard, Value
from harness.world.hazards.kerbside import CutIn, OccludedCyclist, OccludedPedestrian
from harness.world.hazards.leading import HardBraking, StoppedVehicle
from harness.world.hazards.manoeuvre_opposite import ManoeuvreOpposite
from harness.world.hazards.oncoming_turn import OncomingTurn
from harness.world.hazards.sizes import SIZES
from harness.world.hazards.spec import HazardSpec

KINDS: dict[str, type[Hazard]] = {
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

ACTORS = tuple(name for name in SIZES if name.startswith("vehicle."))
MAY_BE_ZERO = ("friction", "standing")


def build(spec: HazardSpec) -> Hazard:
    """Make the hazard that a placement asks for, or say what exists instead."""
    where = f"route {spec.route}, hazard {spec.kind!r}"
    if spec.kind not in KINDS:
        raise UserError(f"{where}: no such kind; there are {', '.join(KINDS)}")
    known = KINDS[spec.kind].defaults
    for name, value in spec.parameters.items():
        if name not in known:
            raise UserError(f"{where}: no parameter {name!r}; there are {', '.join(known)}")
        if isinstance(value, str) != isinstance(known[name], str):
            wanted = "a word" if isinstance(known[name], str) else "a number"
            raise UserError(f"{where}: {name} must be {wanted}, not {value!r}")
        refuse_impossible(f"{where}: {name}", value, name in MAY_BE_ZERO)
    return KINDS[spec.kind](spec)


def refuse_impossible(place: str, value: Value, may_be_zero: bool) -> None:
    """Refuse a mover that nobody knows the size of, and numbers with which nothing happens."""
    if isinstance(value, str):
        if value not in ACTORS:
            raise UserError(f"{place} is {value!r}; take one of {', '.join(ACTORS)}")
    elif value < 0 or (value == 0 and not may_be_zero):
        least = "0 or more" if may_be_zero else "above 0"
        raise UserError(f"{place} is {value:g}; it must be {least}")
