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

from analysis.regression.moments import KNOWN_SURROGATES, compute_moment_features
from analysis.regression.sample import NoFitError, format_noun_count
from analysis.statistics.firth import correct_intercept, fit_firth
from analysis.statistics.intervals import IntervalEstimate, estimate_mean, estimate_ratio
from analysis.tables.table import encode_names
from harness.common.randomness import make_named_stream
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats, Integers

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
class PredictionScores:
    """What was predicted, and how well.

    Attributes:
        moments: rows of the table that models are fitted to.
        violations: how many of those are before a violation.
        routes: different ones.
        folds: of the cross-validation.
    """

    scores: pd.DataFrame  # model, measure, value, low, high, n, routes
    probabilities: pd.DataFrame  # a column for each model, a row for each moment
    moments: int
    violations: int
    routes: int
    folds: int


def evaluate_prediction_models(moments: pd.DataFrame) -> PredictionScores:
    """Return the cross-validated scores of all models; NoFitError without a contrast.

    Args:
        moments: a row for each, with its outcome and what was known.
    """
    y = moments["violated"].to_numpy(np.float64)
    clusters = encode_names(moments["cluster"]).astype(np.int64)
    refuse_unlearnable_moments(y, clusters)
    # routes whole: no model has seen a route that it predicts on
    folds = split_into_folds(clusters)
    known = {
        name: predict_held_out(y, compute_moment_features(moments, columns), folds)
        for name, columns in MODELS.items()
    }
    rows = [row for name, p in known.items() for row in compute_model_scores(name, y, p, clusters)]
    for name, other in CONTRASTS:
        rows += compare_models(name, other, y=y, p=(known[name], known[other]), clusters=clusters)
    return PredictionScores(
        scores=pd.DataFrame(rows),
        probabilities=pd.DataFrame(known),
        moments=len(y),
        violations=int(y.sum()),
        routes=len(np.unique(clusters)),
        folds=len(np.unique(folds)),
    )


def refuse_unlearnable_moments(y: Floats, clusters: Integers) -> None:
    """Refuse moments from which no model could be learned on some fold."""
    routes = {outcome: len(np.unique(clusters[y == outcome])) for outcome in (0.0, 1.0)}
    if min(routes.values()) < 2:
        raise NoFitError(
            f"{format_noun_count(int(y.sum()), 'violation')} on"
            f" {format_noun_count(routes[1.0], 'route')} and {int((1 - y).sum())} other"
            f" moments on {routes[0.0]}: both are needed on two routes at least"
        )


def split_into_folds(clusters: Integers) -> Integers:
    """Return the fold of each moment: routes whole, shuffled always the same."""
    routes = int(clusters.max()) + 1
    order = make_named_stream(routes, "analysis", "folds").permutation(routes)
    return np.asarray((order % min(routes, FOLDS))[clusters])


def predict_held_out(y: Floats, columns: Floats, folds: Integers) -> Floats:
    """Return each moment's probability by a model of the moments of all other folds.

    Args:
        y: (moments,) 1 for a violation.
        columns: (moments, columns); none for the base rate.
        folds: (moments,) number of the fold.

    Returns:
        (moments,)
    """
    p = np.zeros(len(y))
    for fold in np.unique(folds):
        rest = folds != fold
        if not columns.shape[1] or y[rest].min() == y[rest].max():
            p[~rest] = y[rest].mean()
            continue
        # scaled by the other folds only: the held-out routes are not looked at
        middle, spread = columns[rest].mean(axis=0), columns[rest].std(axis=0)
        varied = spread > 0
        scaled = (columns[:, varied] - middle[varied]) / spread[varied]
        design = np.column_stack([np.ones(len(y)), scaled])
        p[~rest] = predict_probabilities(y[rest], design[rest], design[~rest])
    return p


def predict_probabilities(y: Floats, design: Floats, new: Floats) -> Floats:
    """Return the probabilities of new rows; the base rate where the fit has no maximum.

    Args:
        y: (rows,) outcomes of the training moments.
        design: (rows, columns).
        new: (new rows, columns).

    Returns:
        (new rows,)
    """
    fit = fit_firth(y, design, starts=[])
    if not fit.converged.all():
        return np.full(len(new), y.mean())
    return np.asarray(expit(new @ correct_intercept(y, design, fit.coefficients)[0]))


def compute_model_scores(
    name: str, y: Floats, p: Floats, clusters: Integers
) -> list[dict[str, object]]:
    """Return AUC and Brier of one model."""
    right, pairs = count_ordered_pairs(y, p, clusters)
    routes = np.arange(len(pairs), dtype=np.float64)
    auc = replace(estimate_ratio(right, pairs, routes), n=int(pairs.sum()))
    brier = estimate_mean((p - y) ** 2, clusters.astype(np.float64))
    return [make_score_row(name, "AUC", auc), make_score_row(name, "Brier", brier)]


def compare_models(
    name: str, other: str, *, y: Floats, p: tuple[Floats, Floats], clusters: Integers
) -> list[dict[str, object]]:
    """Return the differences of two models in AUC and Brier, paired by moments.

    Args:
        name: of the model.
        other: of the model that it is compared with.
        y: (moments,) 1 for a violation.
        p: (moments,) probabilities of both.
        clusters: (moments,) numbers of the routes.
    """
    right, pairs = count_ordered_pairs(y, p[0], clusters)
    routes = np.arange(len(pairs), dtype=np.float64)
    less = right - count_ordered_pairs(y, p[1], clusters)[0]
    auc = replace(estimate_ratio(less, pairs, routes), n=int(pairs.sum()))
    errors = (p[0] - y) ** 2 - (p[1] - y) ** 2
    called = f"{name} minus {other}"
    brier = estimate_mean(errors, clusters.astype(np.float64))
    return [make_score_row(called, "AUC", auc), make_score_row(called, "Brier", brier)]


def count_ordered_pairs(y: Floats, p: Floats, clusters: Integers) -> tuple[Floats, Floats]:
    """Return for each route its pairs in the right order, ties half, and all its pairs.

    Routes without a pair are left out.

    Args:
        y: (moments,) 1 for a violation.
        p: (moments,) predicted probabilities.
        clusters: (moments,) numbers of the routes.

    Returns:
        (routes,) both.
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


def make_score_row(name: str, measure: str, estimate: IntervalEstimate) -> dict[str, object]:
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
