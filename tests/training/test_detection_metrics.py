"""Precision of detectors whose worth is known."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from agents.perception.designs import LITE_GRID
from agents.training.detection_metrics import evaluate_detections, select_headline
from agents.training.evaluate import to_precision_records, to_precision_table
from agents.training.samples import EgoSample, RecordedSamples
from harness.common.recordings import list_scenarios
from harness.types.vocabulary import Boxes
from tests.training.made_up import write_recording


@pytest.fixture
def few(tmp_path: Path) -> list[EgoSample]:
    write_recording(tmp_path)
    samples = RecordedSamples(list_scenarios(tmp_path), units=False)
    return [samples.read_sample(number) for number in range(len(samples))]


def perfect(sample: EgoSample) -> Boxes:
    return sample.truth.boxes_in_lidar


def test_a_perfect_detector(few: list[EgoSample]) -> None:
    table = evaluate_detections(perfect, few, LITE_GRID)
    for cell in table.values():
        assert cell.truths == 0 or cell.eleven_point == cell.all_point == 1.0
    assert select_headline(table, "ego") == {"vehicle": 1.0, "pedestrian": 1.0, "cyclist": 1.0}
    assert table["anyone", 0.5, "vehicle", "0-50"].truths == 2 * len(few)


def test_a_detector_without_detections(few: list[EgoSample]) -> None:
    table = evaluate_detections(lambda sample: Boxes.none(), few, LITE_GRID)
    assert set(select_headline(table, "anyone").values()) == {0.0}


def test_boxes_with_few_hits_are_neither_right_nor_wrong(few: list[EgoSample]) -> None:
    for sample in few:
        sample.truth.hits[0] = 4
    table = evaluate_detections(perfect, few, LITE_GRID)
    ego, anyone = (table[who, 0.5, "vehicle", "0-50"] for who in ("ego", "anyone"))
    assert (ego.truths, ego.eleven_point) == (len(few), 1.0)
    assert anyone.truths == 2 * len(few)


def test_parked_scenery_is_neither_right_nor_wrong(few: list[EgoSample]) -> None:
    def most_confident_on_scenery(sample: EgoSample) -> Boxes:
        parked = Boxes(sample.parked.geometry, sample.parked.classes, np.full(1, 2.0))
        return Boxes.join([parked, perfect(sample)])

    table = evaluate_detections(most_confident_on_scenery, few, LITE_GRID)
    assert table["ego", 0.5, "vehicle", "0-50"].all_point == 1.0


def test_additional_detections_cost_precision(few: list[EgoSample]) -> None:
    def doubtful(sample: EgoSample) -> Boxes:
        ghosts = sample.truth.boxes_in_lidar
        geometry = ghosts.geometry * [-1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        scores = np.full(len(ghosts), 2.0)
        return Boxes.join([Boxes(geometry, ghosts.classes, scores), perfect(sample)])

    table = evaluate_detections(doubtful, few, LITE_GRID)
    assert table["ego", 0.5, "vehicle", "0-50"].all_point == pytest.approx(0.5)


def test_the_table_shows_bands_without_ground_truth(few: list[EgoSample]) -> None:
    columns = {"none": evaluate_detections(perfect, few, LITE_GRID)}
    assert to_precision_table(columns, "").row_count == 30
    empty = next(row for row in to_precision_records(columns) if row["metres"] == "50-100")
    assert (empty["truths"], empty["eleven-point"]) == (0, None)
    assert math.isnan(columns["none"]["ego", 0.5, "vehicle", "50-100"].eleven_point)
