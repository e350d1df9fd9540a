"""Where a vehicle's pedals, wheels and gearbox stand between two ticks: columns of `drivetrain`.

The first four are the controls as the vehicle feels them: they follow the client's with a limited
rate. The spins are in radians per second; the load transfer is a share of the weight; the timers
are in seconds.
"""

from __future__ import annotations

THROTTLE = 0
BRAKE = 1
HANDBRAKE = 2
STEER = 3
FRONT_SPIN = 4
REAR_SPIN = 5
TRANSFER = 6
TARGET_GEAR = 7
SINCE_SHIFT = 8
STILL = 9
SIZE = 10
