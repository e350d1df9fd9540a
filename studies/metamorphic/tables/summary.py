"""What an offline study says, in numbers: rates before and after, with intervals over scenarios.

Scenes of a scenario depend on each other: intervals are of a bootstrap over scenarios, and before
and after are of the same scenarios.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binom

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import CLASSES, Floats, Integers
from studies.metamorphic.catalogue import MAKERS
from studies.metamorphic.judging.bands import PlaceboBand, compute_expected_findings, fit_band
from studies.metamorphic.judging.rows import RECORDED_OPERATOR
from studies.metamorphic.storage.packing import ORDER, read_packed_study, read_study_folder

RESAMPLED = 400
LEVEL = 0.05


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClassDetections:
    """Detections of one class, highest score first, and the objects of every cluster."""

    correct: Floats  # 1 or 0
    cluster: Integers  # of every detection, by number
    truths: Floats  # of every cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEstimate:
    """A number of the recorded scenes and of the changed ones, and the difference's interval."""

    before: float
    after: float
    low: float
    high: float
    count_before: int = 0
    count_after: int = 0
    exposed_before: int = 0
    exposed_after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BandFindings:
    """A relation's scenes beyond the band of its placebos."""

    tested: int  # clusters
    beyond: int  # clusters of which a scene lies above the threshold
    expected: float  # of them, by chance at most
    p: float  # of so many or more, by chance; of the relation and system alone
    placebos: tuple[float, ...]  # one for each scenario that gives the band
    values: tuple[float, ...]  # the largest of each tested scenario
    threshold: float
    mean: float  # of the statistic, over scenes with exposed boxes


class StudyTables:
    """The records of a study: a folder, or the one file that `pack` makes of it."""

    def __init__(self, place: Path) -> None:
        self.header, tables = (
            read_packed_study(place) if place.is_file() else read_study_folder(place)
        )
        self.measures = tables["measures"]
        self.checks = tables["checks"]
        self.detections = tables["detections"]
        self.objects = tables["objects"]
        self.scores = tables["scores"]
        self.boxes = tables["boxes"]
        self.skipped = tables["skipped"]
        self.sweeps = tables["sweeps"]
        self.users = tables["users"]
        self.known: dict[tuple[str, str, str], BandFindings | None] = {}
        # what several tables need again, by what it is of
        self.error_sums: dict[tuple[str, str, ComparedSides], tuple[pd.DataFrame, ...]] = {}
        self.precisions: dict[tuple[str, frozenset[str], frozenset[str]], Floats] = {}
        self.scene_errors: dict[tuple[str, str, str], pd.Series] = {}
        self._relations: dict[tuple[str, str], pd.DataFrame] = {}
        self._parts: dict[tuple[str, str, str], pd.DataFrame] = {}

    @cached_property
    def systems(self) -> list[str]:
        """Return the systems that were asked."""
        return self.header.get(ORDER) or list(dict.fromkeys(self.objects["system"]))

    @cached_property
    def operators(self) -> list[str]:
        """Return the operators that changed a scene."""
        known = set(self.objects["operator"].unique())
        return [name for name in self.header["operators"] if name in known]

    @cached_property
    def tested(self) -> list[str]:
        """Return the operators but placebos."""
        return [name for name in self.operators if not MAKERS[name]().placebo]

    @cached_property
    def calibration(self) -> set[str]:
        """Return every other scenario: their placebos say how large a value may be."""
        return set(sorted(self.objects["cluster"].unique())[::2])

    def select_rows(self, table: str, system: str, operator: str) -> pd.DataFrame:
        """Return the rows of a table that are of one system and one operator."""
        if not any(name == table for name, *_ in self._parts):
            rows: pd.DataFrame = getattr(self, table)
            for (of_system, of_operator), part in rows.groupby(
                ["system", "operator"], sort=False, observed=True
            ):
                self._parts[table, str(of_system), str(of_operator)] = part
        none: pd.DataFrame = getattr(self, table).iloc[:0]
        return self._parts.get((table, system, operator), none)

    def select_relation_rows(self, relation: str, system: str) -> pd.DataFrame:
        """Return the measures of one relation and one system, under all operators."""
        if not self._relations:
            keys = ["relation", "system"]
            for (name, of_system), part in self.measures.groupby(keys, sort=False, observed=True):
                self._relations[str(name), str(of_system)] = part
        return self._relations.get((relation, system), self.measures.iloc[:0])


@dataclass(frozen=True, slots=True)
class ComparedSides:
    """Which sides are compared, and by which returns objects are judged."""

    before: str = "recorded"
    after: str = "changed"
    hits: str = "before"


