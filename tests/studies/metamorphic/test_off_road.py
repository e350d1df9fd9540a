"""Points off the road and MR1 (Zhou and Sun): where they lie, and that a loss is reported."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.common.drivable_area import DrivableArea, read_drivable_area, write_drivable_area
from harness.common.randomness import make_named_stream
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import (
    PEDESTRIAN,
    VEHICLE,
    Boxes,
    EgoObservation,
    Message,
    Observation,
    Payload,
    Perceived,
    Pose,
)
from studies.metamorphic.catalogue import MAKERS, MR1, select_catalogue_entries
from studies.metamorphic.judging.checks import JudgingRules
from studies.metamorphic.judging.following import make_follow_up
from studies.metamorphic.judging.rows import FollowUp
from studies.metamorphic.operators.off_road import LITE_WINDOW, OffRoadPointsOperator
from studies.metamorphic.operators.placebos import NoisePlacebo
from studies.metamorphic.operators.stray import Where
from studies.metamorphic.operators.symmetries import MovedWorld
from studies.metamorphic.relations.kept import KeptOnRoad
from studies.metamorphic.relations.relation import (
    ExpectedBoxes,
    RelationMeasure,
    compute_expected_boxes,
)
from studies.metamorphic.running.generation import write_changed_scene
from studies.metamorphic.scenes.answers import ask_system
from studies.metamorphic.scenes.operator import DoesNotApplyError, TruthExpectation
from studies.metamorphic.scenes.road import RoadRegion, load_scenario_area
from studies.metamorphic.scenes.scene import (
    AgentView,
    CooperativeScene,
    list_scene_sources,
    read_scene,
)
from studies.metamorphic.tables.road_sheet import build_road_sheet, has_road_measures
from studies.metamorphic.tables.summary import StudyTables
from tests.studies.metamorphic.made_boxes import SEEDS, answer_with, box, join, made_up_scenes
from tests.studies.metamorphic.made_study import write_study

CELL = 0.5
CORNER = (20.0, -30.0)
LEVEL = Pose(0.0, 0.0)


def make_road(seed: int) -> DrivableArea:
    """Return a town of 90 m by 80 m round the made-up agents, in blocks of road and of other."""
    blocks = make_named_stream(seed, "road").random((32, 36)) < 0.5
    return DrivableArea(cell=CELL, corner=CORNER, drivable=np.kron(blocks, np.ones((5, 5))) > 0)


@cache
def scenes_with_road(seed: int = 1) -> list[CooperativeScene]:
    """Return made-up scenes whose recording has a drivable area."""
    folder = Path(mkdtemp())
    scenes = made_up_scenes(folder)
    for scenario in {scene.source.scenario.folder for scene in scenes}:
        write_drivable_area(make_road(seed), scenario)
    load_scenario_area.cache_clear()
    return [read_scene(source) for source in list_scene_sources([folder])]


def is_off_road_slowly(view: AgentView, point: np.ndarray, area: DrivableArea) -> bool:
    """Return whether a point's place in the world is in no block of road, block by block."""
    x, y, *_ = build_pose_matrix(view.lidar_in_world) @ [*point[:3].tolist(), 1.0]
    side = 5 * CELL
    for row, column in np.argwhere(area.drivable[::5, ::5]).tolist():
        left, low = CORNER[0] + column * side, CORNER[1] + row * side
        if left <= x < left + side and low <= y < low + side:
            return False
    return True


@given(seed=SEEDS, on=st.sampled_from(["ego", "partners", "both"]), count=st.sampled_from([1, 10]))
@settings(max_examples=12, deadline=None)
def test_points_lie_off_the_road_in_the_window_at_heights_of_the_sweep(
    seed: int, on: Where, count: int
) -> None:
    scene = scenes_with_road()[2]
    area = make_road(1)
    changed = OffRoadPointsOperator(on).apply(
        scene, {"count": float(count)}, make_named_stream(seed)
    )
    total = 0
    for number, (before, after) in enumerate(zip(scene.views, changed.scene.views, strict=True)):
        old, new = before.points_in_lidar, after.points_in_lidar
        expected = count if on == "both" or (on == "ego") == (number == 0) else 0
        assert np.array_equal(new[: len(old)], old)
        stray = new[len(old) :]
        assert len(stray) == expected
        total += expected
        assert (np.abs(stray[:, :2]) <= LITE_WINDOW).all()
        for column in (2, 3):  # height and intensity
            assert (stray[:, column] >= old[:, column].min()).all()
            assert (stray[:, column] <= old[:, column].max()).all()
        assert all(is_off_road_slowly(before, point, area) for point in stray)
    assert changed.changed == total


