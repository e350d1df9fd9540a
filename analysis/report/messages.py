"""The section about messages."""

from __future__ import annotations

from analysis.figures.perception import (
    render_ages_figure,
    render_bytes_figure,
)
from analysis.report.evidence import render_figure, render_figure_group, render_named_table
from analysis.report.gather import ReportContents
from analysis.report.html import (
    Markup,
    render_paragraph,
    render_section,
)


def render_messages_section(report: ReportContents) -> Markup:
    """Return the ages of messages, and how much was sent."""
    if "messages" not in report.tables:
        text = describe_missing_messages(report)
        return render_section("messages", "Messages", render_paragraph(text))
    if not report.tables["messages"].list_rows():
        return render_section("messages", "Messages", render_paragraph("No message was sent."))
    rendered = [
        render_figure(
            render_ages_figure(report.tables["ages"]),
            "Age at delivery",
            "Median, quartiles, 5 to 95 % of delivered messages; n is the number of drives. A"
            " message is given at the first planning step at or after its arrival: the age exceeds"
            " the delay by less than a step",
        ),
        render_figure(
            render_bytes_figure(report.tables["messages"]),
            "Sent",
            "kB/s, with 95 % confidence intervals",
        ),
    ]
    names = ("messages", "ages", "fates", "ages_used", "staleness")
    return render_section(
        "messages",
        "Messages",
        render_figure_group(rendered),
        *(render_named_table(report, n) for n in names),
    )


def describe_missing_messages(report: ReportContents) -> str:
    """Return why there are no tables of messages, and what results say of messages."""
    if report.results_only:
        return "Left out: this report was made with --results-only."
    used = report.collection.attempts["messages_used"].sum()
    count = f" The results count {used:.0f} messages that systems used." if used > 0 else ""
    return (
        "Left out: the campaigns were packed, and packing left out the records of messages."
        f"{count} Ages, bytes and losses are in the records of the original campaigns only."
    )
