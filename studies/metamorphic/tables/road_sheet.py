"""MR1 as published (Zhou and Sun): obstacles on the road that points off the road cost."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.statistics.intervals import IntervalEstimate, estimate_share
from studies.metamorphic.catalogue import MAKERS, MR1, STRAY_OFF_ROAD
from studies.metamorphic.relations.relation import MetamorphicRelation
from studies.metamorphic.tables.summary import StudyTables, select_exposed_measures
from studies.metamorphic.tables.text_sheet import NOTHING, TextSheet

SWEEPS = {f"{STRAY_OFF_ROAD['ego']}_": "the ego's", f"{STRAY_OFF_ROAD['both']}_": "all agents'"}
"""Whose sweeps get points, by how the name of an operator begins."""
PLACEBO = "placebo_"


def list_road_operators(tables: StudyTables) -> list[tuple[str, str, str]]:
    """Return operators that MR1 is asked of, with how many points are added to whose sweeps.

    Placebos come last: what MR1 says of them is chance.
    """
    rows = []
    for operator in tables.operators:
        starts = [start for start in SWEEPS if operator.removeprefix(start).isdigit()]
        if starts:
            rows.append((operator, SWEEPS[starts[0]], operator.removeprefix(starts[0])))
        elif MAKERS[operator]().placebo:
            rows.append((operator, operator.removeprefix(PLACEBO), "placebo"))
    return sorted(rows, key=lambda row: row[2] == "placebo")


def has_road_measures(tables: StudyTables) -> bool:
    """Return whether points off the road were tried."""
    return any(points != "placebo" for *_, points in list_road_operators(tables))


def build_road_sheet(tables: StudyTables) -> TextSheet:
    """Return violations of MR1 by number of points, asked as a set and by counts of classes."""
    rows = [
        (
            *(sweeps, points, describe_mr1_relation(relation)),
            *(
                format_violations(tables, relation.name, system, operator)
                for system in tables.systems
            ),
        )
        for operator, sweeps, points in list_road_operators(tables)
        for relation in MR1
    ]
    return TextSheet(
        name="mr1_road",
        title="MR1 (Zhou and Sun): scenes that lose detections on the road to points off the road",
        head=("sweeps", "points", "asked", *tables.systems),
        rows=tuple(rows),
        names=3,
        note="Scenes that break it, of scenes with such a detection on the road, and the 95 %"
        " interval of the share over scenarios. Lost: a detection without one of its class that"
        " overlaps it by half. Fewer: |O| > |O'|, as published for Apollo: 2.7, 12.1 and 33.5 %."
        " Placebos show what chance gives. No network here has the paper's class unknown.",
    )


def describe_mr1_relation(relation: MetamorphicRelation) -> str:
    """Return what a relation of MR1 asks: lost or fewer, and of which class."""
    name = relation.name.removeprefix("MR1_road_")
    if name == "kept":
        return "lost"
    return f"fewer, {name.removeprefix('count').strip('_') or 'all classes'}"


def format_violations(tables: StudyTables, relation: str, system: str, operator: str) -> str:
    """Return how many scenes break a relation, and their share with its interval."""
    of = select_exposed_measures(tables, relation, system, operator)
    if not len(of):
        return NOTHING
    share = estimate_violated_share(of)
    limits = "" if np.isnan(share.low) else f", {100 * share.low:.1f} to {100 * share.high:.1f}"
    count = int((of["value"] > 0).sum())
    return f"{count} of {len(of)} ({100 * share.value:.1f} %{limits})"


def estimate_violated_share(measures: pd.DataFrame) -> IntervalEstimate:
    """Return the share of scenes with a value above 0, with an interval over scenarios.

    Args:
        measures: of one relation, one system and one operator.
    """
    broken = (measures["value"].to_numpy() > 0).astype(np.float64)
    scenarios = pd.factorize(measures["cluster"])[0].astype(np.float64)
    return estimate_share(broken, scenarios)
