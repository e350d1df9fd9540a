"""Relations against slow readings of their definitions, and what they must not see."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import CYCLIST, PEDESTRIAN, Boxes, GroundTruth
from studies.metamorphic.operators.symmetries import mirror_boxes
from studies.metamorphic.relations.changes import ExpectedChanges, MirroredAnswer
from studies.metamorphic.relations.counts import NoFewer, make_count_relations
from studies.metamorphic.relations.equal import (
    AsAlone,
    EqualAnswer,
    make_duplicate_relation,
    make_equal_relations,
)
from studies.metamorphic.relations.kept import KeptDetections, KeptOfEgo, MoreHelp
from studies.metamorphic.relations.matching import (
    compute_box_differences,
    is_on_places,
    is_whole_in_window,
    pair_equal_boxes,
    pair_overlapping_boxes,
)
from studies.metamorphic.relations.relation import (
    ExpectedBoxes,
    MetamorphicRelation,
    compute_expected_boxes,
)
from studies.metamorphic.scenes.answers import SystemAnswer
from studies.metamorphic.scenes.operator import TruthExpectation
from studies.metamorphic.scenes.scene import CooperativeScene
from tests.studies.metamorphic.made_boxes import (
    SEEDS,
    answer_with,
    box,
    disturbed,
    join,
    made_up_scenes,
    overlap,
    random_boxes,
)

NONE = ExpectedBoxes()
RELATIONS: tuple[MetamorphicRelation, ...] = (
    *make_equal_relations(),
    *(KeptDetections(), KeptOfEgo(), MoreHelp(), ExpectedChanges(), MirroredAnswer()),
    *make_count_relations(),
)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> CooperativeScene:
    return made_up_scenes(tmp_path_factory.mktemp("recording"))[0]


def slowly_paired(one: Boxes, other: Boxes, least: float) -> dict[int, int]:
    """Return pairs: again and again the two that overlap most of those that are left."""
    pairs: dict[int, int] = {}
    while True:
        best = (0.0, -1, -1)
        for a in range(len(one)):
            for b in range(len(other)):
                if a not in pairs and b not in pairs.values():
                    shared = overlap(one, a, other, b)
                    if shared >= least and shared > best[0]:
                        best = (shared, a, b)
        if best[1] < 0:
            return pairs
        pairs[best[1]] = best[2]


@given(seed=SEEDS, least=st.sampled_from([0.0, 0.1, 0.5]))
def test_pairs_are_those_of_a_slow_search(seed: int, least: float) -> None:
    one = random_boxes(seed)
    other = disturbed(one, seed)
    slow = slowly_paired(one, other, least)
    pairing = pair_overlapping_boxes(one, other, least)
    assert {a: b for a, b in enumerate(pairing.other.tolist()) if b >= 0} == slow
    assert {b: a for b, a in enumerate(pairing.of_other.tolist()) if a >= 0} == {
        b: a for a, b in slow.items()
    }


@given(seed=SEEDS)
def test_kept_detections_are_counted_as_a_slow_reading_does(seed: int) -> None:
    """R6 and R7: of the source's boxes, the share without a pair."""
    ego = random_boxes(seed)
    together = disturbed(ego, seed)
    follow = disturbed(together, seed + 7)
    source = answer_with(together, ego)
    for relation, reference in ((KeptDetections(), together), (KeptOfEgo(), ego)):
        measure = relation.measure(source, answer_with(follow), NONE)
        kept = slowly_paired(reference, follow, 0.5)
        missing = [a for a in range(len(reference)) if a not in kept]
        assert measure.exposed == len(reference)
        assert measure.value == (len(missing) / len(reference) if len(reference) else 0.0)
        geometry = [tuple(reference.geometry[a].tolist()) for a in missing]
        assert [breach.geometry for breach in measure.breaches] == geometry
        assert {breach.why for breach in measure.breaches} <= {"missing"}


