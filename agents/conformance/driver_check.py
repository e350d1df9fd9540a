"""The check of a driver: short drives of a simple car on a straight street, without a simulator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from agents.driving.settings import EgoVehicleModel
from harness.common.findings import Finding, make_checks
from harness.types.drivers import RouteDriver
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import (
    VEHICLE,
    Boxes,
    Control,
    EgoObservation,
    Floats,
    LightAhead,
    Pose,
    Route,
)

STREET, BLOCKER, LINE = 150, 70.0, 60.0
"""Metres of street; where a car stands across it; where the stop line of its light is."""
PERIOD, PIECES = 0.2, 4
"""Seconds between two steps of the driver, and in how many pieces the car moves meanwhile."""
LEAST_WAY = 20.0
"""Metres in 15 s below which a driver does not drive."""
CHECKS = {
    "control": "each step returns a Control with numbers within their bounds",
    "drives": "follows an empty street",
    "deterministic": "a second instance returns the same controls",
    "restarted": "the same instance returns them after another reset",
    "blocker": "stops for a car that stands across the street",
    "light": "stops for a red light",
}


def make_street() -> Route:
    """Return a straight route along x with a row for each metre."""
    x = np.arange(float(STREET + 1))
    rows = len(x)
    return Route(
        name="street",
        town="none",
        xyz=np.column_stack([x, np.zeros(rows), np.zeros(rows)]),
        yaw=np.zeros(rows),
        station=x,
        lane_width=np.full(rows, 3.5),
        speed_limit=np.full(rows, 13.9),
        in_junction=np.zeros(rows, np.bool_),
        lane_change=np.zeros(rows, np.bool_),
    )


def make_observation(step: int, place: Floats, speed: float, red: bool) -> EgoObservation:
    """Return what the ego observes at a step.

    Args:
        step: of the driver.
        place: x, y and heading of the vehicle.
        speed: m/s.
        red: whether there is a red light.
    """
    x, y, yaw = map(float, place)
    return EgoObservation(
        sender="ego",
        kind="ego",
        frame=step,
        time=step * PERIOD,
        lidar_in_world=Pose(x, y, 2.0, yaw),
        points_in_lidar=np.zeros((0, 4), np.float32),
        lidar_in_vehicle=Pose(0.0, 0.0, 2.0),
        vehicle_in_world=Pose(x, y, 0.0, yaw),
        speed=speed,
        lights=(LightAhead(LINE, LINE + 20.0, "red"),) if red else (),
    )


def drive_street(
    driver: RouteDriver, seconds: float, *, blocked: bool = False, red: bool = False
) -> tuple[list[Control], Floats]:
    """Return a driver's controls, and x, y, heading and speed of the car at the end.

    Args:
        driver: at any state; it is reset.
        seconds: of the drive.
        blocked: whether a car stands across the street.
        red: whether there is a red light.
    """
    driver.reset(make_street())
    car, place, speed, controls = EgoVehicleModel(), np.zeros(3), 0.0, []
    standing = np.array([[BLOCKER, 0.0, 0.8, 4.6, 2.0, 1.6, 0.5 * math.pi]])
    boxes = Boxes(standing, np.array([VEHICLE]), np.ones(1)) if blocked else Boxes.none()
    for step in range(round(seconds / PERIOD)):
        seen = make_observation(step, place, speed, red)
        control = driver.step(seen, transform_boxes(boxes, Pose(0.0, 0.0), seen.lidar_in_world))
        controls.append(control)
        # a bicycle that answers its pedals at once
        for _ in range(PIECES):
            piece = PERIOD / PIECES
            rate = car.compute_acceleration(control.throttle, control.brake, speed)
            speed = max(speed + piece * rate, 0.0)
            wheel = math.tan(car.compute_wheel_angle(control.steer, speed))
            place = place + piece * speed * np.array(
                [math.cos(place[2]), math.sin(place[2]), wheel / car.wheelbase]
            )
    return controls, np.append(place, speed)


def list_inputs(driver: RouteDriver) -> list[tuple[float, float, float]]:
    """Return throttle, brake and wheel of each step of a short drive."""
    controls, _ = drive_street(driver, 6.0, blocked=True)
    return [(one.throttle, one.brake, one.steer) for one in controls]


class DriverExamination:
    """Puts one driver to all checks."""

    def __init__(self, make: Callable[[], RouteDriver]) -> None:
        self._make = make

    def list_findings(self) -> list[Finding]:
        """Make every check, in order."""
        checks = {
            "control": self._check_control,
            "drives": self._check_way,
            "deterministic": self._check_determinism,
            "restarted": self._check_restart,
            "blocker": self._check_blocker,
            "light": self._check_light,
        }
        return make_checks(
            {name: (CHECKS[name], check) for name, check in checks.items()}, needed=("control",)
        )

    def _check_control(self) -> Iterator[Finding]:
        for control in drive_street(self._make(), 4.0, blocked=True, red=True)[0]:
            if not isinstance(control, Control):
                yield Finding("control", "failed", f"step returned {control!r}, no Control")
                return
            pedals, wheel = (control.throttle, control.brake), control.steer
            if not (all(0.0 <= pedal <= 1.0 for pedal in pedals) and -1.0 <= wheel <= 1.0):
                why = f"{control}: throttle and brake are 0 to 1, steer is -1 to 1"
                yield Finding("control", "failed", why)
                return

    def _check_way(self) -> Iterator[Finding]:
        x, y, _, speed = drive_street(self._make(), 15.0)[1]
        shown = f"{x:.0f} m in 15 s, then {speed:.1f} m/s, {abs(y):.2f} m aside"
        fine = x >= LEAST_WAY and abs(y) < 1.0
        yield Finding("drives", "passed" if fine else "failed", shown)

    def _check_determinism(self) -> Iterator[Finding]:
        first, second = (list_inputs(self._make()) for _ in range(2))
        if first != second:
            yield Finding("deterministic", "failed", "a second instance returned other controls")

    def _check_restart(self) -> Iterator[Finding]:
        driver = self._make()
        first, second = (list_inputs(driver) for _ in range(2))
        if first != second:
            yield Finding("restarted", "failed", "reset leaves a state: other controls after it")

    def _check_blocker(self) -> Iterator[Finding]:
        x, _, _, speed = drive_street(self._make(), 20.0, blocked=True)[1]
        if x + 0.5 * EgoVehicleModel().length >= BLOCKER - 1.0:
            yield Finding("blocker", "warning", f"it reached the car with {speed:.1f} m/s")

    def _check_light(self) -> Iterator[Finding]:
        x = float(drive_street(self._make(), 20.0, red=True)[1][0])
        if x + 0.5 * EgoVehicleModel().length > LINE + 0.5:
            yield Finding("light", "warning", "it passed the stop line of a red light")


def findings_of(make: Callable[[], RouteDriver]) -> list[Finding]:
    """Return what the check of a driver finds."""
    return DriverExamination(make).list_findings()
