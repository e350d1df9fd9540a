"""People, on foot and on two wheels."""

from __future__ import annotations

from dataclasses import dataclass

from harness.carlite.bodies.model import SolidPart
from harness.carlite.bodies.solids import (
    Place,
    make_beam,
    make_frustum,
    make_wheel,
    revolve_outline,
)
from harness.carlite.labels import SemanticLabel

_RIDER = SemanticLabel.RIDER
_HEAD = ((0.06, 0.0), (0.11, 0.12), (0.05, 0.25))


def _build_head(place: Place, scale: float, label: SemanticLabel = SemanticLabel.NONE) -> SolidPart:
    return revolve_outline(place, [(radius * scale, z * scale) for radius, z in _HEAD], 5, label)


def build_walker_figure(height: float, head: float) -> list[SolidPart]:
    """A walking figure: legs apart in a stride, arms swung against them."""
    hip, shoulder = 0.48 * height, 0.80 * height
    foot, wrist = 0.13, 0.11
    return [
        make_beam((foot, -0.08, 0.0), (0.0, -0.07, hip), (0.055, 0.085)),
        make_beam((-foot, 0.08, 0.0), (0.0, 0.07, hip), (0.055, 0.085)),
        make_frustum(
            (0.0, 0.0, hip - 0.06), (0.10, 0.15), shoulder - hip + 0.09, taper=(0.95, 1.0)
        ),
        make_beam((0.02, 0.165, shoulder), (wrist, 0.165, hip - 0.02), (0.05, 0.04)),
        make_beam((-0.02, -0.165, shoulder), (-wrist, -0.165, hip - 0.02), (0.05, 0.04)),
        _build_head((0.02, 0.0, height - 0.25 * head), head),
    ]


@dataclass(frozen=True, kw_only=True)
class TwoWheelerGeometry:
    """A two-wheeler as its rider needs it.

    Attributes:
        axle: distance of each axle from the middle.
        wheel: radius and width of a wheel.
        seat, grip, pedal: where rider and machine meet.
        lean: how far the rider's neck is ahead of the seat.
    """

    axle: float
    wheel: tuple[float, float]
    seat: Place
    grip: Place
    pedal: Place
    lean: float


def build_two_wheeler(mount: TwoWheelerGeometry, frame: list[SolidPart]) -> list[SolidPart]:
    """A machine of two wheels and a frame with a rider on it."""
    seat_x, _, seat_z = mount.seat
    neck = (seat_x + mount.lean, 0.0, seat_z + 0.52)
    reach, step = mount.grip[1], mount.pedal[1]
    # trunk and head
    rider = [
        make_beam((seat_x, 0.0, seat_z - 0.04), neck, (0.19, 0.23), sides=4, label=_RIDER),
        _build_head((neck[0] + 0.06, 0.0, neck[2] + 0.01), 1.1, _RIDER),
    ]
    # an arm and a leg on both sides
    for side in (-1, 1):
        shoulder = (neck[0], side * 0.18, neck[2] - 0.06)
        wrist = (mount.grip[0], side * reach, mount.grip[2])
        hip = (seat_x, side * 0.08, seat_z)
        foot = (mount.pedal[0] + side * 0.06, side * step, mount.pedal[2] + side * 0.06)
        rider += [
            make_beam(shoulder, wrist, (0.055, 0.045), sides=3, label=_RIDER),
            make_beam(hip, foot, (0.10, 0.06), sides=3, label=_RIDER),
        ]
    # wheels below
    radius, width = mount.wheel
    wheels = [
        make_wheel(x, 0.0, radius=radius, width=width, sides=6) for x in (-mount.axle, mount.axle)
    ]
    return [*wheels, *frame, *rider]


def build_motorcycle() -> list[SolidPart]:
    """Tank, seat and fork between two fat wheels."""
    frame = [
        make_frustum((0.02, 0.0, 0.30), (0.30, 0.14), 0.42, taper=(1.2, 1.0), shift=(0.06, 0.0)),
        make_beam((0.75, 0.0, 0.32), (0.42, 0.0, 1.02), (0.07, 0.06), sides=3),
        make_beam((-0.10, 0.0, 0.72), (-0.85, 0.0, 0.86), (0.15, 0.06)),
        make_beam((0.42, -0.36, 1.02), (0.42, 0.36, 1.02), (0.03, 0.03), sides=3),
    ]
    mount = TwoWheelerGeometry(
        axle=0.75,
        wheel=(0.32, 0.15),
        seat=(-0.22, 0, 0.80),
        grip=(0.42, 0.33, 1.02),
        pedal=(0.0, 0.20, 0.34),
        lean=0.26,
    )
    return build_two_wheeler(mount, frame)


def build_scooter() -> list[SolidPart]:
    """Leg shield, step-through floor and a round tail."""
    frame = [
        make_frustum((-0.42, 0.0, 0.26), (0.36, 0.17), 0.50, taper=(0.85, 0.8)),
        make_frustum((0.08, 0.0, 0.20), (0.34, 0.17), 0.10),
        make_beam((0.40, 0.0, 0.28), (0.30, 0.0, 1.05), (0.16, 0.09), sides=3),
        make_beam((0.32, -0.36, 1.03), (0.32, 0.36, 1.03), (0.03, 0.03), sides=3),
    ]
    mount = TwoWheelerGeometry(
        axle=0.62,
        wheel=(0.24, 0.13),
        seat=(-0.32, 0, 0.78),
        grip=(0.32, 0.33, 1.03),
        pedal=(0.12, 0.14, 0.34),
        lean=0.08,
    )
    return build_two_wheeler(mount, frame)


def build_bicycle() -> list[SolidPart]:
    """A diamond frame of thin tubes between two thin wheels."""
    crank, head, saddle = (-0.03, 0.0, 0.30), (0.36, 0.0, 0.88), (-0.20, 0.0, 0.92)
    frame = [
        make_beam((0.52, 0.0, 0.34), (0.34, 0.0, 1.02), (0.03, 0.03), sides=3),
        make_beam(crank, head, (0.03, 0.03), sides=3),
        make_beam(saddle, head, (0.03, 0.03), sides=3),
        make_beam((-0.52, 0.0, 0.34), crank, (0.03, 0.03), sides=3),
        make_beam((0.34, -0.28, 1.02), (0.34, 0.28, 1.02), (0.025, 0.025), sides=3),
    ]
    mount = TwoWheelerGeometry(
        axle=0.52,
        wheel=(0.34, 0.05),
        seat=(-0.20, 0, 0.96),
        grip=(0.34, 0.26, 1.02),
        pedal=(-0.03, 0.12, 0.28),
        lean=0.22,
    )
    return build_two_wheeler(mount, frame)


def build_people_bodies() -> dict[str, list[SolidPart]]:
    """Return the bodies of walkers and of two-wheelers with their riders."""
    return {
        "adult": build_walker_figure(1.86, 1.0),
        "child": build_walker_figure(1.25, 0.95),
        "motorcycle": build_motorcycle(),
        "scooter": build_scooter(),
        "bicycle": build_bicycle(),
    }
