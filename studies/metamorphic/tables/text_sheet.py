"""A table of texts, before it is HTML, Markdown or a terminal's."""

from __future__ import annotations

from dataclasses import dataclass

NOTHING = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSheet:
    """A table of texts; the first `names` columns are words."""

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    note: str = ""
