"""Brakes of the ego: the simulator's, or tyres that hold no more than those of real cars."""

from __future__ import annotations

import math

import carla

from harness.common.errors import UserError

ROAD_FRICTION = 0.7
"""Of CARLA's roads; multiplies the tyres' friction."""
LOAD_AT_REST = 0.2308 + (3.0 - 0.2308) / 3.0
"""The load that a tyre acts with at rest, over its load: the filter of PhysX's vehicles."""


class TyreGrip:
    """Tyres that hold a given share of their load, in any direction.

    A car decelerates by no more than its tyres hold. CARLA's tyres have a friction of 3.5 on roads
    of 0.7: they hold more than twice the weight. Real ones hold 0.8 to 0.9 of it on dry asphalt
    (J. Y. Wong, Theory of Ground Vehicles, table 1.3, average values of coefficient of road
    adhesion). Less friction limits braking, bends and starts alike. Brake torque and driver stay
    as they are.
    """

    safe_from_file = True

    def __init__(
        self,
        friction: float,  # share of their load that the tyres hold, at most
    ) -> None:
        if not (math.isfinite(friction) and friction > 0):
            raise UserError(f"brakes: friction = {friction}: must be > 0")
        self.friction = friction

    @property
    def tyre_friction(self) -> float:
        """The friction of each tyre, on the scale of CARLA's physics control."""
        return self.friction / (ROAD_FRICTION * LOAD_AT_REST)

    def fit_to_vehicle(self, vehicle: carla.Vehicle) -> None:
        """Give all wheels of a vehicle this friction.

        Args:
            vehicle: newly spawned.
        """
        control = vehicle.get_physics_control()
        wheels = control.wheels
        for wheel in wheels:
            wheel.tire_friction = self.tyre_friction
        control.wheels = wheels
        vehicle.apply_physics_control(control)
