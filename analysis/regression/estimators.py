"""The estimators on the last ten seconds of drives, each by its definition's source."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit, stdtr, stdtrit

from analysis.regression.design import RegressionDesign
from analysis.regression.sample import NoFitError, RegressionSample
from analysis.statistics.diagnostics import detect_separation
from analysis.statistics.firth import correct_intercept, fit_firth
from analysis.statistics.intervals import (
    LEVEL,
    compute_jackknife_errors,
    make_leave_one_out_weights,
    sample_bootstrap_weights,
)
from analysis.statistics.significance import compute_holm_p_values
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats

LARGEST = 600.0
"""Largest log odds ratio that is reported: beyond it the fit diverged."""


@dataclass(frozen=True, slots=True, eq=False)
class RegressionFit:
    """The result of one method.

    Attributes:
        method: as tables call it.
        note: what to know of the fit.
    """

    method: str
    terms: pd.DataFrame  # term, unit, coefficient, error, odds_ratio, low, high, p, p_holm, ...
    note: str = ""


def build_odds_terms(
    names: Sequence[str], units: Floats, *, coefficients: Floats, errors: Floats, freedom: float
) -> pd.DataFrame:
    """Return odds ratios for one unit more, with t intervals (infinite freedom: normal ones).

    Args:
        names: (columns,) of the predictors.
        units: (columns,) one unit of each, errors for each true box.
        coefficients: (columns,) log odds ratios.
        errors: (columns,) standard errors.
        freedom: degrees of freedom of t.

    Returns:
        A row for each predictor.
    """
    reach = stdtrit(freedom, (1 + LEVEL) / 2) * errors
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(freedom, -np.abs(coefficients / errors))
    return pd.DataFrame(
        {
            "term": list(names),
            "unit": units,
            "coefficient": coefficients,
            "error": errors,
            "odds_ratio": compute_odds_ratios(coefficients),
            "low": compute_odds_ratios(coefficients - reach),
            "high": compute_odds_ratios(coefficients + reach),
            "p": p,
            "p_holm": compute_holm_p_values(np.asarray(p)),
        }
    )


def compute_odds_ratios(logarithm: Floats) -> Floats:
    """Return the exponential, without overflow."""
    return np.asarray(np.exp(np.clip(logarithm, -LARGEST, LARGEST)))


def format_ratio(value: float) -> str:
    """Return a ratio in three digits, or in powers of ten where it is beyond use."""
    if not math.isfinite(value):
        return "-"
    return f"{value:.3g}" if 1e-3 <= value < 1e4 else f"{value:.0e}"


PAPER_METHOD = "paper: plain multivariable logit on counts, attempts taken as independent"
TIMING_FAIR = (
    "timing-fair: Firth conditional logit, each violation against all drives over the same stretch"
)
"""The headline."""
WINDOW_METHOD = "window: Firth logit on rates of the last 10 s, routes clustered; not timing-fair"
COMPANION_METHOD = "companion: GEE on the same rates of the last 10 s; not timing-fair"
RUNAWAY = 15.0
"""A coefficient for one standard deviation beyond which GEE has diverged."""


def fit_paper_logit(sample: RegressionSample) -> RegressionFit:
    """Fit the paper's model (Guo et al. 2025, section V-C): statsmodels' Logit on six counts.

    Wald z tests, no systems, no clusters; p and OR for one error more. Kept for comparison with
    the paper only.
    """
    import statsmodels.api as sm  # noqa: PLC0415 - a second, which most commands do not need
    from statsmodels.tools.sm_exceptions import PerfectSeparationError  # noqa: PLC0415

    refuse_single_outcome(sample)
    # counts that never vary have no coefficient
    varied = np.ptp(sample.counts, axis=0) > 0
    names = [name for name, some in zip(PATTERNS, varied, strict=True) if some]
    design = sm.add_constant(sample.counts[:, varied], has_constant="add")
    if not names or np.linalg.matrix_rank(design) < design.shape[1]:
        raise NoFitError("counts are constant, or combinations of each other")
    # separated outcomes: maximum likelihood would run away
    apart = detect_separation(sample.y, design)
    if apart.kind != "none":
        runaway = [
            name for name, infinite in zip(names, apart.infinite[1:], strict=True) if infinite
        ]
        columns = f": {', '.join(runaway)}" if runaway else ""
        raise NoFitError(
            f"{apart.kind} separation, maximum likelihood has no finite answer{columns}"
        )
    # statsmodels' warnings become the note of the fit
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = sm.Logit(sample.y, design).fit(disp=0, maxiter=200)
        except (np.linalg.LinAlgError, PerfectSeparationError) as problem:
            raise NoFitError(f"statsmodels failed: {problem}") from None
    note = "; ".join(sorted({str(warning.message) for warning in caught}))
    units = np.ones(len(names))
    return RegressionFit(
        PAPER_METHOD,
        build_odds_terms(
            names, units, coefficients=result.params[1:], errors=result.bse[1:], freedom=np.inf
        ),
        note,
    )


def fit_firth_jackknife(design: RegressionDesign, resamples: int = 0) -> RegressionFit:
    """Fit Firth's logit; errors by leaving out one route at a time, t with G - 1.

    Firth 1993, Biometrika 80; jackknife as in MacKinnon, Nielsen and Webb, arXiv 2406.00650.
    Average marginal effects are on predictions with corrected intercept (FLIC), and jackknifed
    like the coefficients. `resamples` adds percentiles of a route bootstrap as a check.

    Args:
        design: of one condition.
        resamples: of routes; 0 for none.

    Raises:
        NoFitError: a fit has no maximum.
    """
    # the full fit and one without each route, in one go
    weights = make_leave_one_out_weights(design.clusters)
    both = fit_firth(design.y, design.matrix, np.vstack([np.ones((1, len(design.y))), weights]))
    full, left = both.coefficients[:1], both.coefficients[1:]
    if not both.converged.all():
        raise NoFitError("the penalised likelihood has no maximum without some route")
    k = len(design.predictors)
    # predictors come last: (k,) and (routes, k)
    estimates, others = full[0, -k:], left[:, -k:]
    errors = compute_jackknife_errors(estimates, others)
    freedom = design.groups - 1
    terms = build_odds_terms(
        design.predictors, design.units, coefficients=estimates, errors=errors, freedom=freedom
    )
    # marginal effects, jackknifed the same way
    effect = compute_marginal_effects(design, full, np.ones((1, len(design.y))))[0]
    spread = compute_jackknife_errors(effect, compute_marginal_effects(design, left, weights))
    reach = stdtrit(freedom, (1 + LEVEL) / 2) * spread
    terms = terms.assign(effect=effect, effect_low=effect - reach, effect_high=effect + reach)
    note = ""
    # resamples start at the full fit and need not be exact: they are a check
    if resamples:
        sampled = sample_bootstrap_weights(design.groups, resamples)[:, design.clusters]
        fits = fit_firth(design.y, design.matrix, sampled, close=1e-4, starts=list(full))
        some = fits.coefficients[fits.converged, -k:]
        if len(some):
            low, high = compute_odds_ratios(np.quantile(some, [0.025, 0.975], axis=0))
            terms = terms.assign(bootstrap_low=low, bootstrap_high=high)
        note = f"{len(some)} of {resamples} route resamples could be fitted"
    return RegressionFit(WINDOW_METHOD, terms, note)


def compute_marginal_effects(
    design: RegressionDesign, coefficients: Floats, weights: Floats
) -> Floats:
    """Return the mean change of the probability for one unit more, in percentage points.

    Args:
        design: of one condition.
        coefficients: (fits, columns).
        weights: (fits, rows).

    Returns:
        (fits, predictors)
    """
    # predictions whose mean is the mean outcome; (fits, rows)
    moved = correct_intercept(design.y, design.matrix, coefficients, weights)
    p = expit(moved @ design.matrix.T)
    slope = (weights * p * (1 - p)).sum(axis=1) / weights.sum(axis=1)
    return np.asarray(100 * slope[:, None] * coefficients[:, -len(design.predictors) :])


def fit_bias_reduced_gee(design: RegressionDesign) -> RegressionFit:
    """Fit GEE (Liang and Zeger 1986, Biometrika 73), logit link, exchangeable within routes.

    Covariance as Mancl and DeRouen (2001, Biometrics 57) correct it for few clusters; t with G - 1.
    """
    import statsmodels.api as sm  # noqa: PLC0415

    model = sm.GEE(
        design.y,
        design.matrix,
        groups=design.clusters,
        family=sm.families.Binomial(),
        cov_struct=sm.cov_struct.Exchangeable(),
    )
    # GEE may fail in several ways; what ran away is refused below
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = model.fit(cov_type="bias_reduced", maxiter=200)
        except (np.linalg.LinAlgError, ValueError, FloatingPointError) as problem:
            raise NoFitError(f"statsmodels failed: {problem}") from None
        errors = np.asarray(result.bse)
    k = len(design.predictors)
    # predictors come last
    estimates, errors = np.asarray(result.params)[-k:], errors[-k:]
    ran_away = not np.isfinite(result.params).all() or np.abs(result.params[1:]).max() > RUNAWAY
    if ran_away or not result.converged or not (errors > 0).all():
        raise NoFitError("did not converge: outcomes are (nearly) separated, or routes too few")
    return RegressionFit(
        COMPANION_METHOD,
        build_odds_terms(
            design.predictors,
            design.units,
            coefficients=estimates,
            errors=errors,
            freedom=design.groups - 1,
        ),
    )


def refuse_single_outcome(sample: RegressionSample) -> None:
    """Say that there is nothing to contrast."""
    y = sample.y
    if len(y) == 0:
        raise NoFitError(sample.describe_nothing())
    if y.min() == y.max():
        raise NoFitError(f"{sample.describe_violations()}: no contrast")
