"""What the signs of films mean, in as many lines as are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from analysis.drawing.picture import colour

LINE, SIGN, TEXT, AIR = 28, 30, 16, 22
"""Pixels: height of a line, width of a sign, size of the text, and the space between entries."""
FINER = 3
NOTE = (
    "Road users are shown where they were at each tick;"
    " boxes and messages hold until the next planning step."
)
Brush = ImageDraw.ImageDraw


@dataclass(frozen=True, slots=True)
class Entry:
    """A sign and what it means."""

    words: str
    render: Callable[[Brush, bool], None]  # in a field of SIGN x LINE, times FINER


def scaled(*points: tuple[float, float]) -> list[tuple[float, float]]:
    """Return points of a sign as they are drawn."""
    return [(FINER * x, FINER * y) for x, y in points]


BODY = ((3, 9), (25, 9), (25, 19), (3, 19))


def render_ego(brush: Brush, dark: bool) -> None:
    """Draw the ego's sign."""
    sign = scaled((27, 14), (19, 19), (3, 19), (3, 9), (19, 9))
    brush.polygon(sign, colour("accent", dark))


def body(fill: str, half: str = "", edge: str = "truth") -> Callable[[Brush, bool], None]:
    """Return how a box is drawn, filled whole, half or not at all."""

    def render(brush: Brush, dark: bool) -> None:
        whole = scaled(*BODY)
        brush.polygon(whole, colour(fill or "paper", dark))
        if half:
            brush.polygon([whole[0], whole[2], whole[3]], colour(half, dark))
        brush.polygon(whole, None, colour(edge, dark), 2 * FINER)

    return render


def stroke(hue: str) -> Callable[[Brush, bool], None]:
    """Return how a line is drawn."""
    return lambda brush, dark: brush.line(scaled((3, 14), (25, 14)), colour(hue, dark), 2 * FINER)


def diamond(brush: Brush, dark: bool) -> None:
    """Draw a partner's sign."""
    brush.polygon(scaled((14, 6), (22, 14), (14, 22), (6, 14)), colour("cooperative", dark))


def dots(brush: Brush, dark: bool) -> None:
    """Draw LiDAR points."""
    for number, (x, y) in enumerate([(5, 9), (12, 16), (17, 8), (22, 18), (8, 20), (25, 11)]):
        hue = "cooperative" if number % 2 else "ego_alone"
        brush.ellipse(scaled((x - 1.2, y - 1.2), (x + 1.2, y + 1.2)), colour(hue, dark))


def entries(with_points: bool) -> Iterable[Entry]:
    """Yield the entries in the order in which they are read."""
    yield Entry("ego", render_ego)
    yield Entry("partner", diamond)
    yield Entry("road user: hit by the ego's LiDAR", body("truth"))
    yield Entry("by a partner's only", body("", "truth"))
    yield Entry("by none", body(""))
    yield Entry("missed", body("missed", edge="missed"))
    yield Entry("mislocalised", body("mislocalised", edge="mislocalised"))
    yield Entry("detection", body("", edge="cooperative"))
    yield Entry("additional detection", body("", edge="additional"))
    yield Entry("ego sees it", stroke("ego_alone"))
    yield Entry("partner sees it", stroke("cooperative"))
    if with_points:
        yield Entry("LiDAR points: ego, partner", dots)


def legend_of(width: int, with_points: bool, dark: bool, *, note: bool = True) -> Image.Image:
    """Draw the legend, as wide as it may be and as high as it must be, with the note of films."""
    rows = list(lines_of(width, entries(with_points)))
    noted = note_lines(width) if note else []
    image = Image.new("RGB", (width, LINE * len(rows) + 22 * len(noted)), colour("paper", dark))
    brush = ImageDraw.Draw(image)
    for number, row in enumerate(rows):
        x = 0.0
        for entry in row:
            sign = Image.new("RGB", (SIGN * FINER, LINE * FINER), colour("paper", dark))
            entry.render(ImageDraw.Draw(sign), dark)
            image.paste(sign.reduce(FINER), (round(x), number * LINE))
            at = (x + SIGN + 2, (number + 0.5) * LINE)
            brush.text(at, entry.words, colour("ink", dark), font(), anchor="lm")
            x += room_of(entry)
    for number, words in enumerate(noted):
        at = (0, LINE * len(rows) + 22 * number + 11)
        brush.text(at, words, colour("quiet", dark), font(), anchor="lm")
    return image


def note_lines(width: int) -> list[str]:
    """Return the note in lines that fit."""
    lines = [""]
    for word in NOTE.split():
        longer = f"{lines[-1]} {word}".strip()
        if font().getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def lines_of(width: int, listed: Iterable[Entry]) -> Iterable[list[Entry]]:
    """Yield the entries of each line."""
    row: list[Entry] = []
    for entry in listed:
        if row and sum(map(room_of, [*row, entry])) - AIR > width:
            yield row
            row = []
        row.append(entry)
    yield row


def room_of(entry: Entry) -> float:
    """Return the width of an entry and of the space behind it."""
    return SIGN + 2 + font().getlength(entry.words) + AIR


@lru_cache
def font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return the legend's font."""
    return ImageFont.load_default(TEXT)
