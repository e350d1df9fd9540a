"""What is done to a finished picture: smooth edges, and streaks of rain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Int32s
from harness.carlite.compiled import allocating, compiled, vectorised
from harness.carlite.sensors.noise_table import hash_cell
from harness.carlite.sensors.paint_buffers import Pixels

LONGEST_STEP = 16
"""Pixels along an edge within which its next step is looked for."""
PATCH = 64
"""Rows of a column that are looked through at once for edges."""
STREAKS = 0.006
"""Streaks of the heaviest rain for each pixel."""


class EdgeRuns(NamedTuple):
    """The stretch of an edge that was followed last, row by row; all (rows,).

    Attributes:
        first, last: its first and last pixel along the edge; `last` is -1 before any.
        turn_first, turn_last: to which side it steps there: 1, -1 or 0 for neither.
    """

    first: Int32s
    last: Int32s
    turn_first: Int32s
    turn_last: Int32s


@allocating
def smooth_edges(source: Int32s, image: Pixels) -> None:
    """Blend the steps of edges between surfaces (Reshetov, 2009: morphological antialiasing).

    Where an edge between two faces runs along pixels and steps aside at either end, it is taken
    for a straight line between the middles of the steps. A pixel that the line cuts gets the
    share of the other face's colour.

    Args:
        source: (columns, rows) the face of each pixel, bottom row first.
        image: (rows, columns) top row first; changed in place.
    """
    runs = np.full((4, source.shape[1]), -1, np.int32)
    _smooth(source, image, EdgeRuns(runs[0], runs[1], runs[2], runs[3]))


@compiled
def _smooth(source: Int32s, image: Pixels, runs: EdgeRuns) -> None:
    width, height = source.shape
    for column in range(width):
        for start in range(0, height - 1, PATCH):
            end = min(start + PATCH, height - 1)
            if _differ(source[column, start:end], source[column, start + 1 : end + 1]) > 0:
                _blend_along_rows(source, image, runs, column, start, end)
    for column in range(width - 1):
        # an edge between two columns runs along both: one stretch at a time is known
        runs.last[0] = -1
        for start in range(0, height, PATCH):
            end = min(start + PATCH, height)
            if _differ(source[column, start:end], source[column + 1, start:end]) > 0:
                _blend_along_columns(source, image, runs, column, start, end)


@vectorised
def _differ(faces: Int32s, others: Int32s) -> int:
    """Return whether any of some pixels has another face than its neighbour; 0 is none."""
    unlike = np.int32(0)
    for k in range(len(faces)):
        unlike |= faces[k] ^ others[k]
    return 1 if unlike != 0 else 0


@compiled
def _blend_along_rows(
    source: Int32s, image: Pixels, runs: EdgeRuns, column: int, start: int, end: int
) -> None:
    """Blend where rows from `start` to before `end` have another face than the row above."""
    for row in range(start, end):
        one, other = source[column, row], source[column, row + 1]
        if one == other:
            continue
        if runs.last[row] < column:
            _find_run(source, runs, row, column, row, 0, 1)
        _blend_step(source, image, runs, row, column, column, row, 0, 1)


@compiled
def _blend_along_columns(
    source: Int32s, image: Pixels, runs: EdgeRuns, column: int, start: int, end: int
) -> None:
    """Blend where rows from `start` to before `end` have another face in the next column."""
    for row in range(start, end):
        one, other = source[column, row], source[column + 1, row]
        if one == other:
            continue
        if runs.last[0] < row:
            _find_run(source, runs, 0, column, row, 1, 0)
        _blend_step(source, image, runs, 0, row, column, row, 1, 0)


@compiled
def _find_run(
    source: Int32s, runs: EdgeRuns, run: int, column: int, row: int, across_x: int, across_y: int
) -> None:
    """Write the stretch of an edge that begins at a pixel, as number `run`.

    `across` leads from the pixel to the one beyond the edge; the edge itself runs square to it.
    """
    one, other = source[column, row], source[column + across_x, row + across_y]
    at = column if across_y == 1 else row
    runs.first[run] = at
    runs.turn_first[run] = _find_turn(
        source, column - across_y, row - across_x, across_x, across_y, one, other
    )
    x, y = column, row
    while True:
        x, y = x + across_y, y + across_x
        if not _is_inside(source, x, y, across_x, across_y):
            break
        if source[x, y] != one or source[x + across_x, y + across_y] != other:
            break
        at += 1
    runs.last[run] = at
    runs.turn_last[run] = _find_turn(source, x, y, across_x, across_y, one, other)


@compiled
def _is_inside(source: Int32s, x: int, y: int, across_x: int, across_y: int) -> bool:
    width, height = source.shape
    return x >= 0 and y >= 0 and x + across_x < width and y + across_y < height


@compiled
def _find_turn(
    source: Int32s, x: int, y: int, across_x: int, across_y: int, one: int, other: int
) -> int:
    """Return to which side an edge steps where it ends: 1, -1, or 0 if to neither."""
    if not _is_inside(source, x, y, across_x, across_y):
        return 0
    here, beyond = source[x, y], source[x + across_x, y + across_y]
    if here == other and beyond == other:
        return -1
    return 1 if here == one and beyond == one else 0


@compiled
def _blend_step(
    source: Int32s,
    image: Pixels,
    runs: EdgeRuns,
    run: int,
    at: int,
    column: int,
    row: int,
    across_x: int,
    across_y: int,
) -> None:
    """Blend two pixels on either side of an edge, at a place along one of its stretches."""
    # how far it goes on either way, and to which side it then steps
    before, after = at - runs.first[run], runs.last[run] - at
    turn_before, turn_after = runs.turn_first[run], runs.turn_last[run]
    if before >= LONGEST_STEP:
        before, turn_before = LONGEST_STEP, 0
    if after >= LONGEST_STEP:
        after, turn_after = LONGEST_STEP, 0
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
