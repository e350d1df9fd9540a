"""Tables of searches, confirmations, smallest findings and of guidances side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.common.fitting_table import FittingTable
from harness.types.vocabulary import Integers
from studies.search.archive import make_distinct_key
from studies.search.candidates import SearchEvaluation
from studies.search.configuration import format_parameter_values
from studies.search.confirm import FindingConfirmation, read_confirmations
from studies.search.curves import (
    FEWEST_SEEDS,
    AreaRatio,
    compute_curve_area,
    compute_failure_curve,
    estimate_area_ratio,
)
from studies.search.folders import FinishedSearch
from studies.search.settings import SearchSettings
from studies.search.shrink import ShrunkFinding
from studies.space import Values

NO_RATE = (
    "The share of failures among a search's evaluations is no failure probability: a search looks"
    " for failures. `crucible rate` estimates rates."
)
BASELINE = "random"
OF_FINDINGS = ("evaluation", "failure", "values", "again", "rate (95 %)", "finding")
OF_SMALLEST = ("evaluation", "failure", "values", "smallest values", "again", "windows, s")
SHARES = (0.25, 0.5, 1.0)
"""Of the budget, after which confirmed failures are counted."""


def render_search_summary(
    settings: SearchSettings, evaluations: Sequence[SearchEvaluation]
) -> FittingTable:
    """Return what came of a search."""
    failures = [one for one in evaluations if one.outcome.failed]
    results = [one for one in evaluations if one.outcome.has_result]
    kinds = {make_distinct_key(settings.behaviour, one.outcome) for one in failures}
    table = FittingTable("search", settings.sampler, title=f"Search seed {settings.seed}")
    table.add_row("evaluations", str(len(evaluations)))
    if len(results) < len(evaluations):
        table.add_row("without a result", str(len(evaluations) - len(results)))
    table.add_row("failures", str(len(failures)))
    table.add_row("distinct failures", str(len(kinds)))
    # by the number that the ledger, `confirm` and `shrink` give it
    first = failures[0] if failures else None
    what = f"evaluation {first.candidate.number}: {first.outcome.outcome}" if first else "none"
    table.add_row("first failure", what)
    units = {parameter.name: parameter.unit for parameter in settings.space}
    for name, value in first.candidate.values.items() if first else ():
        table.add_row(f"  {name}", format_with_unit(value, units.get(name, "")))
    for name in settings.objectives:
        best = min((one.outcome.objectives[name] for one in results), default=np.nan)
        table.add_row(f"best {name}", f"{best:.3g}")
    return table


def format_with_unit(value: float | str, unit: str) -> str:
    """Return a parameter's value as people read it."""
    return value if isinstance(value, str) else f"{value:.4g} {unit}".rstrip()


def render_confirmations_table(
    evaluations: Sequence[SearchEvaluation], confirmations: Sequence[FindingConfirmation]
) -> FittingTable:
    """Return every repeated finding, those that did not happen again listed as unconfirmed.

    Args:
        evaluations: of the search, for their values.
        confirmations: of those that were repeated.
    """
    table = FittingTable(*OF_FINDINGS)
    values = {one.candidate.number: one.candidate.values for one in evaluations}
    for one in confirmations:
        again = f"{one.failures} of {one.repeats}"
        rate = f"{one.rate:.2f} ({one.low:.2f} to {one.high:.2f})"
        table.add_row(
            *(
                str(one.number),
                one.outcome,
                format_parameter_values(values[one.number]),
                again,
                rate,
            ),
            "confirmed" if one.confirmed else "unconfirmed",
        )
    return table


def render_shrunk_table(
    before: Sequence[Values], smallest: Sequence[ShrunkFinding], tick: float
) -> FittingTable:
    """Return the smallest values of findings, and the windows in which disturbances must act."""
    table = FittingTable(*OF_SMALLEST)
    for values, one in zip(before, smallest, strict=True):
        shrunk = one.shrunk
        state = "" if shrunk.complete else " (budget spent)"
        state = state if shrunk.held else " (in too few worlds to be shrunk)"
        again = f"{one.confirmation.failures} of {one.confirmation.repeats}"
        smallest_values = format_parameter_values(shrunk.values) + state
        table.add_row(
            *(
                str(one.number),
                one.outcome,
                format_parameter_values(values),
                smallest_values,
                again,
            ),
            format_windows(one, tick),
        )
    return table