@given(seed=SEEDS)
def test_changes_are_one_minus_f1(seed: int) -> None:
    """R8 and R10: precision and recall with the expected answer as reference."""
    before = random_boxes(seed)
    follow = disturbed(before, seed)
    pairs = len(slowly_paired(before, follow, 0.5))
    precision = pairs / len(follow) if len(follow) else 0.0
    recall = pairs / len(before) if len(before) else 0.0
    f1 = 2 * precision * recall / (precision + recall) if pairs else 0.0
    measure = ExpectedChanges().measure(answer_with(before), answer_with(follow), NONE)
    if measure.exposed:
        assert measure.value == pytest.approx(1 - f1)
    mirror = MirroredAnswer().measure(answer_with(before), answer_with(mirror_boxes(follow)), NONE)
    assert mirror.value == pytest.approx(measure.value, abs=1e-12)


def test_an_inserted_object_must_be_detected_and_all_others_kept() -> None:
    """V2XGen, MR1: CP[s] with GT_ins."""
    source, new = answer_with(join(box(5, 0), box(15, 0))), box(10, 10)
    expected = ExpectedBoxes(arrived=new)
    measure = ExpectedChanges().measure
    assert measure(source, answer_with(join(box(5, 0), box(15, 0), new)), expected).value == 0
    unseen = measure(source, answer_with(join(box(5, 0), box(15, 0))), expected)
    assert unseen.value == pytest.approx(1 / 5)
    assert [(b.why, b.geometry[:2]) for b in unseen.breaches] == [("missing", (10.0, 10.0))]
    other_lost = measure(source, answer_with(join(box(5, 0), new)), expected)
    assert [b.geometry[0] for b in other_lost.breaches] == [15.0]
    already_there = answer_with(join(box(5, 0), box(15, 0), box(10.1, 10)))
    assert measure(already_there, answer_with(join(box(5, 0), box(15, 0))), expected).value > 0
    detected = answer_with(join(box(5, 0), box(15, 0), new))
    assert measure(already_there, detected, expected).value == 0


def test_a_deleted_object_must_not_be_detected() -> None:
    """V2XGen, MR2: CP[s] without GT_del."""
    source = answer_with(join(box(5, 0), box(15, 0)))
    expected = ExpectedBoxes(left=box(15.2, 0))
    assert ExpectedChanges().measure(source, answer_with(box(5, 0)), expected).value == 0
    still = ExpectedChanges().measure(source, source, expected)
    assert still.value == pytest.approx(1 / 3)
    assert [(breach.why, breach.geometry[0]) for breach in still.breaches] == [("additional", 15.0)]


def test_a_moved_object_is_asked_for_where_it_is() -> None:
    source = answer_with(join(box(5, 0), box(15, 0)))
    expected = ExpectedBoxes(left=box(15, 0), arrived=box(16, 1))
    assert (
        ExpectedChanges().measure(source, answer_with(join(box(5, 0), box(16, 1))), expected).value
        == 0
    )
    measure = ExpectedChanges().measure(source, source, expected)
    assert sorted(breach.why for breach in measure.breaches) == ["additional", "missing"]


@pytest.mark.parametrize(
    "relation",
    [KeptDetections(), KeptOfEgo(), MoreHelp(), ExpectedChanges(), EqualAnswer(name="x")],
)
def test_places_that_are_not_judged_cost_nothing(relation: MetamorphicRelation) -> None:
    source = answer_with(join(box(5, 0), box(15, 0)), join(box(5, 0), box(15, 0)))
    follow = answer_with(join(box(5, 0), box(14.5, 0.4, of_class=CYCLIST)))
    assert relation.measure(source, follow, NONE).value > 0
    assert relation.measure(source, follow, ExpectedBoxes(unjudged=box(15, 0))).value == 0


