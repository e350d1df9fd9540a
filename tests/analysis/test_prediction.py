"""Predicting violations: nothing from after a window, whole routes held out, scores by hand."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.__main__ import main
from analysis.collection import collect_campaigns
from analysis.regression import prediction
from analysis.regression.moments import (
    KNOWN_SURROGATES,
    MomentRules,
    collect_moments,
    compute_moment_features,
    iterate_window_ends,
)
from analysis.regression.prediction import (
    MODELS,
    count_ordered_pairs,
    evaluate_prediction_models,
    predict_held_out,
    split_into_folds,
)
from analysis.regression.sample import NoFitError
from analysis.surrogates import read_motion
from harness.common.randomness import make_named_stream
from harness.evaluation.surrogates.measures import compute_surrogates
from harness.records.surrogates import read_surrogates
from harness.types.record_names import PATTERNS, SURROGATES
from tests.analysis.little import Drive, write_little
from tests.keys import key_of

RULES = MomentRules()


def made_up(effect: float, routes: int = 12, rows: int = 30) -> pd.DataFrame:
    """Return moments in which a column raises the odds of a violation, and others do not."""
    random = make_named_stream(1, "test", "prediction")
    table = pd.DataFrame(
        random.exponential(size=(routes * rows, len(PATTERNS) + len(KNOWN_SURROGATES))),
        columns=[*PATTERNS, *KNOWN_SURROGATES],
    )
    hard = np.repeat(random.normal(size=routes), rows)
    chance = 1 / (1 + np.exp(2 - hard - effect * (np.log1p(table["smallest_gap"]) - 0.6)))
    violated = (random.random(len(table)) < chance).astype(float)
    names = np.repeat([f"town/{number}" for number in range(routes)], rows)
    return table.assign(violated=violated, cluster=names)


def score(result: prediction.PredictionScores, name: str, measure: str) -> dict[str, float]:
    """Return one model's score, its interval and what it rests on."""
    rows = result.scores[(result.scores["model"] == name) & (result.scores["measure"] == measure)]
    return {key: float(rows[key].item()) for key in ("value", "low", "high", "n")}


def test_what_predicts_is_seen_and_what_does_not_is_not() -> None:
    known = evaluate_prediction_models(made_up(6.0))
    patterns = score(known, "patterns", "AUC")
    assert score(known, "surrogates", "AUC")["low"] > 0.6
    assert score(known, "surrogates minus base rate", "Brier")["high"] < 0
    assert patterns["low"] < 0.5 < patterns["high"]
    assert score(known, "base rate", "AUC")["value"] == 0.5
    nothing = evaluate_prediction_models(made_up(0.0))
    for name in ("patterns", "surrogates", "both"):
        auc = score(nothing, name, "AUC")
        assert auc["low"] < 0.5 < auc["high"]


def test_scores_are_those_of_the_definitions() -> None:
    moments = made_up(3.0, routes=5, rows=8)
    result = evaluate_prediction_models(moments)
    y, clusters = moments["violated"].to_numpy(), moments["cluster"].to_numpy()
    for name in MODELS:
        p = result.probabilities[name].to_numpy()
        right = pairs = 0.0
        for a, b in product(range(len(y)), repeat=2):
            if clusters[a] == clusters[b] and y[a] > y[b]:
                pairs += 1
                right += (p[a] > p[b]) + 0.5 * (p[a] == p[b])
        assert score(result, name, "AUC")["value"] == pytest.approx(right / pairs)
        brier = np.mean((p - y) ** 2)
        assert score(result, name, "Brier")["value"] == pytest.approx(brier)
    assert score(result, "both", "AUC")["n"] == pairs


def test_routes_without_a_pair_are_in_no_auc() -> None:
    y, p = np.array([1.0, 1, 0, 1]), np.array([0.1, 0.2, 0.3, 0.4])
    right, pairs = count_ordered_pairs(y, p, np.array([0, 0, 1, 1]))
    assert (right.tolist(), pairs.tolist()) == ([1.0], [1.0])


@pytest.mark.thorough
def test_a_route_is_in_one_fold_and_its_outcomes_do_not_reach_its_predictions() -> None:
    moments = made_up(3.0)
    clusters = np.unique(moments["cluster"], return_inverse=True)[1]
    folds = split_into_folds(clusters)
    assert len(np.unique(folds)) == 10
    assert all(len(np.unique(folds[clusters == route])) == 1 for route in range(12))
    y = moments["violated"].to_numpy()
    columns = compute_moment_features(moments, MODELS["both"])
    fold = folds == folds[0]
    other = np.where(fold, 1 - y, y)
    assert predict_held_out(other, columns, folds)[fold] == pytest.approx(
        predict_held_out(y, columns, folds)[fold]
    )
    moved = columns + 100.0 * fold[:, None]
    assert predict_held_out(y, moved, folds)[~fold] != pytest.approx(
        predict_held_out(y, columns, folds)[~fold]
    )


