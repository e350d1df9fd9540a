"""The settings of the driver that chooses among proposals."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.driving.settings import EgoVehicleModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalSettings:
    """Speeds and accelerations of the proposals; those of PDM-Closed where nothing else is said.

    Source: D. Dauner, M. Hallgarten, A. Geiger, K. Chitta: Parting with Misconceptions about
    Learning-based Vehicle Motion Planning, CoRL 2023, by its published code and
    configuration: `pdm_closed_planner.yaml`, `pdm_scorer.py`, `pdm_emergency_brake.py`.
    """

    safe_from_file = True
    cruise_speed: float = 8.0  # m/s at most, as the default driver; PDM-Closed: the speed limit
    fractions: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8, 1.0)  # of the speed allowed
    offsets: tuple[float, ...] = (0.0, -1.0, 1.0)  # m right of the route
    minimum_gap: float = 1.0  # m behind a standing leader
    headway: float = 1.5  # s
    acceleration: float = 1.5  # m/s² at most
    braking: float = 3.0  # m/s² at most
    exponent: float = 10.0  # of speed over target speed
    horizon: float = 4.0  # s
    step: float = 0.2  # s between two times of a proposal; PDM-Closed: 0.1
    progress_weight: float = 5.0
    time_to_collision_weight: float = 5.0
    comfort_weight: float = 2.0
    time_to_collision: float = 1.0  # s that must be free ahead, at constant speed
    emergency_time: float = 2.0  # s to a collision of the best proposal, from which to brake hard
    emergency_speed: float = 5.0  # m/s up to which it brakes hard for that
    emergency_braking: float = 4.05  # m/s²
    sideways: float = 2.5  # m/s² in bends, as the default driver; PDM-Closed: no limit
    car: EgoVehicleModel = field(
        default_factory=EgoVehicleModel
    )  # body and pedals of the vehicle that is driven
