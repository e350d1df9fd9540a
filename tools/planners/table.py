"""Tables of results: for the terminal, and for the page on other programs."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence
from pathlib import Path

from harness.carlite.errors import UserError
from tools.planners.results import RouteResult

PUBLISHED_SCORE = 89.2
PUBLISHED_COMPLETION = 99.8
PUBLISHED = (
    f"published: {PUBLISHED_SCORE} and {PUBLISHED_COMPLETION} % of the route, mean of all 220 "
    "routes, three seeds (README of carla_garage, branch leaderboard_2); no file of single routes"
)
BEGIN, END = "<!-- planners: written by `make planners` -->", "<!-- /planners -->"
HEADS = (
    "route", "town", "scenario", "route completed", "score", "score with minimum speed",
    "infractions", "outcome", "simulated s per processor s",
)  # fmt: skip
WHOLE = 99.995
"""A score that has no penalty but those of minimum speed; the record has two decimals."""
COMPLETED = frozenset({"Perfect", "Completed"})


def make_row(result: RouteResult) -> tuple[str, ...]:
    """Return the cells of a route."""
    infractions = ", ".join(f"{count} {name}" for name, count in result.infractions) or "none"
    rate = result.simulated_s / result.processor_s if result.simulated_s else None
    return (
        result.route,
        result.town,
        ", ".join(result.scenarios),
        _format_number(result.completion),
        _format_number(result.score_without_speed),
        _format_number(result.score),
        infractions if result.completion is not None else "",
        result.outcome,
        _format_number(rate, 2),
    )


def summarize_results(results: Sequence[RouteResult]) -> str:
    """Return means over the routes that the leaderboard has judged."""
    judged = [
        result for result in results
        if result.score_without_speed is not None and result.outcome != "time limit"
    ]  # fmt: skip
    if not judged:
        return f"0 of {len(results)} routes judged; {PUBLISHED}"
    score = statistics.fmean(result.score_without_speed or 0.0 for result in judged)
    completion = statistics.fmean(result.completion or 0.0 for result in judged)
    full = sum(result.outcome in COMPLETED for result in judged)
    return (
        f"{len(judged)} of {len(results)} routes judged, {full} driven to the end: mean score "
        f"{score:.1f} without minimum-speed penalties, {completion:.1f} % of the route; {PUBLISHED}"
    )


def format_result_table(results: Sequence[RouteResult]) -> str:
    """Return a table for the terminal."""
    rows = [HEADS, *map(make_row, results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, summarize_results(results)])


def format_page_section(results: Sequence[RouteResult], causes: dict[str, str]) -> str:
    """Return the part of the page between its two marks.

    Args:
        results: in the order of the file of routes.
        causes: what is at fault, by route; "not investigated" for others that fall short.
    """
    heads = ("program", "revision", *HEADS, "cause")
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for result in results:
        short = result.score_without_speed is None or result.score_without_speed < WHOLE
        cause = causes.get(result.route, "not investigated" if short else "")
        cells = (result.program, f"`{result.revision}`", *make_row(result), cause)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    summary = summarize_results(results)
    return "\n".join([BEGIN, "", *lines, "", f"{summary[0].upper()}{summary[1:]}.", "", END])


def write_page_section(page: Path, section: str) -> None:
    """Replace the part of a page between the two marks."""
    try:
        text = page.read_text()
    except OSError as error:
        raise UserError(f"--page: {page}: {error.strerror}") from None
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise UserError(f"--page: {page}: the marks {BEGIN} and {END} must be there once")
    head, tail = text[: text.index(BEGIN)], text[text.index(END) + len(END) :]
    page.write_text(head + section + tail)


def order_results(results: dict[str, RouteResult], route_ids: Collection[str]) -> list[RouteResult]:
    """Return the results of these routes, in their order."""
    return [results[id_] for id_ in route_ids if id_ in results]


def _format_number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"
