"""The page: one self-contained HTML file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
import yaml

from analysis.arms import collect_factors
from analysis.campaign_notes import WARNING_PREFIX
from analysis.collection import (
    ATTEMPT_KEY,
    CampaignCollection,
    get_campaign_settings,
)
from analysis.report import differences, evidence, html_tables
from analysis.report.attempts import render_attempts_section
from analysis.report.campaigns import render_campaigns_section
from analysis.report.curves import render_curves_section
from analysis.report.findings import render_key_findings
from analysis.report.gather import ReportContents
from analysis.report.html import (
    Content,
    Markup,
    format_counted_noun,
    format_rest,
    render_bullets,
    render_details,
    render_grid_table,
    render_paragraph,
    render_section,
    render_tag,
)
from analysis.report.messages import render_messages_section
from analysis.report.script import SCRIPT, format_security_policy
from analysis.report.style import format_style_sheet
from analysis.report.summary import render_summary_section
from analysis.report.surrogates import render_surrogates_section
from analysis.report.violations import render_attribution_section, render_violations_section
from harness.records.reading import CampaignRecords

MOST_NAMED = 3
"""Campaigns that a title has room for."""
MOST_MISSING = 300
"""Attempts without result in the page; `missing.csv` has all."""
BROKEN_NOTE = " broken:"
"""Start of a warning about one broken record."""
MOST_BROKEN = 3
"""Warnings about broken records that are seen at once; more are in a fold."""
SECTIONS = {
    "overview": "Asked and found",
    "findings": "Findings",
    "campaigns": "Campaigns",
    "run": "What was run",
    "driving": "Driving",
    "differences": "Differences",
    "surrogates": "Time and near misses",
    "curves": "Curves",
    "seeds": "Seeds",
    "errors": "Errors",
    "odds": "Errors and violations",
    "messages": "Messages",
    "violations": "Violations",
    "attribution": "Attribution",
    "attempts": "All attempts",
    "failures": "Failures",
    "settings": "Settings",
}


def format_report_title(collection: CampaignCollection) -> str:
    """Return what the page is about: the names of a few campaigns, or how many there are."""
    names = list(collection.labels or map(get_campaign_name, collection.campaigns))
    if len(names) <= MOST_NAMED:
        return f"Campaign report: {', '.join(names)}"
    return f"Campaign report: {len(names)} campaigns, {names[0]} to {names[-1]}"


def render_report_page(report: ReportContents) -> str:
    """Return the whole page."""
    title = format_report_title(report.collection)
    # sections in the order of the contents
    compared = render_campaigns_section(report)
    sections = [
        render_findings_section(report),
        compared,
        render_run_section(report),
        evidence.render_driving_section(report),
        differences.render_differences_section(report),
        render_surrogates_section(report),
        render_curves_section(report),
        evidence.render_seeds_section(report),
        evidence.render_errors_section(report),
        evidence.render_odds_section(report),
        render_messages_section(report),
        render_violations_section(report),
        render_attribution_section(report),
        render_attempts_section(report),
        render_failures_section(report),
        render_settings_section(report),
    ]
    # sections without anything to show are not in the contents
    first = render_summary_section(report)
    absent = [name for name, part in (("overview", first), ("campaigns", compared)) if not part]
    # the page loads nothing from elsewhere
    head = render_tag(
        "head",
        render_tag("meta", charset="utf-8"),
        render_tag("meta", http_equiv="Content-Security-Policy", content=format_security_policy()),
        render_tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        render_tag("meta", name="color-scheme", content="light dark"),
        render_tag("title", title),
        render_tag("style", Markup(format_style_sheet())),
    )
    top = render_tag(
        "header",
        render_tag("h1", title),
        render_paragraph(format_summary_line(report), class_="lead"),
    )
    body = render_tag(
        "body",
        top,
        render_contents([place for place in SECTIONS if place not in absent]),
        render_tag("main", render_warnings(report), first, render_notes(report), sections),
        render_footer(),
        render_tag("script", Markup(SCRIPT)),
    )
    return f"<!doctype html>\n{render_tag('html', head, body, lang='en')}\n"


def get_campaign_name(campaign: CampaignRecords) -> str:
    """Return the name of a campaign's folder."""
    return campaign.folder.resolve().name


