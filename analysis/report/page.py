"""The page: one self-contained HTML file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
import yaml

from analysis.arms import factors_of
from analysis.collection import KEY, WARNING, settings_of
from analysis.report import evidence, html_tables
from analysis.report.attempts import attempts
from analysis.report.campaigns import campaigns
from analysis.report.curves import curves
from analysis.report.findings import findings_of
from analysis.report.gather import Report
from analysis.report.html import Content, Markup, bullets, folded, paragraph, plural, section, tag
from analysis.report.script import SCRIPT, policy
from analysis.report.style import style
from analysis.report.surrogates import surrogates
from analysis.report.violations import attribution, violations
from harness.records.reading import Campaign

MOST_MISSING = 300
"""Attempts without result in the page; `missing.csv` has all."""
SECTIONS = {
    "overview": "Overview",
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


def page(report: Report) -> str:
    """Return the whole page."""
    names = report.collection.labels or map(name_of, report.collection.campaigns)
    title = f"Campaign report: {', '.join(names)}"
    compared = campaigns(report)
    sections = [
        findings(report),
        compared,
        run(report),
        evidence.driving(report),
        evidence.differences(report),
        surrogates(report),
        curves(report),
        evidence.seeds(report),
        evidence.errors(report),
        evidence.odds(report),
        evidence.messages(report),
        violations(report),
        attribution(report),
        attempts(report),
        failures(report),
        settings(report),
    ]
    first = evidence.overview(report)
    absent = [name for name, part in (("overview", first), ("campaigns", compared)) if not part]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy()),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(style())),
    )
    top = tag("header", tag("h1", title), paragraph(summary_line(report), class_="lead"))
    body = tag(
        "body",
        top,
        contents([place for place in SECTIONS if place not in absent]),
        tag("main", warnings(report), first, notes(report), sections),
        ending(),
        tag("script", Markup(SCRIPT)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def name_of(campaign: Campaign) -> str:
    """Return the name of a campaign's folder."""
    return campaign.folder.resolve().name


def summary_line(report: Report) -> str:
    """Return what was run, in a line."""
    attempts, missing = report.collection.attempts, report.collection.missing
    if attempts.empty:
        return f"No attempt has a result; {len(missing)} were planned."
    counts = [
        f"{len(attempts)} drives",
        *(plural(attempts[name].nunique(), name) for name in report.collection.factors),
        plural(attempts["cluster"].nunique(), "route"),
        plural(attempts["seed"].nunique(), "seed"),
    ]
    return ", ".join(counts) + f"; {int(attempts['violated'].sum())} ended in a violation."


def contents(places: Sequence[str]) -> Markup:
    """Return links to the sections."""
    items = [tag("li", tag("a", SECTIONS[place], href=f"#{place}")) for place in places]
    return tag("nav", tag("ul", items))


def warnings(report: Report) -> Content:
    """Return the warnings."""
    known = [note for note in report.collection.notes if note.startswith(WARNING)]
    known += [f"{WARNING} broken: {line}" for line in report.broken_twins]
    return listed(known) if known else ""


def notes(report: Report) -> Content:
    """Return the notes."""
    of_collection = report.collection.notes
    known = [*(note for note in of_collection if not note.startswith(WARNING)), *report.notes]
    if report.results_only:
        known.append("made with --results-only: without frames, boxes and messages")
    return listed(known) if known else ""


def listed(known: list[str]) -> Markup:
    """Return notes as a list of sentences."""
    return tag(
        "div",
        bullets(f"{capitalised(note).rstrip('.')}." for note in known),
        class_="notes",
    )


def capitalised(note: str) -> str:
    """Return a note as a sentence; a name that it starts with stays as it is."""
    first = note.partition(" ")[0]
    named = "/" in first or (first.endswith(":") and first != WARNING)
    return note if named else f"{note[:1].upper()}{note[1:]}"


def findings(report: Report) -> Markup:
    """Return the key findings."""
    if report.collection.attempts.empty:
        return section("findings", "Key findings", paragraph("None: no attempt has a result."))
    declared = report.declaration
    key_findings = findings_of(declared, report.regressions)
    text = paragraph(declared.describe(), class_="quiet")
    return section("findings", "Key findings", text, key_findings)