def test_more_help_counts_what_is_lost_in_addition() -> None:
    """R9: lost before by cooperation is not lost by the partner that is added."""
    ego = join(box(5, 0), box(15, 0), box(25, 0))
    source = answer_with(join(box(5, 0), box(15, 0)), ego)
    better, worse = answer_with(ego, ego), answer_with(box(25, 0), ego)
    assert MoreHelp().measure(source, better, NONE).value == pytest.approx(-1 / 3)
    measure = MoreHelp().measure(source, worse, NONE)
    assert measure.value == pytest.approx(1 / 3)
    assert [breach.geometry[0] for breach in measure.breaches] == [5.0, 15.0]


@given(seed=SEEDS)
def test_equal_means_all_bits_in_any_order(seed: int) -> None:
    boxes = random_boxes(seed)
    shuffled = boxes[make_named_stream(seed, "order").permutation(len(boxes))]
    same = EqualAnswer(name="x").measure(answer_with(boxes), answer_with(shuffled), NONE)
    assert same.value == 0
    assert same.exposed == 2 * len(boxes)
    alone = AsAlone().measure(answer_with(Boxes.none(), boxes), answer_with(shuffled), NONE)
    assert alone.value == 0


@pytest.mark.parametrize("column", range(8))
def test_any_other_number_is_another_box(column: int) -> None:
    """x y z length width height yaw, and the score; within the tolerance it is the same box."""
    one = join(box(5, 0), box(15, 0))
    change = np.zeros((2, 8))
    change[1, column] = 5e-4
    other = Boxes(one.geometry + change[:, :7], one.classes, one.scores + change[:, 7])
    exact, loose = EqualAnswer(name="x"), EqualAnswer(name="x", tolerance=1e-3)
    measure = exact.measure(answer_with(one), answer_with(other), NONE)
    assert measure.value == pytest.approx(2 / 4)
    assert [breach.why for breach in measure.breaches] == ["missing", "additional"]
    assert loose.measure(answer_with(one), answer_with(other), NONE).value == 0


def test_yaw_is_compared_round_the_circle_and_classes_apart() -> None:
    a, b = box(5, 0), box(5, 0)
    a.geometry[0, 6], b.geometry[0, 6] = np.pi - 1e-5, -np.pi + 1e-5
    assert compute_box_differences(a, b)[0, 0] == pytest.approx(2e-5)
    assert pair_equal_boxes(box(5, 0), box(5, 0, of_class=PEDESTRIAN), 1.0).other.tolist() == [-1]
    twice = join(box(5, 0), box(5, 0))
    assert EqualAnswer(name="x").measure(answer_with(twice), answer_with(box(5, 0)), NONE).value > 0


@given(seed=SEEDS)
def test_counts_are_a_weaker_relation(seed: int) -> None:
    """MR1 as checked: violation iff |O| > |O'|, over all and by class."""
    source = random_boxes(seed)
    follow = disturbed(source, seed)
    for relation in make_count_relations():
        only = relation.of_class
        before = sum(1 for kind in source.classes.tolist() if only is None or kind == only)
        after = sum(1 for kind in follow.classes.tolist() if only is None or kind == only)
        measure = relation.measure(answer_with(source), answer_with(follow), NONE)
        assert (measure.value > 0) == (before > after)
        assert (measure.value, measure.exposed) == (before - after, before)


def test_counts_do_not_see_a_lost_and_a_new_box() -> None:
    one, other = answer_with(box(5, 0)), answer_with(box(25, 0))
    assert NoFewer().measure(one, other, NONE).value == 0
    assert EqualAnswer(name="R1").measure(one, other, NONE).value == 1


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda one: one.name)
def test_relations_are_given_no_ground_truth(relation: MetamorphicRelation) -> None:
    hints = get_type_hints(type(relation).measure)
    assert list(hints.values())[:3] == [SystemAnswer, SystemAnswer, ExpectedBoxes]
    assert len(inspect.signature(relation.measure).parameters) == 3
    assert relation.statistic
    assert relation.direction in ("equal", "no_fewer")


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda one: one.name)
def test_nothing_changed_is_no_breach(relation: MetamorphicRelation) -> None:
    boxes = random_boxes(5)
    unchanged = answer_with(boxes, boxes)
    follow = answer_with(mirror_boxes(boxes)) if relation.name.startswith("R10") else unchanged
    assert relation.measure(unchanged, follow, NONE).value == 0
    empty = answer_with(Boxes.none())
    assert relation.measure(empty, empty, NONE).exposed == 0