def format_summary_line(report: ReportContents) -> str:
    """Return what was run, in a line."""
    attempts, missing = report.collection.attempts, report.collection.missing
    if attempts.empty:
        return f"No attempt has a result; {len(missing)} were planned."
    counts = [
        format_counted_noun(len(attempts), "drive"),
        *(
            format_factor_count(attempts[name].nunique(), name)
            for name in report.collection.factors
        ),
        format_counted_noun(attempts["cluster"].nunique(), "route"),
        format_counted_noun(attempts["seed"].nunique(), "seed"),
    ]
    return ", ".join(counts) + f"; {int(attempts['violated'].sum())} ended in a violation."


def format_factor_count(count: int, factor: str) -> str:
    """Return how many values a factor has: 2 systems, 2 settings of brakes."""
    name = factor.replace("_", " ")
    if name.endswith("s"):
        return f"{format_counted_noun(count, 'setting')} of {name}"
    return format_counted_noun(count, name)


def render_contents(places: Sequence[str]) -> Markup:
    """Return links to the sections."""
    items = [
        render_tag("li", render_tag("a", SECTIONS[place], href=f"#{place}")) for place in places
    ]
    return render_tag("nav", render_tag("ul", items))


def render_warnings(report: ReportContents) -> Content:
    """Return the warnings."""
    known = [note for note in report.collection.notes if note.startswith(WARNING_PREFIX)]
    known += [f"{WARNING_PREFIX} broken: {line}" for line in report.broken_twins]
    return render_note_list(known) if known else ""


def render_notes(report: ReportContents) -> Content:
    """Return the notes."""
    of_collection = report.collection.notes
    known = [
        *(note for note in of_collection if not note.startswith(WARNING_PREFIX)),
        *report.notes,
    ]
    if report.results_only:
        known.append("made with --results-only: without frames, boxes and messages")
    return render_note_list(known) if known else ""


def render_note_list(known: list[str]) -> Markup:
    """Return notes as a list of sentences: one line for each kind, broken records in a fold."""
    broken = [note for note in known if note.removeprefix(WARNING_PREFIX).startswith(BROKEN_NOTE)]
    others = [note for note in known if note not in broken]
    if len(broken) <= MOST_BROKEN:
        return render_tag("div", render_bullets(map(format_note, known)), class_="notes")
    fold = render_details(f"{len(broken)} broken records", render_bullets(map(format_note, broken)))
    return render_tag("div", render_bullets(map(format_note, others)), fold, class_="notes")


def format_note(note: str) -> str:
    """Return a note as a sentence with a full stop."""
    return f"{capitalise_note(note).rstrip('.')}."


def capitalise_note(note: str) -> str:
    """Return a note as a sentence; a name that it starts with stays as it is."""
    first = note.partition(" ")[0]
    named = "/" in first or (first.endswith(":") and first != WARNING_PREFIX)
    return note if named else f"{note[:1].upper()}{note[1:]}"


def render_findings_section(report: ReportContents) -> Markup:
    """Return the key findings."""
    if report.collection.attempts.empty:
        return render_section(
            "findings", "Key findings", render_paragraph("None: no attempt has a result.")
        )
    declared = report.declaration
    key_findings = render_key_findings(declared, report.regressions)
    text = render_paragraph(declared.describe_tests(), class_="quiet")
    return render_section("findings", "Key findings", text, key_findings)


def render_run_section(report: ReportContents) -> Markup:
    """Return what was run: what all campaigns have in common, then a row for each campaign."""
    campaigns = [
        collect_campaign_facts(campaign, report) for campaign in report.collection.campaigns
    ]
    if len(campaigns) == 1:
        return render_section("run", "What was run", render_facts(campaigns[0]))
    first = campaigns[0]
    shared = {
        name: text
        for name, text in first.items()
        if all(other.get(name) == text for other in campaigns)
    }
    apart = [name for name in first if name not in shared]
    rows = [[known[name] for name in apart] for known in campaigns]
    table = render_details(
        f"{len(campaigns)} folders, and in what they differ", render_grid_table(apart, rows)
    )
    return render_section("run", "What was run", render_facts(shared) if shared else "", table)


def render_facts(known: Mapping[str, str]) -> Markup:
    """Return facts with their names."""
    items = [[render_tag("dt", name), render_tag("dd", text)] for name, text in known.items()]
    return render_tag("dl", items, class_="facts")


