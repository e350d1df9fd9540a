"""Canvases as images: PNG files and frames of films."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from PIL import Image, ImageColor, ImageDraw, ImageFont

from analysis.drawing.canvas import Canvas, Circle, Mark, Point, Polyline, TextLabel
from analysis.drawing.palette import COLOURS
from harness.common.files import write_whole

FINER = 3
"""Drawn so many times larger, then made small: that is what smooths the edges."""
ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def render_canvas(canvas: Canvas, scale: float = 2.0, dark: bool = False) -> Image.Image:
    """Return a canvas in pixels, `scale` of them for each of its units.

    Args:
        canvas: marks in units of the drawing.
        scale: pixels for each unit.
        dark: the palette for dark pages.

    Returns:
        RGB; it is drawn finer and then reduced.
    """
    size = round(canvas.width * scale), round(canvas.height * scale)
    image = Image.new("RGB", (size[0] * FINER, size[1] * FINER), get_rgb_colour("paper", dark))
    brush = ImageDraw.Draw(image, "RGBA")
    for mark in canvas.marks:
        render_canvas_mark(brush, mark, scale * FINER, dark)
    return image.reduce(FINER)


@cache
def load_film_font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return the font of films and stills in a size."""
    return ImageFont.load_default(size)


def write_png(image: Image.Image, file: Path) -> None:
    """Write a picture, whole or not at all.

    Args:
        image: in pixels.
        file: the target.
    """
    write_whole(file, lambda temporary: image.save(temporary, "PNG"))


def join_side_by_side(images: Sequence[Image.Image], gap: int, dark: bool = False) -> Image.Image:
    """Return pictures in a row."""
    width = sum(image.width for image in images) + gap * (len(images) - 1)
    row = Image.new(
        "RGB", (width, max(image.height for image in images)), get_rgb_colour("paper", dark)
    )
    x = 0
    for image in images:
        row.paste(image, (x, 0))
        x += image.width + gap
    return row


def stack_images(images: Sequence[Image.Image], dark: bool = False) -> Image.Image:
    """Return pictures one under the other."""
    size = max(image.width for image in images), sum(image.height for image in images)
    column = Image.new("RGB", size, get_rgb_colour("paper", dark))
    y = 0
    for image in images:
        column.paste(image, (0, y))
        y += image.height
    return column


def render_canvas_mark(brush: ImageDraw.ImageDraw, mark: Mark, scale: float, dark: bool) -> None:
    """Draw one mark."""
    match mark:
        case Polyline():
            render_polyline(brush, mark, scale, dark)
        case Circle():
            (x, y), r = mark.at, mark.radius
            box = [(x - r) * scale, (y - r) * scale, (x + r) * scale, (y + r) * scale]
            width = round(mark.width * scale)
            outline = get_rgb_colour(mark.stroke, dark) if mark.stroke else None
            fill = get_rgb_colour(mark.fill, dark) if mark.fill else None
            brush.ellipse(box, fill, outline, width if outline else 0)
        case TextLabel():
            font = ImageFont.load_default(mark.size * scale)
            at = mark.at[0] * scale, mark.at[1] * scale
            brush.text(at, mark.text, get_rgb_colour(mark.colour, dark), font, ANCHORS[mark.anchor])


def render_polyline(brush: ImageDraw.ImageDraw, mark: Polyline, scale: float, dark: bool) -> None:
    """Draw a polyline or polygon."""
    points = [(x * scale, y * scale) for x, y in mark.points]
    see_through = (round(255 * mark.opacity),)
    if mark.closed and mark.fill:
        brush.polygon(points, get_rgb_colour(mark.fill, dark) + see_through)
    if not mark.stroke:
        return
    ink = get_rgb_colour(mark.stroke, dark) + see_through
    width = max(1, round(mark.width * scale))
    outline = [*points, points[0], points[1]] if mark.closed else points
    if mark.dashed:
        for piece in split_into_dashes(outline, [length * scale for length in mark.dash]):
            brush.line(piece, ink, width)
    else:
        brush.line(outline, ink, width, joint="curve")


def split_into_dashes(points: Sequence[Point], lengths: Sequence[float]) -> Iterator[list[Point]]:
    """Yield the strokes of a dashed line."""
    on, left, piece = True, lengths[0], [points[0]]
    for start, end in pairwise(points):
        length = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5
        done = 0.0
        while length - done > left:
            done += left
            share = done / length
            at = start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])
            if on:
                yield [*piece, at]
            piece, on = [at], not on
            left = lengths[not on]
        left -= length - done
        piece.append(end)
    if on and len(piece) > 1:
        yield piece


@cache
def get_rgb_colour(name: str, dark: bool) -> tuple[int, ...]:
    """Return a colour of the palette.

    Args:
        name: of the palette.
        dark: the palette for dark pages.

    Returns:
        Red, green, blue, 0 to 255.
    """
    return ImageColor.getrgb(COLOURS[name][dark])
