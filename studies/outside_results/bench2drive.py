"""Bench2Drive's success, driving efficiency and abilities (Jia et al., NeurIPS 2024, section 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from studies.outside_results.driven_route import COMPLETED, DrivenRoute
from studies.outside_results.scoring_rules import SPEED_SHARE, read_message_share

FREE_OF_CHARGE = "min_speed_infractions"
"""The kind of infraction that does not prevent success."""
FASTEST = 10.0
"""Times the traffic's speed; higher messages are left out, as the traffic stands there."""
ABILITIES = {
    "overtaking": (
        *("Accident", "AccidentTwoWays", "ConstructionObstacle", "ConstructionObstacleTwoWays"),
        *("HazardAtSideLane", "HazardAtSideLaneTwoWays", "ParkedObstacle"),
        *("ParkedObstacleTwoWays", "VehicleOpensDoorTwoWays"),
    ),
    "merging": (
        *("CrossingBicycleFlow", "EnterActorFlow", "HighwayExit", "InterurbanActorFlow"),
        *("HighwayCutIn", "InterurbanAdvancedActorFlow", "MergerIntoSlowTrafficV2"),
        *("MergerIntoSlowTraffic", "NonSignalizedJunctionLeftTurn"),
        *("NonSignalizedJunctionRightTurn", "NonSignalizedJunctionLeftTurnEnterFlow"),
        *("ParkingExit", "SequentialLaneChange", "SignalizedJunctionLeftTurn"),
        *("SignalizedJunctionRightTurn", "SignalizedJunctionLeftTurnEnterFlow"),
    ),
    "emergency braking": (
        *("BlockedIntersection", "DynamicObjectCrossing", "HardBreakRoute"),
        *("OppositeVehicleTakingPriority", "OppositeVehicleRunningRedLight", "ParkingCutIn"),
        *("PedestrianCrossing", "ParkingCrossingPedestrian", "StaticCutIn"),
        *("VehicleTurningRoute", "VehicleTurningRoutePedestrian", "ControlLoss"),
    ),
    "giving way": ("InvadingTurn", "YieldToEmergencyVehicle"),
}
"""Kinds of scenario by ability, as in `tools/ability_benchmark.py` since version 0.0.3.

Before, the script spelled three of them otherwise than the routes do (`VehicleOpenDoorTwoWays`,
`MergeIntoSlowTraffic`, `ParkingCrossingPedestrain`), and a fourth of the traffic signs: numbers of
that time leave out 20 routes. The fifth ability needs routes and maps: `traffic_signs`.
"""


def is_success(drive: DrivenRoute) -> bool:
    """Return whether a drive is a success of Bench2Drive (`tools/merge_route_json.py`)."""
    clean = all(
        not messages for kind, messages in drive.infractions.items() if kind != FREE_OF_CHARGE
    )
    return drive.status in COMPLETED and clean


def compute_efficiency(drives: Sequence[DrivenRoute]) -> float:
    """Return driving efficiency: the speed in percent of the traffic's, mean over routes.

    As in `tools/efficiency_smoothness_benchmark.py`: routes without a message are left out, and
    messages above `FASTEST`. NaN where there is none.
    """
    means = []
    for drive in drives:
        shares = [
            read_message_share(SPEED_SHARE, message)
            for message in drive.infractions.get(FREE_OF_CHARGE, ())
        ]
        shares = [share for share in shares if share <= FASTEST]
        if shares:
            means.append(100 * sum(shares) / len(shares))
    return sum(means) / len(means) if means else math.nan


def compute_abilities(drives: Sequence[DrivenRoute]) -> dict[str, tuple[int, int]]:
    """Return successes and drives by ability, of those that follow from results files."""
    counts = {}
    for ability, kinds in ABILITIES.items():
        asked = [drive for drive in drives if drive.scenario in kinds]
        counts[ability] = (sum(map(is_success, asked)), len(asked))
    return counts
