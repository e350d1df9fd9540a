"""The smallest findings: small changes that break a relation and that ground truth confirms."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from studies.metamorphic.catalogue import MAKERS, STRAY_OFF_ROAD
from studies.metamorphic.tables.sheets import iterate_tested_relations
from studies.metamorphic.tables.summary import StudyTables, get_band_findings

MOST = 10
OF_ONE = 2
"""Findings of one operator at most, and of one system with it."""
STRENGTHS: Mapping[str, tuple[str, ...]] = {
    "latency": ("looks",),
    "pose_error": ("x", "y", "z", "yaw"),
    "global_loss": ("probability",),
    "channel_loss": ("share",),
    "rain": ("rate",),
    "snow": ("rate",),
    "fog": ("visibility",),
    "wet_ground": ("water",),
    "scale": ("x", "y", "z"),
    "rotate": ("degrees",),
    "translate": ("metres",),
    **{name: ("count",) for name in MAKERS if name.startswith(tuple(STRAY_OFF_ROAD.values()))},
}
"""Parameters that say how large a change is; operators without any are not ranked."""
MIDDLE = {"scale": 1.0}
"""Values at which an operator changes nothing, where that is not the lower end."""
REVERSED = {"fog"}
"""Operators that change more the smaller their value is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationFinding:
    """A scene beyond the band of a relation, with what ground truth says."""

    scene: str
    system: str
    operator: str
    relation: str
    values: str  # as JSON
    size: float  # of the change, 0 to 1 of its range
    measure: float
    threshold: float
    wrong: int
    breaches: int


def compute_change_size(operator: str, values: Mapping[str, float | str]) -> float:
    """Return how large a change is, 0 to 1: the mean of its strengths, each by its greatest.

    A strength that is sampled in its logarithm counts by its place in the range.
    """
    space = {parameter.name: parameter for parameter in MAKERS[operator]().operator.space}
    shares = []
    for name in STRENGTHS[operator]:
        parameter, number = space[name], float(values[name])
        if parameter.kind == "log":
            low, high = math.log(parameter.low), math.log(parameter.high)
            share = (math.log(number) - low) / (high - low)
        else:
            nothing = MIDDLE.get(operator, 0.0)
            share = abs(number - nothing) / (parameter.high - nothing)
        shares.append(1 - share if operator in REVERSED else share)
    return sum(shares) / len(shares)


def list_confirmed_findings(tables: StudyTables) -> list[RelationFinding]:
    """Return all tested scenes beyond their band in which ground truth confirms a breach."""
    calibrating, result = tables.calibration, list[RelationFinding]()
    for operator, relation in iterate_tested_relations(tables):
        if relation.exact or operator not in STRENGTHS:
            continue
        for system in tables.systems:
            above = get_band_findings(tables, relation.name, system, operator)
            if above is None:
                continue
            of = tables.select_rows("measures", system, operator)
            of = of[(of["relation"] == relation.name) & ~of["cluster"].isin(calibrating)]
            of = of[(of["value"] > above.threshold) & (of["wrong"] > 0) & (of["exposed"] > 0)]
            result += [make_relation_finding(row, above.threshold) for _, row in of.iterrows()]
    return result


def make_relation_finding(row: pd.Series, threshold: float) -> RelationFinding:
    """Return a row of measures as a finding."""
    return RelationFinding(
        scene=row["scene"],
        system=row["system"],
        operator=row["operator"],
        relation=row["relation"],
        values=row["values"],
        size=compute_change_size(row["operator"], json.loads(row["values"])),
        measure=float(row["value"]),
        threshold=threshold,
        wrong=int(row["wrong"]),
        breaches=int(row["breaches"]),
    )


def select_smallest_findings(tables: StudyTables) -> list[RelationFinding]:
    """Return the smallest findings, no more than two of an operator or of a scene."""
    chosen: list[RelationFinding] = []
    taken = Counter[str]()
    order = sorted(
        list_confirmed_findings(tables),
        key=lambda one: (one.size, -one.measure, one.scene, one.system),
    )
    for one in order:
        if taken[one.operator] < OF_ONE and taken[one.scene] < OF_ONE and len(chosen) < MOST:
            chosen.append(one)
            taken.update((one.operator, one.scene))
    return chosen
