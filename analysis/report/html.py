"""HTML from the inside out: whatever is text is escaped, whatever is markup says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from analysis.drawing.svg import escape_markup

VOID = {"meta", "br", "hr"}
SCREEN_ONLY = "screen"
"""Class of folds that paper leaves closed."""
MANY_COLUMNS = 12
"""Columns from which a table may be as wide as the window."""


class Markup(str):
    """Text that is HTML already; what its methods return is text to be escaped (decision 0082)."""

    __slots__ = ()


Content: TypeAlias = "str | Markup | Iterable[Content]"


def render_tag(name: str, /, *content: Content, **attributes: str) -> Markup:
    """Return an element; `class_` and `data_label` are written `class` and `data-label`."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape_markup(value)}"'
        for key, value in attributes.items()
        if value
    )
    if name in VOID:
        return Markup(f"<{name}{attribute_text}>")
    return Markup(f"<{name}{attribute_text}>{''.join(map(to_markup, content))}</{name}>")


def to_markup(content: Content) -> Markup:
    """Return any content as HTML."""
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return Markup(escape_markup(content, quote=False))
    return Markup("".join(map(to_markup, content)))


def render_paragraph(*content: Content, class_: str = "") -> Markup:
    """Return a paragraph."""
    return render_tag("p", *content, class_=class_)


def format_counted_noun(count: int, what: str) -> str:
    """Return a number of things."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def format_rest(count: int, what: str, file: str) -> str:
    """Return how many things more a file has than the page: 2 more rows are in attempts.csv."""
    verb = "is" if count == 1 else "are"
    return f"{format_counted_noun(count, f'more {what}')} {verb} in {file}."


def format_signed_difference(value: float, digits: int = 1) -> str:
    """Return a difference, by default to a tenth, zero without a sign."""
    return f"{value:+.{digits}f}" if round(value, digits) else f"{0:.{digits}f}"


def render_bullets(items: Iterable[Content]) -> Markup:
    """Return a list."""
    return render_tag("ul", [render_tag("li", item) for item in items])


def render_details(summary: str, *content: Content, printed: bool = True) -> Markup:
    """Return a fold, which opens when asked for, and on paper.

    Args:
        summary: is always seen.
        content: inside the fold.
        printed: whether paper has the content; long listings are for the screen and in files.
    """
    class_ = "" if printed else SCREEN_ONLY
    return render_tag("details", render_tag("summary", summary), *content, class_=class_)


def render_section(name: str, title: str, *content: Content, printed: bool = True) -> Markup:
    """Return a section that can be linked to: a fold below its heading.

    Args:
        name: of the link.
        title: the heading.
        content: inside the fold.
        printed: whether paper has the content.
    """
    heading = render_tag("summary", render_tag("h2", title))
    class_ = "part" if printed else f"part {SCREEN_ONLY}"
    return render_tag("section", render_tag("details", heading, *content, class_=class_), id=name)


def render_open_section(name: str, title: str, *content: Content) -> Markup:
    """Return a section that is seen as a whole."""
    return render_tag("section", render_tag("h2", title), *content, id=name)


def render_grid_table(
    head: Iterable[str], rows: Iterable[Iterable[Content]], names: int = 1
) -> Markup:
    """Return a table; on narrow screens each row is a card, so that cells carry their heads.

    The first `names` columns are words, the others numbers.
    """
    heads = list(head)
    body = [
        render_tag(
            "tr",
            [
                render_tag(
                    "th" if column < names else "td",
                    cell,
                    data_label=heads[column],
                    scope="row" if column < names else "",
                )
                for column, cell in enumerate(row)
            ],
        )
        for row in rows
    ]
    top = [
        render_tag("th", head_cell, scope="col", class_="words" if column < names else "")
        for column, head_cell in enumerate(heads)
    ]
    return render_tag(
        "table",
        render_tag("thead", render_tag("tr", top)),
        render_tag("tbody", body),
        class_="cells many" if len(heads) >= MANY_COLUMNS else "cells",
    )
