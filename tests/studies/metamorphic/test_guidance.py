"""Scores that guide, against slow readings of their formulas; which candidates they keep."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Boxes
from studies.metamorphic.judging.guidance import (
    climb_greedily,
    compute_multitest_fitness,
    compute_published_vgt,
    compute_v2xgen_fitness,
    compute_vgt,
    sample_random_scores,
    select_best_share,
)
from studies.metamorphic.scenes.answers import SystemAnswer
from tests.studies.metamorphic.made_boxes import (
    SEEDS,
    answer_with,
    best,
    box,
    disturbed,
    join,
    random_boxes,
)


def ends(boxes: Boxes, row: int) -> list[tuple[float, float]]:
    """Return the lowest and highest x, y and z of a box's corners."""
    x, y, z, length, width, height, yaw = boxes.geometry[row].tolist()
    xs, ys = [], []
    for ahead in (-length / 2, length / 2):
        for aside in (-width / 2, width / 2):
            xs.append(x + ahead * math.cos(yaw) - aside * math.sin(yaw))
            ys.append(y + ahead * math.sin(yaw) + aside * math.cos(yaw))
    return [(min(xs), max(xs)), (min(ys), max(ys)), (z - height / 2, z + height / 2)]


def slow_vgt(alone: Boxes, together: Boxes) -> float:
    """CooTest 3.4, equation 4, before it is normalised."""
    if len(alone) == 0 or len(together) == 0:
        return 0.0
    total = 0.0
    for i in range(len(alone)):
        mine, volume, shared = ends(alone, i), 1.0, 0.0
        for low, high in mine:
            volume *= high - low
        for j in range(len(together)):
            part = 1.0
            for (low, high), (low2, high2) in zip(mine, ends(together, j), strict=True):
                part *= max(0.0, min(high, high2) - max(low, low2))
            shared += part
        total += float(alone.scores[i]) / (len(alone) * len(together)) * shared / volume
    return -total


@given(seed=SEEDS)
def test_published_vgt_is_equation_4(seed: int) -> None:
    alone = random_boxes(seed)
    together = disturbed(alone, seed)
    expected = pytest.approx(slow_vgt(alone, together), abs=1e-9)
    assert compute_published_vgt(answer_with(together, alone)) == expected


@pytest.mark.thorough
@given(seeds=st.lists(SEEDS, max_size=6))
def test_published_vgt_is_normalised_over_the_pool(seeds: list[int]) -> None:
    pool = [answer_with(disturbed(random_boxes(seed), seed), random_boxes(seed)) for seed in seeds]
    raw = [slow_vgt(answer.ego_alone, answer.cooperative) for answer in pool]
    scores = compute_vgt(pool, as_published=True)
    for score, value in zip(scores.tolist(), raw, strict=True):
        spread = max(raw) - min(raw)
        if spread > 1e-6:
            assert score == pytest.approx((value - min(raw)) / spread, abs=1e-6)
        assert 0 <= score <= 1


KEPT_WELL = answer_with(join(box(5, 0), box(15, 0)), join(box(5, 0), box(15, 0)))
NO_EGO = answer_with(box(5, 0))
ALL_LOST = answer_with(Boxes.none(), join(box(5, 0), box(15, 0)))
HALF_LOST = answer_with(box(5, 0), join(box(5, 0), box(15, 0)))


def test_published_vgt_prefers_a_scene_in_which_nothing_can_be_lost() -> None:
    """The 0.0 of a scene without ego boxes is the highest score: repaired, it is the lowest."""
    pool = [KEPT_WELL, NO_EGO, ALL_LOST, HALF_LOST]
    published, repaired = (
        compute_vgt(pool, as_published=True),
        compute_vgt(pool, as_published=False),
    )
    assert published[1] == published[2] == 1.0
    assert select_best_share(published, 0.25).tolist() == [1]
    assert repaired.tolist() == [-1.0, -math.inf, 0.0, -0.5]
    assert select_best_share(repaired, 0.75).tolist() == [0, 2, 3]


@given(seed=SEEDS)
def test_repaired_vgt_depends_neither_on_the_pool_nor_on_how_many_boxes_there_are(
    seed: int,
) -> None:
    alone = random_boxes(seed)
    together = disturbed(alone, seed)
    (score,) = compute_vgt([answer_with(together, alone)], as_published=False)
    if not len(alone):
        assert score == -math.inf
        return
    shares = [best(alone, i, together) for i in range(len(alone))]
    weights = alone.scores.tolist()
    expected = -sum(w * s for w, s in zip(weights, shares, strict=True)) / sum(weights)
    assert score == pytest.approx(expected)
    assert -1 <= score <= 0
    crowded = answer_with(join(together, shifted(together)), join(alone, shifted(alone)))
    twice, _ = compute_vgt([crowded, KEPT_WELL], as_published=False)
    assert twice == pytest.approx(score)


def shifted(boxes: Boxes) -> Boxes:
    """Return the boxes 500 m ahead."""
    geometry = boxes.geometry.copy()
    geometry[:, 0] += 500.0
    return Boxes(geometry, boxes.classes, boxes.scores)


