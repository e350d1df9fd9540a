"""Colours of the figures and the report, and their style sheets."""

from __future__ import annotations

from harness.common.colours import (
    COLOURS,
    ERROR_COLOURS,
    ERROR_KINDS,
    HUES,
    get_error_colour,
    is_misled,
)

__all__ = [
    "COLOURS",
    "ERROR_COLOURS",
    "ERROR_KINDS",
    "HUES",
    "format_colour_classes",
    "format_colour_variables",
    "get_error_colour",
    "is_misled",
]
SCENERY_COLOURS = {
    "building": ("building", "quiet"),
    "wall": ("quiet", "quiet"),
    "bridge": ("", "quiet"),
    "vegetation": ("plant", ""),
    "vehicle": ("line", "quiet"),
    "object": ("line", "quiet"),
}
"""Fill and outline of scenery, in the order in which it is drawn."""
ROUTE_WIDTH = 2.2
"""Metres."""


def format_colour_variables(dark: bool) -> str:
    """Return the colours as CSS custom properties."""
    return "".join(f"--{name}:{pair[dark]};" for name, pair in COLOURS.items())


def format_colour_classes() -> str:
    """Return a class to stroke with each colour, and one to fill with it."""
    return "".join(
        f".s-{name}{{stroke:var(--{name})}}.f-{name}{{fill:var(--{name})}}" for name in COLOURS
    )