def test_names_and_exactness() -> None:
    assert len({relation.name for relation in RELATIONS}) == len(RELATIONS)
    assert [relation.exact for relation in make_equal_relations()] == [True] * 7
    assert not make_duplicate_relation(exact=False).exact


def with_truth(scene: CooperativeScene, geometry: np.ndarray, hits: int = 60) -> CooperativeScene:
    truth = scene.ego.truth
    boxes = Boxes(geometry, truth.boxes_in_lidar.classes, truth.boxes_in_lidar.scores)
    changed = GroundTruth(boxes, truth.actor_ids, np.full(len(truth), hits))
    return replace(scene, ego=replace(scene.ego, truth=changed), partners=())


def test_only_changed_actors_are_passed_on(scene: CooperativeScene) -> None:
    expectation = TruthExpectation(
        moved=frozenset({21}), gone=frozenset({23}), unjudged=frozenset({25})
    )
    geometry = scene.ego.truth.boxes_in_lidar.geometry
    after = geometry.copy()
    after[:, 0] += 1.0  # all of them: those that are not named must not matter
    expected = compute_expected_boxes(scene, with_truth(scene, after), expectation)
    assert np.array_equal(expected.left.geometry, geometry[[1, 3]])
    assert np.array_equal(expected.arrived.geometry, after[[1]])
    assert np.array_equal(expected.unjudged.geometry, np.stack([after[5], geometry[5]]))
    after[[0, 2, 4]] += 3.0
    again = compute_expected_boxes(scene, with_truth(scene, after), expectation)
    for name in ("left", "arrived", "unjudged"):
        assert np.array_equal(getattr(expected, name).geometry, getattr(again, name).geometry)


def test_new_actors_that_are_hardly_hit_are_not_asked_for(scene: CooperativeScene) -> None:
    geometry = scene.ego.truth.boxes_in_lidar.geometry
    expectation = TruthExpectation(new=frozenset({20}), unjudged_in_ego=box(3, 3))
    seen = compute_expected_boxes(scene, with_truth(scene, geometry, hits=5), expectation)
    hidden = compute_expected_boxes(scene, with_truth(scene, geometry, hits=4), expectation)
    assert (len(seen.arrived), len(seen.unjudged)) == (1, 1)
    assert (len(hidden.arrived), len(hidden.unjudged)) == (0, 2)


@given(seed=SEEDS)
def test_boxes_lie_in_a_window_if_all_corners_do(seed: int) -> None:
    boxes = random_boxes(seed, reach=20.0)
    for a, inside in enumerate(is_whole_in_window(boxes, (18.0, 12.0), 1.0).tolist()):
        x, y, _, length, width, _, yaw = boxes.geometry[a].tolist()
        cos, sin = np.cos(yaw), np.sin(yaw)
        corners = [
            (abs(x + ahead * cos - aside * sin), abs(y + ahead * sin + aside * cos))
            for ahead in (-length / 2, length / 2)
            for aside in (-width / 2, width / 2)
        ]
        assert inside == all(cx <= 17.0 and cy <= 11.0 for cx, cy in corners)


def test_boxes_lie_on_a_place_by_overlap_or_centre() -> None:
    place = box(10, 0)
    small = Boxes(np.array([[11.5, 0.5, 0, 0.4, 0.4, 1, 0.0]]), np.array([1]), np.ones(1))
    assert is_on_places(small, place).tolist() == [True]
    assert is_on_places(join(box(12, 0), box(14, 0)), place).tolist() == [True, False]
    assert is_on_places(place, Boxes.none()).tolist() == [False]
