"""Vehicles that are given a speed and a steering angle instead of pedals and a wheel."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from math import cos, inf, sin

from harness.carlite.actors import ActorTable
from harness.carlite.dynamics.physics import PhysicsTable
from harness.carlite.wire.records import AckermannControl, AckermannSettings

LEAST_STEER = 0.01
MOST_ACCELERATION, MOST_BRAKING = 3.0, 8.0
FULL_THROTTLE, FULL_BRAKE = 5.0, 8.0
"""Acceleration in m/s² that a pedal is first taken to give when pressed down."""

EAGERNESS = 8.0
"""CARLA's proportional gains are steps per frame; here they are rates."""

SMOOTHING = 0.2
"""Seconds over which measured acceleration is averaged."""

STANDSTILL = 0.1


@dataclass(kw_only=True)
class AckermannDriver:
    """One vehicle's controller: a loop from speed to acceleration, one from there to the pedals.

    Attributes:
        active: whether it has the vehicle.
        steer: present steering angle, in radians.
        wish: acceleration asked for. felt: acceleration measured, both along the way it drives.
        lag: sum of missing speed. trim: what the pedals need beyond the first guess.
    """

    target: AckermannControl = field(default_factory=AckermannControl)
    settings: AckermannSettings = field(default_factory=AckermannSettings)
    active: bool = False
    steer: float = 0.0
    wish: float = 0.0
    felt: float = 0.0
    lag: float = 0.0
    trim: float = 0.0

    def drive(self, table: ActorTable, slot: int, full_steer: float, dt: float) -> None:
        """Set the pedals and the wheel of the vehicle in `slot`."""
        # the wheel
        self._turn_wheel(dt)
        table.steer[slot] = min(max(self.steer / full_steer, -1.0), 1.0)
        # speed and its growth along the car, m/s and m/s²
        yaw = table.rotation[slot, 1]
        ahead = (cos(yaw), sin(yaw))
        speed = float(table.velocity[slot, 0] * ahead[0] + table.velocity[slot, 1] * ahead[1])
        gain = float(
            table.acceleration[slot, 0] * ahead[0] + table.acceleration[slot, 1] * ahead[1]
        )
        # brake where it is to stand, or rolls the wrong way
        wanted, backwards = abs(self.target.speed), self.target.speed < 0.0
        stand = wanted < STANDSTILL and abs(speed) < STANDSTILL
        wrong_way = speed > STANDSTILL if backwards else speed < -STANDSTILL
        table.reverse[slot] = backwards and not wrong_way
        if stand or wrong_way:
            self.wish = self.felt = self.lag = self.trim = 0.0
            table.throttle[slot], table.brake[slot] = 0.0, 1.0
            return
        # one pedal: throttle above 0, brake below
        pedal = self._compute_pedal(wanted - abs(speed), -gain if backwards else gain, dt)
        table.throttle[slot] = min(max(pedal, 0.0), 1.0)
        table.brake[slot] = min(max(-pedal, 0.0), 1.0)

    def _turn_wheel(self, dt: float) -> None:
        rate = abs(self.target.steer_speed)
        change = self.target.steer - self.steer
        self.steer += min(max(change, -rate * dt), rate * dt) if rate > 0.0 else change

    def _compute_pedal(self, missing: float, gain: float, dt: float) -> float:
        """Turn missing speed into a wish for acceleration, and that into a pedal: 1 is throttle."""
        gains, before = self.settings, self.felt
        self.felt += (gain - self.felt) * dt / (SMOOTHING + dt)
        self.lag = min(max(self.lag + missing * dt, -10.0), 10.0)
        wish = EAGERNESS * gains.speed_kp * missing + gains.speed_ki * self.lag
        self._limit_wish(wish - gains.speed_kd * self.felt)
        error = self.wish - self.felt
        self.trim += EAGERNESS * (gains.accel_kp + gains.accel_ki) * error * dt
        self.trim = min(max(self.trim, -1.0), 1.0)
        slope = (self.felt - before) / dt
        guess = self.wish / (FULL_THROTTLE if self.wish > 0.0 else FULL_BRAKE)
        return guess + self.trim - gains.accel_kd * slope

    def _limit_wish(self, wish: float) -> None:
        """Keep what is asked for within the target's limit, of which 0 means none.

        CARLA's controller does not read the limit of jerk, so neither does this one.
        """
        limit = abs(self.target.acceleration) or inf
        self.wish = max(min(wish, limit, MOST_ACCELERATION), -limit, -MOST_BRAKING)


class AckermannControllers:
    """All vehicles that ever got an Ackermann control; those it still holds for are driven."""

    def __init__(self) -> None:
        self._drivers: dict[int, AckermannDriver] = {}

    def get_driver(self, actor_id: int) -> AckermannDriver:
        """Return a vehicle's controller."""
        return self._drivers.setdefault(actor_id, AckermannDriver())

    def take_over_vehicle(self, actor_id: int, control: AckermannControl) -> None:
        """Take over a vehicle, until `release_vehicle`."""
        driver = self.get_driver(actor_id)
        driver.target, driver.active = control, True

    def release_vehicle(self, actor_id: int) -> None:
        """Leave a vehicle to its pedals; nothing but the gains is remembered."""
        driver = self._drivers.get(actor_id)
        if driver is not None and driver.active:
            self._drivers[actor_id] = AckermannDriver(settings=driver.settings)

    def forget_actor(self, actor_id: int) -> None:
        """Drop a destroyed vehicle."""
        self._drivers.pop(actor_id, None)

    def drive_vehicles(
        self, table: ActorTable, physics: PhysicsTable, dt: float, others: Container[int]
    ) -> None:
        """Set the controls of all vehicles that are driven here, but for those `others` drive."""
        for actor_id, driver in tuple(self._drivers.items()):
            if actor_id in others:
                self.release_vehicle(actor_id)
            elif driver.active:
                slot = table.find_slot(actor_id)
                full_steer = float(physics.rows["max_steer"][table.physics[slot]])
                driver.drive(table, slot, max(full_steer, LEAST_STEER), dt)
