"""Cars and everything that looks like one: a lower body, a cabin, four wheels."""

from __future__ import annotations

from dataclasses import dataclass

from harness.carlite.bodies.model import SolidPart
from harness.carlite.bodies.solids import Point, extrude_profile, make_block, make_wheel


@dataclass(frozen=True, kw_only=True)
class CarOutline:
    """The lines that make a car recognisable; x runs from -1 (tail) to 1 (nose).

    Attributes:
        size: length, width, height in metres.
        bonnet, boot: height at the windscreen's and the rear window's foot, metres.
        nose: height of the bonnet's front edge.
        screen: x of the windscreen's foot and head.
        tail: x of the rear window's head and foot.
        roof: width of the roof against that of the car.
        axles: x of the front and rear axle.
    """

    size: tuple[float, float, float]
    bonnet: float
    boot: float
    nose: float
    screen: Point
    tail: Point
    roof: float = 0.70
    axles: Point = (0.60, -0.58)
    clearance: float = 0.19
    wheel: float = 0.33


def build_car(shape: CarOutline) -> list[SolidPart]:
    """Build a car from its lines."""
    # half the length and width, the height, m
    half, side, top = shape.size[0] / 2, shape.size[1] / 2, shape.size[2]
    floor, skin = shape.clearance, side - 0.02
    # (x of the half length, z in m, y of the half width), round from the front bumper
    lower = [
        (0.93, floor, 0.80), (1.0, floor + 0.16, 0.80), (0.98, shape.nose, 0.80),
        (0.80, shape.nose + 0.08, 0.95), (shape.screen[0], shape.bonnet, 0.97),
        (0.0, max(shape.bonnet, shape.boot), 1.0), (shape.tail[1], shape.boot, 0.97),
        (-0.97, shape.boot - 0.04, 0.86), (-1.0, floor + 0.20, 0.86), (-0.93, floor, 0.86),
    ]  # fmt: skip
    # the cabin: wind screen, roof, rear window
    belt = min(shape.bonnet, shape.boot) - 0.06
    cabin = [
        (shape.screen[0] - 0.01, belt, 0.93 if shape.screen[0] < 0.8 else 0.82),
        (shape.screen[1], top - 0.03, shape.roof),
        ((shape.screen[1] + shape.tail[0]) / 2, top, shape.roof),
        (shape.tail[0], top - 0.04, shape.roof),
        (shape.tail[1] + 0.01, belt, 0.93),
    ]
    return [
        *(
            extrude_profile([(x * half, z) for x, z, _ in rows], [y * skin for _, _, y in rows])
            for rows in (lower, cabin)
        ),
        *build_four_wheels(
            shape.axles[0] * half, shape.axles[1] * half, side=side, radius=shape.wheel, width=0.22
        ),
    ]


def build_four_wheels(
    front: float, rear: float, *, side: float, radius: float, width: float, sides: int = 7
) -> list[SolidPart]:
    """Return wheels on two axles, flush with the sides.

    Args:
        front: m ahead of the middle.
        rear: m ahead of the middle, so below 0.
        side: half the width of the body, m.
        radius: m.
        width: of a tyre, m.
        sides: of the polygon that stands for the circle.
    """
    middle = side - width / 2
    return [
        make_wheel(x, y, radius=radius, width=width, sides=sides)
        for x in (front, rear)
        for y in (-middle, middle)
    ]


def build_pickup() -> list[SolidPart]:
    """The Cybertruck's wedge: one straight line up to the roof's peak and one down."""
    outline = [
        (3.0, 0.45), (3.14, 0.65), (3.10, 0.98), (0.55, 2.02), (0.30, 2.05),
        (-3.05, 1.35), (-3.13, 1.20), (-3.05, 0.50), (-2.8, 0.42),
    ]  # fmt: skip
    widths = [0.98, 0.98, 1.0, 0.82, 0.82, 1.02, 1.05, 1.05, 1.02]
    return [
        extrude_profile(outline, widths),
        *build_four_wheels(1.95, -1.95, side=1.13, radius=0.45, width=0.30),
    ]


def build_ambulance() -> list[SolidPart]:
    """A van's cab with a tall box behind it and a light bar on top."""
    cab = extrude_profile(
        [(3.10, 0.35), (3.18, 0.60), (3.10, 1.05), (2.35, 1.22), (1.70, 1.95), (1.0, 2.0),
         (1.0, 0.3)],
        [0.90, 0.90, 0.90, 0.96, 0.86, 0.86, 1.0],
    )  # fmt: skip
    box = make_block((-3.18, 1.15), (-1.15, 1.15), (0.40, 2.31), taper=(0.99, 0.95))
    bar = make_block((0.75, 1.05), (-0.75, 0.75), (2.28, 2.43))
    return [cab, box, bar, *build_four_wheels(2.15, -1.70, side=1.17, radius=0.38, width=0.26)]


CARS = {
    "sedan": CarOutline(
        size=(4.79, 1.90, 1.46), bonnet=0.93, boot=0.97, nose=0.68,
        screen=(0.36, 0.06), tail=(-0.42, -0.74),
    ),
    "compact": CarOutline(
        size=(3.85, 1.80, 1.52), bonnet=0.98, boot=0.98, nose=0.70,
        screen=(0.44, 0.16), tail=(-0.66, -0.93), roof=0.74, axles=(0.64, -0.64),
    ),
    "coupe": CarOutline(
        size=(4.55, 1.88, 1.34), bonnet=0.90, boot=0.92, nose=0.64,
        screen=(0.26, -0.06), tail=(-0.34, -0.86), roof=0.64,
    ),
    "suv": CarOutline(
        size=(4.75, 1.98, 1.66), bonnet=1.08, boot=1.10, nose=0.80,
        screen=(0.42, 0.12), tail=(-0.68, -0.93), roof=0.74, axles=(0.60, -0.60),
        clearance=0.23, wheel=0.37,
    ),
    "offroad": CarOutline(
        size=(4.55, 1.93, 1.88), bonnet=1.15, boot=1.15, nose=0.98,
        screen=(0.28, 0.14), tail=(-0.90, -0.96), roof=0.84, axles=(0.62, -0.58),
        clearance=0.30, wheel=0.40,
    ),
    "microcar": CarOutline(
        size=(2.21, 1.45, 1.38), bonnet=0.75, boot=0.78, nose=0.55,
        screen=(0.86, 0.40), tail=(-0.30, -0.86), roof=0.66, axles=(0.52, -0.55),
        clearance=0.17, wheel=0.26,
    ),
    "microbus": CarOutline(
        size=(4.46, 1.80, 1.99), bonnet=0.98, boot=1.00, nose=0.75,
        screen=(0.97, 0.74), tail=(-0.86, -0.97), roof=0.82, axles=(0.48, -0.52),
        clearance=0.22, wheel=0.33,
    ),
    "van": CarOutline(
        size=(5.90, 1.98, 2.56), bonnet=1.28, boot=1.15, nose=0.92,
        screen=(0.72, 0.48), tail=(-0.95, -0.98), roof=0.86, axles=(0.64, -0.55),
        clearance=0.25, wheel=0.36,
    ),
}  # fmt: skip
"""Proportions by name."""


def build_car_bodies() -> dict[str, list[SolidPart]]:
    """Return the bodies of all cars, vans and the pickup."""
    shapes = {name: build_car(shape) for name, shape in CARS.items()}
    return {**shapes, "pickup": build_pickup(), "ambulance": build_ambulance()}
