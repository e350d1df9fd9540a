"""The report of an offline study: one self-contained HTML file."""

from __future__ import annotations

import json
from collections.abc import Iterable

from analysis.drawing.canvas import Canvas
from analysis.drawing.svg import inline
from analysis.report.html import Content, Markup, grid, paragraph, section, tag
from analysis.report.script import SCRIPT, policy
from analysis.report.style import style
from metamorphic.choosing import guidance, sources_of
from metamorphic.pages.figures import bands, effects, guides
from metamorphic.pages.pictures import boxes_in, picture_of
from metamorphic.sheets import (
    Sheet,
    errors,
    fitness,
    mr1,
    precision,
    relations,
    scenes,
    skipped,
    verdicts,
)
from metamorphic.smallest import Finding, smallest
from metamorphic.summary import Tables

SECTIONS = {
    "study": "What was asked",
    "relations": "Relations",
    "bands": "Bands",
    "alarms": "False alarms",
    "effects": "Effects",
    "errors": "Errors",
    "guidance": "Guidance",
    "smallest": "Smallest findings",
    "skipped": "Not changed",
}
TITLE = "Metamorphic tests of recorded scenes"


def page(tables: Tables) -> str:
    """Return the whole page."""
    checks = list(dict.fromkeys(tables.checks["check"]))
    sections = [
        section("study", SECTIONS["study"], facts(tables)),
        section("relations", SECTIONS["relations"], table(relations(tables)), table(mr1(tables))),
        section("bands", SECTIONS["bands"], figures(bands(tables))),
        section("alarms", SECTIONS["alarms"], table(verdicts(tables)), table(scenes(tables))),
        section("effects", SECTIONS["effects"], table(precision(tables)), figures(effects(tables))),
        section(
            "errors",
            SECTIONS["errors"],
            [table(errors(tables, check)) for check in checks],
            table(fitness(tables)),
        ),
        section(
            "guidance",
            SECTIONS["guidance"],
            table(guidance(tables)),
            figures(guides(tables, "misled")),
        ),
        section(
            "smallest",
            SECTIONS["smallest"],
            [case(finding, tables) for finding in smallest(tables)],
        ),
        section("skipped", SECTIONS["skipped"], table(skipped(tables))),
    ]
    links = [tag("li", tag("a", title, href=f"#{name}")) for name, title in SECTIONS.items()]
    parts = [
        tag("header", tag("h1", TITLE), paragraph(lead(tables), class_="lead")),
        tag("nav", tag("ul", links)),
        tag("main", sections),
        tag("script", Markup(SCRIPT)),
    ]
    return f"<!doctype html>\n{tag('html', head(), tag('body', parts), lang='en')}\n"


def head() -> Markup:
    """Return what a browser must know before the page."""
    metas = [
        {"charset": "utf-8"},
        {"http_equiv": "Content-Security-Policy", "content": policy()},
        {"name": "viewport", "content": "width=device-width, initial-scale=1"},
        {"name": "color-scheme", "content": "light dark"},
    ]
    lines = [tag("meta", **attributes) for attributes in metas]
    return tag("head", lines, tag("title", TITLE), tag("style", Markup(style())))


def lead(tables: Tables) -> str:
    """Return what was asked, in a line."""
    clusters = tables.objects["cluster"].nunique()
    return (
        f"{sources_of(tables)} scenes of {clusters} scenarios, {len(tables.tested)} operators,"
        f" {len(tables.systems)} systems."
    )


def facts(tables: Tables) -> Content:
    """Return what makes the study what it is, and how to read it."""
    header = tables.header
    lines = {
        "Recordings": ", ".join(header["recordings"]),
        "Scenes": f"{sources_of(tables)} of {header['scenes']} chosen; digest of their names"
        f" {header['scenes_sha256'][:16]}",
        "Seed": str(header["seed"]),
        "Far": ", ".join(f"{beyond:g} m" for beyond in header["far"]),
        **{f"Weights of {name}": digest[:16] for name, digest in header["systems"].items()},
    }
    items = [[tag("dt", name), tag("dd", text)] for name, text in lines.items()]
    note = (
        "A relation compares answers and sees no ground truth. Ground truth decides no relation: it"
        " says afterwards which breaches are errors. Scenes of a scenario depend on each other, so"
        " intervals and bands are over scenarios."
    )
    return [tag("dl", items, class_="facts"), paragraph(note)]


def table(sheet: Sheet) -> Markup:
    """Return a table, in a frame that scrolls sideways where it is wide."""
    title, note = tag("h3", sheet.title), paragraph(sheet.note, class_="quiet")
    if not sheet.rows:
        return tag("div", title, paragraph("None.", class_="quiet"))
    rows = [
        [*row[: sheet.names], *(two_lines(cell) for cell in row[sheet.names :])]
        for row in sheet.rows
    ]
    cells = grid(sheet.head, rows, sheet.names)
    framed = tag("div", cells, class_="scroll", tabindex="0") if len(sheet.head) > 6 else cells
    wide = "wide" if len(sheet.head) > 6 else ""
    return tag("div", tag("div", title, note), tag("div", framed, class_=wide))


def two_lines(cell: str) -> Content:
    """Return a cell with what stands in brackets at its end below it, in small."""
    value, opened, rest = cell.partition(" (")
    return [tag("span", value), tag("small", f"({rest}")] if opened else cell


def figures(canvases: Iterable[tuple[str, Canvas]]) -> Markup:
    """Return figures in columns."""
    shown = [figure(title, canvas) for title, canvas in canvases]
    if not shown:
        return paragraph("None: too few scenarios.", class_="quiet")
    return tag("div", shown, class_="figures")


def figure(title: str, canvas: Canvas) -> Markup:
    """Return a figure with its title."""
    return tag("figure", tag("figcaption", tag("b", title)), Markup(inline(canvas)))


def case(finding: Finding, tables: Tables) -> Markup:
    """Return a finding with its picture and the command that shows it."""
    boxes = tables.boxes[tables.boxes["scene"] == finding.scene]
    of = (boxes["system"] == finding.system) & (boxes["operator"] == finding.operator)
    shown = boxes[(boxes["system"] == "") | (of & (boxes["relation"] == finding.relation))]
    values = ", ".join(f"{n} {short(v)}" for n, v in json.loads(finding.values).items())
    text = (
        f"{finding.operator} ({values}): {finding.relation} of {finding.system} is"
        f" {finding.measure:.3f}, the band ends at {finding.threshold:.3f}; ground truth confirms"
        f" {finding.wrong} of {finding.breaches} breaches. Size of the change:"
        f" {finding.size:.2f} of its range."
    )
    says = f"{finding.operator} in {finding.scene}, from above"
    parts = [
        tag("h3", f"{finding.scene}, {finding.system}"),
        paragraph(text),
        tag("div", figure("", picture_of(boxes_in(shown), says=says)), class_="figures"),
        tag("pre", command(finding, tables)),
    ]
    return tag("div", parts, class_="case")


def short(value: float | str) -> str:
    """Return a value of an operator."""
    return value if isinstance(value, str) else f"{value:.3g}"


def command(finding: Finding, tables: Tables) -> str:
    """Return the command that shows a finding."""
    names = " ".join(tables.header["recordings"])
    return (
        f"crucible metamorphic show --scenes {names} --seed {tables.header['seed']}"
        f" --scene {finding.scene} --system {finding.system} --operator {finding.operator}"
        f" --out finding.png"
    )
