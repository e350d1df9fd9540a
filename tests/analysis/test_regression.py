"""The estimators against R, against definitions written out, and where they must refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.special import expit

from analysis.collection import CampaignCollection
from analysis.regression.by_condition import build_sample_checks, fit_condition
from analysis.regression.design import build_regression_design
from analysis.regression.estimators import (
    compute_marginal_effects,
    fit_bias_reduced_gee,
    fit_firth_jackknife,
    fit_paper_logit,
)
from analysis.regression.sample import (
    COUNTS,
    TRUTHS,
    NoFitError,
    RegressionSample,
    build_regression_sample,
    read_attempts_table,
)
from analysis.simulation.campaigns import CampaignScenario, select_last_window, simulate_drives
from analysis.statistics.firth import correct_intercept, fit_firth
from analysis.statistics.intervals import make_leave_one_out_weights
from harness.common.errors import UserError
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats
from tests.analysis.published import endometrial, motor_cars


def simulated(scene: CampaignScenario, random: np.random.Generator) -> RegressionSample:
    """The last ten seconds of simulated drives."""
    return select_last_window(simulate_drives(scene, random))


def made(seed: int = 0, routes: int = 12) -> RegressionSample:
    return simulated(
        CampaignScenario(routes=routes, systems=3, effect=0.8), np.random.default_rng(seed)
    )


def counted(y: Floats, columns: Floats) -> RegressionSample:
    """A sample whose first counts are these columns."""
    counts = np.zeros((len(y), len(PATTERNS)))
    counts[:, : columns.shape[1]] = columns
    systems = np.array(["x"] * len(y))
    return RegressionSample(
        y=y,
        counts=counts,
        exposure=np.ones(len(y)),
        systems=systems,
        clusters=np.arange(len(y)),
        dropped={},
        left_out={},
    )


def test_plain_logit_as_glm_has_it() -> None:
    """glm(am ~ disp + hp, data = mtcars, family = binomial), as R prints it (statology.org)."""
    terms = fit_paper_logit(counted(*motor_cars())).terms
    assert terms["term"].tolist() == ["LCME", "LCLE"]
    assert terms["coefficient"].to_numpy() == pytest.approx([-0.09518, 0.12170], abs=6e-6)
    assert terms["error"].to_numpy() == pytest.approx([0.04800, 0.06777], abs=6e-6)
    assert terms["p"].to_numpy() == pytest.approx([0.0474, 0.0725], abs=6e-5)
    assert terms["odds_ratio"].to_numpy() == pytest.approx(np.exp([-0.09518, 0.12170]), rel=1e-5)


def test_plain_logit_names_what_runs_away() -> None:
    y, design = endometrial()
    with pytest.raises(NoFitError, match=r"quasi separation, .* no finite answer: LCME"):
        fit_paper_logit(counted(y, design[:, 1:]))


@pytest.mark.thorough
def test_primary_is_firth_of_standardised_rates_with_a_jackknife_over_routes() -> None:
    sample = made()
    design = build_regression_design(sample)
    rates = sample.counts / sample.exposure[:, None]
    z = (rates - rates.mean(axis=0)) / rates.std(axis=0)
    dummies = [sample.systems == f"system {value}" for value in (1, 2)]
    slow = np.column_stack([np.ones(len(z)), *dummies, z]).astype(np.float64)
    assert design.matrix == pytest.approx(slow)
    full = fit_firth(sample.y, slow).coefficients[0, 3:]
    spread = np.zeros(6)
    for route in range(12):
        rest = sample.clusters != route
        spread += 11 / 12 * (fit_firth(sample.y[rest], slow[rest]).coefficients[0, 3:] - full) ** 2
    terms = fit_firth_jackknife(design).terms
    assert terms["coefficient"].to_numpy() == pytest.approx(full)
    assert terms["error"].to_numpy() == pytest.approx(np.sqrt(spread), rel=1e-4)
    p = 2 * stats.t.sf(np.abs(full) / np.sqrt(spread), 11)
    assert terms["p"].to_numpy() == pytest.approx(p, rel=1e-3)
    reach = stats.t.ppf(0.975, 11) * np.sqrt(spread)
    assert terms["low"].to_numpy() == pytest.approx(np.exp(full - reach), rel=1e-3)
    assert (terms["p_holm"] >= terms["p"]).all()


@pytest.mark.thorough
def test_marginal_effects_are_slopes_of_the_mean_prediction() -> None:
    sample = made(1)
    design = build_regression_design(sample)
    flic = correct_intercept(
        sample.y, design.matrix, fit_firth(sample.y, design.matrix).coefficients
    )
    assert expit(flic @ design.matrix.T).mean() == pytest.approx(sample.y.mean())
    result = compute_marginal_effects(
        design, fit_firth(sample.y, design.matrix).coefficients, np.ones((1, len(sample.y)))
    )[0]
    for number in range(6):
        step = np.zeros(design.matrix.shape[1])
        step[number - 6] = 1e-6
        up, down = (expit((design.matrix + s * step) @ flic[0]).mean() for s in (1, -1))
        assert result[number] == pytest.approx(100 * (up - down) / 2e-6, rel=1e-4)
    terms = fit_firth_jackknife(design).terms
    assert (
        (terms["effect_low"] < terms["effect"]) & (terms["effect"] < terms["effect_high"])
    ).all()


@pytest.mark.thorough
def test_route_bootstrap_agrees_with_the_jackknife() -> None:
    terms = fit_firth_jackknife(build_regression_design(made(2, routes=40)), resamples=400).terms
    wide = np.log(terms["high"] / terms["low"])
    check = np.log(terms["bootstrap_high"] / terms["bootstrap_low"])
    ratio = np.asarray(check / wide)
    assert ((ratio > 0.4) & (ratio < 1.6)).all()


def test_companion_has_the_covariance_of_mancl_and_derouen() -> None:
    sample = made(3)
    design = build_regression_design(sample)
    fit = sm.GEE(
        design.y,
        design.matrix,
        groups=design.clusters,
        family=sm.families.Binomial(),
        cov_struct=sm.cov_struct.Exchangeable(),
    ).fit(cov_type="bias_reduced", maxiter=200)
    beta, alpha = np.asarray(fit.params), float(fit.cov_struct.dep_params)
    k = design.matrix.shape[1]
    bread, parts = np.zeros((k, k)), []
    for route in range(12):
        rows = design.clusters == route
        p = expit(design.matrix[rows] @ beta)
        d = design.matrix[rows] * (p * (1 - p))[:, None]
        root = np.diag(np.sqrt(p * (1 - p)))
        working = root @ (np.full((len(p), len(p)), alpha) + (1 - alpha) * np.eye(len(p))) @ root
        bread += d.T @ np.linalg.solve(working, d)
        parts.append((d, working, sample.y[rows] - p))
    meat = np.zeros((k, k))
    for d, working, residual in parts:
        weighted = d.T @ np.linalg.inv(working)
        leverage = d @ np.linalg.solve(bread, weighted)
        pull = weighted @ np.linalg.solve(np.eye(len(d)) - leverage, residual)
        meat += np.outer(pull, pull)
    errors = np.sqrt(np.diag(np.linalg.solve(bread, np.linalg.solve(bread, meat).T)))[-6:]
    terms = fit_bias_reduced_gee(design).terms
    assert terms["coefficient"].to_numpy() == pytest.approx(beta[-6:], rel=1e-6)
    assert terms["error"].to_numpy() == pytest.approx(errors, rel=1e-3)


def test_what_one_route_alone_carries_is_not_estimated() -> None:
    sample = made(4)
    sample.counts[:, 0] = np.where(sample.clusters == 5, sample.counts[:, 0], 0)
    sample.counts[:, 3] = 0
    sample.counts[:, 5] = sample.counts[:, 4]
    design = build_regression_design(sample)
    assert design.refused == {
        "LCME": "it varies on one route only, or is a combination of the others",
        "CCME": "always 0",
        "CADE": "it varies on one route only, or is a combination of the others",
    }
    assert np.isfinite(fit_firth_jackknife(design).terms["p"]).all()
    result = build_sample_checks(sample, design)
    assert (result["check"] == "not estimated").sum() == 3


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda s: replace(s, y=np.ones_like(s.y)), "^36 of 36 rows of .* with violation"),
        (lambda s: replace(s, y=np.zeros_like(s.y)), "^0 of 36 rows of .* with violation"),
        (
            lambda s: replace(s, y=(s.clusters == 2) * 1.0),
            "^in 36 rows of .*, all violations are on one route",
        ),
        (lambda s: replace(s, clusters=s.clusters % 2), "^36 rows of .* on 2 routes"),
        (
            lambda s: replace(
                s, systems=np.where(s.clusters == 1, "odd", "even"), y=(np.arange(36) % 2) * 1.0
            ),
            "^in 36 rows of even, odd, some system was driven on one route only",
        ),
    ],
)
def test_hopeless_samples_are_refused_in_words(
    spoil: Callable[[RegressionSample], RegressionSample], words: str
) -> None:
    with pytest.raises(NoFitError, match=words):
        build_regression_design(spoil(made(5)))


@pytest.mark.thorough
def test_fully_separated_outcomes_leave_firth_standing() -> None:
    sample = made(6)
    high = sample.rates[:, 1] > np.median(sample.rates[:, 1])
    sample = replace(sample, y=high.astype(np.float64))
    design = build_regression_design(sample)
    result = build_sample_checks(sample, design)
    assert result.loc[result["check"] == "separation", "result"].str.startswith("complete").all()
    terms = fit_firth_jackknife(design).terms
    part = terms.loc[terms["term"] == "LCLE", ["odds_ratio", "low", "high"]].to_numpy(np.float64)[0]
    assert np.isfinite(part).all()
    assert part[0] > 3
    with pytest.raises(NoFitError, match="separation"):
        fit_paper_logit(sample)
    with pytest.raises(NoFitError, match="did not converge"):
        fit_bias_reduced_gee(design)


@pytest.mark.thorough
def test_a_fit_that_has_no_end_without_some_route_is_refused() -> None:
    """As many rows as columns are left: the penalised likelihood climbs for ever."""
    design = build_regression_design(
        simulated(CampaignScenario(routes=4, systems=2), np.random.default_rng(25))
    )
    left = fit_firth(design.y, design.matrix, make_leave_one_out_weights(design.clusters))
    assert np.isfinite(left.coefficients).all()
    assert not left.converged.all()
    with pytest.raises(NoFitError, match="no maximum without some route"):
        fit_firth_jackknife(design)


def table(folder: Path, changed: Mapping[str, object]) -> Path:
    """Write a table of attempts on twelve routes."""
    sample = made()
    counts = dict(zip(COUNTS, sample.counts.T, strict=True))
    columns = {"system": sample.systems, "condition": "none", "violated": sample.y.astype(bool)}
    routes = [f"{cluster:02}" for cluster in sample.clusters]
    result = {**columns, "route": routes, TRUTHS: sample.exposure, **counts, **changed}
    pd.DataFrame(result).to_csv(folder / "attempts.csv", index=False)
    return folder / "attempts.csv"


def test_names_in_a_table_are_words_whatever_they_look_like(tmp_path: Path) -> None:
    result = read_attempts_table(table(tmp_path, {"condition": "None", "system": "NA"}))
    assert set(result["condition"]) == {"None"}
    assert set(result["system"]) == {"NA"}
    assert sorted(set(result["cluster"])) == [f"{number:02}" for number in range(12)]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({COUNTS[0]: np.inf}, "negative or infinite count"),
        ({COUNTS[0]: -1}, "negative or infinite count"),
        ({"cluster": ""}, "a row lacks its system, condition, route or cluster"),
        ({"condition": ""}, "a row lacks its system, condition or route"),
        ({"violated": "perhaps"}, "attempts.csv"),
        ({"arm": "late"}, r"attempts\.csv: row 1: arm is 'late'; a whole name, such as late/"),
        ({"arm": ""}, r"attempts\.csv: row 1: arm is "),
    ],
)
def test_a_table_that_cannot_be_is_refused(
    tmp_path: Path, changed: dict[str, object], words: str
) -> None:
    with pytest.raises(UserError, match=words) as result:
        read_attempts_table(table(tmp_path, changed))
    assert "\n" not in str(result.value)


def test_sample_drops_what_it_says_and_systems_that_do_not_cooperate(
    collection: CampaignCollection,
) -> None:
    part = collection.attempts[collection.attempts["condition"] == "none"].copy()
    part.loc[part["system"].eq("early").idxmax(), "truth_all_end_10s"] = 0.0
    sample = build_regression_sample(part)
    assert list(sample.left_out) == ["alone"]
    cooperating = part[part["system"] != "alone"]
    short = int(cooperating[COUNTS[0]].isna().sum())
    assert short > 0
    assert sample.dropped["drive shorter than 10 s"] == short
    assert len(sample.y) == len(cooperating) - sum(sample.dropped.values())
    assert set(build_regression_sample(part, ["alone", "late"]).systems) == {"alone", "late"}


@pytest.mark.thorough
def test_systems_that_are_asked_for_are_in_every_model(collection: CampaignCollection) -> None:
    chosen = fit_condition(collection.attempts, "none", ["alone", "late"], collection)
    for item in (chosen.checks, chosen.set_checks):
        assert item is not None
        assert item.set_index("check").loc["systems", "result"] == "alone, late"


def test_no_rows_at_all() -> None:
    nothing = counted(np.zeros(0), np.zeros((0, 1)))
    with pytest.raises(NoFitError, match="no row of a system that messages can affect"):
        build_regression_design(nothing)
    with pytest.raises(NoFitError, match="no row of a system that messages can affect"):
        fit_paper_logit(nothing)
    assert isinstance(build_sample_checks(nothing, None), pd.DataFrame)