def format_windows(one: ShrunkFinding, tick: float) -> str:
    """Return the smallest windows, or why there are none."""
    attribution = one.attribution
    if attribution is None:
        return "-"
    if attribution.windows is None:
        return "happens without the disturbance too" if attribution.again else "not repeated"
    return ", ".join(
        f"{first * tick:.1f} to {end * tick:.1f}" for first, end in attribution.windows
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SearchCurve:
    """One search of a study, with its confirmed distinct failures by evaluation."""

    system: str
    sampler: str
    seed: int
    failures: int
    distinct: int
    repeated: int  # findings
    confirmed: int
    first: int | None  # evaluation of the first failure, by the ledger's number
    curve: Integers

    @staticmethod
    def from_search(searched: FinishedSearch) -> SearchCurve:
        """Return that of a search that is confirmed."""
        confirmations = read_confirmations(searched)
        settings, evaluations = searched.ready.search, searched.evaluations
        confirmed = [one.number for one in confirmations if one.confirmed]
        failed = [one.candidate.number for one in evaluations if one.outcome.failed]
        (system,) = searched.ready.campaign["system"]
        return SearchCurve(
            system=system,
            sampler=settings.sampler,
            seed=settings.seed,
            failures=len(failed),
            distinct=len(searched.findings),
            repeated=len(confirmations),
            confirmed=len(confirmed),
            first=failed[0] if failed else None,
            curve=compute_failure_curve(settings.behaviour, evaluations, confirmed),
        )


def render_searches_table(curves: Sequence[SearchCurve]) -> FittingTable:
    """Return a row for each search."""
    table = FittingTable(title="Searches")
    for column in (
        *("system", "guidance", "seed", "evaluations", "failures", "distinct"),
        *("repeated", "confirmed", "first failure", "area"),
    ):
        table.add_column(column)
    for one in curves:
        table.add_row(
            *(one.system, one.sampler, str(one.seed), str(len(one.curve)), str(one.failures)),
            *(str(one.distinct), str(one.repeated), str(one.confirmed)),
            *(
                "none" if one.first is None else str(one.first),
                f"{compute_curve_area(one.curve):.2f}",
            ),
        )
    return table


def render_guidances_table(curves: Sequence[SearchCurve]) -> FittingTable:
    """Return confirmed distinct failures against budget, and ratios of areas to random search."""
    budget = len(curves[0].curve)
    table = FittingTable(title="Confirmed distinct failures, mean over search seeds")
    table.add_column("system")
    table.add_column("guidance")
    table.add_column("searches")
    for share in SHARES:
        table.add_column(f"after {max(round(share * budget), 1)}")
    table.add_column("area under curve")
    table.add_column(f"ratio to {BASELINE} (95 %)")
    # by system, and over all if there are several
    systems = list(dict.fromkeys(one.system for one in curves))
    groups = [(system, [one for one in curves if one.system == system]) for system in systems]
    if len(systems) > 1:
        groups.append(("all", list(curves)))
    for system, members in groups:
        baseline = [one.curve for one in members if one.sampler == BASELINE]
        for sampler in dict.fromkeys(one.sampler for one in members):
            # means over search seeds
            of_sampler = [one.curve for one in members if one.sampler == sampler]
            after = [
                f"{np.mean([curve[max(round(share * budget), 1) - 1] for curve in of_sampler]):.2f}"
                for share in SHARES
            ]
            area = np.mean([compute_curve_area(curve) for curve in of_sampler])
            # areas against random search of the same systems
            ratio = "-"
            if baseline and sampler != BASELINE:
                ratio = format_area_ratio(
                    estimate_area_ratio(of_sampler, baseline), len(of_sampler)
                )
            head = (system, sampler, str(len(of_sampler)))
            table.add_row(*head, *after, f"{area:.2f}", ratio)
    return table


def format_area_ratio(ratio: AreaRatio, searches: int) -> str:
    """Return a ratio with its interval; with too few searches without."""
    if np.isnan(ratio.low):
        return f"{ratio.value:.2f} (no interval: {searches} of {FEWEST_SEEDS} searches)"
    return f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
