"""Totals of a result set: what becomes of drives that crashed, are missing or were repeated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from studies.outside_results.driven_route import DrivenRoute
from studies.outside_results.reading import ResultSet
from studies.outside_results.scoring_rules import CLOSE, ScoringRule

CrashTreatment = Literal["skip", "zero", "repeat"]
TREATMENTS: tuple[CrashTreatment, ...] = ("skip", "zero", "repeat")
Place = tuple[str, int]
"""Route and repetition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTotals:
    """What a result set comes to.

    Attributes:
        drives: records, with repeated ones.
        routes: routes and repetitions that differ.
        missing: planned ones without a record.
        crashed: those whose first record says that the program failed.
        timed_out: those whose first record says so.
        repeated: records of a route and repetition after the first.
        scores: mean driving score by treatment, 0 to 100; NaN where no drive is left.
        written: mean of the scores as written, of the first records.
        rescored: drives whose written score is not the rule's.
    """

    drives: int
    routes: int
    missing: int
    crashed: int
    timed_out: int
    repeated: int
    scores: dict[CrashTreatment, float]
    written: float
    rescored: int


def group_by_place(drives: Sequence[DrivenRoute]) -> dict[Place, list[DrivenRoute]]:
    """Return the records of each route and repetition, in the order of the file."""
    places: dict[Place, list[DrivenRoute]] = {}
    for drive in drives:
        places.setdefault((drive.route, drive.repetition), []).append(drive)
    return places


def choose_drives(
    drives: Sequence[DrivenRoute], treatment: CrashTreatment
) -> dict[Place, DrivenRoute | None]:
    """Return the drive of each route and repetition that counts; None counts as zero.

    Args:
        drives: of a result set.
        treatment: `skip` leaves out what crashed; `zero` counts the drive as 0; `repeat` takes the
            first record of the route that did not crash, and leaves out routes without one.
    """
    chosen: dict[Place, DrivenRoute | None] = {}
    for place, records in group_by_place(drives).items():
        good = [drive for drive in records if drive.end != "crashed"]
        if treatment == "repeat":
            if good:
                chosen[place] = good[0]
        elif records[0].end != "crashed":
            chosen[place] = records[0]
        elif treatment == "zero":
            chosen[place] = None
    return chosen


def compute_set_totals(results: ResultSet, rule: ScoringRule) -> SetTotals:
    """Return counts and mean scores; planned routes without a record are zero under `zero`."""
    places = group_by_place(results.drives)
    first = [records[0] for records in places.values()]
    missing = max(results.planned - len(places), 0)
    scores = {}
    for treatment in TREATMENTS:
        counted = [
            0.0 if drive is None else rule.compute_score(drive)
            for drive in choose_drives(results.drives, treatment).values()
        ]
        n = len(counted) + (missing if treatment == "zero" else 0)
        scores[treatment] = sum(counted) / n if n else math.nan
    return SetTotals(
        drives=len(results.drives),
        routes=len(places),
        missing=missing,
        crashed=sum(drive.end == "crashed" for drive in first),
        timed_out=sum(drive.end == "timed out" for drive in first),
        repeated=len(results.drives) - len(places),
        scores=scores,
        written=sum(drive.score for drive in first) / len(first) if first else math.nan,
        rescored=sum(abs(rule.compute_score(drive) - drive.score) > 100 * CLOSE for drive in first),
    )


def list_stated_differences(results: ResultSet) -> list[str]:
    """Return sentences on totals of the file that its records do not give."""
    notes = []
    records = len(results.drives)
    if "drives" in results.stated and results.stated["drives"] != records:
        notes.append(
            f"{results.name}: the file says {results.stated['drives']:g} drives, and has {records}"
        )
    if "score" in results.stated and records:
        summed = sum(drive.score for drive in results.drives)
        means = {n: summed / n for n in {records, results.planned} if n}
        stated = results.stated["score"]
        if not any(math.isclose(stated, mean, abs_tol=1e-3) for mean in means.values()):
            described = " or ".join(f"{mean:.3f} (over {n})" for n, mean in sorted(means.items()))
            notes.append(
                f"{results.name}: the file says a score of {stated:.3f}; its records give"
                f" {described}"
            )
    return notes
