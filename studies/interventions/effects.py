"""`crucible effects DIR`: what interventions on errors do to drives, in pairs."""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from analysis.commands.options import (
    add_folders_argument,
    add_mixing_option,
    add_out_option,
    describe_command,
    read_collection,
    resolve_output_folder,
)
from analysis.commands.progress import show_passes
from analysis.drawing.svg import render_svg_file
from analysis.regression.estimators import format_ratio
from analysis.report.html import format_counted_noun
from analysis.tables.writing import format_p, write_frame, write_text
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from studies.interventions.arms import format_ground_truth
from studies.interventions.dose_figures import render_dose_figures
from studies.interventions.drivers import OTHER, REFERENCE
from studies.interventions.effect_figures import render_effects_figure, render_ratios_figure
from studies.interventions.last import TITLE, WITH, WITHOUT
from studies.interventions.paired import OUTCOMES, TESTED_OUTCOMES, EffectOutcome
from studies.interventions.study import EffectsStudy, build_effects_study

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=60,
    purpose="estimate effects of interventions on error patterns, in pairs of drives",
    extra="analysis",
    examples=(
        "crucible effects runs/effects",
        "crucible effects runs/one runs/two --out effects",
    ),
)


DESCRIPTION = """Compare arms with and arms without interventions on error patterns, in pairs of
equal route and seed. The command prints total effects with 95 % confidence intervals and one family
of tests, the effect of one more repair, Shapley shares, dose and response, and the regression of
the same drives."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible effects` takes."""
    describe_command(parser, DESCRIPTION)
    add_folders_argument(parser)
    add_out_option(parser)
    add_mixing_option(parser)
    parser.set_defaults(run=run_effects_command)


def run_effects_command(options: argparse.Namespace) -> int:
    """Print the tables and write them."""
    collection = read_collection(options, whole=True)
    for note in collection.notes:
        print_escaped_line(note)
    with show_passes(collection) as watched:
        study = build_effects_study(watched)
    out = resolve_output_folder(options, collection)
    # tables
    frames = {
        "effects": study.effects,
        "effects_last": study.last,
        "effects_doses": study.doses,
        "effects_curves": study.curves,
        "effects_shapley": study.shares,
        "effects_on_time": study.on_time,
        "effects_windows": study.windows,
        "effects_drivers": study.drivers,
        "effects_regression": study.regression,
        "effects_agreement": study.agreement,
    }
    for name, frame in frames.items():
        write_frame(frame.rename(columns={"arm": "of"}), out, name, ["csv"])
    # figures: those without data are left out
    figures = {
        "effects-violations": render_effects_figure(study.effects),
        "effects-regression": render_ratios_figure(study.regression),
        **render_dose_figures(study.curves),
    }
    for name, figure in figures.items():
        if figure is not None:
            write_text(render_svg_file(figure), out / f"{name}.svg")
    show_effects_study(study)
    files = [f"{name}.csv" for name in frames]
    files += [f"{name}.svg" for name, figure in figures.items() if figure is not None]
    print_escaped_line(f"{', '.join(files)} are in {out}")
    return collection.exit_code


def show_effects_study(study: EffectsStudy) -> None:
    """Print all tables."""
    for note in study.notes:
        print_escaped_line(note)
    print_escaped_line("")
    for name, rows in split_by_column(study.effects, "arm"):
        for outcome in OUTCOMES:
            show_effects(name, outcome, rows[rows["outcome"] == outcome.name])
    for name, rows in split_by_column(study.last, "arm"):
        for outcome in TESTED_OUTCOMES:
            show_last_repairs(name, outcome, rows[rows["outcome"] == outcome.name])
    for name, rows in split_by_column(study.shares, "arm"):
        for title, of_outcome in split_by_column(rows, "outcome"):
            show_shapley_shares(f"{name}: {title}", of_outcome)
    for name, rows in split_by_column(study.on_time, "arm"):
        for title, of_outcome in split_by_column(rows, "outcome"):
            show_on_time_shares(f"{name}: {title}", of_outcome)
    for name, rows in split_by_column(study.windows, "arm"):
        for title, of_outcome in split_by_column(rows, "outcome"):
            show_windows(f"{name}: {title}", of_outcome)
    for name, rows in split_by_column(study.drivers, "arm"):
        for title, of_outcome in split_by_column(rows, "outcome"):
            show_driver_differences(f"{name}: {title}", of_outcome)
    for name, rows in split_by_column(study.doses, "arm"):
        show_doses(name, rows)
    for name, rows in split_by_column(study.regression, "arm"):
        show_regression_agreement(
            name, rows, study.agreement[study.agreement["arm"] == name].iloc[0]
        )


