"""Compiled: how fast to go, and what to do with wheel and pedals."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.compiled import compiled
from harness.carlite.traffic.drivers import SAMPLES, TrafficDriver
from harness.carlite.traffic.obstacles import SQUEEZE, SQUEEZED, RoadBody
from harness.carlite.traffic.records import RecordRows, make_record_dtype
from harness.carlite.traffic.routes import compute_path_yaw

COMFORT = 2.2
"""Metres per second squared of braking that are planned for."""

HARD = 6.0
LAG = 0.15
"""Seconds until brakes bite."""

HEADWAY = 1.1
"""Seconds kept to the leader."""

SHOWN = -1.0
"""Acceleration asked for below which the brake lights are lit, though the engine's drag will do."""

LAUNCH = 110.0
"""Radians per second at which an engine turns when its vehicle sets off."""

BACK_SPEED = 1.0
"""Metres per second of reversing."""

STRAIGHTEN, RETURN = 2.0, 0.3
"""Radians of steering for each radian off the path's direction, and of direction for each metre
aside, while reversing."""

CLOSE = 0.6
"""Metres to which a driver that squeezes past closes up."""

LEFT_BLINKER, RIGHT_BLINKER, BRAKE_LIGHT = 0x20, 0x10, 0x8


STEERING_SAMPLES = 25


class DriveModel(Protocol):
    """What a driver knows of its vehicle.

    Attributes:
        wheelbase, width: metres. rear: from the origin back to the rear axle.
        max_steer: of the inner wheel, radians.
        steering: share of it that is available, by speed in steps of 10 km/h.
        mass: kilograms. lever: radians the engine turns per metre in the first gear.
        cruising: engine speed around which the gearbox keeps the engine.
        closed, full: engine drag at no and at full throttle. torque: the engine's greatest.
        brake: deceleration at full brake. eager: acceleration the driver likes.
    """

    wheelbase: float
    rear: float
    width: float
    max_steer: float
    steering: Floats
    mass: float
    lever: float
    cruising: float
    closed: float
    full: float
    torque: float
    brake: float
    eager: float


DriveModels: TypeAlias = RecordRows[DriveModel]
DRIVE_MODEL = make_record_dtype(DriveModel, steering=STEERING_SAMPLES)


@compiled
def drive_vehicle(me: TrafficDriver, m: DriveModel, body: RoadBody, dt: float) -> None:
    """Set the controls of one vehicle."""
    # speed ahead, and timers
    yaw = body.yaw
    vx, vy = body.vx, body.vy
    speed = vx * np.cos(yaw) + vy * np.sin(yaw)
    me.standing = me.standing + dt if abs(speed) < 0.1 else 0.0
    me.since_cleared += dt
    me.let_go = max(me.let_go - dt, 0.0)
    # a driver that has stood long before an obstacle at an angle may squeeze past it
    stuck = abs(speed) < 0.5 and me.askew and me.gap < me.distance + 1.0
    if stuck:
        me.squeezed += dt
        if me.squeezed > SQUEEZE:
            me.squeezed = SQUEEZED
    else:
        me.squeezed = max(me.squeezed - 0.5 * dt, 0.0)
    # acceleration, m/s²
    wanted = _choose_acceleration(me, m, max(speed, 0.0))
    me.aside = max(me.aside - dt, 0.0) if me.backing <= 0.0 else me.aside
    me.pushing = me.pushing + dt if wanted > 0.3 and abs(speed) < 0.1 else 0.0
    gained = (speed - me.last_speed) / dt
    me.last_speed = speed
    # steering, pedals, lamps
    me.steer = _compute_pursuit_steer(me, m, body, speed)
    if me.backing > 0.0:
        _drive_backwards(me, m, body, speed, dt)
    else:
        _set_pedals(me, m, speed, body.pitch, wanted, gained, dt)
    me.acceleration = wanted
    if me.lamps:
        _set_lamps(me)


