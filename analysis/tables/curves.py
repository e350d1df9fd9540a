"""What the curves show: scores against the size of a disturbance, and against bytes received.

Every number is one of another table, at its place on a curve; nothing is estimated a second time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import pandas as pd

from analysis.collection import CampaignCollection
from analysis.statistics.intervals import NO_ESTIMATE, IntervalEstimate
from analysis.surrogates import GOAL_TIME
from analysis.sweeps import ConditionSweep, find_collection_sweeps
from analysis.tables.table import ESTIMATE, EstimatesTable
from harness.records.arms import NONE, Arm, make_arm_sort_key

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
class KnownEstimates:
    """The estimates of the tables so far, by arm."""

    factors: tuple[str, ...]
    cells: Mapping[str, Mapping[tuple[str, ...], Mapping[str, IntervalEstimate]]]  # by table

    def get_estimate(self, arm: Arm, table: str, measure: str) -> IntervalEstimate:
        """Return an estimate, empty where there is none."""
        of_arm = self.cells.get(table, {}).get(arm.get_values(self.factors), {})
        return of_arm.get(measure, NO_ESTIMATE)

    def get_scores(self, arm: Arm) -> dict[str, IntervalEstimate]:
        """Return the scores of an arm, as far as their tables were made."""
        return {
            name: self.get_estimate(arm, *source)
            for name, source in SCORES.items()
            if source[0] in self.cells
        }


def collect_known_estimates(
    collection: CampaignCollection, tables: Sequence[EstimatesTable]
) -> KnownEstimates:
    """Return the estimates of whole drives in some tables."""
    wanted = ("driving", "precision", "delivered")
    cells = {
        table.name: {names[: table.arm]: estimates for names, estimates in table.list_rows()}
        for table in tables
        if table.name in wanted
    }
    return KnownEstimates(collection.factors, cells)


def build_curve_tables(
    collection: CampaignCollection, tables: Sequence[EstimatesTable]
) -> list[EstimatesTable]:
    """Return the points of the curves and those of the trade-off, where there are any."""
    known = collect_known_estimates(collection, tables)
    made = [build_sweep_curves_table(collection, known), build_volume_table(collection, known)]
    return [table for table in made if len(table.cells)]


def build_sweep_curves_table(
    collection: CampaignCollection, known: KnownEstimates
) -> EstimatesTable:
    """Return the scores of every system at every size of every disturbance that was swept."""
    by = ("sweep", *collection.factors, "asked", "axis")
    rows = [
        row
        for sweep in find_collection_sweeps(collection)
        for row in iterate_sweep_points(sweep, collection, known)
    ]
    return build_estimates_table(CURVES, "Scores by the size of a disturbance", by, rows)


def iterate_sweep_points(
    sweep: ConditionSweep, collection: CampaignCollection, known: KnownEstimates
) -> Iterator[tuple[dict[str, str], dict[str, IntervalEstimate]]]:
    """Yield the points of a sweep: line by line, `none` first.

    Args:
        sweep: the conditions and their sizes.
        collection: campaigns that were read.
        known: estimates of the tables so far.
    """
    axis = describe_sweep_axis(sweep, known)
    arms = sorted(collection.arms, key=make_arm_sort_key)
    # a line is an arm without its condition: one system, one cooperation
    for line in dict.fromkeys(arm.replace_factors(condition=NONE) for arm in arms):
        swept = {arm.condition: arm for arm in arms if arm.replace_factors(condition=NONE) == line}
        sizes = {name: size for name, size in sweep.sizes.items() if name in swept}
        if sizes:
            shown = [(NONE, sweep.none), *sizes.items()]
        # systems without messages have one point, at any size
        elif set(swept) == {NONE} and not is_message_reader(collection, line):
            shown = [(ANY, math.nan)]
        else:
            continue
        for condition, size in shown:
            arm = line if condition in (NONE, ANY) else swept[condition]
            if arm not in collection.arms:
                continue
            names = dict(zip(collection.factors, arm.get_values(collection.factors), strict=True))
            asked = ANY if condition == ANY else UNLIMITED if math.isinf(size) else f"{size:.12g}"
            place = {"sweep": sweep.name, **names, "asked": asked, "axis": axis}
            yield (
                place,
                {SIZE: get_delivered_size(sweep, known, arm, size), **known.get_scores(arm)},
            )


def describe_sweep_axis(sweep: ConditionSweep, known: KnownEstimates) -> str:
    """Return what a sweep's sizes are: measured where they can be, else as asked for."""
    if sweep.measured and "delivered" in known.cells:
        return f"measured: {sweep.measured}"
    return f"asked: {sweep.asked}"


def get_delivered_size(
    sweep: ConditionSweep, known: KnownEstimates, arm: Arm, asked: float
) -> IntervalEstimate:
    """Return the size that was delivered to an arm, or asked for; nothing for any size.

    Args:
        sweep: the conditions and their sizes.
        known: estimates of the tables so far.
        arm: of one point.
        asked: the size in the settings; NaN for any size.
    """
    if math.isnan(asked):
        return NO_ESTIMATE
    if sweep.measured and "delivered" in known.cells:
        return known.get_estimate(arm, "delivered", sweep.measured)
    n = known.get_estimate(arm, "driving", "DS")
    return IntervalEstimate(
        value=asked, low=math.nan, high=math.nan, n=n.n, routes=n.routes, method="none"
    )


def is_message_reader(collection: CampaignCollection, line: Arm) -> bool:
    """Return whether a system reads messages."""
    of_system = collection.attempts["system"] == line.system
    return bool(collection.attempts.loc[of_system, "reads_messages"].any())


def build_volume_table(collection: CampaignCollection, known: KnownEstimates) -> EstimatesTable:
    """Return every arm's scores and the bytes that it received; nothing if no arm received any."""
    received = {arm: known.get_estimate(arm, "delivered", RECEIVED) for arm in collection.arms}
    there = any(estimate.value > 0 for estimate in received.values())
    rows = [
        (
            dict(zip(collection.factors, arm.get_values(collection.factors), strict=True)),
            {RECEIVED: received[arm], **known.get_scores(arm)},
        )
        for arm in sorted(collection.arms, key=make_arm_sort_key)
        if there and received[arm].n
    ]
    return build_estimates_table(VOLUME, "Scores by bytes received", collection.factors, rows)


def build_estimates_table(
    name: str,
    title: str,
    by: tuple[str, ...],
    rows: Sequence[tuple[Mapping[str, str], Mapping[str, IntervalEstimate]]],
) -> EstimatesTable:
    """Return rows of estimates as a table, in their order.

    Args:
        name: of the table and its files.
        title: shown above it.
        by: columns that name a row.
        rows: names of a row, and its estimates by measure.
    """
    records = [
        {**names, "measure": measure, **asdict(estimate)}
        for names, estimates in rows
        for measure, estimate in estimates.items()
    ]
    cells = pd.DataFrame(records, columns=[*by, "measure", *ESTIMATE])
    return EstimatesTable(name=name, title=title, by=by, cells=cells, digits=DIGITS)
