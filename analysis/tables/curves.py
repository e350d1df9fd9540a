"""What the curves show: scores against the size of a disturbance, and against bytes received.

Every number is one of another table, at its place on a curve; nothing is estimated a second time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import pandas as pd

from analysis.collection import Collection
from analysis.statistics.intervals import NO_ESTIMATE, Estimate
from analysis.surrogates import GOAL_TIME
from analysis.sweeps import Sweep, sweeps_of
from analysis.tables.table import ESTIMATE, Table
from harness.records.arms import NONE, Arm, in_order

SIZE, RECEIVED = "size", "received, bytes/s"
"""The measures that stand on the horizontal axis."""
SCORES = {
    "DS": ("driving", "DS"),
    "CR %": ("driving", "CR %"),
    GOAL_TIME: ("driving", GOAL_TIME),
    "AP": ("precision", "AP pooled"),
}
"""Each score's table and its name there."""
DIGITS = {SIZE: 3, RECEIVED: 0, "AP": 2}
ANY = "any"
"""The size for systems that receive no messages: it makes no difference to them."""
UNLIMITED = "no limit"
CURVES, VOLUME = "curves", "volume"


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """The estimates of the tables so far, by arm."""

    factors: tuple[str, ...]
    cells: Mapping[str, Mapping[tuple[str, ...], Mapping[str, Estimate]]]  # by table

    def of(self, arm: Arm, table: str, measure: str) -> Estimate:
        """Return an estimate, empty where there is none."""
        of_arm = self.cells.get(table, {}).get(arm.values(self.factors), {})
        return of_arm.get(measure, NO_ESTIMATE)

    def scores(self, arm: Arm) -> dict[str, Estimate]:
        """Return the scores of an arm, as far as their tables were made."""
        return {
            name: self.of(arm, *source)
            for name, source in SCORES.items()
            if source[0] in self.cells
        }


def known_of(collection: Collection, tables: Sequence[Table]) -> Known:
    """Return the estimates of whole drives in some tables."""
    wanted = ("driving", "precision", "delivered")
    cells = {
        table.name: {names[: table.arm]: estimates for names, estimates in table.rows()}
        for table in tables
        if table.name in wanted
    }
    return Known(collection.factors, cells)


def curve_tables(collection: Collection, tables: Sequence[Table]) -> list[Table]:
    """Return the points of the curves and those of the trade-off, where there are any."""
    known = known_of(collection, tables)
    made = [curves(collection, known), volume(collection, known)]
    return [table for table in made if len(table.cells)]


def curves(collection: Collection, known: Known) -> Table:
    """Return the scores of every system at every size of every disturbance that was swept."""
    by = ("sweep", *collection.factors, "asked", "axis")
    rows = [row for sweep in sweeps_of(collection) for row in points(sweep, collection, known)]
    return table_of(CURVES, "Scores by the size of a disturbance", by, rows)


def points(
    sweep: Sweep, collection: Collection, known: Known
) -> Iterator[tuple[dict[str, str], dict[str, Estimate]]]:
    """Yield the points of a sweep: line by line, `none` first."""
    axis = axis_of(sweep, known)
    arms = sorted(collection.arms, key=in_order)
    for line in dict.fromkeys(arm.but(condition=NONE) for arm in arms):
        swept = {arm.condition: arm for arm in arms if arm.but(condition=NONE) == line}
        sizes = {name: size for name, size in sweep.sizes.items() if name in swept}
        if sizes:
            shown = [(NONE, sweep.none), *sizes.items()]
        elif set(swept) == {NONE} and not reads(collection, line):
            shown = [(ANY, math.nan)]
        else:
            continue
        for condition, size in shown:
            arm = line if condition in (NONE, ANY) else swept[condition]
            if arm not in collection.arms:
                continue
            names = dict(zip(collection.factors, arm.values(collection.factors), strict=True))
            asked = ANY if condition == ANY else UNLIMITED if math.isinf(size) else f"{size:.12g}"
            place = {"sweep": sweep.name, **names, "asked": asked, "axis": axis}
            yield place, {SIZE: size_of(sweep, known, arm, size), **known.scores(arm)}


def axis_of(sweep: Sweep, known: Known) -> str:
    """Return what a sweep's sizes are: measured where they can be, else as asked for."""
    if sweep.measured and "delivered" in known.cells:
        return f"measured: {sweep.measured}"
    return f"asked: {sweep.asked}"


def size_of(sweep: Sweep, known: Known, arm: Arm, asked: float) -> Estimate:
    """Return the size that was delivered to an arm, or asked for; nothing for any size."""
    if math.isnan(asked):
        return NO_ESTIMATE
    if sweep.measured and "delivered" in known.cells:
        return known.of(arm, "delivered", sweep.measured)
    n = known.of(arm, "driving", "DS")
    return Estimate(value=asked, low=math.nan, high=math.nan, n=n.n, routes=n.routes, method="none")


def reads(collection: Collection, line: Arm) -> bool:
    """Return whether a system reads messages."""
    of_system = collection.attempts["system"] == line.system
    return bool(collection.attempts.loc[of_system, "reads_messages"].any())


def volume(collection: Collection, known: Known) -> Table:
    """Return every arm's scores and the bytes that it received; nothing if no arm received any."""
    received = {arm: known.of(arm, "delivered", RECEIVED) for arm in collection.arms}
    there = any(estimate.value > 0 for estimate in received.values())
    rows = [
        (
            dict(zip(collection.factors, arm.values(collection.factors), strict=True)),
            {RECEIVED: received[arm], **known.scores(arm)},
        )
        for arm in sorted(collection.arms, key=in_order)
        if there and received[arm].n
    ]
    return table_of(VOLUME, "Scores by bytes received", collection.factors, rows)


def table_of(
    name: str,
    title: str,
    by: tuple[str, ...],
    rows: Sequence[tuple[Mapping[str, str], Mapping[str, Estimate]]],
) -> Table:
    """Return rows of estimates as a table, in their order."""
    records = [
        {**names, "measure": measure, **asdict(estimate)}
        for names, estimates in rows
        for measure, estimate in estimates.items()
    ]
    cells = pd.DataFrame(records, columns=[*by, "measure", *ESTIMATE])
    return Table(name=name, title=title, by=by, cells=cells, digits=DIGITS)
