"""Tables of operators and of an offline study's results."""

from __future__ import annotations

import math
from pathlib import Path

from rich.table import Table

from metamorphic.catalogue import MAKERS
from metamorphic.summary import (
    Change,
    Tables,
    exposed,
    findings,
    precision_change,
    rate_change,
)


def listing() -> Table:
    """Return the operators, what they need and what is asked of the answers."""
    table = Table(title="Operators")
    for column in ("operator", "level", "paper", "values", "needs", "relations"):
        table.add_column(column)
    for name, make in MAKERS.items():
        entry = make()
        operator = entry.operator
        values = [
            f"{parameter.name} {parameter.low:g} to {parameter.high:g} {parameter.unit}"
            for parameter in operator.space
            if parameter.name not in entry.fixed
        ]
        values += [f"{value} {name}" for name, value in entry.fixed.items()]
        cells = (
            *(name, operator.level, operator.paper, "; ".join(values) or "-"),
            ", ".join(sorted(operator.needs)) or "-",
            ", ".join(relation.name for relation in entry.relations),
        )
        table.add_row(*cells)
    return table


def tables(folder: Path) -> list[Table]:
    """Return the results of a study."""
    records = Tables(folder)
    return [of_precision(records), of_errors(records), of_relations(records), of_skipped(records)]


def of_precision(records: Tables) -> Table:
    """Return average precision before and after."""
    table = Table(title="Average precision at IoU 0.5, mean of classes, before and after")
    table.add_column("operator")
    for system in records.systems:
        table.add_column(system)
    for operator in records.operators:
        changes = [precision_change(records, system, operator) for system in records.systems]
        table.add_row(operator, *(shown(change) for change in changes))
    return table


def of_errors(records: Tables) -> Table:
    """Return misleading cooperation errors: counts, and rates for each object that was exposed."""
    table = Table(title="Misled (MCE): objects that cooperation loses, count and rate")
    table.add_column("operator")
    for system in records.systems:
        table.add_column(system)
    for operator in records.operators:
        changes = [rate_change(records, "misled", system, operator) for system in records.systems]
        table.add_row(
            operator,
            *(f"{one.count_before} → {one.count_after}, {shown(one)}" for one in changes),
        )
    return table


def of_relations(records: Tables) -> Table:
    """Return, for exact relations, the scenes that break them; for others, those beyond bands."""
    table = Table(title="Relations: scenes that break them, or scenarios beyond the placebos' band")
    for column in ("operator", "relation"):
        table.add_column(column)
    for system in records.systems:
        table.add_column(system)
    for operator in records.operators:
        entry = MAKERS[operator]()
        if entry.placebo:
            continue
        for relation in entry.relations:
            kind = broken if relation.exact else beyond
            cells = [kind(records, relation.name, system, operator) for system in records.systems]
            table.add_row(operator, relation.name, *cells)
    return table


def broken(records: Tables, relation: str, system: str, operator: str) -> str:
    """Return how many scenes break an exact relation."""
    of = exposed(records, relation, system, operator)
    return f"{int((of['value'] > 0).sum())} of {len(of)}"


def beyond(records: Tables, relation: str, system: str, operator: str) -> str:
    """Return how many scenarios lie beyond the band, and how many would by chance."""
    above = findings(records, relation, system, operator)
    if above is None:
        of = exposed(records, relation, system, operator)
        return f"mean {of['value'].mean():.3f}, no band" if len(of) else "-"
    return f"{above.beyond} of {above.tested} (chance {above.expected:.1f}), mean {above.mean:.3f}"


def of_skipped(records: Tables) -> Table:
    """Return how often operators could not change a scene."""
    table = Table(title="Scenes that an operator could not change")
    for column in ("operator", "scenes", "first reason"):
        table.add_column(column)
    for operator, rows in records.skipped.groupby("operator"):
        table.add_row(str(operator), str(len(rows)), str(rows["reason"].iloc[0]))
    return table


def shown(change: Change) -> str:
    """Return two numbers and the interval of their difference."""
    if math.isnan(change.before) or math.isnan(change.after):
        return "-"
    interval = f" ({change.low:+.2f} to {change.high:+.2f})" if not math.isnan(change.low) else ""
    return f"{change.before:.2f} → {change.after:.2f}{interval}"
