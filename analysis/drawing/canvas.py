"""A drawing before it is SVG or a picture: lines, shapes, dots and words with names for colours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Point: TypeAlias = tuple[float, float]
Anchor: TypeAlias = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Shape:
    """A polyline, or a polygon if it is closed."""

    points: tuple[Point, ...]
    stroke: str = ""
    fill: str = ""
    width: float = 1.0
    closed: bool = False
    dashed: bool = False
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Dot:
    """A circle."""

    at: Point
    radius: float
    fill: str
    stroke: str = ""
    width: float = 1.4
    title: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """A line of text; `at` is on its base line."""

    at: Point
    text: str
    size: float = 10.5
    anchor: Anchor = "start"
    colour: str = "ink"
    bold: bool = False


Mark: TypeAlias = Shape | Dot | Words


@dataclass(slots=True)
class Canvas:
    """Marks in the order in which they are drawn; x to the right, y down."""

    width: float
    height: float
    says: str  # what is to be seen, for those who cannot see it
    marks: list[Mark] = field(default_factory=list)

    def line(self, points: Iterable[Point], stroke: str, width: float = 1.0) -> None:
        """Draw a polyline."""
        self.marks.append(Shape(tuple(points), stroke, width=width))

    def dash(self, points: Iterable[Point], stroke: str, width: float = 1.0) -> None:
        """Draw a dashed polyline."""
        self.marks.append(Shape(tuple(points), stroke, width=width, dashed=True))

    def dot(
        self, at: Point, radius: float, colour: str, hollow: bool = False, title: str = ""
    ) -> None:
        """Draw a full or a hollow dot."""
        self.marks.append(Dot(at, radius, "paper" if hollow else colour, colour, title=title))

    def words(
        self,
        at: Point,
        text: str,
        anchor: Anchor = "start",
        colour: str = "ink",
        size: float = 10.5,
        bold: bool = False,
    ) -> None:
        """Write a line of text."""
        self.marks.append(Words(at, text, size, anchor, colour, bold))


def width_of(text: str, size: float = 10.5) -> float:
    """Return about how wide a text is: close enough to keep others away."""
    narrow = sum(each in "iljtf.,:;|!'() -/" for each in text)
    return size * (0.63 * (len(text) - narrow) + 0.37 * narrow)


def shortened(text: str, room: float, size: float = 10.5) -> str:
    """Return a text that fits, its middle left out if need be."""
    if width_of(text, size) <= room:
        return text
    keep = len(text)
    while keep > 2 and width_of(text, size) * keep / len(text) > room:
        keep -= 1
    front = (keep + 1) // 2
    return f"{text[:front]}…{text[len(text) - (keep - front) :]}"
