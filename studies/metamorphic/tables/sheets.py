"""Tables of an offline study as texts, before they are HTML, Markdown or a terminal's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sized
from functools import partial

import numpy as np
import pandas as pd

from analysis.statistics.significance import compute_holm_p_values
from studies.metamorphic.catalogue import MAKERS
from studies.metamorphic.judging.rows import RECORDED_OPERATOR
from studies.metamorphic.relations.counts import NoFewer
from studies.metamorphic.relations.relation import MetamorphicRelation
from studies.metamorphic.tables.road_sheet import build_road_sheet, has_road_measures
from studies.metamorphic.tables.summary import (
    OF_WEATHER,
    RECORDED,
    BandFindings,
    ChangeEstimate,
    StudyTables,
    compute_precision_change,
    compute_rate_change,
    get_band_findings,
    select_exposed_measures,
)
from studies.metamorphic.tables.text_sheet import NOTHING, TextSheet

ERRORS = {
    "misled": "MCE (CooTest 3.1.2): objects that the ego detects alone and cooperation loses",
    "occlusion": "OE (V2XGen 3.1): partly hidden objects that are not detected",
    "long_range": "LE (V2XGen 3.1): objects farther than so many m that are not detected",
    "missed": "Missed (MultiTest 3): objects that no detection overlaps",
    "mislocalised": "Mislocalised (MultiTest 3): objects with an overlap of 0.5 at most",
    "additional": "Additional (MultiTest 3): detections that overlap no object",
    "missed_in_pictures": "Missed in pictures (MultiTest 3): rectangles that no detection overlaps",
    "mislocalised_in_pictures": "Mislocalised in pictures (MultiTest 3): an overlap of 0.5 at most",
    "additional_in_pictures": "Additional in pictures (MultiTest 3): detections of no rectangle",
}
FITNESS = ("multitest_missed", "multitest_false", "multitest_localisation", "multitest")


def list_sheet_makers(tables: StudyTables) -> list[Callable[[], list[TextSheet]]]:
    """Return what makes each table of a study but those of guidance; some take seconds."""
    checks = list(dict.fromkeys(tables.checks["check"]))
    makers: list[Callable[[StudyTables], TextSheet]] = [
        build_precision_sheet,
        *(partial(build_errors_sheet, check=check) for check in checks),
        build_relations_sheet,
        *([build_road_sheet] if has_road_measures(tables) else []),
        build_mr1_sheet,
        build_verdicts_sheet,
        build_scenes_sheet,
        build_fitness_sheet,
        build_skipped_sheet,
    ]
    return [partial(lambda make: [make(tables)], make) for make in makers]


def build_sheets(tables: StudyTables) -> list[TextSheet]:
    """Return the tables of a study but those of guidance."""
    return [sheet for make in list_sheet_makers(tables) for sheet in make()]


def is_weather_operator(operator: str) -> bool:
    """Return whether an operator is compared with a dry sweep."""
    return MAKERS[operator]().source is not None


def build_precision_sheet(tables: StudyTables) -> TextSheet:
    """Return average precision: recorded, dry, changed."""
    rows = []
    for operator in tables.operators:
        if is_weather_operator(operator):
            cells = [format_dry_precision(tables, system, operator) for system in tables.systems]
        else:
            changes = [
                compute_precision_change(tables, system, operator) for system in tables.systems
            ]
            cells = [format_change(change) for change in changes]
        rows.append((operator, *cells))
    return TextSheet(
        name="precision",
        title="Average precision at IoU 0.5, all-point, mean of classes",
        head=("operator", *tables.systems),
        rows=tuple(rows),
        note="Recorded → changed; weather: recorded → dry → changed. In brackets the 95 % interval"
        " of the last step, over scenarios.",
    )


def format_dry_precision(tables: StudyTables, system: str, operator: str) -> str:
    """Return average precision recorded, dry and in the weather."""
    recorded = compute_precision_change(tables, system, operator)
    dry = compute_precision_change(tables, system, operator, OF_WEATHER["dry"])
    return f"{format_hundredths(recorded.before)} → {format_change(dry)}"


def build_errors_sheet(tables: StudyTables, check: str) -> TextSheet:
    """Return counts and rates of one check, before and after.

    Args:
        tables: of the study.
        check: its name.
    """
    rows = []
    for operator in tables.operators:
        # weather changes the air and the returns: both steps are shown
        sides = OF_WEATHER if is_weather_operator(operator) else {"recorded": RECORDED}
        for name, between in sides.items():
            changes = (
                compute_rate_change(tables, check, system, operator, between=between)
                for system in tables.systems
            )
            rows.append((operator, name, *(format_change_counts(change) for change in changes)))
    beyond = check.removeprefix("long_range_")
    title = ERRORS[check] if check in ERRORS else f"{ERRORS['long_range']}: {beyond} m"
    return TextSheet(
        name=check,
        title=title,
        head=("operator", "compared with", *tables.systems),
        rows=tuple(rows),
        names=2,
        note="Count of exposed → count of exposed, and the 95 % interval of the rate's difference"
        " over scenarios. In the rows of what is hit in the weather, objects have five returns of a"
        " LiDAR in that air.",
    )


def collect_banded_findings(tables: StudyTables) -> dict[tuple[str, str, str], BandFindings]:
    """Return the findings of all relations with a band, by operator, relation and system."""
    above_bands = {}
    for operator, relation in iterate_tested_relations(tables):
        for system in tables.systems:
            above = (
                None
                if relation.exact
                else get_band_findings(tables, relation.name, system, operator)
            )
            if above is not None:
                above_bands[operator, relation.name, system] = above
    return above_bands


def iterate_tested_relations(tables: StudyTables) -> Iterable[tuple[str, MetamorphicRelation]]:
    """Yield operators and their relations, without placebos."""
    for operator in tables.tested:
        for relation in MAKERS[operator]().relations:
            yield operator, relation


def build_relations_sheet(tables: StudyTables) -> TextSheet:
    """Return breaches of relations, what chance would give, and p of the whole family."""
    above = collect_banded_findings(tables)
    # p of all relations, operators and systems are one family
    adjusted = dict(
        zip(above, compute_holm_p_values(np.array([one.p for one in above.values()])), strict=True)
    )
    rows = []
    for operator, relation in iterate_tested_relations(tables):
        cells = []
        for system in tables.systems:
            key = operator, relation.name, system
            if key in above:
                # with a band of placebos: scenarios; exact ones: scenes
                cells.append(format_beyond_band(above[key], float(adjusted[key])))
            else:
                cells.append(format_broken_scenes(tables, relation, system, operator))
        rows.append((operator, relation.name, *cells))
    return TextSheet(
        name="relations",
        title="Relations: scenes that break them, or scenarios beyond the placebos' band",
        head=("operator", "relation", *tables.systems),
        rows=tuple(rows),
        names=2,
        note=f"Exact: scenes that break it, of the scenes with detections. {describe_band(above)}",
    )


def describe_band(above: Sized) -> str:
    """Return what cells of relations with a band have.

    Args:
        above: tests of the family.
    """
    if not len(above):
        return "Band: the mean of the statistic; there are too few scenarios for a test."
    return (
        "Band: scenarios beyond, of those tested (expected by chance), mean of the statistic, and"
        f" p by Holm over the family of {len(above)} tests."
    )


def format_broken_scenes(
    tables: StudyTables, relation: MetamorphicRelation, system: str, operator: str
) -> str:
    """Return how many scenes break an exact relation; of others without a band, the mean."""
    of = select_exposed_measures(tables, relation.name, system, operator)
    if not len(of):
        return NOTHING
    if not relation.exact:
        return f"mean {of['value'].mean():.3f}, no band"
    return f"{int((of['value'] > 0).sum())} of {len(of)}"


def format_beyond_band(above: BandFindings, p: float) -> str:
    """Return how many scenarios lie beyond a band."""
    said = f"p {p:.3f}" if p >= 0.001 else "p < 0.001"
    return f"{above.beyond} of {above.tested} ({above.expected:.1f}), {above.mean:.3f}, {said}"


def build_mr1_sheet(tables: StudyTables) -> TextSheet:
    """Return violations of MR1 by points in the far ring, and by class."""
    rows = []
    for operator in tables.tested:
        for relation in MAKERS[operator]().relations:
            if relation.name.startswith("MR1_count"):
                kind = relation.name.removeprefix("MR1_count").strip("_") or "all classes"
                cells = [
                    format_mr1_violations(tables, relation.name, system, operator)
                    for system in tables.systems
                ]
                rows.append((operator.rpartition("_")[2], kind, *cells))
    return TextSheet(
        name="mr1",
        title="MR1, far ring: scenes with fewer detections after n stray points beyond 120 m",
        head=("points", "class", *tables.systems),
        rows=tuple(rows),
        names=2,
        note="Scenes with fewer, of scenes with a detection of the class. A lite network sees no"
        " point beyond 51.2 m, so it satisfies this by construction.",
    )


def format_mr1_violations(tables: StudyTables, relation: str, system: str, operator: str) -> str:
    """Return how many scenes violate MR1, and the share."""
    of = select_exposed_measures(tables, relation, system, operator)
    if not len(of):
        return NOTHING
    count = int((of["value"] > 0).sum())
    return f"{count} of {len(of)} ({100 * count / len(of):.1f} %)"


def build_verdicts_sheet(tables: StudyTables) -> TextSheet:
    """Return what ground truth says of breaches: relation by check, box by box."""
    columns = ["breaches", "wrong", "right", "unjudged", "both_wrong", "judged"]
    rows = []
    for operator, relation in iterate_tested_relations(tables):
        cells = []
        for system in tables.systems:
            of = tables.select_rows("measures", system, operator)
            # sums over scenes
            sums = of.loc[of["relation"] == relation.name, columns].sum()
            texts = [f"{int(sums[name])}" for name in columns]
            breaches, wrong, right, unjudged, both, judged = texts
            cells.append(f"{breaches}: {wrong} / {right} / {unjudged}; {both} of {judged}")
        if not isinstance(relation, NoFewer):
            rows.append((operator, relation.name, *cells))
    return TextSheet(
        name="verdicts",
        title="Relation by ground truth, box by box",
        head=("operator", "relation", *tables.systems),
        rows=tuple(rows),
        names=2,
        note="Breaches: the answer is wrong there / right there (a false alarm) / nothing is known;"
        " objects that neither answer detects, of those judged on both sides (which the relation"
        " cannot see).",
    )


def build_scenes_sheet(tables: StudyTables) -> TextSheet:
    """Return relation by check, scene by scene, of all systems together."""
    rows = []
    for operator, relation in iterate_tested_relations(tables):
        grid = np.zeros((2, 3), np.int64)
        for system in tables.systems:
            grid += count_scene_grid(tables, relation, system, operator)
        rows.append((operator, relation.name, *map(str, grid.ravel().tolist())))
    return TextSheet(
        name="scenes",
        title="Relation by ground truth, scene by scene, all systems",
        head=(
            *("operator", "relation", "broken, more errors", "broken, no more errors"),
            *("broken, no errors", "held, more errors", "held, wrong before and after"),
            "held, no errors",
        ),
        rows=tuple(rows),
        names=2,
        note="Errors are missed, mislocalised and additional detections. Broken: any difference for"
        " exact relations, else a value above the threshold of the system's band; relations without"
        " a band: any value above 0.",
    )


def count_scene_grid(
    tables: StudyTables, relation: MetamorphicRelation, system: str, operator: str
) -> np.ndarray:
    """Return scenes: broken or not, by whether errors are more, no more, or none."""
    of = select_exposed_measures(tables, relation.name, system, operator)
    above = None if relation.exact else get_band_findings(tables, relation.name, system, operator)
    threshold = above.threshold if above is not None else 0.0
    # errors before, which in weather means in dry air
    before, after = (
        count_scene_errors(tables, system, RECORDED_OPERATOR),
        count_scene_errors(tables, system, operator),
    )
    if is_weather_operator(operator):
        before = count_scene_errors(tables, system, operator, "dry")
    old = before.reindex(of["scene"]).to_numpy(np.float64)
    new = after.reindex(of["scene"]).to_numpy(np.float64)
    # (scenes,) column and row of each in the grid
    column = np.where(new > old, 0, np.where(new > 0, 1, 2))
    row = (of["value"].to_numpy() <= threshold).astype(np.int64)
    return np.array([[((row == r) & (column == c)).sum() for c in range(3)] for r in range(2)])


def count_scene_errors(
    tables: StudyTables, system: str, operator: str, side: str = ""
) -> pd.Series:
    """Return the number of errors of each scene."""
    chosen = side or ("recorded" if operator == RECORDED_OPERATOR else "changed")
    key = system, operator, chosen
    if key not in tables.scene_errors:
        # several relations of an operator ask for the same
        of = tables.select_rows("checks", system, operator)
        of = of[(of["side"] == chosen) & (of["hits"] == "before")]
        errors = of[of["check"].isin(("missed", "mislocalised", "additional"))]
        tables.scene_errors[key] = errors.groupby("scene")["count"].sum()
    return tables.scene_errors[key]


def build_fitness_sheet(tables: StudyTables) -> TextSheet:
    """Return the parts of MultiTest's fitness, mean over scenes, before and after."""
    rows = []
    for operator in tables.tested:
        for name in FITNESS:
            cells = []
            for system in tables.systems:
                after = tables.select_rows("scores", system, operator)
                before = tables.select_rows("scores", system, RECORDED_OPERATOR)
                before = before[before["scene"].isin(after["scene"])]
                known = len(after) > 0
                cells.append(
                    f"{before[name].mean():.2f} → {after[name].mean():.2f}" if known else NOTHING
                )
            rows.append((operator, name.removeprefix("multitest").strip("_") or "fitness", *cells))
    return TextSheet(
        name="fitness",
        title="MultiTest's fitness (3.3): missed, false and localisation, mean of scenes",
        head=("operator", "part", *tables.systems),
        rows=tuple(rows),
        names=2,
        note="Recorded → changed. F = 0.5 missed + 0.25 false + 0.25 localisation.",
    )