@compiled
def _drive_backwards(
    me: TrafficDriver, m: DriveModel, body: RoadBody, speed: float, dt: float
) -> None:
    """Go back for a little, along the path and turning into its direction."""
    me.backing = max(me.backing - max(-speed, 0.1) * dt, 0.0)
    ahead, aside = 0, me.lateral - me.lane_offset - me.dodge
    # stuck here again: the nose is turned to where the path leads, wherever the middle gets
    if me.stuck > 1:
        ahead, aside = int(body.half_length / me.spacing), 0.0
    turned = np.sin(body.yaw - compute_path_yaw(me, ahead))
    wheel = m.wheelbase * me.path_curvature[0] + STRAIGHTEN * (turned - RETURN * aside)
    me.steer, me.effort = min(max(wheel / m.max_steer, -1.0), 1.0), 0.0
    me.throttle = min(max(0.5 * (BACK_SPEED + speed), 0.0), 0.5) if me.backing > 0.0 else 0.0
    me.brake = 0.0 if me.backing > 0.0 else 0.5


@compiled
def _choose_acceleration(me: TrafficDriver, m: DriveModel, v: float) -> float:
    """The least that speed limit, bends, the vehicle ahead, and stops allow."""
    # towards the speed of the path
    target = max(me.path_speed[0], 0.1)
    if me.squeezed > SQUEEZE or me.let_go > 0.0:
        target = min(target, 2.0)
    eager = m.eager
    if me.path_speed[0] <= 0.0 or me.aside > 0.0:
        wanted = -COMFORT
    elif v <= target:
        wanted = eager * (1.0 - (v / target) ** 4)
    else:
        wanted = max(-0.8 * (v - target), -COMFORT)
    # slower parts of the path, as far as it reaches
    for n in range(1, SAMPLES):
        allowed = me.path_speed[n]
        if allowed < v:
            away = n * me.spacing
            needed = (allowed * allowed - v * v) / (2.0 * max(away - 0.3 * v, 0.5))
            if needed < -0.6 * COMFORT:
                wanted = min(wanted, max(needed, -HARD))
    # the vehicle ahead, and a place to stop at
    if me.gap < np.inf:
        wanted = min(wanted, _compute_idm_acceleration(me, v, eager))
    if me.stop < np.inf:
        wanted = min(wanted, _compute_stop_acceleration(me.stop, v, eager))
    return float(wanted)


@compiled
def _compute_idm_acceleration(me: TrafficDriver, v: float, eager: float) -> float:
    """Intelligent-driver following, and plain physics where that would be too gentle."""
    # the intelligent-driver model
    pace = max(me.gap_speed, 0.0)
    distance = min(me.distance, CLOSE) if me.squeezed > SQUEEZE else me.distance
    room = me.gap - distance
    closing = v - me.gap_speed
    desired = distance + max(HEADWAY * v + v * closing / (2.0 * np.sqrt(eager * COMFORT)), 0.0)
    wanted = eager * (1.0 - (desired / max(me.gap, 0.1)) ** 2)
    # what physics asks for, after the driver's lag, where the other brakes as hard as it can
    if closing > 0.0:
        left = max(room - LAG * v, 0.3)
        needed = (v * v - pace * pace) / (2.0 * max(left + pace * pace / (2.0 * HARD), 0.2))
        if pace <= 0.5:
            needed = v * v / (2.0 * left)
        if needed > COMFORT:
            wanted = min(wanted, -1.15 * needed)
    # nearer than wanted to what stands
    if room <= 0.0 and pace < 0.3:
        wanted = min(wanted, -3.0)
    return float(max(wanted, -HARD))


@compiled
def _compute_stop_acceleration(room: float, v: float, eager: float) -> float:
    """Brake evenly to stand at the line."""
    if room < 0.15:
        return -3.0
    needed = v * v / (2.0 * max(room - LAG * v, 0.05))
    if needed > 0.75 * COMFORT:
        return -needed
    soon = np.sqrt(2.0 * 0.75 * COMFORT * room)
    return float(min(eager, (soon - v) / 0.6))


