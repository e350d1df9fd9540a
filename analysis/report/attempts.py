"""The section with every attempt: a table that sorts and filters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import pandas as pd

from analysis.cases import VIOLATION_TEXTS, format_case_anchor
from analysis.collection import CampaignCollection
from analysis.report.gather import ReportContents
from analysis.report.html import (
    Content,
    Markup,
    format_rest,
    render_paragraph,
    render_section,
    render_tag,
)
from analysis.tables.ground_truth import describe_collection_truth
from harness.types.record_names import PATTERNS

MOST_ATTEMPTS = 1000
"""Rows in the page; `attempts.csv` has all."""
NOTHING = "-"
NUMBERS = {
    "driving score": ("driving_score", 1.0, 1),
    "completion, %": ("completion", 100.0, 0),
    "drive, s": ("duration", 1.0, 1),
    "AP": ("ap", 1.0, 2),
    "AP alone": ("ap_ego_alone", 1.0, 2),
    **{name: (f"{name}_total", 1.0, 0) for name in PATTERNS},
    "messages used": ("messages_used", 1.0, 0),
}
"""Columns with numbers: of which column of the attempts, times what, with how many decimals."""
EXPLAINED = (
    "One row for each drive. A violation links to its pictures or its line above. AP: average"
    " precision of the boxes with messages, and of the ego alone. The six patterns are counts over"
    " the whole drive; ground truth: "
)


def render_attempts_section(report: ReportContents) -> Markup:
    """Return the section."""
    collection = report.collection
    if collection.attempts.empty:
        return render_section(
            "attempts", "All attempts", render_paragraph("No attempt has a result.")
        )
    # a page of thousands of rows would be slow
    shown = collection.attempts.head(MOST_ATTEMPTS)
    more = len(collection.attempts) - len(shown)
    rest = (
        render_paragraph(format_rest(more, "row", "attempts.csv"), class_="quiet") if more else ""
    )
    scrolled = render_tag(
        "div",
        render_attempts_table(collection, shown),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label="All attempts",
    )
    text = render_paragraph(f"{EXPLAINED}{describe_collection_truth(collection)}.", class_="quiet")
    return render_section(
        "attempts",
        "All attempts",
        text,
        render_tag("div", scrolled, rest, class_="wide"),
        printed=False,
    )


def render_attempts_table(collection: CampaignCollection, shown: pd.DataFrame) -> Markup:
    """Return a table of attempts."""
    # columns of words can be filtered
    words = (*collection.factors, "route", "seed")
    filtered = {*words, "violation"}
    named = (*words, "violation", "with")
    head = [
        render_tag(
            "th",
            name,
            scope="col",
            class_="words" if name in named else "",
            data_filter="yes" if name in filtered else "",
        )
        for name in (*named, *NUMBERS)
    ]
    # column by column, which is faster than row by row
    columns = zip(
        *(format_text_column(shown, name) for name in (*words, "violation_with")), strict=True
    )
    links = format_case_links(shown)
    numbers = zip(
        *(format_number_column(shown, *source) for source in NUMBERS.values()), strict=True
    )
    rows = [
        render_attempt_row((*(names[:-1]), link, names[-1] or NOTHING), values, (*named, *NUMBERS))
        for names, link, values in zip(columns, links, numbers, strict=True)
    ]
    body = render_tag("tbody", rows)
    return render_tag(
        "table", render_tag("thead", render_tag("tr", head)), body, class_="cells filtered"
    )


def render_attempt_row(
    names: tuple[Content, ...], values: Iterable[str], heads: tuple[str, ...]
) -> Markup:
    """Return one attempt's row; each cell has its head, for narrow screens."""
    cells: list[Content] = [*names, *values]
    return render_tag(
        "tr",
        [
            render_tag("td", cell, data_label=head, class_="words" if number < len(names) else "")
            for number, (cell, head) in enumerate(zip(cells, heads, strict=True))
        ],
    )


def format_text_column(shown: pd.DataFrame, name: str) -> list[str]:
    """Return a column as text."""
    return list(map(str, shown[name]))


def format_number_column(shown: pd.DataFrame, column: str, scale: float, digits: int) -> list[str]:
    """Return a column of numbers as text."""
    return [
        f"{value * scale:.{digits}f}" if math.isfinite(value) else NOTHING
        for value in shown[column]
    ]


def format_case_links(shown: pd.DataFrame) -> Iterator[Content]:
    """Yield what each drive ended in, linked to where the page shows it."""
    columns = (shown[name] for name in ("source", "case", "violation"))
    for campaign, case, kind in zip(*columns, strict=True):
        text = VIOLATION_TEXTS.get(str(kind), str(kind).replace("_", " "))
        yield (
            render_tag("a", text, href=f"#{format_case_anchor(campaign, case)}") if case else "none"
        )