def split_by_column(frame: pd.DataFrame, by: str) -> list[tuple[str, pd.DataFrame]]:
    """Return the parts of a table, none of an empty one."""
    return [(str(name), rows) for name, rows in frame.groupby(by, sort=False)] if len(frame) else []


def show_effects(arm: str, outcome: EffectOutcome, rows: pd.DataFrame) -> None:
    """Print the effects on one outcome."""
    head = ["", "compared with", "without", "with", "difference", "95 % interval"]
    head += ["p", "p family"] if outcome.tested else []
    head += ["pairs", "routes", "changes a step", "unchanged"]
    cells = [
        [
            row["effect of"],
            row["compared with"],
            *format_effect_cells(row, ("without", "with"), outcome.digits),
            *(format_p_values(row) if outcome.tested else []),
            str(row["pairs"]),
            str(row["routes"]),
            f"{row['changes a step']:.2f}",
            str(row["unchanged attempts"]),
        ]
        for _, row in rows.iterrows()
    ]
    if cells:
        show_grid(f"{arm}: {outcome.name}; {describe_row_truths(rows)}", head, cells)


def show_last_repairs(arm: str, outcome: EffectOutcome, rows: pd.DataFrame) -> None:
    """Print what repairing each pattern adds to the repair of the others."""
    head = ["pattern", WITHOUT, WITH, "difference", "95 % interval", "pairs", "routes"]
    cells = [
        [
            row["pattern"],
            *format_effect_cells(row, (WITHOUT, WITH), outcome.digits),
            str(row["pairs"]),
            str(row["routes"]),
        ]
        for _, row in rows.iterrows()
    ]
    if cells:
        title = f"{arm}: {TITLE}, {outcome.name}; not tested; {describe_row_truths(rows)}"
        show_grid(title, head, cells)


def show_doses(arm: str, rows: pd.DataFrame) -> None:
    """Print the slopes over doses."""
    head = ["outcome", "injected", "from dose 0 to 1", "95 % interval", "p", "p family", "doses"]
    cells = [
        [
            row["outcome"],
            row["injected"],
            f"{row['difference']:+.1f}",
            format_effect_interval(row),
            *format_p_values(row),
            row["doses"],
            str(row["pairs"]),
        ]
        for _, row in rows.iterrows()
    ]
    show_grid(f"{arm}: dose and response; {describe_row_truths(rows)}", [*head, "pairs"], cells)


def show_shapley_shares(title: str, rows: pd.DataFrame) -> None:
    """Print Shapley shares of one outcome."""
    first = rows.iloc[0]
    orders = f"exact, {first['orders']} orders" if first["orders"] == 720 else (
        f"{first['orders']} of 720 orders"
    )  # fmt: skip
    head = ["pattern", "share", "95 % interval of routes", "of total, %", "error of orders"]
    cells = [
        [
            row["pattern"],
            f"{row['share']:+.2f}",
            format_effect_interval(row),
            format_effect_number(row["of total, %"], 0),
            format_effect_number(row["error of orders"], 2),
        ]
        for _, row in rows.iterrows()
    ]
    total = f"repair all six {first['total']:+.1f}"
    pairs = format_counted_noun(first["pairs"], "pair")
    pairs += f" on {format_counted_noun(first['routes'], 'route')}"
    show_grid(
        f"Shapley shares, {title}: {total}; {orders}; {pairs}; {describe_row_truths(rows)}",
        head,
        cells,
    )


def show_on_time_shares(title: str, rows: pd.DataFrame) -> None:
    """Print by what a disturbance changed one outcome."""
    first = rows.iloc[0]
    head = ["what messages on time change", "share", "95 % interval of routes", "of total, %"]
    cells = [
        [
            row["part"],
            f"{row['share']:+.2f}",
            format_effect_interval(row),
            format_effect_number(row["of total, %"], 0),
        ]
        for _, row in rows.iterrows()
    ]
    pairs = format_counted_noun(first["pairs"], "pair")
    pairs += f" on {format_counted_noun(first['routes'], 'route')}"
    show_grid(
        f"Boxes on time, {title}: {first['total']:+.1f}; exact Shapley shares, 24 orders; {pairs};"
        f" {describe_row_truths(rows)}",
        head,
        cells,
    )