@given(seed=SEEDS, objects=st.integers(0, 6), agents=st.integers(1, 4))
def test_v2xgen_fitness_is_its_formula(seed: int, objects: int, agents: int) -> None:
    """V2XGen 3.3: F_OP and F_LP, each with a half."""
    random = make_named_stream(seed)
    missed = random.random(objects) < 0.5
    occlusion = random.random((objects, agents))
    distances = random.uniform(0.0, 300.0, (objects, agents))
    occluded, far = 0.0, 0.0
    for o in range(objects):
        if missed[o]:
            hidden, away = occlusion[o, 0], min(distances[o, 0], 200.0) / 200.0
            for cv in range(1, agents):
                hidden *= 1 - occlusion[o, cv]
                away *= 1 - min(distances[o, cv], 200.0) / 200.0
            occluded, far = occluded + hidden, far + away
    fitness = compute_v2xgen_fitness(missed, occlusion, distances)
    assert fitness == pytest.approx(0.5 * occluded + 0.5 * far)


@given(seed=SEEDS)
def test_multitest_fitness_is_its_formula(seed: int) -> None:
    """MultiTest 3.3: missed 0.5, false 0.25, localisation 0.25."""
    truth = random_boxes(seed)
    detections = disturbed(truth, seed)

    def near(boxes: Boxes, row: int) -> float:
        x, y = boxes.geometry[row, :2].tolist()
        return 1 - min(math.sqrt(x * x + y * y), 10.0) / 10.0

    missing = false = poorest = 0.0
    for a in range(len(truth)):
        shared = best(truth, a, detections)
        if shared <= 0:
            missing += near(truth, a)
        else:
            poorest = max(poorest, 1 - shared)
    for b in range(len(detections)):
        if best(detections, b, truth) <= 0:
            false += near(detections, b) * float(detections.scores[b])
    fitness = compute_multitest_fitness(truth, detections, farthest=10.0)
    assert fitness == pytest.approx(0.5 * missing + 0.25 * false + 0.25 * poorest)


@pytest.mark.parametrize(("share", "number"), [(0.1, 697), (0.15, 1046), (0.0, 0), (1.0, 6972)])
def test_kept_numbers_are_cootests(share: float, number: int) -> None:
    scores = sample_random_scores(6972, make_named_stream(1))
    chosen = select_best_share(scores, share)
    assert len(chosen) == len(set(chosen.tolist())) == number
    if 0 < number < 6972:
        assert scores[chosen].min() > np.delete(scores, chosen).max()


def test_equal_scores_keep_their_order() -> None:
    assert select_best_share(np.array([1.0, 2.0, 2.0, 2.0]), 0.5).tolist() == [1, 2]


def test_random_scores_are_those_of_a_stream() -> None:
    assert np.array_equal(
        sample_random_scores(5, make_named_stream(2)), sample_random_scores(5, make_named_stream(2))
    )


def test_a_greedy_search_keeps_what_raises_the_fitness() -> None:
    """MultiTest, algorithm 1: five tries for each of up to three changes."""
    proposals = iter([0.0, -1.0, 3.0, 2.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 9.0])
    asked: list[float] = []

    def propose(best_so_far: float) -> float | None:
        asked.append(best_so_far)
        return next(proposals)

    climbed = climb_greedily(0.0, propose, lambda one: one)
    assert (climbed.best, climbed.fitness, climbed.accepted) == (4.0, 4.0, 2)
    assert climbed.evaluations == 10
    assert asked == [0.0, 0.0, 0.0, 3.0, 3.0, *[4.0] * 5]


@given(seed=SEEDS, tries=st.integers(1, 6), most=st.integers(0, 4))
def test_a_greedy_search_never_gets_worse_and_keeps_to_its_budget(
    seed: int, tries: int, most: int
) -> None:
    random = make_named_stream(seed)

    def propose(best_so_far: float) -> float | None:
        return None if random.random() < 0.3 else best_so_far + random.normal()

    climbed = climb_greedily(0.0, propose, lambda one: one, tries=tries, most=most)
    assert climbed.accepted <= climbed.evaluations <= tries * most
    assert climbed.accepted <= most
    assert (climbed.fitness > 0) == (climbed.accepted > 0)
    assert climbed.best == climbed.fitness


def test_a_seed_that_nothing_improves_is_reported_so() -> None:
    climbed = climb_greedily(box(5, 0), lambda _: None, lambda _: 1.0)
    assert (climbed.accepted, climbed.evaluations, climbed.fitness) == (0, 0, 1.0)


def test_crowded_scenes_come_first_by_v2xgens_fitness_whatever_their_rate() -> None:
    """Why rates are reported next to counts: 8 of 80 missed beat 3 of 4."""
    crowded, empty = np.arange(80) < 8, np.arange(4) < 3
    scores = [compute_v2xgen_fitness(m, np.full((len(m), 1), 0.5), np.full((len(m), 1), 40.0))
              for m in (crowded, empty)]  # fmt: skip
    assert scores[0] > scores[1]
    assert crowded.mean() < empty.mean()


def test_answers_are_what_vgt_reads() -> None:
    assert isinstance(KEPT_WELL, SystemAnswer)
    assert compute_published_vgt(KEPT_WELL) == pytest.approx(-0.9 * 2 / 4)
