"""From rows to a matrix: intercept, systems, time if there is any, and the six rates per SD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.regression.sample import NoFitError, RegressionSample, format_noun_count
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats, Integers

FEWEST_ROUTES = 3
FLAT = 1e-8
"""Ratio of eigenvalues of the columns' moments below which a column adds nothing."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RegressionDesign:
    """What estimators are given.

    Attributes:
        y: (rows,) 1 for a violation.
        matrix: (rows, columns).
        units: (predictors,).
        clusters: (rows,) numbers of the routes.
    """

    y: Floats
    matrix: Floats  # intercept first, predictors last
    names: tuple[str, ...]  # of the columns
    predictors: tuple[str, ...]  # those under test
    units: Floats  # one standard deviation of each predictor, errors for each true box
    clusters: Integers
    refused: dict[str, str]  # predictors that cannot be estimated, and why

    @property
    def groups(self) -> int:
        """Routes."""
        return len(np.unique(self.clusters))

    @property
    def tested(self) -> Floats:
        """The predictors' columns."""
        return self.matrix[:, -len(self.predictors) :]


def build_regression_design(
    sample: RegressionSample, extra: Floats | None = None, extra_names: Sequence[str] = ()
) -> RegressionDesign:
    """Return the design of a sample, without predictors that one route alone carries.

    Args:
        sample: of one condition.
        extra: (rows, columns) further columns, such as time; None for none.
        extra_names: of these columns.

    Raises:
        NoFitError: nothing can be estimated.
    """
    refuse_without_contrast(sample)
    # intercept and systems first, then what else is held fixed
    names, columns = make_system_columns(sample)
    if extra is not None:
        names += extra_names
        columns += list(extra.T)
        if not is_estimable(np.column_stack(columns), sample.clusters):
            raise NoFitError(
                f"{sample.describe_rows()} are too few to separate {' and '.join(extra_names)}"
            )
    predictors, units, refused = [], [], {}
    # each pattern in standard deviations, if it is no combination of what is there
    for name, rate in zip(PATTERNS, sample.rates.T, strict=True):
        unit = float(rate.std())
        if unit == 0:
            refused[name] = f"always {rate[0]:.3g}" if len(rate) else "no rows"
            continue
        column = (rate - rate.mean()) / unit
        if is_estimable(np.column_stack([*columns, column]), sample.clusters):
            predictors.append(name)
            units.append(unit)
            columns.append(column)
        else:
            refused[name] = "it varies on one route only, or is a combination of the others"
    if not predictors:
        raise NoFitError(
            f"in {sample.describe_rows()}, no error pattern varies over more than one route"
        )
    return RegressionDesign(
        y=sample.y,
        matrix=np.column_stack(columns),
        names=(*names, *predictors),
        predictors=tuple(predictors),
        units=np.array(units),
        clusters=sample.clusters,
        refused=refused,
    )


def make_system_columns(sample: RegressionSample) -> tuple[list[str], list[Floats]]:
    """Return the intercept and a column for each system but the first."""
    systems = sorted(set(sample.systems.tolist()))[1:]
    columns = [np.ones(len(sample.y))]
    columns += [(sample.systems == system).astype(np.float64) for system in systems]
    if not is_estimable(np.column_stack(columns), sample.clusters):
        raise NoFitError(
            f"in {sample.describe_rows()}, some system was driven on one route only: its level"
            " cannot be estimated"
        )
    return ["intercept", *(f"system {system}" for system in systems)], columns


def refuse_without_contrast(sample: RegressionSample) -> None:
    """Refuse samples without contrast, and give the reason."""
    n, events = len(sample.y), int(sample.y.sum())
    if n == 0:
        raise NoFitError(sample.describe_nothing())
    if events in (0, n):
        raise NoFitError(f"{sample.describe_violations()}: no contrast")
    for outcome, what in ((1.0, "violations"), (0.0, "drives without violation")):
        if len(np.unique(sample.clusters[sample.y == outcome])) < 2:
            raise NoFitError(
                f"in {sample.describe_rows()}, all {what} are on one route: no contrast without it"
            )
    routes = len(np.unique(sample.clusters))
    if routes < FEWEST_ROUTES:
        raise NoFitError(
            f"{sample.describe_rows()} on {format_noun_count(routes, 'route')}: the jackknife needs"
            f" at least {FEWEST_ROUTES}"
        )


def is_estimable(matrix: Floats, clusters: Integers) -> bool:
    """Return whether no column becomes superfluous when any one route is left out.

    Args:
        matrix: (rows, columns).
        clusters: (rows,) numbers of the routes.
    """
    # (routes, columns, columns); the sum less each is what is left without that route
    moments = np.stack(
        [
            matrix[clusters == cluster].T @ matrix[clusters == cluster]
            for cluster in np.unique(clusters)
        ]
    )
    left = moments.sum(axis=0) - moments
    # columns of length 1, so that the ratio of eigenvalues means the same for all
    scale = np.sqrt(np.maximum(np.einsum("gii->gi", left), 1e-300))
    values = np.linalg.eigvalsh(left / scale[:, :, None] / scale[:, None, :])
    return bool((values[:, 0] > FLAT * values[:, -1]).all())
