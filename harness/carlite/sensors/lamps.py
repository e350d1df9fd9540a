"""Lamps: which lenses a face carries, and how they shine.

A head has three round lenses on the side that faces the traffic it holds. A vehicle has lamps at
the corners of its front and rear, lit as its `VehicleLightState` says.
"""

from __future__ import annotations

import numpy as np

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bytes, Floats, Int32s, Ints
from harness.carlite.compiled import compiled
from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.model import Town, TownSignal

HEADS_NEAR = 4.0
"""Metres from a light's place within which its head hangs; poles step aside from roads."""

FACING = 0.7
NO_LAMP, HEAD, VEHICLE = 0, 1, 8
"""Codes of a face: HEAD plus the state of the light, or VEHICLE times one plus its lamps."""

POSITION, LOW, HIGH, BRAKE, RIGHT, LEFT, REVERSE = 1, 2, 4, 8, 16, 32, 64
VEHICLES = (int(SemanticLabel.CAR), int(SemanticLabel.TRUCK), int(SemanticLabel.BUS))
HAS_LAMPS = np.isin(np.arange(256), VEHICLES)
"""Whether objects of a label have lamps: (256,)."""
LENS_RADIUS, LENS_PLACE = 0.125, 0.64
SHINING = np.array([[255.0, 36.0, 28.0], [255.0, 196.0, 30.0], [40.0, 235.0, 110.0]])
DARK = np.array([[58.0, 20.0, 20.0], [58.0, 48.0, 20.0], [20.0, 50.0, 30.0]])


def find_light_heads(town: Town) -> tuple[Ints, Ints, Floats]:
    """Return the pieces of scenery that are heads, the light of each, and where it looks.

    Returns:
        (heads,) piece of scenery; (heads,) number of the light among the town's lights; (heads, 2)
        the direction its lenses face, in the world.
    """
    lights = [signal for signal in town.signals if signal.type_id == "traffic.traffic_light"]
    pieces = np.flatnonzero(town.scenery.label == SemanticLabel.TRAFFIC_LIGHT)
    if not lights or not len(pieces):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 2))
    # (heads, lights) metres apart
    places = np.array([light.position[:2] for light in lights])
    apart = np.linalg.norm(town.scenery.centre[pieces, None, :2] - places, axis=2)
    nearest = apart.argmin(axis=1)
    near = apart.min(axis=1) < HEADS_NEAR
    facing = np.array([_find_facing(light) for light in lights])
    return pieces[near], nearest[near], facing[nearest[near]]


def _find_facing(light: TownSignal) -> tuple[float, float]:
    """Return the direction against the traffic that a light holds."""
    # a light's forward axis runs across its lanes; those show which of the two sides it is
    yaw = light.stop_lines[0].yaw if light.stop_lines else light.yaw + np.pi / 2
    return -float(np.cos(yaw)), -float(np.sin(yaw))


def compute_lamp_codes(
    normals: Floats, labels: Bytes, things: Int32s, *, rotation: Floats, shown: Ints, facing: Floats
) -> Int32s:
    """Return the code of each face: which lamps it carries and how they are lit.

    Args:
        normals: (faces, 3) in the sensor's frame.
        labels: (faces,).
        things: (faces,) number of the thing.
        rotation: (3, 3) of the sensor.
        shown: (things,) code of each thing.
        facing: (things, 2) where the lenses of a head look.
    """
    codes = shown[things].astype(np.int32)
    # the lenses of a head are on one of its sides
    head = np.flatnonzero((codes >= HEAD) & (codes < VEHICLE))
    outward = (normals[head] @ rotation.T)[:, :2]
    size = np.maximum(np.linalg.norm(normals[head], axis=1), 1e-12)
    turned = (outward * facing[things[head]]).sum(axis=1) < FACING * size
    codes[head[turned]] = NO_LAMP
    codes[(codes >= VEHICLE) & ~HAS_LAMPS[labels]] = NO_LAMP
    return codes


