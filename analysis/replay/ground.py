"""What does not move, drawn once for a whole film: roads, route, scenery; and the camera above.

Everything is drawn `FINER` times larger and made small at the end: that smooths the edges.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from analysis.drawing.palette import ROUTE_WIDTH, SCENERY_COLOURS
from analysis.drawing.picture import get_rgb_colour
from analysis.figures.birds_eye import extract_polylines
from harness.common.errors import UserError
from harness.types.vocabulary import Floats

Placed: TypeAlias = Callable[[Floats], list[tuple[float, float]]]
"""Turns places of the world into pixels."""
FINER = 2
HALF = 27.0
"""Metres from the middle of a panel to its edges."""
AHEAD = 0.22
"""How far below the middle the ego is, as a share of the panel: there is more to see ahead."""
LARGEST = 20_000
"""Pixels: 800 m, more than any film passes over."""


@dataclass(frozen=True, slots=True, eq=False)
class FollowCamera:
    """Looks down on the world with one direction up; `middles` is where it is at each tick."""

    yaw: float
    size: int  # pixels of a panel's sides, before it is made small
    middles: Floats  # rows of x and y to the right and down, pixels

    @property
    def scale(self) -> float:
        """Pixels for each metre, before the panel is made small."""
        return self.size / 2 / HALF

    def project_places(self, places: Floats, tick: int) -> Floats:
        """Return places of the world in the panel of a tick, as rows of x and y."""
        flat = rotate_places(places, self.yaw) * self.scale
        return np.asarray(flat - self.middles[tick] + self.size / 2)


def rotate_places(places: Floats, yaw: float) -> Floats:
    """Return places with a direction turned up: metres to the right and down."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    ahead = places[:, 0] * cos + places[:, 1] * sin
    return np.column_stack([places[:, 1] * cos - places[:, 0] * sin, -ahead])


def make_follow_camera(ways: Floats, yaw: float, size: int) -> FollowCamera:
    """Return the camera that follows a way, a little ahead of it, by whole pixels.

    Args:
        ways: (ticks, 2) m in the world.
        yaw: rad, of what is up in the picture.
        size: pixels of a side.
    """
    fine = size * FINER
    middles = rotate_places(ways, yaw) * (fine / 2 / HALF) - (0.0, AHEAD * fine)
    return FollowCamera(yaw, fine, np.rint(middles / FINER) * FINER)


@dataclass(frozen=True, slots=True, eq=False)
class FilmGround:
    """The picture of everything that a camera passes over."""

    pixels: NDArray[np.uint8]
    corner: Floats  # where its left upper corner is, pixels

    def crop_tick(self, camera: FollowCamera, tick: int) -> NDArray[np.uint8]:
        """Return the pixels of one tick, to be drawn on."""
        x, y = np.rint(camera.middles[tick] - camera.size / 2 - self.corner).astype(int).tolist()
        return self.pixels[y : y + camera.size, x : x + camera.size].copy()


def render_film_ground(
    lines: pd.DataFrame, scenery: pd.DataFrame, camera: FollowCamera, dark: bool
) -> FilmGround:
    """Draw roads, route and scenery below the whole way of a camera.

    Args:
        lines: of the map, as map.parquet has them.
        scenery: as scenery.parquet has it.
        camera: with its whole way.
        dark: background.
    """
    # the rectangle that the camera passes over, in pixels
    low = camera.middles.min(axis=0) - camera.size / 2
    high = camera.middles.max(axis=0) + camera.size / 2
    width, height = (math.ceil(length) for length in high - low)
    if max(width, height) > LARGEST:
        raise UserError(
            "the ego's way in tracks.parquet is too long for a film of its last seconds"
        )
    image = Image.new("RGB", (width, height), get_rgb_colour("panel", dark))
    brush = ImageDraw.Draw(image)

    def placed(places: Floats) -> list[tuple[float, float]]:
        pixels = rotate_places(places, camera.yaw) * camera.scale - low
        return [(float(x), float(y)) for x, y in pixels]

    # lanes, then scenery
    render_lanes(brush, lines, placed=placed, scale=camera.scale, dark=dark)
    for kind, (fill, edge) in SCENERY_COLOURS.items():
        pieces = scenery[scenery["kind"].astype(str) == kind]
        for box in pieces[["x", "y", "length", "width", "yaw"]].to_numpy(np.float64):
            shape = placed(compute_box_footprint(box))
            if kind == "vegetation":
                shape = placed(compute_oval(box))
            inside = get_rgb_colour(fill, dark) if fill else None
            brush.polygon(shape, inside, get_rgb_colour(edge, dark) if edge else None, width=FINER)
    return FilmGround(np.asarray(image), low)


def render_lanes(
    brush: ImageDraw.ImageDraw, lines: pd.DataFrame, *, placed: Placed, scale: float, dark: bool
) -> None:
    """Draw the surface of all lanes, their edges, and the route on them."""
    sides = list(
        zip(
            extract_polylines(lines, "lane_left"),
            extract_polylines(lines, "lane_right"),
            strict=True,
        )
    )
    # surfaces first, so that no lane covers another one's edge
    for left, right in sides:
        brush.polygon(placed(np.concatenate([left, right[::-1]])), get_rgb_colour("asphalt", dark))
    for side in (side for pair in sides for side in pair):
        brush.line(placed(side), get_rgb_colour("road", dark), round(0.12 * scale))
    for line in extract_polylines(lines, "route"):
        brush.line(
            placed(line), get_rgb_colour("route", dark), round(ROUTE_WIDTH * scale), joint="curve"
        )


def compute_box_footprint(box: Floats) -> Floats:
    """Return the corners of a box given as x, y, length, width and yaw."""
    x, y, length, width, yaw = box
    ahead = np.array([0.5, 0.5, -0.5, -0.5]) * length
    aside = np.array([-0.5, 0.5, 0.5, -0.5]) * width
    return rotate_box_points(x, y, yaw=yaw, ahead=ahead, aside=aside)


def compute_oval(box: Floats) -> Floats:
    """Return an oval within a box."""
    x, y, length, width, yaw = box
    turn = np.linspace(0.0, math.tau, 24, endpoint=False)
    return rotate_box_points(
        x, y, yaw=yaw, ahead=np.cos(turn) * length / 2, aside=np.sin(turn) * width / 2
    )


def rotate_box_points(x: float, y: float, *, yaw: float, ahead: Floats, aside: Floats) -> Floats:
    """Return points given in a box's frame, in the world."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.column_stack([x + ahead * cos - aside * sin, y + ahead * sin + aside * cos])
