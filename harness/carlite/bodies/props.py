"""Street furniture, boxes and trees: what stands in the way of a view."""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.bodies.model import SolidPart
from harness.carlite.bodies.solids import (
    Point,
    extrude_profile,
    make_beam,
    make_block,
    make_frustum,
    make_wheel,
    revolve_outline,
)

_UNIT = (-0.5, 0.5)


def _build_posts(xs: Point, ys: Point, top: float, half: float) -> list[SolidPart]:
    return [
        make_block((x - half, x + half), (y - half, y + half), (0.0, top)) for x in xs for y in ys
    ]


def build_kiosk() -> list[SolidPart]:
    """Walls, a jutting counter and a hipped roof that overhangs."""
    return [
        make_block((-0.7, 0.7), (-0.7, 0.7), (0.0, 2.4)),
        make_block((0.65, 0.85), (-0.6, 0.6), (0.95, 1.1)),
        make_block((-0.85, 0.85), (-0.85, 0.85), (2.35, 2.6)),
        make_block((-0.85, 0.85), (-0.85, 0.85), (2.6, 3.2), taper=(0.15, 0.15)),
    ]


def build_shelter() -> list[SolidPart]:
    """A bus stop along x: roof, back wall, one side wall and a bench."""
    return [
        make_block((-1.9, 1.9), (-0.95, 0.95), (2.55, 2.74)),
        make_block((-1.85, 1.85), (0.72, 0.80), (0.15, 2.6)),
        make_block((-1.85, -1.77), (-0.7, 0.8), (0.15, 2.6)),
        make_block((-1.3, 1.3), (0.25, 0.68), (0.42, 0.50)),
        *_build_posts((-1.81, 1.81), (-0.75, 0.76), 2.6, 0.05),
    ]


def rotate_quarter_turn(parts: list[SolidPart]) -> list[SolidPart]:
    """Return the same body a quarter turn round."""
    return [
        SolidPart(part.vertices[:, [1, 0, 2]] * (1, -1, 1), part.triangles, part.label)
        for part in parts
    ]


def build_sign_board() -> list[SolidPart]:
    """A board on two legs."""
    return [
        make_block(_UNIT, (-0.04, 0.04), (0.9, 2.0)),
        *_build_posts((-0.4, 0.4), (0.0, 0.0), 1.0, 0.04)[::2],
    ]


def build_advertising_panel() -> list[SolidPart]:
    """An advertising panel: a thick board on one foot."""
    return [
        make_block((-0.75, 0.75), (-0.13, 0.13), (0.55, 2.44)),
        make_block((-0.35, 0.35), (-0.14, 0.14), (0.0, 0.6)),
    ]


def build_barrier() -> list[SolidPart]:
    """Two rails between two feet."""
    feet = [make_frustum((x, 0.0, 0.0), (0.06, 0.18), 1.0, taper=(0.8, 0.25)) for x in (-0.5, 0.5)]
    rails = [make_block((-0.6, 0.6), (-0.03, 0.03), (z, z + 0.25)) for z in (0.35, 0.75)]
    return [*feet, *rails]


def build_bench() -> list[SolidPart]:
    """A seat with a back and two solid legs."""
    return [
        make_block((-0.75, 0.75), (-0.3, 0.3), (0.40, 0.47)),
        make_block((-0.75, 0.75), (0.24, 0.34), (0.45, 0.95)),
        *(make_block((x - 0.05, x + 0.05), (-0.28, 0.3), (0.0, 0.42)) for x in (-0.6, 0.6)),
    ]


def build_prop_table() -> list[SolidPart]:
    """A top on four legs."""
    top = make_block((-0.75, 0.75), (-0.3, 0.3), (0.70, 0.80))
    return [top, *_build_posts((-0.65, 0.65), (-0.22, 0.22), 0.72, 0.05)]


def build_post_frame() -> list[SolidPart]:
    """Four posts under beams: swing, pergola, clothesline."""
    rails = [make_block((-1.0, 1.0), (y - 0.06, y + 0.06), (1.9, 2.05)) for y in (-0.9, 0.9)]
    slats = [make_block((x - 0.06, x + 0.06), (-1.0, 1.0), (2.05, 2.2)) for x in (-0.8, 0.0, 0.8)]
    return [*_build_posts((-0.9, 0.9), (-0.9, 0.9), 1.95, 0.06), *rails, *slats]


def build_waste_container() -> list[SolidPart]:
    """A waste container: a body wider at the top under a sloping lid."""
    body = make_frustum((0.0, 0.0, 0.12), (0.82, 0.44), 1.25, taper=(1.12, 1.1))
    lid = extrude_profile(
        [(-0.95, 1.33), (0.95, 1.33), (0.95, 1.45), (-0.55, 1.71), (-0.95, 1.60)], 0.5
    )
    feet = [make_block((x - 0.1, x + 0.1), (-0.35, 0.35), (0.0, 0.15)) for x in (-0.6, 0.6)]
    return [body, lid, *feet]


def build_cabinet() -> list[SolidPart]:
    """A vending machine: a tall cabinet with a plinth and a jutting front panel."""
    return [
        make_block((-0.40, 0.36), (-0.5, 0.5), (0.08, 2.1)),
        make_block((-0.36, 0.33), (-0.46, 0.46), (0.0, 0.1)),
        make_block((0.35, 0.43), (-0.46, 0.20), (0.55, 2.0)),
    ]