def build_skipped_sheet(tables: StudyTables) -> TextSheet:
    """Return how often operators could not change a scene, and why first."""
    rows = []
    for operator, of in tables.skipped.groupby("operator"):
        scenes_of = of["scene"].nunique()
        systems = ", ".join(sorted({name for name in of["system"] if name})) or "all"
        rows.append((str(operator), systems, str(scenes_of), str(of["reason"].iloc[0])))
    return TextSheet(
        name="skipped",
        title="Scenes that an operator could not change",
        head=("operator", "systems", "scenes", "first reason"),
        rows=tuple(rows),
        names=2,
        note="" if rows else "None: all operators could change all scenes.",
    )


def format_change(change: ChangeEstimate, show: Callable[[float], str] | None = None) -> str:
    """Return two numbers and the interval of their difference."""
    shown = show or format_hundredths
    if math.isnan(change.before) or math.isnan(change.after):
        return NOTHING
    return f"{shown(change.before)} → {shown(change.after)}{format_change_interval(change)}"


def format_change_counts(change: ChangeEstimate) -> str:
    """Return counts of exposed boxes on both sides, and the interval of the rates' difference."""
    if math.isnan(change.before) or math.isnan(change.after):
        return NOTHING
    old = f"{change.count_before} of {change.exposed_before}"
    return f"{old} → {change.count_after} of {change.exposed_after}{format_change_interval(change)}"


