"""`crucible calibrate`: how often tests on campaigns without any effect find one."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.commands.options import describe_command
from analysis.simulation.calibration import ALPHA, HEADLINE, METHODS, measure_rejection_rates
from analysis.simulation.campaigns import CampaignScenario
from analysis.simulation.report_pages import calibrate_pages
from analysis.tables.writing import write_frame
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.suggestions import describe_unknown_name
from studies.interventions.paired import TESTED_OUTCOMES
from studies.interventions.simulation import (
    ARMS,
    InterventionScenario,
    calibrate_effects,
    list_intervention_scenarios,
)

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=90,
    purpose="estimate false alarm rates of the analysis by simulation",
    extra="analysis",
    examples=(
        "crucible calibrate --campaigns 200",
        "crucible calibrate --pages --campaigns 200 --check",
        "crucible calibrate --effects --routes 12 --seeds 3 --campaigns 500 --check",
    ),
)


NULL = "nothing matters"
"""Start of the names of scenarios without any effect."""
DESCRIPTION = """Estimate by simulation how often the regressions, the report's sentences or the
effects of interventions report an effect that is absent."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible calibrate` takes."""
    describe_command(parser, DESCRIPTION)
    parser.add_argument(
        "--routes", type=int, default=19, metavar="N", help="routes (default: %(default)s)"
    )
    parser.add_argument(
        "--systems", type=int, default=4, metavar="N", help="systems (default: %(default)s)"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=1,
        metavar="N",
        help="seeds of each system on each route (default: %(default)s)",
    )
    parser.add_argument(
        "--campaigns",
        type=int,
        default=400,
        metavar="N",
        help="simulated campaigns for each scenario (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="seed of the simulation (default: %(default)s)",
    )
    parser.add_argument(
        "--methods",
        default=",".join(METHODS),
        metavar="NAME[,NAME ...]",
        help="regressions (default: %(default)s)",
    )
    parser.add_argument(
        "--pages",
        action="store_true",
        help="simulate whole report pages instead of single regressions (default: off)",
    )
    parser.add_argument(
        "--effects",
        action="store_true",
        help="simulate campaigns with irrelevant interventions on errors (default: off)",
    )
    parser.add_argument(
        "--scenarios",
        default="",
        metavar="TEXT",
        help="only scenarios whose names contain this text (default: all)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit with 1 if the headline's rate is significantly above 5 %% (default: off)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder to write calibration.csv to (default: not written)",
    )
    parser.set_defaults(run=run_calibrate_command)


def run_calibrate_command(options: argparse.Namespace) -> int:
    """Print the shares of p < 0.05."""
    size = CampaignScenario(routes=options.routes, systems=options.systems, seeds=options.seeds)
    if min(options.routes, options.systems, options.seeds, options.campaigns) < 1:
        raise UserError("--routes, --systems, --seeds and --campaigns: 1 or more")
    if options.effects:
        return calibrate_interventions(options)
    return (
        calibrate_report_pages(size, options)
        if options.pages
        else calibrate_regressions(size, options)
    )


def calibrate_regressions(size: CampaignScenario, options: argparse.Namespace) -> int:
    """Print how often each regression finds what is not there, and what is."""
    # what is asked for
    methods = options.methods.split(",")
    for method in methods:
        if method not in METHODS:
            raise UserError(f"--methods: {describe_unknown_name('method', method, METHODS)}")
    # simulate, and count rejections
    rates = measure_rejection_rates(
        size, options.campaigns, seed=options.seed, methods=methods, only=options.scenarios
    )
    if rates.empty:
        raise UserError(f"--scenarios: no scenario's name contains {options.scenarios!r}")
    show_calibration_rates(rates)
    print_escaped_line(
        f"{options.campaigns} campaigns each of {options.routes} routes, {options.systems} systems,"
        f" {options.seeds} seeds; shares with p < 0.05; low and high: Clopper and Pearson's 95 %"
        " interval of 'false, any, Holm'"
    )
    if options.out:
        write_frame(rates, options.out, "calibration", ["csv"])
    # without an effect the headline method must keep its level
    null = rates[rates["scenario"].str.startswith(NULL) & (rates["method"] == HEADLINE)]
    return (
        report_rates_above_level(null["scenario"].tolist(), null["low"].tolist())
        if options.check
        else 0
    )