def test_points_fill_the_window_and_the_heights() -> None:
    """Evenly, as published: no corner of the window and no height is left out."""
    scene = scenes_with_road()[2]
    before = len(scene.ego.points_in_lidar)
    changed = OffRoadPointsOperator().apply(scene, {"count": 1000.0}, make_named_stream(1))
    stray, old = changed.scene.ego.points_in_lidar[before:], scene.ego.points_in_lidar
    for sign_x in (-1, 1):
        for sign_y in (-1, 1):
            quarter = stray[(np.sign(stray[:, :2]) == (sign_x, sign_y)).all(axis=1)]
            assert len(quarter) > 100
    for column, (low, high) in enumerate(zip(old.min(0), old.max(0), strict=True)):
        if column >= 2 and high > low:
            assert np.abs(stray[:, column].mean() - (low + high) / 2) < 0.05 * (high - low)
            assert np.ptp(stray[:, column]) > 0.95 * (high - low)


def test_the_window_is_that_in_which_answers_are_judged() -> None:
    assert JudgingRules().window == LITE_WINDOW


def test_a_scene_without_a_drivable_area_is_one_line(tmp_path: Path) -> None:
    scene = made_up_scenes(tmp_path)[2]
    test = select_catalogue_entries(("stray_off_road_10",))["stray_off_road_10"]
    why = make_follow_up(scene, "stray_off_road_10", test, seed=1)
    assert why == "made-up: has no drivable area; record it again with `crucible collect`"


def test_a_window_that_is_all_road_is_refused() -> None:
    scene = scenes_with_road()[2]
    road = DrivableArea(cell=500.0, corner=(-500.0, -500.0), drivable=np.ones((3, 3), np.bool_))
    write_drivable_area(road, scene.source.scenario.folder)
    load_scenario_area.cache_clear()
    try:
        with pytest.raises(DoesNotApplyError, match="nothing off the road in the window"):
            OffRoadPointsOperator().apply(scene, {"count": 10.0}, make_named_stream(1))
    finally:
        write_drivable_area(make_road(1), scene.source.scenario.folder)
        load_scenario_area.cache_clear()


def split_road(x: float = 0.0) -> ExpectedBoxes:
    """Return that all is road on one side: at x and beyond it."""
    area = DrivableArea(cell=100.0, corner=(x, -50.0), drivable=np.ones((1, 1), np.bool_))
    return ExpectedBoxes(road=RoadRegion(area, LEVEL))


def measure_all(
    source: Boxes, follow: Boxes, expected: ExpectedBoxes
) -> dict[str, RelationMeasure]:
    return {
        relation.name: relation.measure(answer_with(source), answer_with(follow), expected)
        for relation in MR1
    }


def test_a_detection_on_the_road_must_be_kept() -> None:
    source = join(box(10, 0), box(20, 0), box(-10, 0), box(30, 0, of_class=PEDESTRIAN))
    # a car on the road is lost, and another one off the road
    lost = measure_all(source, join(box(20, 0.2), box(30, 0, of_class=PEDESTRIAN)), split_road())
    assert (lost["MR1_road_kept"].value, lost["MR1_road_kept"].exposed) == (1 / 3, 3)
    (breach,) = lost["MR1_road_kept"].breaches
    assert (breach.why, breach.of_class, breach.geometry[0]) == ("missing", VEHICLE, 10.0)
    assert (lost["MR1_road_count"].value, lost["MR1_road_count"].exposed) == (1, 3)
    assert (lost["MR1_road_count_vehicle"].value, lost["MR1_road_count_vehicle"].exposed) == (1, 2)
    assert lost["MR1_road_count_pedestrian"].value == 0
    assert lost["MR1_road_count_cyclist"].exposed == 0


def test_detections_off_the_road_may_go_and_new_ones_may_come() -> None:
    source = join(box(10, 0), box(-10, 0))
    held = measure_all(source, join(box(10, 0), box(40, 0), box(-30, 0)), split_road())
    assert held["MR1_road_kept"].value == 0
    assert held["MR1_road_count"].value <= 0


def test_counts_are_weaker_than_the_set() -> None:
    swapped = measure_all(box(10, 0), box(40, 0), split_road())
    assert swapped["MR1_road_kept"].value == 1
    assert swapped["MR1_road_count"].value == 0


def test_the_road_is_where_the_ego_stands_in_the_world() -> None:
    """A mutant that takes boxes for the world's would find the first box on the road."""
    area = DrivableArea(cell=10.0, corner=(0.0, 20.0), drivable=np.ones((1, 1), np.bool_))
    turned = RoadRegion(area, Pose(5.0, 5.0, yaw=np.pi / 2))
    chosen = turned.select_boxes(join(box(5, 25), box(20, 0), box(20, -9)))
    assert chosen.geometry[:, :2].tolist() == [[20.0, 0.0]]