RECORDED = ComparedSides()
OF_WEATHER = {
    "recorded": RECORDED,
    "dry": ComparedSides("dry", "changed"),
    "dry, hit in the weather": ComparedSides("dry", "changed", "after"),
}
"""What weather is compared with: the sweep as recorded, and the same sensor's in dry air."""


def select_both_sides(
    tables: StudyTables,
    table: str,
    system: str,
    operator: str,
    *,
    between: ComparedSides = RECORDED,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a system's rows before and after an operator, of the scenes that it changed."""
    of_operator = tables.select_rows(table, system, operator)
    by_hits = of_operator[of_operator["hits"] == between.hits]
    after = by_hits[by_hits["side"] == between.after]
    if between.before == "recorded":
        before = tables.select_rows(table, system, RECORDED_OPERATOR)
        return before[before["scene"].isin(after["scene"].unique())], after
    return by_hits[by_hits["side"] == between.before], after


def compute_rate_change(
    tables: StudyTables,
    check: str,
    system: str,
    operator: str,
    *,
    between: ComparedSides = RECORDED,
) -> ChangeEstimate:
    """Return the rate of an error per exposed box, before and after."""
    # sums of every scenario, before and after
    both = sum_errors_by_scenario(tables, system, operator, between=between)
    before, after = sums = [
        side.xs(check) if check in side.index.get_level_values(0) else side.iloc[:0].droplevel(0)
        for side in both
    ]
    clusters = after.index
    # (1 + resamples, scenarios), the same for both sides
    weights = np.vstack([np.ones(len(clusters)), sample_cluster_weights(len(clusters))])
    totals = [weights @ side.reindex(clusters, fill_value=0).to_numpy(np.float64) for side in sums]
    with np.errstate(invalid="ignore", divide="ignore"):
        old, new = (total[:, 0] / total[:, 1] for total in totals)
    return replace(
        estimate_change(old, new, clusters=len(clusters)),
        count_before=int(before["count"].sum()),
        count_after=int(after["count"].sum()),
        exposed_before=int(before["exposed"].sum()),
        exposed_after=int(after["exposed"].sum()),
    )


def sum_errors_by_scenario(
    tables: StudyTables, system: str, operator: str, *, between: ComparedSides
) -> tuple[pd.DataFrame, ...]:
    """Return counts and exposed boxes before and after an operator, by check and scenario.

    All checks are summed at once: each of their tables asks for the same rows.
    """
    key = system, operator, between
    if key not in tables.error_sums:
        sides = select_both_sides(tables, "checks", system, operator, between=between)
        tables.error_sums[key] = tuple(
            side.groupby(["check", "cluster"], observed=True)[["count", "exposed"]].sum()
            for side in sides
        )
    return tables.error_sums[key]


def compute_precision_change(
    tables: StudyTables, system: str, operator: str, between: ComparedSides = RECORDED
) -> ChangeEstimate:
    """Return average precision (IoU 0.5, all-point, mean over classes) before and after."""
    detections = select_both_sides(tables, "detections", system, operator, between=between)
    objects = select_both_sides(tables, "objects", system, operator, between=between)
    clusters = sorted(objects[1]["cluster"].unique())
    after = compute_resampled_precision(detections[1], objects[1], clusters)
    if between.before != "recorded":
        before = compute_resampled_precision(detections[0], objects[0], clusters)
        return estimate_change(before, after, clusters=len(clusters))
    # many operators changed the same scenes: their recorded side is one
    detected, known = (frozenset(side[1]["scene"]) for side in (detections, objects))
    key = system, detected, known
    if key not in tables.precisions:
        tables.precisions[key] = compute_resampled_precision(detections[0], objects[0], clusters)
    return estimate_change(tables.precisions[key], after, clusters=len(clusters))


def compute_resampled_precision(
    detections: pd.DataFrame, objects: pd.DataFrame, clusters: list[str]
) -> Floats:
    """Return average precision of the scenarios, and of each resampled set of them."""
    weights = np.vstack([np.ones(len(clusters)), sample_cluster_weights(len(clusters))])
    pools = collect_class_detections(detections, objects, clusters)
    return compute_class_mean_precision(pools, weights)


def collect_class_detections(
    detections: pd.DataFrame, objects: pd.DataFrame, clusters: list[str]
) -> list[ClassDetections]:
    """Return the detections and numbers of objects of every class."""
    pools = []
    for kind in range(len(CLASSES)):
        of_class = detections[detections["class"] == kind]
        of_class = of_class.sort_values("score", ascending=False, kind="stable")
        counts = objects[objects["class"] == kind].groupby("cluster")["count"].sum()
        pools.append(
            ClassDetections(
                correct=of_class["correct"].to_numpy(np.float64),
                cluster=pd.Index(clusters).get_indexer(pd.Index(of_class["cluster"])),
                truths=counts.reindex(clusters, fill_value=0).to_numpy(np.float64),
            )
        )
    return pools


def compute_class_mean_precision(pools: list[ClassDetections], weights: Floats) -> Floats:
    """Return for every row of weights the mean over the classes that have objects."""
    values = np.array([compute_all_point_precision(pool, weights) for pool in pools])
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.asarray(np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan))


