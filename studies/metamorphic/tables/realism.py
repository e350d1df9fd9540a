"""The table of realism: do changed sweeps look like recorded ones?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.types.vocabulary import Floats
from studies.metamorphic.judging.realism import (
    LOST,
    NOISE,
    RANGE_STATISTICS,
    compute_frechet_distance,
)
from studies.metamorphic.judging.rows import CORRUPTED_OPERATOR, RECORDED_OPERATOR
from studies.metamorphic.tables.summary import StudyTables
from studies.metamorphic.tables.text_sheet import NOTHING, TextSheet

LEAST_SPREAD = 0.002
"""Of a statistic: recordings of one LiDAR hardly differ in some, and rounding is no difference."""


def build_realism_sheets(tables: StudyTables) -> list[TextSheet]:
    """Return the table of realism; none of a study from before sweeps were recorded."""
    return [build_realism_sheet(tables)] if len(tables.sweeps) else []


def build_realism_sheet(tables: StudyTables) -> TextSheet:
    """Return how far changed sweeps are from recorded ones of the same and of other scenarios."""
    sweeps = tables.sweeps
    recorded = sweeps[sweeps["operator"] == RECORDED_OPERATOR]
    elsewhere = recorded["cluster"].isin(tables.calibration)
    scale = np.maximum(select_statistics(recorded).std(axis=0), LEAST_SPREAD)
    rows = []
    for operator in (RECORDED_OPERATOR, *tables.operators, CORRUPTED_OPERATOR):
        changed = sweeps[sweeps["operator"] == operator]
        if not len(changed):
            continue
        # the same scenes as recorded; then those of half of the scenarios, and of the other half
        same = recorded[recorded["scene"].isin(changed["scene"])]
        here = changed[~changed["cluster"].isin(tables.calibration)]
        known = recorded[recorded["scene"].isin(here["scene"])]
        others = select_statistics(recorded[elsewhere])
        pairs = (
            (select_statistics(changed), select_statistics(same)),
            (select_statistics(here), others),
            (select_statistics(known), others),
        )
        cells = [format_distance(compute_frechet_distance(*pair, scale)) for pair in pairs]
        if operator == RECORDED_OPERATOR:
            cells[0] = NOTHING
        rows.append((operator, str(len(changed)), *cells))
    return TextSheet(
        name="realism",
        title="Realism: Fréchet distance of range statistics (not FRD)",
        head=(
            *("operator", "sweeps", "to the same scenes as recorded"),
            *("to other scenarios", "the same scenes as recorded, to other scenarios"),
        ),
        rows=tuple(rows),
        note="Sweeps of the ego. The distance is between normal distributions of"
        f" {len(RANGE_STATISTICS)} statistics of the range image, in units of their spread in"
        f" recorded sweeps; 0 is equal. Fewer than {2 * len(RANGE_STATISTICS)} sweeps have no"
        " distance. FRD needs the activations of a trained network, and its"
        f" numbers are others. `{CORRUPTED_OPERATOR}` is the control: {100 * LOST:g} % of points"
        f" are lost, {100 * NOISE:g} cm of noise.",
    )


def select_statistics(sweeps: pd.DataFrame) -> Floats:
    """Return the statistics of sweeps, (sweeps, statistics)."""
    return sweeps[list(RANGE_STATISTICS)].to_numpy(np.float64)


def format_distance(distance: float) -> str:
    """Return a distance for the table."""
    return NOTHING if np.isnan(distance) else f"{distance:.3f}"
