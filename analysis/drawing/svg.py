"""Canvases as SVG: inside a page that knows the colours, or as a file that stands alone."""

from __future__ import annotations

import html

from analysis.drawing.canvas import Canvas, Circle, Mark, Polyline, TextLabel
from analysis.drawing.palette import format_colour_classes, format_colour_variables

CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(127, 160), 0x2028, 0x2029))
"""Control characters but tabs and ends of lines: no HTML or XML may hold them."""
DIRECTIONS = dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
"""Marks that turn the direction of the text behind them."""
REMOVED = {**CONTROLS, **DIRECTIONS}


def escape_markup(text: str, quote: bool = True) -> str:
    """Return text as HTML or XML holds it, without control characters.

    Args:
        text: any.
        quote: escape quotation marks too, for attributes.
    """
    return html.escape(text.translate(REMOVED), quote=quote)


FONT = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"


def render_inline_svg(canvas: Canvas) -> str:
    """Return an `svg` element for a page that has the palette's classes."""
    size = f'viewBox="0 0 {format_coordinate(canvas.width)} {format_coordinate(canvas.height)}"'
    body = "".join(map(render_svg_mark, canvas.marks))
    return f'<svg {size} role="img" aria-label="{escape_markup(canvas.description)}">{body}</svg>'


def render_svg_file(canvas: Canvas) -> str:
    """Return a whole SVG file, which follows the reader's choice of light or dark."""
    style = (
        f":root{{{format_colour_variables(False)}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{format_colour_variables(True)}}}}}"
        f"{format_colour_classes()}svg{{background:var(--paper)}}text{{font-family:{FONT}}}"
    )
    size = f'width="{format_coordinate(canvas.width)}" height="{format_coordinate(canvas.height)}"'
    body = render_inline_svg(canvas).replace(
        "<svg ", f'<svg xmlns="http://www.w3.org/2000/svg" {size} ', 1
    )
    head, _, rest = body.partition(">")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head}><style>{style}</style>{rest}\n'


def render_svg_mark(mark: Mark) -> str:
    """Return one mark as an element."""
    match mark:
        case Polyline():
            return render_svg_shape(mark)
        case Circle():
            at = (
                f'cx="{format_coordinate(mark.at[0])}" cy="{format_coordinate(mark.at[1])}"'
                f' r="{format_coordinate(mark.radius)}"'
            )
            width = f' stroke-width="{format_coordinate(mark.width)}"' if mark.stroke else ""
            return format_titled_element(
                "circle", f"{at}{format_paint_classes(mark.fill, mark.stroke)}{width}", mark.title
            )
        case TextLabel():
            return render_svg_text(mark)


def render_svg_shape(mark: Polyline) -> str:
    """Return a polyline or polygon."""
    points = " ".join(f"{format_coordinate(x)},{format_coordinate(y)}" for x, y in mark.points)
    attributes = f'points="{points}"{format_paint_classes(mark.fill, mark.stroke)}'
    if mark.stroke and mark.width != 1:
        attributes += f' stroke-width="{format_coordinate(mark.width)}"'
    if mark.dashed:
        attributes += f' stroke-dasharray="{mark.dash[0]:g} {mark.dash[1]:g}"'
    if mark.opacity < 1:
        attributes += f' opacity="{mark.opacity:g}"'
    return format_titled_element("polygon" if mark.closed else "polyline", attributes, mark.title)


def render_svg_text(mark: TextLabel) -> str:
    """Return a line of text."""
    attributes = (
        f'x="{format_coordinate(mark.at[0])}" y="{format_coordinate(mark.at[1])}"'
        f' font-size="{mark.size:g}"'
    )
    if mark.anchor != "start":
        attributes += f' text-anchor="{mark.anchor}"'
    if mark.bold:
        attributes += ' font-weight="600"'
    return (
        f'<text {attributes} class="f-{mark.colour}">{escape_markup(mark.text, quote=False)}</text>'
    )


def format_paint_classes(fill: str, stroke: str) -> str:
    """Return the classes of a fill and a stroke."""
    names = [f"f-{fill}"] if fill else []
    names += [f"s-{stroke}"] if stroke else []
    return f' class="{" ".join(names)}"' + ("" if fill else ' fill="none"')


def format_titled_element(name: str, attributes: str, title: str) -> str:
    """Return an element, with a tooltip if it has a title."""
    if not title:
        return f"<{name} {attributes}/>"
    return f"<{name} {attributes}><title>{escape_markup(title, quote=False)}</title></{name}>"


def format_coordinate(value: float) -> str:
    """Return a coordinate, to a tenth."""
    return f"{round(value, 1) + 0.0:g}"