def show_windows(title: str, rows: pd.DataFrame) -> None:
    """Print the effects of repairs by when they act."""
    cells = [
        [
            row["repair"],
            f"{row['last, s']:g}",
            row["when"],
            f"{row['difference']:+.1f}",
            format_effect_interval(row),
            str(row["pairs"]),
            str(row["routes"]),
        ]
        for _, row in rows.iterrows()
    ]
    show_grid(
        f"When errors matter, {title}; late: the last seconds before the meeting; not tested;"
        f" {describe_row_truths(rows)}",
        ["", "last, s", "when", "difference", "95 % interval", "pairs", "routes"],
        cells,
    )


def show_driver_differences(title: str, rows: pd.DataFrame) -> None:
    """Print how effects differ between drivers."""
    head = ["effect of", "driver", "effect", "against", "effect", "difference"]
    cells = [
        [
            row["effect of"],
            row["other driver"],
            f"{row[OTHER]:+.1f}",
            row["reference driver"],
            f"{row[REFERENCE]:+.1f}",
            f"{row['difference']:+.1f}",
            format_effect_interval(row),
            *format_p_values(row),
            str(row["pairs"]),
            str(row["routes"]),
        ]
        for _, row in rows.iterrows()
    ]
    show_grid(
        f"Effects by driver, {title}; {describe_row_truths(rows)}",
        [*head, "95 % interval", "p", "p family", "pairs", "routes"],
        cells,
    )


def show_regression_agreement(arm: str, rows: pd.DataFrame, directions: pd.Series) -> None:
    """Print what the regression says next to the interventions, and how far the two agree."""
    head = ["pattern", "regression: odds ratio", "95 % interval", "p Holm"]
    head += ["intervention: violations, points", "95 % interval", "p family", "significant"]
    cells = [
        [
            row["pattern"],
            format_ratio(row["odds ratio"]) if np.isfinite(row["odds ratio"]) else "-",
            f"{format_ratio(row['odds low'])} .. {format_ratio(row['odds high'])}"
            if np.isfinite(row["odds ratio"])
            else "-",
            format_p(row["p Holm"], 3),
            f"{row['difference']:+.1f}",
            format_effect_interval(row),
            format_p(row["p family"], 4),
            row["agreement"],
        ]
        for _, row in rows.iterrows()
    ]
    method = ", ".join(sorted(set(rows["regression"])))
    show_grid(
        f"{arm}: regression ({method}) and intervention; {describe_row_truths(rows)}", head, cells
    )
    counts = ("same direction", "opposite", "no direction", "not estimated")
    print_escaped_line(
        f"{arm}: of {directions['patterns']} patterns, "
        + ", ".join(f"{name} {directions[name]}" for name in counts)
        + "; rank correlation of odds ratios with violations prevented"
        + (
            f" {format_effect_number(directions['rank correlation'], 2)}: so few points allow no"
            " interval"
        )
    )
    print_escaped_line("")


def describe_row_truths(rows: pd.DataFrame) -> str:
    """Return which ground truth the rows are about."""
    return format_ground_truth(rows["truth"])


def format_effect_cells(row: pd.Series, sides: tuple[str, str], digits: int) -> list[str]:
    """Return both sides of a comparison, the difference and its interval."""
    return [
        *(f"{row[side]:.{digits}f}" for side in sides),
        f"{row['difference']:+.{digits}f}",
        format_effect_interval(row, digits),
    ]


def format_effect_interval(row: pd.Series, digits: int = 1) -> str:
    """Return a confidence interval as text."""
    low, high = (f"{row[end]:+.{digits}f}" for end in ("low", "high"))
    return f"{low} .. {high}" if np.isfinite(row["low"]) else "-"


def format_p_values(row: pd.Series) -> list[str]:
    """Return the p-value of a test, and that of the family."""
    return [format_p(row["p"], 4), format_p(row["p family"], 4)]


def format_effect_number(value: float, digits: int) -> str:
    """Return a number, or a dash for none."""
    return f"{value:.{digits}f}" if np.isfinite(value) else "-"
