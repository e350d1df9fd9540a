"""Every colour of figures, report and viewers, by what it is for, on light and on dark ground."""

from __future__ import annotations

from harness.types.record_names import PATTERNS

COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#15181c"),
    "panel": ("#f6f6f3", "#1d2126"),
    "ink": ("#1b1f24", "#e9e7e2"),
    "quiet": ("#5f666e", "#a2a8ae"),
    "line": ("#d9d9d4", "#363c43"),
    "asphalt": ("#e4e5e3", "#262b31"),
    "building": ("#b9bcbf", "#525a63"),
    "plant": ("#d5ddd0", "#2b352e"),
    "road": ("#c3c5c6", "#474e56"),
    "route": ("#d3e2ee", "#22384b"),
    "accent": ("#1f5f8b", "#7db8e0"),
    "worse": ("#b3352b", "#f08a7d"),
    "missed": ("#c8372d", "#ff7b6e"),
    "mislocalised": ("#c77700", "#f2b14a"),
    "additional": ("#7b4fb0", "#bf9bf0"),
    "truth": ("#6b6f75", "#b0b5ba"),
    "ego_alone": ("#2f7fb5", "#69b3e4"),
    "cooperative": ("#2b8a57", "#5cc98d"),
    "hue0": ("#1f5f8b", "#7db8e0"),
    "hue1": ("#c76a14", "#f0a35c"),
    "hue2": ("#2b8a57", "#5cc98d"),
    "hue3": ("#7b4fb0", "#bf9bf0"),
    "hue4": ("#a8456b", "#ec8fb2"),
    "hue5": ("#7a6a1f", "#cbb85a"),
    "hue6": ("#2a8c93", "#62cdd3"),
    "hue7": ("#6b6f75", "#b0b5ba"),
}
"""On light ground, on dark ground."""

HUES = tuple(name for name in COLOURS if name.startswith("hue"))

ERROR_KINDS = ("missed", "mislocalised", "additional")
ERROR_COLOURS = dict(zip(PATTERNS, ERROR_KINDS + ERROR_KINDS, strict=True))
"""A pattern's colour: the kind of its error."""


def is_misled(pattern: str) -> bool:
    """Return whether cooperation misled (L...) rather than did not correct (C...)."""
    return pattern.startswith("L")


def get_error_colour(pattern: str) -> str:
    """Return a pattern's own colour for any ground: stronger if cooperation misled."""
    return COLOURS[ERROR_COLOURS[pattern]][not is_misled(pattern)]