def collect_campaign_facts(campaign: CampaignRecords, report: ReportContents) -> dict[str, str]:
    """Return the facts of one campaign by name."""
    number = report.collection.campaigns.index(campaign)
    rows = report.collection.attempts[report.collection.attempts["source"] == number]
    header = campaign.header
    simulators = ", ".join(sorted(set(rows["simulator"]))) or str(
        header.get("simulator", "unknown")
    )
    versions = {"Python": header.get("python", "unknown"), **as_mapping(header.get("versions"))}
    return {
        "Folder": str(campaign.folder),
        **{
            name.capitalize(): format_value_counts(rows, name)
            for name in collect_factors(report.collection.arms)
        },
        "Routes": format_route_count(rows["route"].nunique(), rows["cluster"].nunique()),
        "Seeds": ", ".join(map(str, get_campaign_settings(campaign)["seeds"])),
        "Simulator": simulators,
        "Study": str(
            as_mapping(get_campaign_settings(campaign).get("study")).get("name", "unnamed")
        ),
        "Settings' digest": str(header.get("digest", "unknown")),
        "Revision": str(header.get("git") or "unknown"),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }


def as_mapping(part: object) -> dict[str, object]:
    """Return what a part of a header says by name; nothing where it is something else."""
    return part if isinstance(part, dict) else {}


def format_route_count(routes: int, geometries: int) -> str:
    """Return how many routes were driven, and how many geometries if several routes share one."""
    if routes == geometries:
        return str(routes)
    return f"{routes} on {geometries} {'geometry' if geometries == 1 else 'geometries'}"


def format_value_counts(attempts: pd.DataFrame, column: str) -> str:
    """Return what a column holds and how many attempts each has."""
    counts = Counter(map(str, attempts[column]))
    return ", ".join(f"{name} ({count})" for name, count in sorted(counts.items())) or "none"


def render_failures_section(report: ReportContents) -> Markup:
    """Return failed tries and attempts without a result."""
    return render_section(
        "failures", "Failures and missing attempts", list(render_failure_parts(report))
    )


def render_failure_parts(report: ReportContents) -> Iterator[Content]:
    """Yield what the ledger knows of failures, then what is missing."""
    if report.failures.empty:
        yield render_paragraph("No failed try.")
    else:
        yield html_tables.render_text_table(report.failures)
    # broken records
    left_out = report.collection.left_out
    if len(left_out):
        shown = left_out.head(MOST_MISSING)[[*ATTEMPT_KEY, "left out as", "reason"]]
        rest = format_rest(len(left_out) - len(shown), "attempt", "broken.csv")
        others = render_paragraph(rest, class_="quiet") if len(left_out) > len(shown) else ""
        yield render_paragraph(
            f"{format_counted_noun(len(left_out), 'attempt')} with a broken record, or paired"
            " with one, are in"
            " no table and no figure."
        )
        yield render_details("Attempts left out", html_tables.render_text_table(shown, 3), others)
    # attempts without a result
    missing = report.collection.missing
    if missing.empty:
        yield render_paragraph("All planned attempts have a result.")
        return
    yield render_paragraph(
        f"{format_counted_noun(len(missing), 'planned attempt')} without a result: in no table and"
        " no figure, and not counted as zero."
    )
    shown = missing.head(MOST_MISSING)[[*ATTEMPT_KEY, "ending", "message"]].assign(
        message=[str(message)[:200] for message in missing.head(MOST_MISSING)["message"]]
    )
    more = len(missing) - len(shown)
    more_missing = render_paragraph(format_rest(more, "attempt", "missing.csv"), class_="quiet")
    rest = more_missing if more else ""
    yield render_details("Attempts without result", html_tables.render_text_table(shown, 3), rest)


def render_settings_section(report: ReportContents) -> Markup:
    """Return all settings, as the campaign keeps them."""
    return render_section(
        "settings",
        "Settings",
        [
            render_details(
                f"All of {get_campaign_name(campaign)}",
                render_tag(
                    "pre", yaml.safe_dump(campaign.header, sort_keys=False, allow_unicode=True)
                ),
            )
            for campaign in report.collection.campaigns
        ],
        printed=False,
    )


def render_footer() -> Markup:
    """Return the footer."""
    return render_tag(
        "footer",
        "Every number here is in a table in the folder of this file, with its interval and its n.",
    )
