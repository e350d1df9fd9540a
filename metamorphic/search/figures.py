"""Searches side by side as figures, and their findings as a table for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.drawing.canvas import Canvas
from analysis.drawing.palette import HUES
from analysis.drawing.plots import Line, render_lines
from analysis.drawing.svg import standalone
from harness.files import write_whole
from metamorphic.search.archive import Archive, archive_of
from metamorphic.search.archive_map import archive_map
from metamorphic.search.confirming import read_confirmations
from metamorphic.search.folders import Searched
from metamorphic.search.tables import SearchCurve

POINTS = 20
"""Places at which a curve is drawn."""
APART = 0.006
"""Share of the budget by which curves are set apart."""


def write_curves(
    searches: Sequence[Searched], curves: Sequence[SearchCurve], out: Path
) -> Iterator[Path]:
    """Write the findings of all searches, a curve and a map for each system; yield the files."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / "search_findings.csv"
    write_whole(file, findings_of(searches).to_csv(index=False))
    yield file
    for system in dict.fromkeys(curve.system for curve in curves):
        file = out / f"search-{system}.svg"
        write_whole(file, standalone(curves_figure(system, curves)))
        yield file
        of_system = [one for one in searches if system_of(one) == system]
        if of_system[0].ready.search.behaviour:
            file = out / f"search-map-{system}.svg"
            write_whole(file, standalone(map_of(system, of_system)))
            yield file


def system_of(searched: Searched) -> str:
    """Return the name of the system that was searched."""
    (system,) = searched.ready.campaign["system"]
    return str(system)


def map_of(system: str, searches: Sequence[Searched]) -> Canvas:
    """Draw the archives of all searches of a system, by guidance."""
    by_guidance: dict[str, list[Archive]] = {}
    for searched in searches:
        settings = searched.ready.search
        numbers = {one.number for one in read_confirmations(searched) if one.confirmed}
        archive = archive_of(
            settings.behaviour,
            searched.evaluations,
            objective=settings.objectives[0],
            confirmed=numbers,
        )
        by_guidance.setdefault(settings.sampler, []).append(archive)
    return archive_map(system, by_guidance)


def findings_of(searches: Sequence[Searched]) -> pd.DataFrame:
    """Return a row for each finding that was driven again: values, and how often it failed."""
    rows = []
    for searched in searches:
        settings = searched.ready.search
        system = system_of(searched)
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


def curves_figure(system: str, curves: Sequence[SearchCurve]) -> Canvas:
    """Draw confirmed distinct failures over evaluations, the means over search seeds."""
    known = [curve for curve in curves if curve.system == system]
    budget = len(known[0].curve)
    samplers = list(dict.fromkeys(curve.sampler for curve in known))
    lines = [
        Line(sampler, tuple(points_of([c for c in known if c.sampler == sampler])), colour)
        for sampler, colour in zip(samplers, HUES, strict=False)
    ]
    most = max(int(curve.curve[-1]) for curve in known)
    says = f"{system}: confirmed distinct failures over evaluations, by guidance"
    return render_lines(
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


def points_of(curves: Sequence[SearchCurve]) -> Iterator[tuple[float, float, float, float]]:
    """Yield evaluations and the mean over search seeds, without an interval."""
    heights = np.array([curve.curve for curve in curves], np.float64).mean(axis=0)
    budget = len(heights)
    for at in np.unique(np.linspace(1, budget, min(POINTS, budget)).round().astype(int)).tolist():
        yield float(at), float(heights[at - 1]), np.nan, np.nan
