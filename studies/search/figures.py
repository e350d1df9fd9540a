"""Searches side by side as figures, and their findings as a table for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.drawing.canvas import Canvas
from analysis.drawing.palette import HUES
from analysis.drawing.plots import PlotLine, render_line_plot
from analysis.drawing.svg import render_svg_file
from harness.common.files import write_whole
from studies.search.archive import FailureArchive, build_failure_archive
from studies.search.archive_map import render_archive_map
from studies.search.confirm import read_confirmations
from studies.search.folders import FinishedSearch
from studies.search.tables import SearchCurve

POINTS = 20
"""Places at which a curve is drawn."""
APART = 0.006
"""Share of the budget by which curves are set apart."""


def write_search_figures(
    searches: Sequence[FinishedSearch], curves: Sequence[SearchCurve], out: Path
) -> Iterator[Path]:
    """Write the findings of all searches, a curve and a map for each system; yield the files."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / "search_findings.csv"
    write_whole(file, build_search_findings(searches).to_csv(index=False))
    yield file
    for system in dict.fromkeys(curve.system for curve in curves):
        file = out / f"search-{system}.svg"
        write_whole(file, render_svg_file(render_failure_curves(system, curves)))
        yield file
        of_system = [one for one in searches if get_searched_system(one) == system]
        if of_system[0].ready.search.behaviour:
            file = out / f"search-map-{system}.svg"
            write_whole(file, render_svg_file(render_system_map(system, of_system)))
            yield file


def get_searched_system(searched: FinishedSearch) -> str:
    """Return the name of the system that was searched."""
    (system,) = searched.ready.campaign["system"]
    return str(system)


def render_system_map(system: str, searches: Sequence[FinishedSearch]) -> Canvas:
    """Draw the archives of all searches of a system, by guidance."""
    by_guidance: dict[str, list[FailureArchive]] = {}
    for searched in searches:
        settings = searched.ready.search
        numbers = {one.number for one in read_confirmations(searched) if one.confirmed}
        archive = build_failure_archive(
            settings.behaviour,
            searched.evaluations,
            objective=settings.objectives[0],
            confirmed=numbers,
        )
        by_guidance.setdefault(settings.sampler, []).append(archive)
    return render_archive_map(system, by_guidance)


def build_search_findings(searches: Sequence[FinishedSearch]) -> pd.DataFrame:
    """Return a row for each finding that was driven again: values, and how often it failed."""
    rows = []
    for searched in searches:
        settings = searched.ready.search
        system = get_searched_system(searched)
        values = {one.candidate.number: one.candidate.values for one in searched.evaluations}
        rows += [
            {
                "system": system,
                "guidance": settings.sampler,
                "seed": settings.seed,
                "evaluation": one.number,
                "failure": one.outcome,
                **values[one.number],
                "failures": one.failures,
                "repeats": one.repeats,
                "low": one.low,
                "high": one.high,
                "confirmed": one.confirmed,
            }
            for one in read_confirmations(searched)
        ]
    return pd.DataFrame(rows)


def render_failure_curves(system: str, curves: Sequence[SearchCurve]) -> Canvas:
    """Draw confirmed distinct failures over evaluations, the means over search seeds."""
    known = [curve for curve in curves if curve.system == system]
    budget = len(known[0].curve)
    samplers = list(dict.fromkeys(curve.sampler for curve in known))
    lines = [
        PlotLine(
            sampler, tuple(iterate_mean_points([c for c in known if c.sampler == sampler])), colour
        )
        for sampler, colour in zip(samplers, HUES, strict=False)
    ]
    most = max(int(curve.curve[-1]) for curve in known)
    says = f"{system}: confirmed distinct failures over evaluations, by guidance"
    return render_line_plot(
        lines,
        (0.0, float(budget), "evaluations"),
        y=(
            0.0,
            float(max(most, 1)),
            f"{system}: confirmed distinct failures, mean of search seeds",
        ),
        says=says,
        apart=APART * budget,
    )


def iterate_mean_points(
    curves: Sequence[SearchCurve],
) -> Iterator[tuple[float, float, float, float]]:
    """Yield evaluations and the mean over search seeds, without an interval."""
    heights = np.array([curve.curve for curve in curves], np.float64).mean(axis=0)
    budget = len(heights)
    for at in np.unique(np.linspace(1, budget, min(POINTS, budget)).round().astype(int)).tolist():
        yield float(at), float(heights[at - 1]), np.nan, np.nan
