"""How well patterns, surrogates and both predict violations on routes that no model has seen.

Each model is a logistic regression with Firth's penalty and corrected intercept (FLIC), on columns
scaled by the mean and standard deviation of the other routes. Whole routes are held out.

AUC is the share of pairs, one moment before a violation and one other moment of the same route, in
which the former has the higher probability; ties count half (Mann and Whitney 1947). Pairs within a
route cannot be ordered by which routes are hard, nor by differences between folds. Brier is the
mean squared error of the probability (Brier 1950, Monthly Weather Review 78). The base rate is the
share of violations on the other routes. Intervals resample routes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import rankdata

from analysis.regression.moments import KNOWN_SURROGATES, features_of
from analysis.regression.sample import NoFitError
from analysis.statistics.firth import corrected_intercept, firth
from analysis.statistics.intervals import Estimate, mean, ratio
from analysis.tables.table import codes_of
from harness.randomness import stream
from harness.vocabulary import PATTERNS, Floats, Integers

BASE = "base rate"
MODELS: dict[str, tuple[str, ...]] = {
    BASE: (),
    "patterns": PATTERNS,
    "surrogates": KNOWN_SURROGATES,
    "both": (*PATTERNS, *KNOWN_SURROGATES),
}
CONTRASTS = (("patterns", BASE), ("surrogates", BASE), ("both", "patterns"), ("both", "surrogates"))
FOLDS = 10
"""Most folds; with fewer routes each is held out by itself."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Prediction:
    """What was predicted, and how well."""

    scores: pd.DataFrame  # model, measure, value, low, high, n, routes
    probabilities: pd.DataFrame  # a column for each model, a row for each moment
    moments: int
    violations: int
    routes: int
    folds: int


def predict(moments: pd.DataFrame) -> Prediction:
    """Return the cross-validated scores of all models; NoFitError without a contrast."""
    y = moments["violated"].to_numpy(np.float64)
    clusters = codes_of(moments["cluster"]).astype(np.int64)
    refuse(y, clusters)
    folds = folds_of(clusters)
    known = {
        name: held_out(y, features_of(moments, columns), folds) for name, columns in MODELS.items()
    }
    rows = [row for name, p in known.items() for row in scores_of(name, y, p, clusters)]
    for name, other in CONTRASTS:
        rows += contrast(name, other, y=y, p=(known[name], known[other]), clusters=clusters)
    return Prediction(
        scores=pd.DataFrame(rows),
        probabilities=pd.DataFrame(known),
        moments=len(y),
        violations=int(y.sum()),
        routes=len(np.unique(clusters)),
        folds=len(np.unique(folds)),
    )


def refuse(y: Floats, clusters: Integers) -> None:
    """Refuse moments from which no model could be learned on some fold."""
    routes = {outcome: len(np.unique(clusters[y == outcome])) for outcome in (0.0, 1.0)}
    if min(routes.values()) < 2:
        raise NoFitError(
            f"{int(y.sum())} violations on {routes[1.0]} routes and {int((1 - y).sum())} other"
            f" moments on {routes[0.0]}: both are needed on two routes at least"
        )


def folds_of(clusters: Integers) -> Integers:
    """Return the fold of each moment: routes whole, shuffled always the same."""
    routes = int(clusters.max()) + 1
    order = stream(routes, "analysis", "folds").permutation(routes)
    return np.asarray((order % min(routes, FOLDS))[clusters])


def held_out(y: Floats, columns: Floats, folds: Integers) -> Floats:
    """Return each moment's probability by a model of the moments of all other folds."""
    p = np.zeros(len(y))
    for fold in np.unique(folds):
        rest = folds != fold
        if not columns.shape[1] or y[rest].min() == y[rest].max():
            p[~rest] = y[rest].mean()
            continue
        middle, spread = columns[rest].mean(axis=0), columns[rest].std(axis=0)
        varied = spread > 0
        scaled = (columns[:, varied] - middle[varied]) / spread[varied]
        design = np.column_stack([np.ones(len(y)), scaled])
        p[~rest] = predicted(y[rest], design[rest], design[~rest])
    return p


def predicted(y: Floats, design: Floats, new: Floats) -> Floats:
    """Return the probabilities of new rows; the base rate where the fit has no maximum."""
    fit = firth(y, design, starts=[])
    if not fit.converged.all():
        return np.full(len(new), y.mean())
    return np.asarray(expit(new @ corrected_intercept(y, design, fit.coefficients)[0]))


def scores_of(name: str, y: Floats, p: Floats, clusters: Integers) -> list[dict[str, object]]:
    """Return AUC and Brier of one model."""
    right, pairs = pairs_by_route(y, p, clusters)
    routes = np.arange(len(pairs), dtype=np.float64)
    auc = replace(ratio(right, pairs, routes), n=int(pairs.sum()))
    brier = mean((p - y) ** 2, clusters.astype(np.float64))
    return [row_of(name, "AUC", auc), row_of(name, "Brier", brier)]


def contrast(
    name: str, other: str, *, y: Floats, p: tuple[Floats, Floats], clusters: Integers
) -> list[dict[str, object]]:
    """Return the differences of two models in AUC and Brier, paired by moments."""
    right, pairs = pairs_by_route(y, p[0], clusters)
    routes = np.arange(len(pairs), dtype=np.float64)
    less = right - pairs_by_route(y, p[1], clusters)[0]
    auc = replace(ratio(less, pairs, routes), n=int(pairs.sum()))
    errors = (p[0] - y) ** 2 - (p[1] - y) ** 2
    called = f"{name} minus {other}"
    brier = mean(errors, clusters.astype(np.float64))
    return [row_of(called, "AUC", auc), row_of(called, "Brier", brier)]


def pairs_by_route(y: Floats, p: Floats, clusters: Integers) -> tuple[Floats, Floats]:
    """Return for each route its pairs in the right order, ties half, and all its pairs.

    Routes without a pair are left out.
    """
    right, every = [], []
    for route in np.unique(clusters):
        of_route = clusters == route
        outcome, ranks = y[of_route], rankdata(p[of_route])
        positive = outcome.sum()
        pairs = positive * (len(outcome) - positive)
        if pairs:
            right.append(ranks[outcome == 1].sum() - positive * (positive + 1) / 2)
            every.append(pairs)
    return np.array(right), np.array(every)


def row_of(name: str, measure: str, estimate: Estimate) -> dict[str, object]:
    """Return an estimate as a row of the scores."""
    return {
        "model": name,
        "measure": measure,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "routes": estimate.routes,
    }
