"""The report of an offline study: one self-contained HTML file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from analysis.drawing.canvas import Canvas
from analysis.drawing.svg import render_inline_svg
from analysis.report.html import (
    Content,
    Markup,
    render_grid_table,
    render_paragraph,
    render_section,
    render_tag,
)
from analysis.report.script import SCRIPT, format_security_policy
from analysis.report.style import format_style_sheet
from harness.common.progress_bar import track_items
from studies.metamorphic.pages.figures import (
    render_effect_curves,
    render_guide_figures,
    render_relation_bands,
)
from studies.metamorphic.pages.pictures import read_plan_boxes, render_plan_picture
from studies.metamorphic.tables.choosing import build_guidance_sheets, count_source_scenes
from studies.metamorphic.tables.realism import build_realism_sheets
from studies.metamorphic.tables.road_sheet import build_road_sheet, has_road_measures
from studies.metamorphic.tables.sheets import (
    build_errors_sheet,
    build_fitness_sheet,
    build_mr1_sheet,
    build_precision_sheet,
    build_relations_sheet,
    build_scenes_sheet,
    build_skipped_sheet,
    build_verdicts_sheet,
)
from studies.metamorphic.tables.smallest import RelationFinding, select_smallest_findings
from studies.metamorphic.tables.summary import StudyTables
from studies.metamorphic.tables.text_sheet import TextSheet

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


def render_study_page(tables: StudyTables) -> str:
    """Return the whole page; a bar shows how many of its sections are made."""
    sections = list(track_items(iterate_sections(tables), "sections", total=len(SECTIONS)))
    # contents
    links = [
        render_tag("li", render_tag("a", title, href=f"#{name}"))
        for name, title in SECTIONS.items()
    ]
    parts = [
        render_tag(
            "header",
            render_tag("h1", TITLE),
            render_paragraph(format_study_lead(tables), class_="lead"),
        ),
        render_tag("nav", render_tag("ul", links)),
        render_tag("main", sections),
        render_tag("script", Markup(SCRIPT)),
    ]
    return (
        "<!doctype"
        f" html>\n{render_tag('html', render_page_head(), render_tag('body', parts), lang='en')}\n"
    )


def iterate_sections(tables: StudyTables) -> Iterator[Markup]:
    """Yield the sections in the order of the contents; some take seconds."""
    checks = list(dict.fromkeys(tables.checks["check"]))
    yield render_section("study", SECTIONS["study"], render_study_facts(tables))
    yield render_section(
        "relations",
        SECTIONS["relations"],
        render_sheet_table(build_relations_sheet(tables)),
        *map(render_sheet_table, build_mr1_sheets(tables)),
    )
    yield render_section(
        "bands", SECTIONS["bands"], render_study_figures(render_relation_bands(tables))
    )
    yield render_section(
        "alarms",
        SECTIONS["alarms"],
        render_sheet_table(build_verdicts_sheet(tables)),
        render_sheet_table(build_scenes_sheet(tables)),
    )
    yield render_section(
        "effects",
        SECTIONS["effects"],
        render_sheet_table(build_precision_sheet(tables)),
        render_study_figures(render_effect_curves(tables)),
    )
    yield render_section(
        "errors",
        SECTIONS["errors"],
        [render_sheet_table(build_errors_sheet(tables, check)) for check in checks],
        render_sheet_table(build_fitness_sheet(tables)),
        [render_sheet_table(sheet) for sheet in build_realism_sheets(tables)],
    )
    yield render_section(
        "guidance",
        SECTIONS["guidance"],
        [render_sheet_table(sheet) for sheet in build_guidance_sheets(tables)],
        render_study_figures(render_guide_figures(tables, "misled")),
    )
    yield render_section(
        "smallest",
        SECTIONS["smallest"],
        [render_finding_case(finding, tables) for finding in select_smallest_findings(tables)],
    )
    yield render_section(
        "skipped", SECTIONS["skipped"], render_sheet_table(build_skipped_sheet(tables))
    )


def render_page_head() -> Markup:
    """Return what a browser must know before the page."""
    metas = [
        {"charset": "utf-8"},
        {"http_equiv": "Content-Security-Policy", "content": format_security_policy()},
        {"name": "viewport", "content": "width=device-width, initial-scale=1"},
        {"name": "color-scheme", "content": "light dark"},
    ]
    lines = [render_tag("meta", **attributes) for attributes in metas]
    return render_tag(
        "head", lines, render_tag("title", TITLE), render_tag("style", Markup(format_style_sheet()))
    )


def format_study_lead(tables: StudyTables) -> str:
    """Return what was asked, in a line."""
    clusters = tables.objects["cluster"].nunique()
    return (
        f"{count_source_scenes(tables)} scenes of {clusters} scenarios, {len(tables.tested)}"
        " operators,"
        f" {len(tables.systems)} systems."
    )


def render_study_facts(tables: StudyTables) -> Content:
    """Return what makes the study what it is, and how to read it."""
    header = tables.header
    lines = {
        "Recordings": ", ".join(header["recordings"]),
        "Scenes": f"{count_source_scenes(tables)} of {header['scenes']} chosen; digest of their"
        " names"
        f" {header['scenes_sha256'][:16]}",
        "Seed": str(header["seed"]),
        "Far": ", ".join(f"{beyond:g} m" for beyond in header["far"]),
        **{f"Weights of {name}": digest[:16] for name, digest in header["systems"].items()},
    }
    items = [[render_tag("dt", name), render_tag("dd", text)] for name, text in lines.items()]
    note = (
        "A relation compares answers and sees no ground truth. Ground truth decides no relation: it"
        " says afterwards which breaches are errors. Scenes of a scenario depend on each other, so"
        " intervals and bands are over scenarios."
    )
    return [render_tag("dl", items, class_="facts"), render_paragraph(note)]


def build_mr1_sheets(tables: StudyTables) -> list[TextSheet]:
    """Return violations of MR1 by points off the road, if there were any, and in the far ring."""
    road = [build_road_sheet(tables)] if has_road_measures(tables) else []
    return [*road, build_mr1_sheet(tables)]


def render_sheet_table(sheet: TextSheet) -> Markup:
    """Return a table, in a frame that scrolls sideways where it is wide."""
    title, note = render_tag("h3", sheet.title), render_paragraph(sheet.note, class_="quiet")
    if not sheet.rows:
        return render_tag("div", title, render_paragraph("None.", class_="quiet"))
    rows = [
        [*row[: sheet.names], *(render_two_line_cell(cell) for cell in row[sheet.names :])]
        for row in sheet.rows
    ]
    cells = render_grid_table(sheet.head, rows, sheet.names)
    framed = (
        render_tag("div", cells, class_="scroll", tabindex="0") if len(sheet.head) > 6 else cells
    )
    wide = "wide" if len(sheet.head) > 6 else ""
    return render_tag("div", render_tag("div", title, note), render_tag("div", framed, class_=wide))


def render_two_line_cell(cell: str) -> Content:
    """Return a cell with what stands in brackets at its end below it, in small."""
    value, opened, rest = cell.partition(" (")
    return [render_tag("span", value), render_tag("small", f"({rest}")] if opened else cell


def render_study_figures(canvases: Iterable[tuple[str, Canvas]]) -> Markup:
    """Return figures in columns."""
    shown = [render_study_figure(title, canvas) for title, canvas in canvases]
    if not shown:
        return render_paragraph("None: too few scenarios.", class_="quiet")
    return render_tag("div", shown, class_="figures")


def render_study_figure(title: str, canvas: Canvas) -> Markup:
    """Return a figure with its title."""
    return render_tag(
        "figure",
        render_tag("figcaption", render_tag("b", title)),
        Markup(render_inline_svg(canvas)),
    )


def render_finding_case(finding: RelationFinding, tables: StudyTables) -> Markup:
    """Return a finding with its picture and the command that shows it."""
    # boxes of the scene, and those of this answer
    boxes = tables.boxes[tables.boxes["scene"] == finding.scene]
    of = (boxes["system"] == finding.system) & (boxes["operator"] == finding.operator)
    shown = boxes[(boxes["system"] == "") | (of & (boxes["relation"] == finding.relation))]
    values = ", ".join(
        f"{n} {format_operator_value(v)}" for n, v in json.loads(finding.values).items()
    )
    text = (
        f"{finding.operator} ({values}): {finding.relation} of {finding.system} is"
        f" {finding.measure:.3f}, the band ends at {finding.threshold:.3f}; ground truth confirms"
        f" {finding.wrong} of {finding.breaches} breaches. Size of the change:"
        f" {finding.size:.2f} of its range."
    )
    says = f"{finding.operator} in {finding.scene}, from above"
    parts = [
        render_tag("h3", f"{finding.scene}, {finding.system}"),
        render_paragraph(text),
        render_tag(
            "div",
            render_study_figure("", render_plan_picture(read_plan_boxes(shown), says=says)),
            class_="figures",
        ),
        render_tag("pre", format_show_command(finding, tables)),
    ]
    return render_tag("div", parts, class_="case")


def format_operator_value(value: float | str) -> str:
    """Return a value of an operator."""
    return value if isinstance(value, str) else f"{value:.3g}"


def format_show_command(finding: RelationFinding, tables: StudyTables) -> str:
    """Return the command that shows a finding."""
    names = " ".join(tables.header["recordings"])
    return (
        f"crucible metamorphic show --scenes {names} --seed {tables.header['seed']}"
        f" --scene {finding.scene} --system {finding.system} --operator {finding.operator}"
        f" --out finding.png"
    )
