"""What is done to a finished picture: smooth edges, and streaks of rain."""

from __future__ import annotations

from harness.carlite.arrays import Int32s
from harness.carlite.compiled import compiled
from harness.carlite.sensors.noise_table import hash_cell
from harness.carlite.sensors.paint_buffers import Pixels

LONGEST_STEP = 16
"""Pixels along an edge within which its next step is looked for."""
STREAKS = 0.006
"""Streaks of the heaviest rain for each pixel."""


@compiled
def smooth_edges(source: Int32s, image: Pixels) -> None:
    """Blend the steps of edges between surfaces (Reshetov, 2009: morphological antialiasing).

    Where an edge between two faces runs along pixels and steps aside at either end, it is taken
    for a straight line between the middles of the steps. A pixel that the line cuts gets the
    share of the other face's colour.

    Args:
        source: (columns, rows) the face of each pixel, bottom row first.
        image: (rows, columns) top row first; changed in place.
    """
    width, height = source.shape
    for column in range(width):
        for row in range(height - 1):
            if source[column, row] != source[column, row + 1]:
                _blend_step(source, image, column, row, 0, 1)
    for column in range(width - 1):
        for row in range(height):
            if source[column, row] != source[column + 1, row]:
                _blend_step(source, image, column, row, 1, 0)


@compiled
def _blend_step(
    source: Int32s, image: Pixels, column: int, row: int, across_x: int, across_y: int
) -> None:
    """Blend two pixels on either side of an edge; `across` leads from one to the other."""
    one, other = source[column, row], source[column + across_x, row + across_y]
    before, turn_before = _follow_edge(source, column, row, across_x, across_y, -1, one, other)
    after, turn_after = _follow_edge(source, column, row, across_x, across_y, 1, one, other)
    if turn_before == 0 and turn_after == 0:
        return
    # how far the line runs on the other's side here, from -0.5 to 0.5
    place = (before + 0.5) / (before + after + 1)
    if turn_before * turn_after < 0:
        shift = 0.5 * (turn_before + place * (turn_after - turn_before))
    elif place < 0.5:
        shift = 0.5 * turn_before * (1 - 2 * place)
    else:
        shift = 0.5 * turn_after * (2 * place - 1)
    height = source.shape[1]
    row_one, row_other = height - 1 - row, height - 1 - row - across_y
    colour, colour_other = image[row_one, column], image[row_other, column + across_x]
    if shift > 0:
        image[row_other, column + across_x] = blend_pixels(colour_other, colour, shift)
    elif shift < 0:
        image[row_one, column] = blend_pixels(colour, colour_other, -shift)


@compiled
def _follow_edge(
    source: Int32s,
    column: int,
    row: int,
    across_x: int,
    across_y: int,
    sense: int,
    one: int,
    other: int,
) -> tuple[int, int]:
    """Return how many pixels an edge goes on, and to which side it then steps: 1, -1 or 0."""
    width, height = source.shape
    for step in range(1, LONGEST_STEP + 1):
        x, y = column + sense * step * across_y, row + sense * step * across_x
        if x < 0 or y < 0 or x + across_x >= width or y + across_y >= height:
            return step - 1, 0
        here, beyond = source[x, y], source[x + across_x, y + across_y]
        if here != one or beyond != other:
            if here == other and beyond == other:
                return step - 1, -1
            if here == one and beyond == one:
                return step - 1, 1
            return step - 1, 0
    return LONGEST_STEP, 0


@compiled
def blend_pixels(pixel: int, other: int, share: float) -> int:
    """Return a pixel with a share of another one's colour."""
    result = 0xFF000000
    for place in range(0, 24, 8):
        a, b = (int(pixel) >> place) & 255, (int(other) >> place) & 255
        result |= int(a + share * (b - a) + 0.5) << place
    return result


@compiled
def render_rain(image: Pixels, rain: float, frame: int, sensor: int, grey: int) -> None:
    """Draw streaks of drops that fall while the shutter is open.

    Args:
        image: (rows, columns), changed in place.
        rain: from 0 to 1.
        frame: number of the frame, which chooses where the streaks are.
        sensor: number of the camera, which does so too.
        grey: a pixel of the streaks' colour.
    """
    height, width = image.shape
    for n in range(int(rain * STREAKS * height * width)):
        first = hash_cell(n, frame, 3 * sensor) * 1024 + hash_cell(n, frame, 3 * sensor + 1)
        third = hash_cell(n, frame, 3 * sensor + 2)
        column, row = first % width, (first // 7 + third * 1031) % height
        length = height // 60 + third % max(height // 24, 1)
        share = 0.10 + 0.15 * (third & 7) / 7
        for step in range(length):
            at, aside = row + step, column + step // 9
            if at < height and aside < width:
                image[at, aside] = blend_pixels(image[at, aside], grey, share)