def test_without_a_road_nothing_is_exposed() -> None:
    unknown = measure_all(box(10, 0), Boxes.none(), ExpectedBoxes())
    assert {measure.exposed for measure in unknown.values()} == {0}


class PointCountingDetector:
    """A detector with a fault: boxes of its own, and fewer of them with points in the air."""

    reads_points = True
    reads_messages = True

    def __init__(self, boxes: Boxes, usual: int, lost: int) -> None:
        self.boxes, self.usual, self.lost = boxes, usual, lost

    def share(self, observation: Observation) -> Payload:
        return Boxes.none()

    def perceive(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Perceived:
        disturbed = len(observation.points_in_lidar) > self.usual
        boxes = self.boxes[self.lost :] if disturbed else self.boxes
        return Perceived(cooperative=boxes, ego_alone=boxes)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_detector_that_loses_objects_under_stray_points_is_reported(lost: int) -> None:
    """From the operator to the relation: as many breaches as objects on the road are lost."""
    scene = scenes_with_road()[2]
    test = select_catalogue_entries(("stray_off_road_10",))["stray_off_road_10"]
    follow = make_follow_up(scene, "stray_off_road_10", test, seed=1)
    assert isinstance(follow, FollowUp)
    assert follow.expected.road is not None
    # the objects that it finds: all on the road among many places
    places = join(*(box(x, y) for x in range(-30, 31, 6) for y in range(-30, 31, 6)))
    on_road = follow.expected.road.select_boxes(places)
    assert 2 < len(on_road) < len(places)
    detector = PointCountingDetector(on_road, len(scene.ego.points_in_lidar), lost)
    measures = [
        relation.measure(
            ask_system(detector, follow.source), ask_system(detector, follow.scene), follow.expected
        )
        for relation in MR1[:2]
    ]
    assert [measure.exposed for measure in measures] == [len(on_road)] * 2
    assert len(measures[0].breaches) == measures[1].value == lost
    placebo = NoisePlacebo().apply(scene, {}, make_named_stream(1)).scene
    expected = compute_expected_boxes(scene, placebo, TruthExpectation())
    quiet = KeptOnRoad().measure(
        ask_system(detector, scene), ask_system(detector, placebo), expected
    )
    assert (quiet.value, quiet.exposed) == (0.0, len(on_road))


def test_changed_scenes_keep_the_area_and_moved_ones_have_none(tmp_path: Path) -> None:
    scene = scenes_with_road()[2]
    changed = OffRoadPointsOperator().apply(scene, {"count": 10.0}, make_named_stream(1)).scene
    write_changed_scene(tmp_path / "stray", changed, TruthExpectation(), {})
    kept = read_drivable_area(tmp_path / "stray")
    assert kept is not None
    assert np.array_equal(kept.drivable, make_road(1).drivable)
    moved = MovedWorld().apply(scene, {"x": 9.0, "y": 9.0, "yaw": 5.0}, make_named_stream(1)).scene
    write_changed_scene(tmp_path / "moved", moved, TruthExpectation(), {})
    assert read_drivable_area(tmp_path / "moved") is None
    with pytest.raises(DoesNotApplyError, match="no drivable area"):
        OffRoadPointsOperator().apply(moved, {"count": 10.0}, make_named_stream(1))


def test_placebos_are_asked_the_same() -> None:
    asked = {relation.name for relation in MR1}
    for name, make in MAKERS.items():
        relations = {relation.name for relation in make().relations}
        assert (asked <= relations) == (make().placebo or name.startswith("stray_off_road"))


def test_the_table_has_counts_intervals_and_placebos(tmp_path: Path) -> None:
    tables = StudyTables(write_study(tmp_path))
    assert has_road_measures(tables)
    sheet = build_road_sheet(tables)
    assert list(dict.fromkeys(row[:2] for row in sheet.rows)) == [
        *(("the ego's", "10"), ("millimetre", "placebo"), ("noise", "placebo"))
    ]
    assert [row[2] for row in sheet.rows[:5]] == [
        *("lost", "fewer, all classes", "fewer, vehicle", "fewer, pedestrian", "fewer, cyclist")
    ]
    of = tables.measures
    of = of[(of["operator"] == "stray_off_road_10") & (of["relation"] == "MR1_road_count")]
    count = int((of[of["system"] == "late"]["value"] > 0).sum())
    assert sheet.rows[1][3].startswith(f"{count} of 44 ({100 * count / 44:.1f} %, ")


def test_scenes_without_detections_on_the_road_count_nowhere(tmp_path: Path) -> None:
    tables = StudyTables(write_study(tmp_path))
    tables.measures = tables.measures.assign(exposed=0)
    assert {cell for row in build_road_sheet(tables).rows for cell in row[3:]} == {"-"}