def calibrate_report_pages(size: CampaignScenario, options: argparse.Namespace) -> int:
    """Print how often report pages have a false sentence."""
    rates = calibrate_pages(size, options.campaigns, options.seed, options.scenarios)
    if rates.empty:
        raise UserError(f"--scenarios: no scenario's name contains {options.scenarios!r}")
    numbers = [str(name) for name in rates if name not in ("scenario", "pages")]
    rows = [
        [str(row["scenario"]), *(format_share(float(row[name])) for name in numbers)]
        for _, row in rates.iterrows()
    ]
    show_grid("Report pages", ["scenario", *numbers], rows)
    print_escaped_line(
        f"{options.campaigns} pages each of {options.routes} routes, {options.systems} systems"
        f" under 2 conditions, {options.seeds} seeds, in one campaign or two; low and high: Clopper"
        " and Pearson's 95 % confidence interval of 'with a false sentence'"
    )
    if options.out:
        write_frame(rates, options.out, "calibration_pages", ["csv"])
    return (
        report_rates_above_level(rates["scenario"].tolist(), rates["low"].tolist())
        if options.check
        else 0
    )


def calibrate_interventions(options: argparse.Namespace) -> int:
    """Print how often an intervention without any effect is declared significant."""
    size = InterventionScenario(routes=options.routes, systems=options.systems, seeds=options.seeds)
    # campaigns with known effects
    scenes = {
        name: scene
        for name, scene in list_intervention_scenarios(size).items()
        if options.scenarios in name
    }
    if not scenes:
        raise UserError(f"--scenarios: no scenario's name contains {options.scenarios!r}")
    rows = [
        {"scenario": name, **calibrate_effects(scene, options.campaigns, options.seed)}
        for name, scene in scenes.items()
    ]
    # shares of significant effects
    rates = pd.DataFrame(rows)
    numbers = [str(name) for name in rates if name not in ("scenario", "campaigns")]
    cells = [
        [str(row["scenario"]), *(format_share(float(row[name])) for name in numbers)]
        for _, row in rates.iterrows()
    ]
    show_grid("Effects of interventions", ["scenario", *numbers], cells)
    print_escaped_line(
        f"{options.campaigns} campaigns each of {options.routes} routes, {options.systems} systems,"
        f" {options.seeds} seeds and {ARMS} arms with an intervention:"
        f" {options.systems * ARMS * len(TESTED_OUTCOMES)} tests; shares with a significant"
        " effect that is"
        " none; low and high: Clopper and Pearson's 95 % confidence interval of"
        " 'false, any, family'; power: how often an effective intervention is significant"
    )
    if options.out:
        write_frame(rates, options.out, "calibration_effects", ["csv"])
    return (
        report_rates_above_level(rates["scenario"].tolist(), rates["low"].tolist())
        if options.check
        else 0
    )


def show_calibration_rates(rates: pd.DataFrame) -> None:
    """Print a grid for each scene."""
    head = list(rates.columns[1:-1])
    for scene, scenario_rates in rates.groupby("scenario", sort=False):
        rows = [
            [str(row["method"]), *(format_share(float(row[name])) for name in head[1:])]
            for _, row in scenario_rates.iterrows()
        ]
        show_grid(str(scene), head, rows)


def report_rates_above_level(names: Sequence[str], lows: Sequence[float]) -> int:
    """Print which rates are above the level, and return the exit code."""
    above = [name for name, low in zip(names, lows, strict=True) if low > ALPHA]
    for name in above:
        print_escaped_line(f"above {100 * ALPHA:.0f} %: {name}")
    if not above:
        print_escaped_line(f"no rate is significantly above {100 * ALPHA:.0f} %")
    return 1 if above else 0


def format_share(value: float) -> str:
    """Return a share, or nothing where there is none."""
    return f"{value:.3f}" if math.isfinite(value) else "-"
