"""Which hazard of ours stands for which Leaderboard scenario type, and where ego meets it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

NOT_RUN = "not_run:"
Turn = Literal["left", "right", "straight"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a scenario type becomes here."""

    kind: str
    ahead: float = 0.0  # metres from the trigger to where they meet; unused at a junction
    turns: frozenset[Turn] | None = None  # met in the next junction, if the route turns so there


ANY = frozenset[Turn](("left", "right", "straight"))
TURNING = frozenset[Turn](("left", "right"))
LEFT, RIGHT = frozenset[Turn](("left",)), frozenset[Turn](("right",))

NUMBERED = {
    "Scenario1": Meaning("control_loss", 5.0),
    "Scenario2": Meaning("hard_braking", 40.0),
    "Scenario3": Meaning("occluded_pedestrian", 14.0),
    "Scenario4": Meaning("occluded_cyclist", turns=TURNING),
    "Scenario5": Meaning("stopped_vehicle", 40.0),
    "Scenario6": Meaning("manoeuvre_opposite", 30.0),
    "Scenario7": Meaning("red_light_runner", turns=ANY),
    "Scenario8": Meaning("oncoming_turn", turns=LEFT),
    "Scenario9": Meaning("crossing_vehicle", turns=RIGHT),
    "Scenario10": Meaning("crossing_vehicle", turns=ANY),
}
NAMED = {
    "ControlLoss": Meaning("control_loss", 5.0),
    "HardBreakRoute": Meaning("hard_braking", 40.0),
    "DynamicObjectCrossing": Meaning("occluded_pedestrian", 14.0),
    "ParkingCrossingPedestrian": Meaning("occluded_pedestrian", 14.0),
    "PedestrianCrossing": Meaning("occluded_pedestrian", 14.0),
    "VehicleTurningRoute": Meaning("occluded_cyclist", turns=TURNING),
    "VehicleTurningRoutePedestrian": Meaning("occluded_pedestrian", turns=TURNING),
    "CrossingBicycleFlow": Meaning("occluded_cyclist", turns=ANY),
    "BlockedIntersection": Meaning("stopped_vehicle", turns=ANY),
    "OppositeVehicleRunningRedLight": Meaning("red_light_runner", turns=ANY),
    "OppositeVehicleTakingPriority": Meaning("crossing_vehicle", turns=ANY),
    "SignalizedJunctionLeftTurn": Meaning("oncoming_turn", turns=LEFT),
    "NonSignalizedJunctionLeftTurn": Meaning("oncoming_turn", turns=LEFT),
    "SignalizedJunctionRightTurn": Meaning("crossing_vehicle", turns=RIGHT),
    "NonSignalizedJunctionRightTurn": Meaning("crossing_vehicle", turns=RIGHT),
    "ParkingCutIn": Meaning("cut_in", 25.0),
    "StaticCutIn": Meaning("cut_in", 25.0),
    "HighwayCutIn": Meaning("cut_in", 25.0),
    "Accident": Meaning("stopped_vehicle", 40.0),
    "ParkedObstacle": Meaning("stopped_vehicle", 40.0),
    "AccidentTwoWays": Meaning("manoeuvre_opposite", 30.0),
    "ParkedObstacleTwoWays": Meaning("manoeuvre_opposite", 30.0),
}


def meaning_of(scenario: str, kinds: Collection[str]) -> Meaning:
    """Return what a scenario type becomes; `not_run:…` gives the reason if no hazard matches it."""
    meaning = NUMBERED.get(scenario) or NAMED.get(scenario)
    if meaning is None:
        return Meaning(f"{NOT_RUN}no hazard stands for this type")
    if meaning.kind not in kinds:
        return Meaning(f"{NOT_RUN}no hazard of kind {meaning.kind}")
    return meaning


def rank(scenario: str) -> int:
    """Return the number in a type's name: where types share a place the highest is taken."""
    digits = re.search(r"\d+", scenario)
    return int(digits[0]) if digits else -1
