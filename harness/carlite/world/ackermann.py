"""Vehicles that are told a speed and a steering angle instead of pedals and a wheel."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, sin

from harness.carlite.actors import ActorTable
from harness.carlite.dynamics.physics import Physics
from harness.carlite.wire.records import AckermannControl, AckermannSettings

LEAST_STEER = 0.01
MOST_ACCELERATION, MOST_BRAKING = 3.0, 8.0
STANDSTILL = 0.1


@dataclass
class _Loop:
    """A PID controller that remembers its last error."""

    integral: float = 0.0
    last: float = 0.0

    def run(self, gains: tuple[float, float, float], error: float, dt: float) -> float:
        self.integral = min(max(self.integral + error * dt, -10.0), 10.0)
        slope, self.last = (error - self.last) / dt, error
        return gains[0] * error + gains[1] * self.integral + gains[2] * slope


@dataclass
class Driver:
    """One vehicle's controller: a loop from speed to acceleration, one from there to the pedals."""

    target: AckermannControl = field(default_factory=AckermannControl)
    settings: AckermannSettings = field(default_factory=AckermannSettings)
    active: bool = False
    steer: float = 0.0
    acceleration: float = 0.0
    pedal: float = 0.0
    speed_loop: _Loop = field(default_factory=_Loop)
    acceleration_loop: _Loop = field(default_factory=_Loop)

    def drive(self, table: ActorTable, slot: int, full_steer: float, dt: float) -> None:
        """Set the pedals and the wheel of the vehicle in `slot`."""
        self._turn(dt)
        table.steer[slot] = min(max(self.steer / full_steer, -1.0), 1.0)
        yaw = table.rotation[slot, 1]
        ahead = (cos(yaw), sin(yaw))
        speed = float(table.velocity[slot, 0] * ahead[0] + table.velocity[slot, 1] * ahead[1])
        gain = float(
            table.acceleration[slot, 0] * ahead[0] + table.acceleration[slot, 1] * ahead[1]
        )
        wanted, backwards = abs(self.target.speed), self.target.speed < 0.0
        stand = wanted < STANDSTILL and abs(speed) < STANDSTILL
        wrong_way = speed > STANDSTILL if backwards else speed < -STANDSTILL
        table.reverse[slot] = backwards and not wrong_way
        if stand or wrong_way:
            self._rest()
            table.throttle[slot], table.brake[slot] = 0.0, 1.0
            return
        self._push(wanted - abs(speed), -gain if backwards else gain, dt)
        table.throttle[slot] = min(max(self.pedal, 0.0), 1.0)
        table.brake[slot] = min(max(-self.pedal, 0.0), 1.0)

    def _turn(self, dt: float) -> None:
        rate = abs(self.target.steer_speed)
        change = self.target.steer - self.steer
        self.steer += min(max(change, -rate * dt), rate * dt) if rate > 0.0 else change

    def _push(self, missing: float, gain: float, dt: float) -> None:
        """Turn missing speed into a wish for acceleration, and missing acceleration into pedal."""
        limit = abs(self.target.acceleration)
        most = min(limit, MOST_ACCELERATION) if limit > 0.0 else MOST_ACCELERATION
        least = -min(limit, MOST_BRAKING) if limit > 0.0 else -MOST_BRAKING
        s = self.settings
        change = self.speed_loop.run((s.speed_kp, s.speed_ki, s.speed_kd), missing, dt)
        if self.target.jerk != 0.0:
            jerk = abs(self.target.jerk) * dt
            change = min(max(change, -jerk), jerk)
        self.acceleration = min(max(self.acceleration + change, least), most)
        error = self.acceleration - gain
        gains = (s.accel_kp, s.accel_ki, s.accel_kd)
        self.pedal += self.acceleration_loop.run(gains, error, dt)
        self.pedal = min(max(self.pedal, -1.0), 1.0)

    def _rest(self) -> None:
        self.acceleration = self.pedal = 0.0
        self.speed_loop, self.acceleration_loop = _Loop(), _Loop()


class Ackermann:
    """All vehicles that ever got an Ackermann control; those it still holds for are driven."""

    def __init__(self) -> None:
        self._drivers: dict[int, Driver] = {}

    def driver(self, actor_id: int) -> Driver:
        """Return a vehicle's controller."""
        return self._drivers.setdefault(actor_id, Driver())

    def apply(self, actor_id: int, control: AckermannControl) -> None:
        """Take over a vehicle, until `release`."""
        driver = self.driver(actor_id)
        driver.target, driver.active = control, True

    def release(self, actor_id: int) -> None:
        """Leave a vehicle to its pedals."""
        driver = self._drivers.get(actor_id)
        if driver is not None:
            driver.active = False

    def forget(self, actor_id: int) -> None:
        """Drop a destroyed vehicle."""
        self._drivers.pop(actor_id, None)

    def step(self, table: ActorTable, physics: Physics, dt: float) -> None:
        """Set the controls of all vehicles that are driven here."""
        for actor_id, driver in self._drivers.items():
            if driver.active:
                slot = table.slot(actor_id)
                full_steer = float(physics.rows["max_steer"][table.physics[slot]])
                driver.drive(table, slot, max(full_steer, LEAST_STEER), dt)
