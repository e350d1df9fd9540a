"""Canvases as SVG: inside a page that knows the colours, or as a file that stands alone."""

from __future__ import annotations

import html

from analysis.drawing.canvas import Canvas, Circle, Label, Mark, Polyline
from analysis.drawing.palette import classes, variables

CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(127, 160), 0x2028, 0x2029))
"""Control characters but tabs and ends of lines: no HTML or XML may hold them."""
DIRECTIONS = dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
"""Marks that turn the direction of the text behind them."""
REMOVED = {**CONTROLS, **DIRECTIONS}


def escape(text: str, quote: bool = True) -> str:
    """Return text as HTML or XML holds it, without control characters."""
    return html.escape(text.translate(REMOVED), quote=quote)


FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"


def inline(canvas: Canvas) -> str:
    """Return an `svg` element for a page that has the palette's classes."""
    size = f'viewBox="0 0 {number(canvas.width)} {number(canvas.height)}"'
    body = "".join(map(element, canvas.marks))
    return f'<svg {size} role="img" aria-label="{escape(canvas.description)}">{body}</svg>'


def standalone(canvas: Canvas) -> str:
    """Return a whole SVG file, which follows the reader's choice of light or dark."""
    style = (
        f":root{{{variables(False)}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{variables(True)}}}}}"
        f"{classes()}svg{{background:var(--paper)}}text{{font-family:{FONT}}}"
    )
    size = f'width="{number(canvas.width)}" height="{number(canvas.height)}"'
    body = inline(canvas).replace("<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" {size} ', 1)
    head, _, rest = body.partition(">")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head}><style>{style}</style>{rest}\n'


def element(mark: Mark) -> str:
    """Return one mark as an element."""
    match mark:
        case Polyline():
            return shape(mark)
        case Circle():
            at = f'cx="{number(mark.at[0])}" cy="{number(mark.at[1])}" r="{number(mark.radius)}"'
            width = f' stroke-width="{number(mark.width)}"' if mark.stroke else ""
            return titled("circle", f"{at}{paint(mark.fill, mark.stroke)}{width}", mark.title)
        case Label():
            return words(mark)


def shape(mark: Polyline) -> str:
    """Return a polyline or polygon."""
    points = " ".join(f"{number(x)},{number(y)}" for x, y in mark.points)
    attributes = f'points="{points}"{paint(mark.fill, mark.stroke)}'
    if mark.stroke and mark.width != 1:
        attributes += f' stroke-width="{number(mark.width)}"'
    if mark.dashed:
        attributes += f' stroke-dasharray="{mark.dash[0]:g} {mark.dash[1]:g}"'
    if mark.opacity < 1:
        attributes += f' opacity="{mark.opacity:g}"'
    return titled("polygon" if mark.closed else "polyline", attributes, mark.title)


def words(mark: Label) -> str:
    """Return a line of text."""
    attributes = f'x="{number(mark.at[0])}" y="{number(mark.at[1])}" font-size="{mark.size:g}"'
    if mark.anchor != "start":
        attributes += f' text-anchor="{mark.anchor}"'
    if mark.bold:
        attributes += ' font-weight="600"'
    return f'<text {attributes} class="f-{mark.colour}">{escape(mark.text, quote=False)}</text>'


def paint(fill: str, stroke: str) -> str:
    """Return the classes of a fill and a stroke."""
    names = [f"f-{fill}"] if fill else []
    names += [f"s-{stroke}"] if stroke else []
    return f' class="{" ".join(names)}"' + ("" if fill else ' fill="none"')


def titled(name: str, attributes: str, title: str) -> str:
    """Return an element, with a tooltip if it has a title."""
    if not title:
        return f"<{name} {attributes}/>"
    return f"<{name} {attributes}><title>{escape(title, quote=False)}</title></{name}>"


def number(value: float) -> str:
    """Return a coordinate, to a tenth."""
    return f"{round(value, 1) + 0.0:g}"
