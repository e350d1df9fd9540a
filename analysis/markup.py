"""Text as HTML and SVG hold it: escaped, and without control characters."""

from __future__ import annotations

import html

CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(127, 160), 0x2028, 0x2029))
"""Control characters but tabs and ends of lines: no HTML or XML may hold them."""
DIRECTIONS = dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
"""Marks that turn the direction of the text behind them."""
REMOVED = {**CONTROLS, **DIRECTIONS}


def escape(text: str, quote: bool = True) -> str:
    """Return text as HTML or XML holds it, without control characters."""
    return html.escape(text.translate(REMOVED), quote=quote)
