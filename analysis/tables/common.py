"""Errors of two arms over the road that both drove: a collision ends a drive, and its errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.arms import brief, of_arms
from analysis.collection import Collection
from analysis.comparison import PAIR
from analysis.contrasts import planned
from analysis.regression.stretches import Track
from analysis.tables.table import ESTIMATE, Measure, Table, cells, mean_of, ratio_of
from harness.records.arms import Arm
from harness.vocabulary import PATTERNS

BY = ("second", "first", "of")
TITLE = (
    "Errors for 100 true boxes over the stretch that both drives of a pair drove;"
    " true boxes and metres for each drive"
)


def common_stretches(found: Collection, tracks: Sequence[Track]) -> Table:
    """Return the errors of every comparison's arms where both were, from all tracks."""
    parts = [
        cells(rows, BY, measures())
        for _, a, b in planned(found.arms)
        for rows in [shared(found, tracks, a, b)]
        if len(rows)
    ]
    empty = pd.DataFrame(columns=[*BY, "measure", *ESTIMATE])
    return Table("common_stretch", TITLE, BY, pd.concat(parts) if parts else empty)


def measures() -> dict[str, Measure]:
    """Return rates and what they rest on."""
    rates = {name: ratio_of(name, "true_boxes", 100) for name in PATTERNS}
    return {**rates, "true boxes": mean_of("true_boxes"), "driven, m": mean_of("driven")}


def shared(found: Collection, tracks: Sequence[Track], a: Arm, b: Arm) -> pd.DataFrame:
    """Return a row for each drive of each pair: its errors as far as both came."""
    attempts = found.attempts.reset_index(drop=True)[PAIR].rename_axis("row").reset_index()
    sides = [attempts[of_arms(found.attempts, [arm]).to_numpy()] for arm in (a, b)]
    first, second = (brief(arm, found.factors) for arm in (a, b))
    pairs = sides[0].merge(sides[1], on=PAIR, suffixes=("_a", "_b"))
    rows = []
    for row_a, row_b, cluster in zip(pairs["row_a"], pairs["row_b"], pairs["cluster"], strict=True):
        both = tracks[row_a], tracks[row_b]
        end = min((each.reached[-1] if len(each.reached) else 0.0) for each in both)
        for arm, track in zip((first, second), both, strict=True):
            counts, truths = track.over(np.array([-np.inf]), np.array([end]))
            names = {"second": second, "first": first, "of": arm, "cluster": cluster}
            errors = dict(zip(PATTERNS, counts[0], strict=True))
            rows.append({**names, **errors, "true_boxes": truths[0], "driven": end})
    return pd.DataFrame(rows)