def format_change_interval(change: ChangeEstimate) -> str:
    """Return the interval of a difference in brackets."""
    if math.isnan(change.low):
        return ""
    return f" ({change.low:+.2f} to {change.high:+.2f})"


def format_hundredths(number: float) -> str:
    """Return a number to a hundredth."""
    return NOTHING if math.isnan(number) else f"{number:.2f}"


def format_tables_heading(tables: StudyTables) -> str:
    """Return the first lines of a page of tables: what was asked, and of which weights."""
    header = tables.header
    scenes_of = tables.objects["scene"].nunique()
    lines = [
        "# Tables of a metamorphic study",
        "",
        f"{scenes_of} of {header['scenes']} scenes, {tables.objects['cluster'].nunique()}"
        f" scenarios, seed {header['seed']}; digest of the scenes' names"
        f" `{header['scenes_sha256'][:16]}`.",
        "",
        "| system | digest of its weights |",
        "| --- | --- |",
        *(f"| {name} | `{header['systems'][name][:16]}` |" for name in tables.systems),
    ]
    return "\n".join(lines) + "\n"


def format_markdown(sheet: TextSheet) -> str:
    """Return a table as Markdown."""
    lines = [f"## {sheet.title}", ""]
    if sheet.note:
        lines += [sheet.note, ""]
    lines.append("| " + " | ".join(sheet.head) + " |")
    lines.append("| " + " | ".join(["---"] * len(sheet.head)) + " |")
    lines += ["| " + " | ".join(row) + " |" for row in sheet.rows]
    return "\n".join(lines) + "\n"
