"""Trucks and the bus: big boxes of different outlines."""

from __future__ import annotations

from harness.carlite.bodies.cars import build_four_wheels
from harness.carlite.bodies.model import SolidPart
from harness.carlite.bodies.solids import extrude_profile, make_block


def build_box_truck() -> list[SolidPart]:
    """A rounded cab in front of a high box, as the cola truck has it."""
    cab = extrude_profile(
        [(2.50, 0.40), (2.60, 0.70), (2.52, 1.15), (2.05, 1.30), (1.72, 2.0), (1.0, 2.06),
         (1.0, 0.35)],
        [1.05, 1.05, 1.05, 1.12, 0.98, 0.98, 1.12],
    )  # fmt: skip
    box = make_block((-2.60, 1.12), (-1.30, 1.30), (0.62, 2.46), taper=(1.0, 0.96))
    return [cab, box, *build_four_wheels(1.70, -1.60, side=1.22, radius=0.45, width=0.34)]


def build_lorry() -> list[SolidPart]:
    """A European cab-over lorry: flat-faced cab, gap, long box."""
    cab = extrude_profile(
        [(3.90, 0.40), (3.97, 1.0), (3.90, 1.75), (3.62, 2.95), (2.05, 3.10), (2.05, 0.45)],
        [1.22, 1.24, 1.24, 1.15, 1.15, 1.24],
    )
    box = make_block((-3.97, 1.80), (-1.40, 1.40), (1.02, 3.46))
    frame = make_block((-3.80, 2.10), (-0.55, 0.55), (0.55, 1.06))
    return [cab, box, frame, *build_four_wheels(3.05, -2.30, side=1.30, radius=0.50, width=0.36)]


def build_firetruck() -> list[SolidPart]:
    """A flat-faced engine with equipment body, a ladder on its roof and a light bar."""
    cab = extrude_profile(
        [(4.15, 0.42), (4.23, 1.0), (4.17, 1.75), (3.95, 2.78), (2.20, 2.88), (2.20, 0.45)],
        [1.24, 1.26, 1.26, 1.18, 1.18, 1.26],
    )
    rear = make_block((-4.15, 2.30), (-1.38, 1.38), (0.50, 3.15), taper=(1.0, 0.97))
    ladder = extrude_profile([(-4.23, 3.30), (2.9, 3.62), (2.9, 3.80), (-4.23, 3.50)], 0.38)
    turret = make_block((-3.4, -2.6), (-0.45, 0.45), (3.0, 3.45))
    bar = make_block((3.0, 3.35), (-0.95, 0.95), (2.80, 3.05))
    return [
        cab,
        rear,
        ladder,
        turret,
        bar,
        *build_four_wheels(3.05, -2.35, side=1.36, radius=0.55, width=0.36, sides=6),
    ]


def build_bus() -> list[SolidPart]:
    """A long box with a raked windscreen, an air conditioner, mirrors that make it wide."""
    shell = extrude_profile(
        [(4.98, 0.40), (5.10, 0.95), (5.02, 1.60), (4.62, 3.45), (4.30, 3.62), (-4.85, 3.62),
         (-5.08, 3.30), (-5.13, 0.80), (-5.0, 0.40)],
        [1.45, 1.50, 1.50, 1.38, 1.38, 1.38, 1.38, 1.50, 1.48],
    )  # fmt: skip
    cooler = make_block((-2.8, 0.2), (-0.95, 0.95), (3.55, 4.25), taper=(0.9, 0.85))
    mirrors = [make_block((4.62, 4.78), y, (1.95, 2.45)) for y in ((-1.97, -1.40), (1.40, 1.97))]
    return [
        shell,
        cooler,
        *mirrors,
        *build_four_wheels(3.35, -2.95, side=1.51, radius=0.52, width=0.36, sides=6),
    ]


def build_lorry_bodies() -> dict[str, list[SolidPart]]:
    """Return the bodies of trucks and bus."""
    return {
        "box_truck": build_box_truck(),
        "lorry": build_lorry(),
        "firetruck": build_firetruck(),
        "bus": build_bus(),
    }