def build_playground_slide() -> list[SolidPart]:
    """A ramp down to the right with its ladder on the left."""
    ramp = rotate_quarter_turn(
        [extrude_profile([(-2.0, 0.0), (2.0, 1.5), (2.0, 1.7), (-2.0, 0.25)], 0.4)]
    )
    return [*ramp, *_build_posts((-0.4, 0.4), (-1.95, -1.7), 1.97, 0.06)]


def build_fountain() -> list[SolidPart]:
    """A basin, a column and two bowls."""
    return [
        revolve_outline((0, 0, 0), [(4.2, 0.0), (4.2, 0.7)], 12),
        revolve_outline((0, 0, 0), [(0.6, 0.5), (0.35, 6.0), (0.15, 6.9)]),
        revolve_outline((0, 0, 0), [(0.4, 2.6), (2.1, 3.2)]),
        revolve_outline((0, 0, 0), [(0.3, 4.6), (1.2, 5.0)]),
    ]


def build_broad_tree() -> list[SolidPart]:
    """A broad crown on a trunk."""
    crown = [(1.6, 3.4), (4.6, 5.6), (5.4, 9.0), (3.8, 12.6), (1.0, 15.0)]
    return [
        revolve_outline((0, 0, 0), [(0.45, 0.0), (0.3, 4.5)], 6),
        revolve_outline((0, 0, 0), crown),
    ]


def build_conifer() -> list[SolidPart]:
    """A slender crown that reaches almost to the ground."""
    crown = [(0.9, 1.2), (2.3, 3.4), (1.7, 9.0), (0.15, 15.6)]
    return [
        revolve_outline((0, 0, 0), [(0.25, 0.0), (0.2, 2.0)], 6),
        revolve_outline((0, 0, 0), crown),
    ]


def build_palm() -> list[SolidPart]:
    """A bare trunk under eight drooping fronds."""
    directions = [(math.cos(turn), math.sin(turn)) for turn in np.arange(8) * np.pi / 4]
    fronds = [
        make_beam((0.0, 0.0, 18.6), (4.2 * x, 4.2 * y, 17.2), (0.45, 0.12), sides=3)
        for x, y in directions
    ]
    return [revolve_outline((0, 0, 0), [(0.35, 0.0), (0.2, 19.0)], 6), *fronds]


def build_market_cart() -> list[SolidPart]:
    """A market cart: counter on wheels under a roof on posts."""
    counter = make_block((-0.45, 0.45), (-0.9, 0.9), (0.35, 1.0))
    roof = make_block((-0.55, 0.55), (-1.1, 1.1), (2.0, 2.25), taper=(0.8, 0.8))
    posts = [
        make_block((x - 0.04, x + 0.04), (y - 0.04, y + 0.04), (0.9, 2.05))
        for x in (-0.4, 0.4)
        for y in (-0.85, 0.85)
    ]
    return [
        counter,
        roof,
        *posts,
        make_wheel(0.0, -0.98, radius=0.38, width=0.08),
        make_wheel(0.0, 0.98, radius=0.38, width=0.08),
    ]


def build_prop_bodies() -> dict[str, list[SolidPart]]:
    """Return the bodies of props."""
    round_bin = [(0.24, 0.0), (0.30, 0.85), (0.32, 0.88), (0.20, 1.0)]
    return {
        "box": [make_block(_UNIT, _UNIT, (0.0, 1.0))],
        "cone": [
            make_block(_UNIT, _UNIT, (0.0, 0.06)),
            revolve_outline((0, 0, 0.05), [(0.36, 0.0), (0.06, 1.0)]),
        ],
        "barrel": [revolve_outline((0, 0, 0), [(0.85, 0.0), (1.0, 0.5), (0.85, 1.0)])],
        "bin": [revolve_outline((0, 0, 0), round_bin)],
        "post": [revolve_outline((0, 0, 0), [(0.12, 0.0), (0.07, 0.1), (0.07, 0.8), (0.1, 0.9)])],
        "heap": [revolve_outline((0, 0, 0), [(0.9, 0.0), (1.0, 0.25), (0.7, 0.7), (0.2, 1.0)])],
        "planter": [
            make_frustum((0, 0, 0), (0.4, 0.4), 0.55, taper=(1.2, 1.2)),
            revolve_outline((0, 0, 0.5), [(0.35, 0.0), (0.4, 0.3), (0.1, 0.6)], 6),
        ],
        "parasol": [
            revolve_outline((0, 0, 0), [(0.08, 0.0), (0.08, 2.0)], 6),
            revolve_outline((0, 0, 0), [(1.2, 2.0), (0.1, 2.5)]),
            revolve_outline((0, 0, 0), [(0.6, 0.7), (0.6, 0.76)]),
        ],
        "kiosk": build_kiosk(),
        "shelter": build_shelter(),
        "shelter_across": rotate_quarter_turn(build_shelter()),
        "sign": build_sign_board(),
        "panel": build_advertising_panel(),
        "barrier": build_barrier(),
        "bench": build_bench(),
        "table": build_prop_table(),
        "frame": build_post_frame(),
        "container": build_waste_container(),
        "cabinet": build_cabinet(),
        "cart": build_market_cart(),
        "slide": build_playground_slide(),
        "fountain": build_fountain(),
        "tree": build_broad_tree(),
        "conifer": build_conifer(),
        "palm": build_palm(),
    }
