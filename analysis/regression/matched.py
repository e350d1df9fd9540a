"""From risk sets to a matrix, and the headline's estimator on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.regression.design import FEWEST_ROUTES, FLAT, is_estimable
from analysis.regression.estimators import TIMING_FAIR, RegressionFit, build_odds_terms
from analysis.regression.risk_sets import UNSEEN_THERE, RiskSets
from analysis.regression.sample import NoFitError, format_noun_count
from analysis.statistics.conditional import PaddedSets, fit_firth_conditional
from analysis.statistics.diagnostics import detect_separation
from analysis.statistics.intervals import compute_jackknife_errors, make_leave_one_out_weights
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats, Integers

NOT_ESTIMABLE = (
    "it is equal within each risk set, varies on one route only, or is a combination of the others"
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MatchedDesign:
    """What the estimator is given: no intercept, since what a set has in common cancels."""

    sets: PaddedSets
    names: tuple[str, ...]  # of the columns, predictors last
    predictors: tuple[str, ...]
    units: Floats  # one standard deviation of each predictor, errors for each true box
    refused: dict[str, str]
    centred: Floats  # the rows less their set's mean, for checks
    y: Floats

    @property
    def tested(self) -> Floats:
        """The predictors' columns."""
        return self.centred[:, -len(self.predictors) :]


def build_matched_design(passages: RiskSets) -> MatchedDesign:
    """Return the design of some risk sets, without predictors that cannot be separated.

    Args:
        passages: risk sets with their rows.

    Returns:
        The rows by set, without columns that cannot be separated.

    Raises:
        NoFitError: nothing can be estimated.
    """
    sample, sets = passages.sample, passages.sets
    if not len(sample.y):
        if not passages.drives:
            raise NoFitError("no drive of a system that messages can affect")
        if not passages.violations:
            raise NoFitError(f"no violation in {passages.describe_drives()}")
        seen = " a ground-truth box" if sample.dropped.get(UNSEEN_THERE) else ""
        raise NoFitError(
            f"in {passages.describe_drives()}, no violation happened where another of these drives"
            f" passed{seen}"
        )
    routes = len(np.unique(sample.clusters))
    if routes < FEWEST_ROUTES:
        raise NoFitError(
            f"in {passages.describe_drives()}, violations that others of them passed lie on"
            f" {format_noun_count(routes, 'route')}:"
            f" the jackknife needs at least {FEWEST_ROUTES}"
        )
    # systems first, then error patterns in standard deviations
    columns: dict[str, Floats] = {}
    for system in sorted(set(sample.systems.tolist()))[1:]:
        columns[f"system {system}"] = (sample.systems == system).astype(np.float64)
    units, refused = {}, {}
    for name, rate in zip(PATTERNS, sample.rates.T, strict=True):
        unit = float(rate.std())
        if unit == 0:
            refused[name] = f"always {rate[0]:.3g}"
        else:
            columns[name], units[name] = (rate - rate.mean()) / unit, unit
    kept: list[str] = []
    # what is equal within each set cancels in the likelihood: estimable is what varies inside
    weighted = {
        name: subtract_set_means(column, sets, share=0.5) for name, column in columns.items()
    }
    for name in columns:
        if np.abs(weighted[name]).max() > FLAT and is_estimable(
            np.column_stack([weighted[other] for other in (*kept, name)]), sample.clusters
        ):
            kept.append(name)
        else:
            refused[name] = NOT_ESTIMABLE
    predictors = tuple(name for name in kept if name in units)
    if not predictors:
        raise NoFitError(
            f"in {passages.describe_drives()}, no error pattern varies within risk sets of more"
            " than one route"
        )
    # (rows, columns)
    matrix = np.column_stack([columns[name] for name in kept])
    return MatchedDesign(
        sets=pad_risk_sets(matrix, sample.y, sets, sample.clusters),
        names=tuple(kept),
        predictors=predictors,
        units=np.array([units[name] for name in predictors]),
        refused=refused,
        centred=np.column_stack([subtract_set_means(columns[name], sets) for name in kept]),
        y=sample.y,
    )


def subtract_set_means(column: Floats, sets: Integers, share: float = 0.0) -> Floats:
    """Return a column less its mean in each set, over the set's size to the power of `share`.

    Args:
        column: (rows,).
        sets: (rows,) number of the risk set.
        share: power of the set's size that the result is divided by.

    Returns:
        (rows,)
    """
    sizes = np.bincount(sets)
    means = np.bincount(sets, column) / sizes
    return np.asarray((column - means[sets]) / sizes[sets] ** share)


def pad_risk_sets(matrix: Floats, y: Floats, sets: Integers, clusters: Integers) -> PaddedSets:
    """Return the rows by set; rows of a set follow each other.

    Args:
        matrix: (rows, columns).
        y: (rows,) 1 for the violation of the set.
        sets: (rows,) number of the risk set, ascending.
        clusters: (rows,) numbers of the routes.
    """
    sizes = np.bincount(sets)
    # (rows,) number of the row within its set
    place = np.arange(len(sets)) - (np.cumsum(sizes) - sizes)[sets]
    rows = np.zeros((len(sizes), int(sizes.max()), matrix.shape[1]))
    rows[sets, place] = matrix
    member = np.zeros(rows.shape[:2], np.bool_)
    member[sets, place] = True
    first = np.flatnonzero(place == 0)
    return PaddedSets(rows, member, matrix[y == 1], clusters[first])


def fit_matched_jackknife(design: MatchedDesign) -> RegressionFit:
    """Fit Firth's conditional logit; errors by leaving out one route at a time, t with G - 1."""
    full = fit_firth_conditional(design.sets)
    # fits without each route begin at the full fit
    left = fit_firth_conditional(
        design.sets, make_leave_one_out_weights(design.sets.clusters), full.coefficients[0]
    )
    if not (full.converged.all() and left.converged.all()):
        raise NoFitError("the penalised likelihood has no maximum without some route")
    k = len(design.predictors)
    estimates, others = full.coefficients[0, -k:], left.coefficients[:, -k:]
    errors = compute_jackknife_errors(estimates, others)
    terms = build_odds_terms(
        design.predictors,
        design.units,
        coefficients=estimates,
        errors=errors,
        freedom=len(others) - 1,
    )
    return RegressionFit(TIMING_FAIR, terms)


def describe_separation(design: MatchedDesign) -> str:
    """Return whether some direction never speaks against a violation, and in which columns."""
    sets = design.sets
    apart = sets.events[:, None, :] - sets.rows
    differences = apart[sets.member & (apart != 0).any(axis=2)]
    result = detect_separation(np.ones(len(differences)), differences)
    runaway = [
        name for name, infinite in zip(design.names, result.infinite, strict=True) if infinite
    ]
    note = f" ({', '.join(runaway)}); only Firth's penalty keeps estimates finite"
    return result.kind + (note if runaway else "")
