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
    """Build the hazard of a placement, or raise an error that lists the valid kinds."""
    where = f"route {spec.route}, hazard {spec.kind!r}"
    if spec.kind not in KINDS:
        raise UserError(f"{where}: unknown kind; valid kinds: {', '.join(KINDS)}")
    known = KINDS[spec.kind].defaults
    for name, value in spec.parameters.items():
        if name not in known:
            raise UserError(
                f"{where}: unknown parameter {name!r}; valid parameters: {', '.join(known)}"
            )
        if isinstance(value, str) != isinstance(known[name], str):
            wanted = "a word" if isinstance(known[name], str) else "a number"
            raise UserError(f"{where}: {name} must be {wanted}, not {value!r}")
        refuse_impossible(f"{where}: {name}", value, name in MAY_BE_ZERO)
    return KINDS[spec.kind](spec)


def refuse_impossible(place: str, value: Value, may_be_zero: bool) -> None:
    """Refuse a mover of unknown size, and numbers with which nothing would happen."""
    if isinstance(value, str):
        if value not in ACTORS:
            raise UserError(f"{place} = {value!r}: unknown; valid: {', '.join(ACTORS)}")
    elif value < 0 or (value == 0 and not may_be_zero):
        least = "≥ 0" if may_be_zero else "> 0"
        raise UserError(f"{place} = {value:g}: must be {least}")
