"""Scores that are shares, and thresholds with the best balance."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from agents.perception.designs import LITE_GRID
from agents.perception.loading import FOLDER
from agents.perception.operating_point import (
    METADATA,
    SHAPE,
    OperatingPoint,
    ScoreCalibration,
    find_distance_bands,
    from_operating_record,
    logit,
    make_uniform_point,
    read_operating_point,
    to_operating_record,
)
from agents.perception.systems import Late, Single
from agents.training.at_operating_point import compute_calibration_error, compute_operating_figures
from agents.training.detection_metrics import DetectionOutcomes, compute_outcomes
from agents.training.operating import (
    choose_operating_point,
    find_best_threshold,
    find_best_thresholds,
    fit_calibration,
    fit_logistic_curve,
)
from agents.training.samples import EgoSample, RecordedSamples
from agents.training.weight_files import save_weights
from harness.common.errors import UserError
from harness.common.recordings import list_scenarios
from harness.types.precision import ClassMatches
from harness.types.vocabulary import CLASSES, CYCLIST, PEDESTRIAN, VEHICLE, Boxes
from tests.training.made_up import write_recording

POINT = OperatingPoint(
    np.array([0.5, 0.25, 0.75]),
    ScoreCalibration(np.full(SHAPE, 2.0), np.arange(9.0).reshape(SHAPE) / 10 - 0.4),
)


def outcomes_in(kind: str, band: str, matches: ClassMatches) -> DetectionOutcomes:
    """Return outcomes of one class and band only."""
    nothing = ClassMatches(np.zeros(0), np.zeros(0, np.bool_), 0)
    cells = compute_outcomes(lambda sample: Boxes.none(), [], LITE_GRID).matches
    outcomes = DetectionOutcomes(["one"], {cell: [nothing] for cell in cells})
    outcomes.matches["ego", 0.5, kind, band] = [matches]
    return outcomes


def boxes(kinds: list[int], x: list[float], scores: list[float]) -> Boxes:
    geometry = np.zeros((len(kinds), 7))
    geometry[:, 0] = x
    geometry[:, 3:6] = 1.0
    return Boxes(geometry, np.array(kinds), np.array(scores))


def sampled(slope: float, offset: float, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores, and whether they are right as often as a curve says."""
    random = np.random.default_rng(seed)
    scores = random.uniform(0.02, 0.98, count)
    share = 1 / (1 + np.exp(-(slope * logit(scores) + offset)))
    return scores, random.random(count) < share


@pytest.mark.parametrize(("slope", "offset"), [(1.0, 0.0), (3.0, -1.5), (0.5, 1.0)])
def test_a_curve_is_recovered_again(slope: float, offset: float) -> None:
    scores, correct = sampled(slope, offset, 20_000, 1)
    assert fit_logistic_curve(logit(scores), correct) == pytest.approx((slope, offset), abs=0.1)


def test_scores_are_shares_after_calibration_and_not_before() -> None:
    scores, correct = sampled(2.5, -1.0, 8000, 2)
    calibration = fit_calibration(
        outcomes_in("vehicle", "30-50", ClassMatches(scores, correct, 9)), "ego"
    )
    later, right = sampled(2.5, -1.0, 8000, 3)
    after = calibration.calibrate_scores(boxes([0] * 8000, [40.0] * 8000, later.tolist()))
    assert compute_calibration_error(later, right) > 0.1
    assert compute_calibration_error(after, right) < 0.02


def test_where_nothing_was_detected_scores_stay() -> None:
    nothing = outcomes_in("vehicle", "0-30", ClassMatches(np.zeros(0), np.zeros(0, np.bool_), 3))
    calibration = fit_calibration(nothing, "ego")
    assert np.array_equal(calibration.slopes, np.ones(SHAPE))
    assert np.array_equal(calibration.offsets, np.zeros(SHAPE))
    assert find_best_thresholds(nothing, "ego").tolist() == [1.0, 1.0, 1.0]


def test_the_threshold_has_the_highest_f1() -> None:
    random = np.random.default_rng(4)
    scores, correct = random.random(200).round(2), random.random(200) < 0.5
    correct &= random.random(200) < scores

    def f1(threshold: float) -> float:
        counts = scores >= threshold
        return 2 * float((counts & correct).sum()) / (int(counts.sum()) + 90)

    chosen = find_best_threshold(ClassMatches(scores, correct, 90))
    assert f1(chosen) == pytest.approx(max(f1(score) for score in scores))


