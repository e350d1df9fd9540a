"""What the signs of films mean, in as many lines as are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from analysis.drawing.palette import SCENERY_COLOURS
from analysis.drawing.picture import get_rgb_colour

LINE, SIGN, TEXT, AIR = 28, 30, 16, 22
"""Pixels: height of a line, width of a sign, size of the text, and the space between entries."""
FINER = 3
NOTE = (
    "Road users are shown where they were at each tick;"
    " boxes and messages hold until the next planning step."
)
MOVING_UNIT = (
    "A roadside unit stands still, and is set up again farther along the road when the ego has"
    " passed it, or after some seconds: so it seems to move along with the ego."
)
"""What a reader of a picture with a roadside unit has to know."""
Brush = ImageDraw.ImageDraw


@dataclass(frozen=True, slots=True)
class FilmLegendEntry:
    """A sign and what it means."""

    words: str
    render: Callable[[Brush, bool], None]  # in a field of SIGN x LINE, times FINER


def scale_sign_points(*points: tuple[float, float]) -> list[tuple[float, float]]:
    """Return points of a sign as they are drawn."""
    return [(FINER * x, FINER * y) for x, y in points]


BODY = ((3, 9), (25, 9), (25, 19), (3, 19))


def render_ego_sign(brush: Brush, dark: bool) -> None:
    """Draw the ego's sign."""
    sign = scale_sign_points((27, 14), (19, 19), (3, 19), (3, 9), (19, 9))
    brush.polygon(sign, get_rgb_colour("accent", dark))


def make_box_renderer(
    fill: str, half: str = "", edge: str = "truth"
) -> Callable[[Brush, bool], None]:
    """Return how a box is drawn, filled whole, half or not at all."""

    def render(brush: Brush, dark: bool) -> None:
        whole = scale_sign_points(*BODY)
        brush.polygon(whole, get_rgb_colour(fill or "paper", dark))
        if half:
            brush.polygon([whole[0], whole[2], whole[3]], get_rgb_colour(half, dark))
        brush.polygon(whole, None, get_rgb_colour(edge, dark), 2 * FINER)

    return render


def make_line_renderer(hue: str) -> Callable[[Brush, bool], None]:
    """Return how a line is drawn."""
    return lambda brush, dark: brush.line(
        scale_sign_points((3, 14), (25, 14)), get_rgb_colour(hue, dark), 2 * FINER
    )


def render_partner_sign(brush: Brush, dark: bool) -> None:
    """Draw a partner's sign."""
    brush.polygon(
        scale_sign_points((14, 6), (22, 14), (14, 22), (6, 14)), get_rgb_colour("cooperative", dark)
    )


def render_lidar_sign(brush: Brush, dark: bool) -> None:
    """Draw LiDAR points."""
    for number, (x, y) in enumerate([(5, 9), (12, 16), (17, 8), (22, 18), (8, 20), (25, 11)]):
        hue = "cooperative" if number % 2 else "ego_alone"
        brush.ellipse(
            scale_sign_points((x - 1.2, y - 1.2), (x + 1.2, y + 1.2)), get_rgb_colour(hue, dark)
        )


def render_ring_sign(brush: Brush, dark: bool) -> None:
    """Draw the ring round the road user that is hit."""
    ends = scale_sign_points((6, 6), (22, 22))
    brush.ellipse([*ends[0], *ends[1]], None, get_rgb_colour("worse", dark), 2 * FINER)


def render_cross_sign(brush: Brush, dark: bool) -> None:
    """Draw the cross at the place of a violation."""
    ink = get_rgb_colour("worse", dark)
    for line in (((7, 7), (21, 21)), ((7, 21), (21, 7))):
        brush.line(scale_sign_points(*line), ink, 3 * FINER)


def make_scenery_renderer(kind: str) -> Callable[[Brush, bool], None]:
    """Return how scenery of a kind is drawn."""
    fill, edge = SCENERY_COLOURS[kind]

    def render(brush: Brush, dark: bool) -> None:
        shape = scale_sign_points(*BODY)
        outline = get_rgb_colour(edge, dark) if edge else None
        brush.polygon(shape, get_rgb_colour(fill, dark), outline, FINER)

    return render


SCENERY_NAMES = {
    "building": "house",
    "wall": "wall",
    "vegetation": "plants",
    "vehicle": "parked vehicle or object",
}
"""Kinds of scenery in the legend."""