def test_the_base_rate_is_that_of_other_routes() -> None:
    y = np.array([1.0, 0, 0, 0, 1, 1])
    folds = np.array([0, 0, 1, 1, 2, 2])
    expected = [0.5, 0.5, 0.75, 0.75, 0.25, 0.25]
    assert predict_held_out(y, np.zeros((6, 0)), folds).tolist() == expected


@pytest.mark.parametrize("happened", [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]])
def test_without_a_contrast_there_is_nothing_to_predict(happened: list[float]) -> None:
    moments = made_up(0.0, routes=4, rows=1).assign(violated=np.array(happened, float))
    with pytest.raises(NoFitError, match="both are needed on two routes"):
        evaluate_prediction_models(moments)


def test_windows_end_a_lead_before() -> None:
    assert list(iterate_window_ends(500, 0.05, RULES)) == [460, 360, 260]
    assert list(iterate_window_ends(239, 0.05, RULES)) == []
    assert list(iterate_window_ends(240, 0.05, RULES)) == [200]


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a campaign: on each of three routes one drive violates, one does not."""
    arms = [("late", "none"), ("late", "latency")]
    routes = ["0", "1", "2"]
    known = {key_of(*arms[0], route, 1): Drive(30, "collision_vehicle") for route in routes}
    known |= {key_of(*arms[1], route, 1): Drive(30) for route in routes}
    folder = tmp_path_factory.mktemp("drives") / "c"
    return write_little(folder, arms=arms, routes=routes, seeds=[1], drives=known)


def changed_after(source: Path, folder: Path, seconds: float) -> Path:
    """Return a copy in which everything after a time is different: tracks, and errors counted."""
    shutil.copytree(source, folder)
    for file in folder.glob("episodes/**/*.parquet"):
        if file.stem in {"tracks", "frames"}:
            table = pq.read_table(file)
            late = table["frame"].to_numpy() > round(seconds / 0.05)
            for name in ("x", "y", "LCME", "CCLE", "station"):
                if name in table.column_names:
                    values = table[name].to_numpy().copy()
                    values[late] = values[late] + 1000
                    at = table.column_names.index(name)
                    field = table.schema.field(name)
                    table = table.set_column(at, field, pa.array(values, field.type))
            pq.write_table(table, file)
    return folder


@pytest.mark.thorough
def test_nothing_after_a_window_is_known_at_its_moment(drives: Path, tmp_path: Path) -> None:
    """Violations come after 30 s and other drives end after 29 s: the last windows 2 s earlier."""
    before = collect_moments(collect_campaigns([drives]), RULES)
    assert sorted(set(before["time"])) == [12.0, 13.0, 17.0, 18.0, 22.0, 23.0, 27.0, 28.0]
    assert before["violated"].sum() == 3
    assert (before.loc[before["violated"] == 1, "time"] == 28.0).all()
    later = collect_campaigns([changed_after(drives, tmp_path / "later", 28.0)])
    pd.testing.assert_frame_equal(before, collect_moments(later, RULES))
    earlier = collect_moments(
        collect_campaigns([changed_after(drives, tmp_path / "earlier", 27.0)]), RULES
    )
    last = before["time"] == 28.0
    pd.testing.assert_frame_equal(before[~last], earlier[~last])
    for name in ("jerk_max", "LCME"):
        assert (before.loc[last, name] != earlier.loc[last, name]).any()


def test_surrogates_computed_again_are_those_recorded(drives: Path) -> None:
    collection = collect_campaigns([drives])
    for _, campaign, key in collection.iterate_attempts():
        motion, way, ending = read_motion(campaign, key, 0.05)
        result = campaign.read_result(key)
        again = compute_surrogates(motion, way, ending)
        for name, value in read_surrogates(result).items():
            if result["crucible"]["violation"] is None and name in SURROGATES:
                assert again[name] == pytest.approx(value), name


@pytest.mark.thorough
def test_the_command(drives: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["predict", str(drives), "--window", "5", "--step", "3", "--out", str(tmp_path)]
    assert main(asked) == 0
    printed = capsys.readouterr().out
    assert "violations among" in printed
    assert "both minus patterns" in printed
    known = pd.read_csv(tmp_path / "prediction.csv")
    assert set(known["measure"]) == {"AUC", "Brier"}
    moments = pd.read_csv(tmp_path / "moments.csv")
    assert {"p both", "p base rate", "smallest_gap"} <= set(moments)


@pytest.mark.thorough
def test_without_moments_nothing_is_fitted(
    drives: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(drives), "--window", "500", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "3 violations came before a whole window and its lead: left out" in printed
    assert "not fitted: 0 violations on 0 routes" in printed
    assert (tmp_path / "moments.csv").is_file()
    assert not (tmp_path / "prediction.csv").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lead", "-1"], "--lead -1: must be ≥ 0 s"),
        (["--window", "nan"], "--window nan: must be ≥ 1 s"),
        (["--step", "0"], "--step 0: must be ≥ 0.5 s"),
        (["--near-miss", "0"], "--near-miss 0.0: must be > 0"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], message: str, drives: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(drives), *words]) == 2
    assert message in capsys.readouterr().err