def run(report: Report) -> Markup:
    """Return what was run: what all campaigns have in common, then campaign by campaign."""
    first, *others = [facts(campaign, report) for campaign in report.collection.campaigns]
    shared = {
        name: text
        for name, text in first.items()
        if others and all(other.get(name) == text for other in others)
    }
    apart = [
        {name: text for name, text in known.items() if name not in shared}
        for known in (first, *others)
    ]
    return section("run", "What was run", [named_facts(part) for part in (*apart, shared) if part])


def named_facts(known: Mapping[str, str]) -> Markup:
    """Return facts with their names."""
    items = [[tag("dt", name), tag("dd", text)] for name, text in known.items()]
    return tag("dl", items, class_="facts")


def facts(campaign: Campaign, report: Report) -> dict[str, str]:
    """Return the facts of one campaign by name."""
    number = report.collection.campaigns.index(campaign)
    rows = report.collection.attempts[report.collection.attempts["source"] == number]
    header = campaign.header
    simulators = ", ".join(sorted(set(rows["simulator"]))) or str(
        header.get("simulator", "unknown")
    )
    versions = {"Python": header.get("python", "unknown"), **mapping(header.get("versions"))}
    return {
        "Folder": str(campaign.folder),
        **{name.capitalize(): listing(rows, name) for name in factors_of(report.collection.arms)},
        "Routes": f"{rows['route'].nunique()}, of which {rows['cluster'].nunique()} geometries",
        "Seeds": ", ".join(map(str, settings_of(campaign)["seeds"])),
        "Simulator": simulators,
        "Study": str(mapping(settings_of(campaign).get("study")).get("name", "unnamed")),
        "Settings' digest": str(header.get("digest", "unknown")),
        "Revision": str(header.get("git") or "unknown"),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }


def mapping(part: object) -> dict[str, object]:
    """Return what a part of a header says by name; nothing where it is something else."""
    return part if isinstance(part, dict) else {}


def listing(attempts: pd.DataFrame, column: str) -> str:
    """Return what a column holds and how many attempts each has."""
    counts = Counter(map(str, attempts[column]))
    return ", ".join(f"{name} ({count})" for name, count in sorted(counts.items())) or "none"


def failures(report: Report) -> Markup:
    """Return failed tries and attempts without a result."""
    return section("failures", "Failures and missing attempts", list(failure_parts(report)))


def failure_parts(report: Report) -> Iterator[Content]:
    """Yield what the ledger knows of failures, then what is missing."""
    if report.failures.empty:
        yield paragraph("No failed try.")
    else:
        yield html_tables.text_table(report.failures)
    left_out = report.collection.left_out
    if len(left_out):
        shown = left_out.head(MOST_MISSING)[[*KEY, "left out as", "reason"]]
        rest = f"{len(left_out) - len(shown)} more are in broken.csv."
        others = paragraph(rest, class_="quiet") if len(left_out) > len(shown) else ""
        yield paragraph(
            f"{plural(len(left_out), 'attempt')} with a broken record, or paired with one, are in"
            " no table and no figure."
        )
        yield folded("Attempts left out", html_tables.text_table(shown, 3), others)
    missing = report.collection.missing
    if missing.empty:
        yield paragraph("All planned attempts have a result.")
        return
    yield paragraph(
        f"{len(missing)} planned attempts have no result. They are in no table and no figure;"
        " they are not counted as zero."
    )
    shown = missing.head(MOST_MISSING)[[*KEY, "ending", "message"]].assign(
        message=[str(message)[:200] for message in missing.head(MOST_MISSING)["message"]]
    )
    more = len(missing) - len(shown)
    rest = paragraph(f"{more} more are in missing.csv.", class_="quiet") if more else ""
    yield folded("Attempts without result", html_tables.text_table(shown, 3), rest)


def settings(report: Report) -> Markup:
    """Return all settings, as the campaign keeps them."""
    return section(
        "settings",
        "Settings",
        [
            folded(
                f"All of {name_of(campaign)}",
                tag("pre", yaml.safe_dump(campaign.header, sort_keys=False, allow_unicode=True)),
            )
            for campaign in report.collection.campaigns
        ],
    )


def ending() -> Markup:
    """Return the footer."""
    return tag(
        "footer",
        "Every number here is in a table in the folder of this file, with its interval and its n.",
    )