def list_film_legend_entries(
    with_points: bool, with_partners: bool = True
) -> Iterable[FilmLegendEntry]:
    """Yield the entries in the order in which they are read.

    Args:
        with_points: LiDAR points are shown.
        with_partners: partners are shown.
    """
    yield FilmLegendEntry("ego", render_ego_sign)
    if with_partners:
        yield FilmLegendEntry("partner (roadside unit or vehicle)", render_partner_sign)
    yield FilmLegendEntry("road user: hit by the ego's LiDAR", make_box_renderer("truth"))
    if with_partners:
        yield FilmLegendEntry("by a partner's only", make_box_renderer("line", "truth"))
    yield FilmLegendEntry("by none", make_box_renderer("line"))
    yield FilmLegendEntry("missed", make_box_renderer("missed", edge="missed"))
    yield FilmLegendEntry("mislocalised", make_box_renderer("mislocalised", edge="mislocalised"))
    yield FilmLegendEntry("detection", make_box_renderer("", edge="cooperative"))
    yield FilmLegendEntry("additional detection", make_box_renderer("", edge="additional"))
    yield FilmLegendEntry("ego sees it", make_line_renderer("ego_alone"))
    if with_partners:
        yield FilmLegendEntry("partner sees it", make_line_renderer("cooperative"))
    yield FilmLegendEntry("road user that is hit", render_ring_sign)
    yield FilmLegendEntry("place of the violation", render_cross_sign)
    yield FilmLegendEntry("route", make_line_renderer("route"))
    for kind, words in SCENERY_NAMES.items():
        yield FilmLegendEntry(words, make_scenery_renderer(kind))
    if with_points:
        words = "LiDAR points: ego, partner" if with_partners else "LiDAR points"
        yield FilmLegendEntry(words, render_lidar_sign)


def render_film_legend(
    width: int, with_points: bool, dark: bool, *, note: bool = True, with_partners: bool = True
) -> Image.Image:
    """Draw the legend, as wide as it may be and as high as it must be, with the note of films.

    Args:
        width: pixels.
        with_points: explain LiDAR points, too.
        dark: background.
        note: add the note of films.
        with_partners: explain partners, too.
    """
    rows = list(wrap_legend_entries(width, list_film_legend_entries(with_points, with_partners)))
    notes = [NOTE] * note + [MOVING_UNIT] * with_partners
    noted = [line for text in notes for line in wrap_film_note(text, width)]
    image = Image.new(
        "RGB", (width, LINE * len(rows) + 22 * len(noted)), get_rgb_colour("paper", dark)
    )
    brush = ImageDraw.Draw(image)
    for number, row in enumerate(rows):
        x = 0.0
        # signs are painted large and reduced, as panels are
        for entry in row:
            sign = Image.new("RGB", (SIGN * FINER, LINE * FINER), get_rgb_colour("paper", dark))
            entry.render(ImageDraw.Draw(sign), dark)
            image.paste(sign.reduce(FINER), (round(x), number * LINE))
            at = (x + SIGN + 2, (number + 0.5) * LINE)
            brush.text(
                at, entry.words, get_rgb_colour("ink", dark), load_legend_font(), anchor="lm"
            )
            x += measure_entry_width(entry)
    # the note below
    for number, words in enumerate(noted):
        at = (0, LINE * len(rows) + 22 * number + 11)
        brush.text(at, words, get_rgb_colour("quiet", dark), load_legend_font(), anchor="lm")
    return image


def wrap_film_note(text: str, width: int) -> list[str]:
    """Return a note in lines that fit."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if load_legend_font().getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def wrap_legend_entries(
    width: int, listed: Iterable[FilmLegendEntry]
) -> Iterable[list[FilmLegendEntry]]:
    """Yield the entries of each line."""
    row: list[FilmLegendEntry] = []
    for entry in listed:
        if row and sum(map(measure_entry_width, [*row, entry])) - AIR > width:
            yield row
            row = []
        row.append(entry)
    yield row


def measure_entry_width(entry: FilmLegendEntry) -> float:
    """Return the width of an entry and of the space behind it."""
    return SIGN + 2 + load_legend_font().getlength(entry.words) + AIR


@lru_cache
def load_legend_font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return the legend's font."""
    return ImageFont.load_default(TEXT)
