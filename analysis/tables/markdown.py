"""Tables as Markdown, for pages that show what a command gave."""

from __future__ import annotations

import pandas as pd


def format_markdown_table(frame: pd.DataFrame) -> str:
    """Return a table of a page; several columns may have one name."""
    rows = [list(frame.columns), ["---"] * len(frame.columns), *frame.astype(str).values.tolist()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
