"""What a driver must offer, and systems that let others drive by their boxes."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from harness.types.intentions import Precedence
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    Floats,
    PlannedMotion,
    Route,
)

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class RouteDriver(Protocol):
    """Drives one route at a time; all that it knows of other road users comes from the boxes.

    Attributes:
        planned_xy: (up to 10, 2) metres in the world: where the ego plans to be after each of the
            next planning steps; empty before the first step.
    """

    planned_xy: Floats

    @abstractmethod
    def reset(self, route: Route) -> None:
        """Start a route.

        Args:
            route: a row for each metre, in the world frame.
        """

    @abstractmethod
    def step(self, observation: EgoObservation, detections_in_lidar: Boxes) -> Control:
        """Return the control until the next step.

        Args:
            observation: of the ego, with the pose that it believes; its points are not read.
            detections_in_lidar: in the ego's LiDAR frame, metres and radians.

        Returns:
            Throttle, brake and steering.
        """


class IntendingDriver(Protocol):
    """A driver that says what it plans, and heeds what others plan: `observation.intentions`.

    Attributes:
        planned: what it plans since its last step, in the world, its times those of observations;
            None before the first step.
        precedences: who went first in the last step, of the ego and each vehicle in conflict.
    """

    planned: PlannedMotion | None
    precedences: tuple[Precedence, ...]


@runtime_checkable
class DrivableSystem(Protocol):
    """A system that drives by its boxes with a driver that may be replaced."""

    def use_driver(self, driver: RouteDriver) -> None:
        """Drive with this driver from the next reset on."""


@runtime_checkable
class ScalableSystem(Protocol):
    """A system that drives by itself, with a cruise speed that can be another one."""

    def scale_speed(self, factor: float) -> None:
        """Cruise at this share of its own cruise speed, from the next reset on."""


def is_intending_driver(driver: object) -> TypeIs[IntendingDriver]:
    """Return whether a driver, or a class of drivers, says what it plans."""
    return all(hasattr(driver, name) for name in ("planned", "precedences"))


def get_intending_driver(system: object) -> IntendingDriver | None:
    """Return the driver of a system if it says what it plans; None for all others."""
    driver: object = getattr(system, "driver", None)
    return driver if is_intending_driver(driver) else None


def is_drivable_system(system: object) -> TypeIs[DrivableSystem]:
    """Return whether a system, or a class of systems, lets another driver drive."""
    return callable(getattr(system, "use_driver", None))


def is_scalable_system(system: object) -> TypeIs[ScalableSystem]:
    """Return whether a system, or a class of systems, can cruise at another speed by itself."""
    return callable(getattr(system, "scale_speed", None))
