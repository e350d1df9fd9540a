"""Insertion equals what carlite's LiDARs record of a world in which the object stands."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.common.recordings import POINT_UNIT
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Pose
from studies.metamorphic.geometry import insertion as module
from studies.metamorphic.geometry.insertion import choose_fresh_actor, insert_object
from studies.metamorphic.geometry.occlusion import (
    LEAST_RAYS,
    compute_occlusion,
    measure_view_occlusions,
)
from studies.metamorphic.geometry.rays import fit_beam_grid
from studies.metamorphic.geometry.shapes import load_shapes
from studies.metamorphic.operators.objects import InsertObject, is_seen_enough
from studies.metamorphic.scenes.operator import DoesNotApplyError, change_scene
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene
from tests.studies.metamorphic.rendered import (
    ADULT,
    BICYCLE,
    BUS,
    MOTORCYCLE,
    TESLA,
    USERS,
    VAN,
    Standing,
    bare_surfaces,
    bare_town,
    crowded,
    in_cells,
    scene_of,
)

NEW = 99
PLACES = {
    "near the ego": Standing(TESLA, -7.0, 2.0, 0.4),
    "hides others": Standing(VAN, 6.5, 2.5, 1.3),
    "half hidden": Standing(BUS, 21.0, 6.0, 0.2),
    "hidden": Standing(TESLA, 31.0, -9.0, -0.5),
    "slim": Standing(ADULT, 5.0, -2.5, 2.0),
    "between": Standing(BICYCLE, 8.0, 0.5, -1.1),
    "at the ego's door": Standing(ADULT, 0.2, 1.13, 0.0),
    "off the ground": Standing(MOTORCYCLE, -11.0, 4.0, 0.0, z=1.5),
    "high": Standing("vehicle.carlamotors.european_hgv", -14.0, -6.0, 2.4),
    "far": Standing("vehicle.micro.microlino", 32.9, 19.0, 0.9),
}


def hits_of(view: AgentView) -> dict[int, int]:
    return dict(zip(view.truth.actor_ids.tolist(), view.truth.hits.tolist(), strict=True))


@pytest.mark.thorough
@pytest.mark.parametrize("place", sorted(PLACES))
def test_an_inserted_object_is_what_the_lidars_would_record(place: str) -> None:
    """Every beam: where it ends, on what, at which angle, how bright; and all hits."""
    user = PLACES[place]
    insertion = insert_object(crowded(), user.placed(NEW))
    expected = crowded((NEW, user))
    for before, after, view in zip(crowded().views, insertion.views, expected.views, strict=True):
        (cells, labels), (truth, true_labels) = in_cells(after.view), in_cells(view)
        np.testing.assert_array_equal(np.isnan(cells), np.isnan(truth))
        np.testing.assert_allclose(cells, truth, atol=1e-4)
        np.testing.assert_array_equal(labels, true_labels)
        assert hits_of(after.view) == hits_of(view)
        assert after.hits == hits_of(view)[NEW]
        source = in_cells(before)[0]
        gone = np.isfinite(source[..., 0]) & ~(source == cells).all(axis=-1)
        assert gone.sum() == after.moved
    assert (insertion.changed > 0) == (place != "hidden")


@pytest.mark.thorough
def test_random_objects_on_hills_are_what_tilted_lidars_would_record() -> None:
    """Also where objects reach into houses, the ground or each other."""
    random = np.random.default_rng(11)
    masts = (Pose(5.0, 8.0, 9.0, yaw=1.0, pitch=0.1, roll=-0.07), Pose(-9.0, -3.0, 8.0, yaw=-2.0))
    town = bare_town(200, hills=2.0)
    source = scene_of(town, USERS, roadside=masts)
    beams = 0
    for name in sorted(load_shapes()):
        x, y = random.uniform(-35, 35, 2).tolist()
        user = Standing(name, x, y, float(random.uniform(-3, 3)), z=float(random.uniform(-1, 1)))
        expected = scene_of(town, {**USERS, NEW: user}, roadside=masts)
        for after, view in zip(
            insert_object(source, user.placed(NEW)).views, expected.views, strict=True
        ):
            (cells, labels), (truth, true_labels) = in_cells(after.view), in_cells(view)
            np.testing.assert_allclose(cells, truth, atol=1e-4)
            np.testing.assert_array_equal(labels, true_labels)
            assert after.hits == hits_of(view)[NEW]
            beams += after.hits
    assert beams > 2500


@pytest.mark.parametrize(("x", "hit"), [(-83.0, True), (-85.1, True), (-88.0, False)])
def test_nothing_beyond_the_lidars_reach_is_hit(x: float, hit: bool) -> None:
    """A lorry aside that is in reach, at its end of 85 m, or beyond."""
    town, users = bare_town(0), {7: USERS[7]}
    lorry = Standing("vehicle.carlamotors.european_hgv", x, 0.0, 1.5)
    (inserted,) = insert_object(scene_of(town, users, carriers=(7,)), lorry.placed(NEW)).views
    expected = scene_of(town, {**users, NEW: lorry}, carriers=(7,)).ego
    assert inserted.hits == hits_of(expected)[NEW]
    assert (inserted.hits > 0) == hit
    np.testing.assert_allclose(in_cells(inserted.view)[0], in_cells(expected)[0], atol=1e-4)


def test_slants_are_the_semantic_lidars() -> None:
    user = PLACES["hides others"]
    for after, view in zip(
        insert_object(crowded(), user.placed(NEW)).views, crowded((NEW, user)).views, strict=True
    ):
        slants = []
        for one in (after.view, view):
            assert one.surfaces is not None
            grid = fit_beam_grid(one)
            cells = np.zeros((len(grid.elevations), grid.columns))
            cells[grid.rings, grid.column_of] = one.surfaces.cosines
            slants.append(cells)
        np.testing.assert_allclose(slants[0], slants[1], atol=1e-4)


@pytest.mark.thorough
def test_the_places_put_the_caster_to_the_test() -> None:
    """New points, points that moved, and objects that are partly hidden by several things."""
    moved = new = partly = 0
    for user in PLACES.values():
        for inserted in insert_object(crowded(), user.placed(NEW)).views:
            moved += inserted.moved
            new += inserted.hits - inserted.moved
            partly += 0.05 < (inserted.occlusion or 0.0) < 0.95
    assert moved > 3000
    assert new > 300
    assert partly >= 4


def test_without_recounting_hits_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    user = PLACES["hides others"]
    expected = [hits_of(view) for view in crowded((NEW, user)).views]
    assert [
        hits_of(view) for view in insert_object(crowded(), user.placed(NEW)).scene.views
    ] == expected
    monkeypatch.setattr(module, "drop_lost_hits", lambda truth, lost: truth)
    uncounted = insert_object(crowded(), user.placed(NEW)).scene.views
    wrong = [hits_of(view) != right for view, right in zip(uncounted, expected, strict=True)]
    assert any(wrong)


def test_every_view_has_the_new_box_in_the_same_place() -> None:
    user = PLACES["near the ego"]
    scene = crowded()
    actor = choose_fresh_actor(scene)
    assert actor > max(USERS)
    for view in insert_object(scene, user.placed(actor)).scene.views:
        assert view.truth.actor_ids[-1] == actor
        world = transform_boxes(view.truth.boxes_in_lidar[-1:], view.lidar_in_world, Pose(0.0, 0.0))
        x, y, z, *size, yaw = world.geometry[0].tolist()
        assert (x, y, yaw) == pytest.approx((user.x, user.y, user.yaw), abs=1e-3)
        assert z == pytest.approx(user.size[2] / 2, abs=1e-3)
        assert size == pytest.approx(user.size.tolist())


def rounded(scene: CooperativeScene) -> CooperativeScene:
    """Return a scene as recordings keep it."""

    def kept(view: AgentView) -> AgentView:
        points = view.points_in_lidar.copy()
        points[:, :3] = np.rint(points[:, :3] / POINT_UNIT) * POINT_UNIT
        return replace(view, points_in_lidar=points)

    ego, *partners = (kept(view) for view in scene.views)
    return replace(scene, ego=ego, partners=tuple(partners))


@pytest.mark.parametrize("place", ["hides others", "slim", "far"])
def test_points_of_recordings_are_rounded_and_hits_hardly_differ(place: str) -> None:
    user = PLACES[place]
    for after, view in zip(
        insert_object(rounded(crowded()), user.placed(NEW)).views,
        rounded(crowded((NEW, user))).views,
        strict=True,
    ):
        cells, truth = in_cells(after.view)[0], in_cells(view)[0]
        apart = np.linalg.norm(cells[..., :3] - truth[..., :3], axis=-1)
        one = np.isnan(cells[..., 0]) != np.isnan(truth[..., 0])
        assert ((apart > 0.02) | one).sum() <= max(3, 0.02 * after.hits)


def test_surfaces_are_not_needed() -> None:
    user = PLACES["hides others"]
    with_surfaces = insert_object(crowded(), user.placed(NEW)).scene.views
    without = insert_object(bare_surfaces(crowded()), user.placed(NEW)).scene.views
    for one, other in zip(with_surfaces, without, strict=True):
        np.testing.assert_array_equal(one.points_in_lidar, other.points_in_lidar)
        for actor, hits in hits_of(one).items():
            assert abs(hits - hits_of(other)[actor]) <= 5


def test_sweeps_of_another_lidar_are_refused() -> None:
    view = crowded().ego
    random = np.random.default_rng(1)
    points = random.normal(0, 20, (500, 4)).astype(np.float32)
    with pytest.raises(DoesNotApplyError, match="vehicle-7: points do not lie in the rings"):
        fit_beam_grid(replace(view, points_in_lidar=points, surfaces=None))
    turned = view.points_in_lidar.copy()
    angle = random.uniform(-0.008, 0.008, len(turned))
    x, y = turned[:, 0].copy(), turned[:, 1].copy()
    turned[:, 0], turned[:, 1] = x - angle * y, y + angle * x
    with pytest.raises(DoesNotApplyError, match="in the columns"):
        fit_beam_grid(replace(view, points_in_lidar=turned))


def test_occlusion_is_the_share_of_hits_that_others_take() -> None:
    user = PLACES["half hidden"]
    alone = scene_of(
        bare_town(0), {7: USERS[7], 9: USERS[9], NEW: replace(user, z=60.0)}, carriers=(7, 9)
    )
    assert hits_of(alone.ego)[NEW] == 0  # far above all beams
    lone = scene_of(bare_town(0), {7: USERS[7], NEW: user}, carriers=(7,)).ego
    together = crowded((NEW, user)).ego
    share = 1 - hits_of(together)[NEW] / hits_of(lone)[NEW]
    inserted = insert_object(crowded(), user.placed(NEW)).views[0]
    assert 0.1 < share < 0.95
    assert inserted.occlusion == pytest.approx(share, abs=0.02)
    recorded = dict(
        zip(together.truth.actor_ids.tolist(), measure_view_occlusions(together), strict=True)
    )
    assert recorded[NEW] == pytest.approx(share, abs=0.05)
    assert recorded[22] < 0.05  # the pedestrian stands free before the ego
    assert compute_occlusion(LEAST_RAYS - 1, LEAST_RAYS - 1) is None
    assert compute_occlusion(12, 10) == 0.0


def test_few_beams_leave_occlusion_unknown() -> None:
    user = Standing(ADULT, 60.0, 30.0, 0.0)
    view = scene_of(bare_town(0), {7: USERS[7], NEW: user}, carriers=(7,)).ego
    assert hits_of(view)[NEW] < LEAST_RAYS
    assert np.isnan(measure_view_occlusions(view)).all()


VALUES: dict[str, float | str] = {
    "shape": TESLA,
    "distance": 14.0,
    "bearing": 180.0,
    "heading": 10.0,
}


def test_the_operator_inserts_where_an_agent_sees_it() -> None:
    scene = crowded()
    changed = change_scene(InsertObject(), scene, VALUES, np.random.default_rng(0))
    (actor,) = changed.expectation.new
    assert actor not in {int(one) for view in scene.views for one in view.truth.actor_ids}
    box = changed.scene.ego.truth.boxes_in_lidar.geometry[-1]
    assert np.hypot(*(box[:2] - [-14.0, 0.0])) < 6.1
    assert box[3:6] == pytest.approx(load_shapes()[TESLA].size)
    assert changed.scene.hits_anyone[-1] > 5
    points = sum(
        len(after.points_in_lidar)
        - (after.points_in_lidar[: len(before.points_in_lidar)] == before.points_in_lidar)
        .all(axis=1)
        .sum()
        for before, after in zip(scene.views, changed.scene.views, strict=True)
    )
    assert changed.changed == points
    again = InsertObject().apply(scene, VALUES, np.random.default_rng(5))
    np.testing.assert_array_equal(
        again.scene.ego.points_in_lidar, changed.scene.ego.points_in_lidar
    )


def test_objects_that_all_agents_hardly_see_are_not_seen() -> None:
    for place, user in PLACES.items():
        insertion = insert_object(crowded(), user.placed(NEW))
        known = [one.occlusion for one in insertion.views if one.occlusion is not None]
        assert is_seen_enough(insertion) == (place != "hidden")
        assert is_seen_enough(insertion) == (min(known) < 0.9)


def test_the_place_asked_for_is_a_wish() -> None:
    """The only road of the town is 12 m wide and runs along x; 40 m aside there is none."""
    values = {**VALUES, "distance": 40.0, "bearing": 90.0}
    changed = InsertObject().apply(crowded(), values, np.random.default_rng(0))
    x, y = changed.scene.ego.truth.boxes_in_lidar.geometry[-1, :2]
    assert abs(y) < 6.0
    assert math.hypot(x, y) < 45.0


def test_the_operator_refuses_scenes_without_room() -> None:
    with pytest.raises(DoesNotApplyError, match="no room"):
        InsertObject(farthest=2.0).apply(crowded(), VALUES, np.random.default_rng(0))
