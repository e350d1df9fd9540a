"""A driver at another speed: `sweep.speed` makes one of each driver."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from agents.driving.driver import Driver
from harness.common.errors import UserError
from harness.types.drivers import IntendingDriver, RouteDriver, is_intending_driver
from harness.types.intentions import Precedence
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    Floats,
    PlannedMotion,
    Route,
)


@runtime_checkable
class ScalableDriver(Protocol):
    """A driver whose cruise speed can be another one."""

    def scale_speed(self, factor: float) -> None:
        """Cruise at this share of the speed so far, from the next reset on."""


class ScaledDriver(RouteDriver):
    """Drives as another driver does, with its cruise speed times a factor.

    Gaps, accelerations and the limit in bends stay as they are.
    """

    safe_from_file = True

    def __init__(
        self,
        factor: float,  # of the cruise speed, above 0
        driver: RouteDriver | None = None,  # null: the shared driver with its default settings
    ) -> None:
        if not factor > 0:
            raise UserError(f"driver: factor = {factor:g}: must be > 0")
        self._driver: RouteDriver = driver or Driver()
        if not isinstance(self._driver, ScalableDriver):
            raise UserError(
                f"sweep.speed: {type(self._driver).__name__} has no scale_speed, which sets another"
                " cruise speed"
            )
        self._driver.scale_speed(factor)
        self.planned_xy: Floats = np.zeros((0, 2))

    @property
    def planned(self) -> PlannedMotion | None:
        """What the driver plans, if it says so."""
        return self._get_intending().planned

    @property
    def precedences(self) -> tuple[Precedence, ...]:
        """Who went first in the last step, if the driver says what it plans."""
        return self._get_intending().precedences

    def _get_intending(self) -> IntendingDriver:
        """Return the driver; one that says no plan leaves this one without, too."""
        if not is_intending_driver(self._driver):
            raise AttributeError(f"{type(self._driver).__name__} does not say what it plans")
        return self._driver

    def reset(self, route: Route) -> None:
        """Start a route."""
        self._driver.reset(route)
        self.planned_xy = self._driver.planned_xy

    def step(self, observation: EgoObservation, detections_in_lidar: Boxes) -> Control:
        """Return the control of the driver, and take over its plan."""
        control = self._driver.step(observation, detections_in_lidar)
        self.planned_xy = self._driver.planned_xy
        return control
