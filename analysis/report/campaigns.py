"""The section of campaigns that are compared: which settings differ, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.collection import CampaignCollection
from analysis.report import html_tables
from analysis.report.gather import ReportContents
from analysis.report.html import (
    Content,
    render_details,
    render_grid_table,
    render_paragraph,
    render_section,
    render_tag,
)
from analysis.tables.campaigns import compute_campaign_differences
from harness.types.record_names import IRRELEVANT_SETTINGS

MOST_SETTINGS = 60
"""Settings that are listed; all are at the end of the page."""
EXPLAINED = (
    "The folders hold the same attempts, so they are compared and not pooled: the same arm of two"
    " campaigns is two arms. The table has all drives. The differences below it are of pairs of the"
    " same route, with the same way through the town, and seed, with 95 % confidence intervals that"
    " resample routes. Those in driving score and violations belong to the page's one family of"
    " tests; the others are estimated and not tested."
)


def render_campaigns_section(report: ReportContents) -> Content:
    """Return the section, if campaigns are compared."""
    collection = report.collection
    if not collection.labels:
        return ""
    differences = compute_campaign_differences(report.contrasts)
    paired: Content = render_paragraph("No route and seed is in two of them: nothing to pair.")
    if len(differences):
        paired = html_tables.render_differences_table(differences)
    return render_section(
        "campaigns",
        "Campaigns compared",
        render_paragraph(EXPLAINED, class_="quiet"),
        render_setting_differences(collection),
        html_tables.render_estimates_table(report.tables["campaigns"]),
        render_tag("h3", "Paired differences between campaigns"),
        paired,
    )


def render_setting_differences(collection: CampaignCollection) -> Content:
    """Return in which facts and settings the campaigns differ."""
    facts = [dict(list_campaign_facts(campaign.header)) for campaign in collection.campaigns]
    rows = [row for row in make_fact_rows(facts) if len(set(row[1:])) > 1]
    if not rows:
        return render_paragraph(
            "They differ in no setting, version or revision that the folders record."
        )
    table = render_grid_table(["what differs", *collection.labels], rows[:MOST_SETTINGS])
    more = len(rows) - MOST_SETTINGS
    rest = render_paragraph(f"{more} more settings differ.", class_="quiet") if more > 0 else ""
    if len(rows) <= 12:
        return render_tag("div", table, rest)
    return render_details(f"{len(rows)} settings, versions and revisions differ", table, rest)


def make_fact_rows(facts: list[dict[str, str]]) -> Iterator[list[str]]:
    """Yield the values of all campaigns by name."""
    for name in dict.fromkeys(name for some in facts for name in some):
        yield [name, *(some.get(name, html_tables.NOTHING) for some in facts)]


def list_campaign_facts(header: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a campaign's revision, versions and settings by their full names."""
    yield "revision", str(header.get("git") or "unknown")
    yield "simulator", str(header.get("simulator", "unknown"))
    yield "Python", str(header.get("python", "unknown"))
    yield from list_setting_values(header.get("versions"), "version of")
    settings: Mapping[str, Any] = header["settings"]
    for name, part in settings.items():
        if name not in IRRELEVANT_SETTINGS:
            yield from list_setting_values(part, str(name), ".")


def list_setting_values(part: object, name: str, joint: str = " ") -> Iterator[tuple[str, str]]:
    """Yield the values in settings by their full names."""
    if isinstance(part, dict) and part:
        for key, value in part.items():
            yield from list_setting_values(value, f"{name}{joint}{key}", ".")
    elif part is not None:
        yield name, str(part)[:200]
