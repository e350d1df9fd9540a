"""The three studies: what counts as an error of perception, and when."""

from __future__ import annotations

import numpy as np
import pytest

from harness.campaign.attempt.results import PrecisionAccumulator
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.evaluation.frame_evaluation import EvaluatedFrame, evaluate_frame
from harness.evaluation.windows import sum_windows
from harness.types.vocabulary import CYCLIST, PEDESTRIAN, Boxes, GroundTruth
from tests.campaign.test_presets_driving import STUDIES, by_study, studies
from tests.evaluation.scenes import row
from tests.evaluation.test_text_and_code import NO_BOXES, of

__all__ = ["studies"]
TIMES = np.linspace(0, 40, 201)
STEADY = {"CCME": np.ones(len(TIMES))}


def evaluated(
    settings: CampaignSettings, truth: Boxes, ego: Boxes, coop: Boxes, hits: int = 9
) -> EvaluatedFrame:
    """Evaluate a step in which every LiDAR hits all road users so often."""
    often = np.full(len(truth), hits)
    ground_truth = GroundTruth(truth, np.arange(len(truth)), often)
    return evaluate_frame(
        ground_truth,
        often,
        ego_alone=ego,
        cooperative=coop,
        settings=build_part(settings["patterns"], "patterns"),
    )


@pytest.mark.parametrize(("study", "errors"), by_study(paper_text=1, paper_code=0, recommended=1))
def test_tau_of_cyclists(studies: dict[str, CampaignSettings], study: str, errors: int) -> None:
    cyclist, askew = (of(row(x=x, length=2), of_class=CYCLIST) for x in (9, 10.5))
    assert evaluated(studies[study], cyclist, NO_BOXES, askew).count_patterns()["CCLE"] == errors


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("of_class", [0, PEDESTRIAN])
def test_tau_of_the_others(studies: dict[str, CampaignSettings], study: str, of_class: int) -> None:
    there, askew, near = (of(row(x=x, length=2), of_class=of_class) for x in (9, 10, 9.2))
    assert evaluated(studies[study], there, NO_BOXES, askew).count_patterns()["CCLE"] == 1
    assert evaluated(studies[study], there, NO_BOXES, near).count_patterns()["CCLE"] == 0


@pytest.mark.parametrize(("study", "errors"), by_study(paper_text=1, paper_code=0, recommended=0))
def test_a_good_box_and_a_poor_one(
    studies: dict[str, CampaignSettings], study: str, errors: int
) -> None:
    car, coop = of(row(x=9)), of(row(x=9), row(x=11))
    assert evaluated(studies[study], car, car, coop).count_patterns()["LCLE"] == errors


@pytest.mark.parametrize(("study", "unseen"), by_study(paper_text=1, paper_code=1, recommended=0))
@pytest.mark.parametrize("hits", [0, 4])
def test_road_users_that_no_lidar_hits(
    studies: dict[str, CampaignSettings], study: str, unseen: int, hits: int
) -> None:
    car = of(row(x=9))
    assert (
        evaluated(studies[study], car, NO_BOXES, NO_BOXES, hits).count_patterns()["CCME"] == unseen
    )
    assert evaluated(studies[study], car, NO_BOXES, NO_BOXES, 5).count_patterns()["CCME"] == 1


@pytest.mark.parametrize(("study", "boxes"), by_study(paper_text=1, paper_code=2, recommended=1))
def test_the_ego_box(studies: dict[str, CampaignSettings], study: str, boxes: int) -> None:
    car = of(row(x=9))
    numbers = evaluated(studies[study], car, car, car).count_boxes()
    assert numbers["truth_all"] == numbers["cooperative_all"] == boxes


@pytest.mark.parametrize(("study", "errors"), by_study(paper_text=1, paper_code=1, recommended=0))
def test_parked_scenery(studies: dict[str, CampaignSettings], study: str, errors: int) -> None:
    parked, no_hits = of(row(x=9)), np.zeros(0, np.int64)
    rules = build_part(studies[study]["patterns"], "patterns")
    frame = evaluate_frame(
        GroundTruth(NO_BOXES, no_hits, no_hits),
        no_hits,
        ego_alone=NO_BOXES,
        cooperative=parked,
        settings=rules,
        parked=parked,
    )
    assert frame.count_patterns()["LADE"] == errors


@pytest.mark.parametrize(
    ("study", "there"), by_study(paper_text=False, paper_code=False, recommended=True)
)
@pytest.mark.parametrize(("x", "y"), [(40, 0), (-40, 0), (0, 20)])
def test_the_window(
    studies: dict[str, CampaignSettings], study: str, there: bool, x: float, y: float
) -> None:
    assert (
        evaluated(studies[study], of(row(x=x, y=y)), NO_BOXES, NO_BOXES).count_patterns()["CCME"]
        == there
    )


def test_average_precision_comes_in_every_studys_way(studies: dict[str, CampaignSettings]) -> None:
    """Cars are all found, walkers never: a mean of classes is a half, a pool is not."""
    truth = Boxes.join([of(row(x=9), row(x=19)), of(row(x=29), of_class=PEDESTRIAN)])
    book = PrecisionAccumulator()
    book.add_frame(evaluated(studies["recommended"], truth, NO_BOXES, of(row(x=9), row(x=19))))
    precision = book.build_record()["cooperative"]
    assert precision["eleven_point"] == precision["all_point"] == pytest.approx(0.5)
    assert precision["pooled_all_point"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("study", "mean"), by_study(paper_text=25.0, paper_code=5.0, recommended=25.0)
)
def test_t1_is_for_five_seconds_or_for_one(
    studies: dict[str, CampaignSettings], study: str, mean: float
) -> None:
    rules = build_part(studies[study]["windows"], "windows")
    errors_in = sum_windows(TIMES, STEADY, end=40.0, rules=rules)
    assert errors_in["t1"]["CCME"] == pytest.approx(mean, rel=0.04)
    assert errors_in["end_10s"]["CCME"] == 50


@pytest.mark.parametrize(
    ("study", "errors"), by_study(paper_text=30, paper_code=30, recommended=None)
)
def test_drives_shorter_than_ten_seconds(
    studies: dict[str, CampaignSettings], study: str, errors: int | None
) -> None:
    """Six seconds of one error in each planning step."""
    rules = build_part(studies[study]["windows"], "windows")
    in_windows = sum_windows(TIMES[:30], {"CCME": np.ones(30)}, end=6.0, rules=rules)
    assert in_windows["end_10s"]["CCME"] == errors
    assert in_windows["t2"]["CCME"] is None


@pytest.mark.parametrize(("study", "kept"), by_study(paper_text=10, paper_code=0, recommended=10))
def test_slow_frames_before_a_collision(
    studies: dict[str, CampaignSettings], study: str, kept: int
) -> None:
    rules = build_part(studies[study]["windows"], "windows")
    slow = np.arange(len(TIMES)) >= len(TIMES) - 10
    errors_in = sum_windows(
        TIMES,
        {"CCME": slow.astype(np.float64)},
        end=40.0,
        rules=rules,
        speeds=np.where(slow, 0.1, 8.0),
        collided=True,
    )
    assert errors_in["end_10s"]["CCME"] == kept
