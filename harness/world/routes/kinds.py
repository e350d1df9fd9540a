"""Which hazard of ours stands for which Leaderboard scenario type, and where ego meets it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

NOT_RUN = "not_run:"
Turn = Literal["left", "right", "straight"]


@dataclass(frozen=True, slots=True)
class ScenarioMeaning:
    """What a scenario type becomes here."""

    kind: str
    ahead: float = 0.0  # metres from the trigger to where they meet; unused at a junction
    turns: frozenset[Turn] | None = None  # met in the next junction, if the route turns so there


ANY = frozenset[Turn](("left", "right", "straight"))
TURNING = frozenset[Turn](("left", "right"))
LEFT, RIGHT = frozenset[Turn](("left",)), frozenset[Turn](("right",))

NUMBERED = {
    "Scenario1": ScenarioMeaning("control_loss", 5.0),
    "Scenario2": ScenarioMeaning("hard_braking", 40.0),
    "Scenario3": ScenarioMeaning("occluded_pedestrian", 14.0),
    "Scenario4": ScenarioMeaning("occluded_cyclist", turns=TURNING),
    "Scenario5": ScenarioMeaning("stopped_vehicle", 40.0),
    "Scenario6": ScenarioMeaning("manoeuvre_opposite", 30.0),
    "Scenario7": ScenarioMeaning("red_light_runner", turns=ANY),
    "Scenario8": ScenarioMeaning("oncoming_turn", turns=LEFT),
    "Scenario9": ScenarioMeaning("crossing_vehicle", turns=RIGHT),
    "Scenario10": ScenarioMeaning("crossing_vehicle", turns=ANY),
}
NAMED = {
    "ControlLoss": ScenarioMeaning("control_loss", 5.0),
    "HardBreakRoute": ScenarioMeaning("hard_braking", 40.0),
    "DynamicObjectCrossing": ScenarioMeaning("occluded_pedestrian", 14.0),
    "ParkingCrossingPedestrian": ScenarioMeaning("occluded_pedestrian", 14.0),
    "PedestrianCrossing": ScenarioMeaning("occluded_pedestrian", 14.0),
    "VehicleTurningRoute": ScenarioMeaning("occluded_cyclist", turns=TURNING),
    "VehicleTurningRoutePedestrian": ScenarioMeaning("occluded_pedestrian", turns=TURNING),
    "CrossingBicycleFlow": ScenarioMeaning("occluded_cyclist", turns=ANY),
    "BlockedIntersection": ScenarioMeaning("stopped_vehicle", turns=ANY),
    "OppositeVehicleRunningRedLight": ScenarioMeaning("red_light_runner", turns=ANY),
    "OppositeVehicleTakingPriority": ScenarioMeaning("crossing_vehicle", turns=ANY),
    "SignalizedJunctionLeftTurn": ScenarioMeaning("oncoming_turn", turns=LEFT),
    "NonSignalizedJunctionLeftTurn": ScenarioMeaning("oncoming_turn", turns=LEFT),
    "SignalizedJunctionRightTurn": ScenarioMeaning("crossing_vehicle", turns=RIGHT),
    "NonSignalizedJunctionRightTurn": ScenarioMeaning("crossing_vehicle", turns=RIGHT),
    "ParkingCutIn": ScenarioMeaning("cut_in", 25.0),
    "StaticCutIn": ScenarioMeaning("cut_in", 25.0),
    "HighwayCutIn": ScenarioMeaning("cut_in", 25.0),
    "Accident": ScenarioMeaning("stopped_vehicle", 40.0),
    "ParkedObstacle": ScenarioMeaning("stopped_vehicle", 40.0),
    "AccidentTwoWays": ScenarioMeaning("manoeuvre_opposite", 30.0),
    "ParkedObstacleTwoWays": ScenarioMeaning("manoeuvre_opposite", 30.0),
}


def get_scenario_meaning(scenario: str, kinds: Collection[str]) -> ScenarioMeaning:
    """Return what a scenario type becomes; `not_run:…` gives the reason if no hazard matches it."""
    meaning = NUMBERED.get(scenario) or NAMED.get(scenario)
    if meaning is None:
        return ScenarioMeaning(f"{NOT_RUN}no hazard stands for this type")
    if meaning.kind not in kinds:
        return ScenarioMeaning(f"{NOT_RUN}no hazard of kind {meaning.kind}")
    return meaning


def parse_scenario_number(scenario: str) -> int:
    """Return the number in a type's name: where types share a place the highest is taken."""
    digits = re.search(r"\d+", scenario)
    return int(digits[0]) if digits else -1