@compiled
def _compute_pursuit_steer(me: TrafficDriver, m: DriveModel, body: RoadBody, speed: float) -> float:
    """Pursue a point ahead so that the middle of the vehicle, not an axle, keeps to the path.

    With the rear axle as origin the middle circles about (0, R) through (rear, 0); that it meets
    the point (x, y) asks for R = (x² + y² - rear²) / 2y.
    """
    # the rear axle, and a point of the path ahead of it
    yaw = body.yaw
    rear_x = body.x - m.rear * np.cos(yaw)
    rear_y = body.y - m.rear * np.sin(yaw)
    reach = min(0.6 + 0.22 * abs(speed) + 0.012 * speed * speed, 25.0)
    t = min(reach / me.spacing, SAMPLES - 1.001)
    n = int(t)
    f = t - n
    px = me.path_x[n] + f * (me.path_x[n + 1] - me.path_x[n])
    py = me.path_y[n] + f * (me.path_y[n + 1] - me.path_y[n])
    # curvature of the circle through that point, then the wheels' angle
    dx, dy = px - rear_x, py - rear_y
    y = dy * np.cos(yaw) - dx * np.sin(yaw)
    square = max(dx * dx + dy * dy - m.rear * m.rear, 1.0)
    bend = 2.0 * y / square
    wheel = np.arctan(m.wheelbase * bend / max(1.0 - 0.5 * m.width * abs(bend), 0.2))
    # the share of the full angle that the vehicle allows at its speed
    at = min(abs(speed) * 3.6 / 10.0, STEERING_SAMPLES - 1.001)
    k = int(at)
    share = m.steering[k] + (at - k) * (m.steering[k + 1] - m.steering[k])
    return float(min(max(wheel / max(m.max_steer * share, 0.01), -1.0), 1.0))


@compiled
def _set_pedals(
    me: TrafficDriver,
    m: DriveModel,
    speed: float,
    pitch: float,
    wanted: float,
    gained: float,
    dt: float,
) -> None:
    """Turn the wanted acceleration into throttle or brake, correcting for what came of it.

    An engine's drag is great with the throttle closed: even gentle braking needs some throttle.
    """
    # hold a vehicle that is to rest
    if wanted <= 0.0 and speed < 0.3:
        me.effort = 0.0
        me.throttle, me.brake = 0.0, max(0.4, min(-wanted / m.brake, 1.0))
        return
    # acceleration to ask for: what was missed so far, drag and slope added
    me.effort = min(max(me.effort + 2.0 * (wanted - gained) * dt, -3.0), 6.0)
    asked = wanted + me.effort + 0.0003 * speed * speed + 9.81 * np.sin(pitch)
    # the throttle that gives it, from engine speed and lever arm
    engine = min(max(speed * m.lever, LAUNCH), m.cruising)
    lever = min(engine / max(speed, 0.5), m.lever)
    shaft = m.mass * asked / lever
    pedal = (shaft + m.closed * engine) / (m.torque + (m.closed - m.full) * engine)
    if pedal >= 0.0 or wanted > -0.3:
        me.throttle = min(max(pedal, 0.0), 1.0)
        me.brake = 0.0
    else:
        # the brake, for what the engine's drag does not give
        coasting = m.closed * engine * lever / m.mass
        me.throttle = 0.0
        me.brake = min(max(-asked - coasting, 0.0) / m.brake, 1.0)


@compiled
def _set_lamps(me: TrafficDriver) -> None:
    """Brake lights when slowing down, blinkers when changing lanes; whatever else is lit stays."""
    lit = me.lit & ~(LEFT_BLINKER | RIGHT_BLINKER | BRAKE_LIGHT)
    if me.brake > 0.05 or me.acceleration < SHOWN:
        lit |= BRAKE_LIGHT
    if me.signal < 0:
        lit |= LEFT_BLINKER
    elif me.signal > 0:
        lit |= RIGHT_BLINKER
    me.lit = lit