def list_vehicle_codes(table: ActorTable, slots: Ints) -> Ints:
    """Return the codes of actors: their lamps where they have any."""
    vehicle = HAS_LAMPS[table.label[slots]]
    codes: Ints = np.where(vehicle, VEHICLE * (1 + table.lamps[slots].astype(np.int64) % 1024), 0)
    return codes


@compiled
def find_lamp_colour(
    code: int, centre: Floats, matrix: Floats, x: float, y: float, z: float
) -> tuple[float, float, float, float]:
    """Return whether a point lies on a lens, 2 if that is lit, 1 if it is dark, and its colour.

    Args:
        code: of the face.
        centre: (3,) of the thing.
        matrix: (3, 3) from the thing's unit box to the world.
        x: m in the world.
        y: m in the world.
        z: m in the world.
    """
    # the point in the unit box, and the box's half sizes
    dx, dy, dz = x - centre[0], y - centre[1], z - centre[2]
    long = matrix[0, 0] ** 2 + matrix[1, 0] ** 2 + matrix[2, 0] ** 2
    broad = matrix[0, 1] ** 2 + matrix[1, 1] ** 2 + matrix[2, 1] ** 2
    tall = matrix[0, 2] ** 2 + matrix[1, 2] ** 2 + matrix[2, 2] ** 2
    ahead = (matrix[0, 0] * dx + matrix[1, 0] * dy + matrix[2, 0] * dz) / long
    aside = (matrix[0, 1] * dx + matrix[1, 1] * dy + matrix[2, 1] * dz) / broad
    up = (matrix[0, 2] * dx + matrix[1, 2] * dy + matrix[2, 2] * dz) / tall
    if code < VEHICLE:
        # from the top: red, yellow, green
        off = min(abs(ahead) * np.sqrt(long), abs(aside) * np.sqrt(broad))
        for lens in range(3):
            rise = (up - LENS_PLACE * (1 - lens)) * np.sqrt(tall)
            if off * off + rise * rise < LENS_RADIUS**2:
                if code == HEAD + lens:
                    return 2.0, SHINING[lens, 0], SHINING[lens, 1], SHINING[lens, 2]
                return 1.0, DARK[lens, 0], DARK[lens, 1], DARK[lens, 2]
        return 0.0, 0.0, 0.0, 0.0
    return _find_vehicle_lamp(code // VEHICLE - 1, ahead, aside, (up + 1) * np.sqrt(tall))


@compiled
def _find_vehicle_lamp(
    lamps: int, ahead: float, aside: float, height: float
) -> tuple[float, float, float, float]:
    # corners of the front and of the rear
    bottom = 0.7 if ahead < 0 else 0.55
    shine, red, green, blue = 0.0, 0.0, 0.0, 0.0
    if abs(ahead) < 0.75 or not 0.5 < abs(aside) < 0.95 or not bottom < height < bottom + 0.24:
        return shine, red, green, blue
    if abs(aside) > 0.78 and lamps & (RIGHT if aside > 0 else LEFT):
        shine, red, green, blue = 2.0, 255.0, 150.0, 20.0
    elif ahead < 0:
        if abs(aside) < 0.6 and lamps & REVERSE:
            shine, red, green, blue = 2.0, 250.0, 250.0, 245.0
        elif lamps & BRAKE:
            shine, red, green, blue = 2.0, 255.0, 30.0, 24.0
        elif lamps & (POSITION | LOW | HIGH):
            shine, red, green, blue = 2.0, 176.0, 16.0, 18.0
        else:
            shine, red, green, blue = 1.0, 92.0, 16.0, 20.0
    elif lamps & (LOW | HIGH):
        shine, red, green, blue = 2.0, 255.0, 250.0, 226.0
    elif lamps & POSITION:
        shine, red, green, blue = 2.0, 206.0, 206.0, 194.0
    else:
        shine, red, green, blue = 1.0, 150.0, 154.0, 160.0
    return shine, red, green, blue