def test_detections_that_count() -> None:
    detected = boxes([VEHICLE, VEHICLE, PEDESTRIAN, CYCLIST], [5.0, 40.0, 5.0, 60.0], [0.5] * 4)
    assert find_distance_bands(detected.geometry).tolist() == [0, 1, 0, 2]
    calibrated = POINT.calibrate_boxes(detected)
    offsets = np.array([-0.4, -0.3, -0.1, 0.4])
    assert calibrated.scores == pytest.approx(1 / (1 + np.exp(-offsets)))
    assert POINT.apply_thresholds(detected).classes.tolist() == [PEDESTRIAN]
    assert make_uniform_point(0.5).apply_thresholds(detected) is not None
    assert len(make_uniform_point(0.5).apply_thresholds(detected)) == 4
    assert len(make_uniform_point(0.51).apply_thresholds(detected)) == 0


def test_scores_of_nothing_and_of_everything_are_finite() -> None:
    sure = POINT.calibrate_boxes(boxes([VEHICLE, VEHICLE], [5.0, 5.0], [0.0, 1.0]))
    assert np.isfinite(sure.scores).all()


def test_a_file_of_weights_keeps_them(tmp_path: Path) -> None:
    file = tmp_path / "some.safetensors"
    save_weights(file, {"a": torch.ones(2)}, {"scheme": "late"}, {"late": POINT})
    known = read_operating_point(file, "late")
    assert known is not None
    assert to_operating_record(known) == to_operating_record(POINT)
    assert read_operating_point(file, "single") is None
    card = json.loads(file.with_suffix(".json").read_text())
    assert to_operating_record(
        from_operating_record(card[METADATA]["late"])
    ) == to_operating_record(POINT)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"late": 3}',
        '{"late": {}}',
        '{"late": {"thresholds": [1, 1], "slopes": [], "offsets": []}}',
        json.dumps({"late": {**to_operating_record(POINT), "slopes": [[float("nan")] * 3] * 3}}),
    ],
)
def test_a_broken_operating_point_is_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "some.safetensors"
    state = load_file(FOLDER / "lite_single.safetensors")
    save_file(state, file, {METADATA: text})
    with pytest.raises(UserError, match="no valid operating point of late"):
        Late(weights=str(file))


@pytest.fixture
def held_out(tmp_path: Path) -> RecordedSamples:
    write_recording(tmp_path / "data")
    return RecordedSamples(list_scenarios(tmp_path / "data"), units=False)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [Single, Late])
def test_a_system_uses_what_is_chosen(held_out: RecordedSamples, kind: type[Single | Late]) -> None:
    system = kind()
    chosen = choose_operating_point(system, held_out)
    assert system.operating_point is chosen
    assert chosen.calibration is not None
    assert ((chosen.thresholds > 0) & (chosen.thresholds <= 1)).all()


def test_figures_at_the_operating_point(held_out: RecordedSamples) -> None:
    samples = [held_out.read_sample(number) for number in range(len(held_out))]

    def detector(sample: EgoSample) -> Boxes:
        """Return all road users and, with lower scores, as many ghosts."""
        truth = sample.truth.boxes_in_lidar
        ghosts = replace(truth, geometry=truth.geometry * [-1.0, -1.0, *[1.0] * 5])
        scores = np.repeat([0.9, 0.4], len(truth))
        both = Boxes.join([truth, ghosts])
        return replace(both, scores=scores)

    outcomes = compute_outcomes(detector, samples, LITE_GRID)
    for threshold, false in ((0.5, 0.0), (0.3, 2.0)):
        figures = compute_operating_figures(outcomes, np.full(len(CLASSES), threshold), "anyone")
        for of_class in figures.values():
            assert of_class.recall == 1.0
            assert of_class.false_a_frame == pytest.approx(false)
            assert of_class.truths == 2 * len(samples)
        error = 0.1 if threshold == 0.5 else (0.1 + 0.4) / 2
        assert figures["vehicle"].calibration_error == pytest.approx(error)
