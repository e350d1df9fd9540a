"""All hazards by name."""

from __future__ import annotations

from harness.errors import UserError
from harness.world.hazards.control_loss import ControlLoss
from harness.world.hazards.crossing_vehicle import CrossingVehicle
from harness.world.hazards.cut_in import CutIn
from harness.world.hazards.hard_braking import HardBraking
from harness.world.hazards.hazard import Hazard
from harness.world.hazards.manoeuvre_opposite import ManoeuvreOpposite
from harness.world.hazards.occluded_cyclist import OccludedCyclist
from harness.world.hazards.occluded_pedestrian import OccludedPedestrian
from harness.world.hazards.oncoming_turn import OncomingTurn
from harness.world.hazards.red_light_runner import RedLightRunner
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.stopped_vehicle import StoppedVehicle

KINDS: dict[str, type[Hazard]] = {
    each.kind: each
    for each in (
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
    return KINDS[spec.kind](spec)
