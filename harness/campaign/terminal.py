"""Where everything is printed."""

from __future__ import annotations

from rich.console import Console

NARROWEST = 112
"""Columns that the table of results needs."""

console = Console()
if not console.is_terminal:
    console = Console(width=max(console.width, NARROWEST))