def compute_all_point_precision(pool: ClassDetections, weights: Floats) -> Floats:
    """Return average precision, all-point, with clusters taken so many times, for every row.

    As `harness.types.precision.compute_average_precision` of the repeated clusters: see tests.
    """
    truths = weights @ pool.truths
    times = weights[:, pool.cluster]
    right = np.cumsum(times * pool.correct, axis=1)
    share = right / np.maximum(np.cumsum(times, axis=1), 1e-12)
    best = np.maximum.accumulate(share[:, ::-1], axis=1)[:, ::-1]
    areas = (best * times * pool.correct).sum(axis=1)
    return np.where(truths > 0, areas / np.maximum(truths, 1e-12), np.nan)


@cache
def sample_cluster_weights(clusters: int) -> Floats:
    """Return how often every cluster is taken, in each resampled set."""
    random = make_named_stream(0, "clusters", str(clusters))
    taken = random.integers(clusters, size=(RESAMPLED, clusters)) if clusters else np.zeros((1, 0))
    numbers = np.arange(clusters)
    return np.array([(row[:, None] == numbers).sum(axis=0) for row in taken], np.float64)


def estimate_change(before: Floats, after: Floats, *, clusters: int) -> ChangeEstimate:
    """Return the first numbers, and the interval of the difference over the others.

    One cluster has no interval: all of its resampled sets are the same.
    """
    differences = after[1:] - before[1:] if clusters > 1 else np.zeros(0)
    differences = differences[~np.isnan(differences)]
    low, high = np.percentile(differences, [2.5, 97.5]) if len(differences) else (np.nan, np.nan)
    return ChangeEstimate(before=before[0], after=after[0], low=float(low), high=float(high))


def get_band_findings(
    tables: StudyTables, relation: str, system: str, operator: str
) -> BandFindings | None:
    """Return what of a relation lies beyond its placebos; None if it has no band.

    Args:
        tables: of the study.
        relation: its name.
        system: its name.
        operator: its name.
    """
    key = relation, system, operator
    if key not in tables.known:
        tables.known[key] = find_beyond_band(tables, relation, system, operator)
    return tables.known[key]


def find_beyond_band(
    tables: StudyTables, relation: str, system: str, operator: str
) -> BandFindings | None:
    """Return what of a relation lies beyond its placebos; None if it has no band.

    Half of the scenarios give the band, the other half is judged by it.
    """
    of = select_exposed_measures(tables, relation, system)
    # the band from placebos of one half of the scenarios
    calibrating = of["cluster"].isin(tables.calibration)
    placebo = of["operator"].isin([name for name in tables.operators if MAKERS[name]().placebo])
    band = fit_band_if_enough(of[calibrating & placebo])
    tested = of[~calibrating & (of["operator"] == operator)]
    if band is None or tested.empty:
        return None
    # judged are scenarios of the other half: the largest value of each
    largest = tested.groupby("cluster")["value"].max()
    beyond = band.select_findings(largest.to_numpy(np.float64), list(largest.index))
    return BandFindings(
        tested=len(largest),
        beyond=int(beyond.sum()),
        expected=compute_expected_findings(len(largest), LEVEL),
        p=float(binom.sf(int(beyond.sum()) - 1, len(largest), LEVEL)),
        placebos=tuple(band.placebos.tolist()),
        values=tuple(largest.tolist()),
        threshold=band.threshold,
        mean=float(tested["value"].mean()),
    )


def select_exposed_measures(
    tables: StudyTables, relation: str, system: str, operator: str | None = None
) -> pd.DataFrame:
    """Return a relation's measures that mean something, of one operator or of all."""
    if operator is None:
        rows = tables.select_relation_rows(relation, system)
    else:
        rows = tables.select_rows("measures", system, operator)
        rows = rows[rows["relation"] == relation]
    return rows[rows["exposed"] > 0]


def fit_band_if_enough(rows: pd.DataFrame) -> PlaceboBand | None:
    """Return the band of placebo rows, if there are scenarios enough for its level."""
    if rows["cluster"].nunique() < round(1 / LEVEL) - 1:
        return None
    return fit_band(rows["value"].to_numpy(np.float64), list(rows["cluster"]), LEVEL)
