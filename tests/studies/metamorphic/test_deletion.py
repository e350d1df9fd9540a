"""Deletion: what is known stays, what is filled in is counted, and what is behind is not judged."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from harness.types.geometry import transform_boxes, transform_points
from harness.types.overlap import compute_bev_iou
from harness.types.vocabulary import Pose
from studies.metamorphic.geometry.deletion import MOST_MADE_UP, delete_actor
from studies.metamorphic.geometry.insertion import insert_object
from studies.metamorphic.geometry.rays import fit_beam_grid
from studies.metamorphic.geometry.shadows import (
    FROM_AGENT,
    FROM_GROUND,
    FROM_NOTHING,
    find_actor_points,
)
from studies.metamorphic.operators.objects import (
    DeleteObject,
    RotateObject,
    ScaleObject,
    TranslateObject,
)
from studies.metamorphic.scenes.operator import (
    ChangedScene,
    DoesNotApplyError,
    SceneOperator,
    change_scene,
)
from studies.metamorphic.scenes.owners import GROUND_LABELS
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene
from studies.space import Values, sample_values
from tests.profiles import ONLY_WITH_ALL
from tests.studies.metamorphic.rendered import (
    ADULT,
    BUS,
    CARRIER,
    MAST,
    TESLA,
    USERS,
    VAN,
    Standing,
    Users,
    bare_surfaces,
    bare_town,
    in_cells,
    scene_of,
    sparse,
    surveyed,
)
from tests.studies.metamorphic.test_insertion import hits_of

NEW = 99
USER = Standing(TESLA, -13.0, 3.0, 0.4)


@cache
def with_new(user: Standing) -> CooperativeScene:
    """Return the sparse scene with one road user more."""
    return insert_object(sparse(), user.placed(NEW)).scene


@pytest.mark.thorough
@pytest.mark.parametrize(
    "user", [USER, Standing(VAN, 6.5, 3.5, 1.3), Standing(ADULT, -5.0, -2.0, 0.0)]
)
def test_a_deleted_object_leaves_the_ground_that_was_there(user: Standing) -> None:
    """Where the background was ground and ground was filled in: within 5 cm. Others: untouched."""
    source, scene = sparse(), with_new(user)
    deletion = delete_actor(scene, NEW)
    filled = 0
    for was, has, deleted in zip(source.views, scene.views, deletion.views, strict=True):
        before, labels = in_cells(was)
        after, _ = in_cells(deleted.view)
        grid, on_it = fit_beam_grid(has), find_actor_points(has, NEW)
        cells = grid.rings[on_it], grid.column_of[on_it]
        others = np.ones(before.shape[:2], np.bool_)
        others[cells] = False
        np.testing.assert_array_equal(after[others], in_cells(has)[0][others])
        level = np.isin(labels[cells], GROUND_LABELS) & (deleted.sources == FROM_GROUND)
        apart = np.linalg.norm(after[cells][level, :3] - before[cells][level, :3], axis=1)
        assert (apart < 0.05).mean() > 0.95 if len(apart) else True
        np.testing.assert_allclose(after[cells][level, 3], before[cells][level, 3], atol=2e-3)
        filled += int(level.sum())
        assert len(on_it) == hits_of(has)[NEW] == len(deleted.sources)
        assert np.isnan(after[cells][deleted.sources == FROM_NOTHING]).all()
    assert filled > 30


def test_ground_is_fitted_where_it_is_not_level() -> None:
    town, mast = bare_town(0, hills=2.0), Pose(0.0, 0.0, 9.0, pitch=0.03)
    ahead = math.radians(40)
    x, y = 22 * math.cos(ahead), 22 * math.sin(ahead)
    user = Standing(VAN, x, y, 0.3, z=height_of(x, y))
    source = scene_of(town, {20: USERS[20]}, roadside=(mast,))
    scene = insert_object(source, user.placed(NEW)).scene
    (deleted,) = delete_actor(scene, NEW).views
    on_it, grid = find_actor_points(scene.ego, NEW), fit_beam_grid(scene.ego)
    level = deleted.sources == FROM_GROUND
    cells = grid.rings[on_it][level], grid.column_of[on_it][level]
    before, after = in_cells(source.ego)[0][cells], in_cells(deleted.view)[0][cells]
    apart = np.linalg.norm(after[:, :3] - before[:, :3], axis=1)
    assert level.sum() > 80
    assert np.ptp(before[:, 2]) > 0.5
    assert np.median(apart) < 0.25
    assert (apart < 1.0).mean() > 0.9


def height_of(x: float, y: float, hills: float = 2.0) -> float:
    """Return the height of the hilly town's ground."""
    rough = math.sin(x / 17) * math.cos(y / 23) + 0.3 * math.sin(x / 5 + y / 7)
    return hills * rough if math.hypot(x, y) >= 12 else 0.0


@dataclass(kw_only=True)
class GroundBeams:
    """Beams that end on the ground once an object is gone, and what deletion makes of them."""

    ground: int = 0
    empty: int = 0
    within: int = 0  # 5 cm of where carlite says that they end
    solid: int = 0  # beams that end on something else
    through: int = 0  # of these: on ground that deletion has made up

    def count(self, scene: CooperativeScene, truth: CooperativeScene) -> None:
        """Delete the object, and compare with the rendering without it, beam by beam."""
        deletion = delete_actor(scene, NEW)
        for was, has, deleted in zip(truth.views, scene.views, deletion.views, strict=True):
            (before, labels), (after, _) = in_cells(was), in_cells(deleted.view)
            grid, on_it = fit_beam_grid(has), find_actor_points(has, NEW)
            cells = grid.rings[on_it], grid.column_of[on_it]
            level = np.isin(labels[cells], GROUND_LABELS)
            apart = np.linalg.norm(after[cells][:, :3] - before[cells][:, :3], axis=1)
            self.ground += int(level.sum())
            self.empty += int(np.isnan(apart[level]).sum())
            self.within += int((apart[level] < 0.05).sum())
            self.solid += int((~level).sum())
            self.through += int((deleted.sources[~level] == FROM_GROUND).sum())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("hills", "pieces", "within", "empty"),
    [
        pytest.param(1.0, 0, 0.95, 0.03, marks=ONLY_WITH_ALL),
        (1.0, 120, 0.95, 0.06),
        pytest.param(0.0, 120, 0.99, 0.02, marks=ONLY_WITH_ALL),
    ],
)
def test_recorded_ground_is_what_carlite_shows_without_the_object(
    hills: float, pieces: int, within: float, empty: float
) -> None:
    """The reference is carlite's rendering of the same town without the road user.

    Cars, vans and a bus 8 to 35 m from the ego, between houses, on hills up to a metre high.
    """
    town, random = bare_town(pieces, hills=hills), np.random.default_rng(7)
    counts = {None: GroundBeams(), "recorded": GroundBeams()}
    carriers: Users = {
        7: Standing(CARRIER, 0.0, 0.0, 0.0),
        9: Standing(CARRIER, 22.0, -3.0, 3.0, z=height_of(22.0, -3.0, hills)),
    }
    mast = Pose(5.0, 8.0, 7.5 + height_of(5.0, 8.0, hills), yaw=1.0)
    truth = scene_of(town, carriers, carriers=(7, 9), roadside=(mast,))
    for name in (TESLA, VAN, "vehicle.audi.tt", "vehicle.ford.mustang", BUS) * 2:
        away, bearing, yaw = random.uniform([8, -math.pi, -3], [35, math.pi, 3]).tolist()
        x, y = away * math.cos(bearing), away * math.sin(bearing)
        user = Standing(name, x, y, yaw, z=height_of(x, y, hills))
        scene = scene_of(town, {**carriers, NEW: user}, carriers=(7, 9), roadside=(mast,))
        counts[None].count(scene, truth)
        counts["recorded"].count(replace(scene, ground=surveyed(hills, pieces)), truth)
    planes, field = counts[None], counts["recorded"]
    assert field.ground > 3000
    assert field.within >= within * (field.ground - field.empty)
    assert field.empty <= empty * field.ground
    assert field.through <= max(0.2 * planes.through, 10)  # beams do not pass houses
    if hills:
        assert planes.within < 0.7 * (planes.ground - planes.empty)
        assert field.empty < 0.7 * planes.empty


def test_the_box_leaves_all_views() -> None:
    deletion = delete_actor(with_new(USER), NEW)
    for view in deletion.scene.views:
        assert NEW not in view.truth.actor_ids
        assert len(view.truth) == len(USERS) - (view.agent > 0)
    assert deletion.changed == sum(hits_of(view)[NEW] for view in with_new(USER).views)


@pytest.mark.thorough
def test_other_agents_points_fill_what_they_see() -> None:
    """A wall behind a van, hidden from one agent, in sight of another one."""
    users = {
        7: USERS[7],
        30: Standing(VAN, 10.0, 0.0, 1.57),
        31: Standing("vehicle.carlamotors.european_hgv", 16.0, 0.0, 1.57),
    }
    mast = Pose(14.0, 8.0, 3.0, yaw=-1.6)
    scene = scene_of(bare_town(0), users, carriers=(7,), roadside=(mast,))
    expected = scene_of(
        bare_town(0), {who: user for who, user in users.items() if who != 30}, carriers=(7,)
    ).ego
    lone = replace(scene, partners=())
    for given, share in ((scene, 0.9), (lone, 1.0)):
        deletion = delete_actor(given, 30)
        deleted = deletion.views[0]
        assert deleted.made_up_share <= share
        assert (deleted.made_up_share == 1.0) == (given is lone)
    deletion = delete_actor(scene, 30)
    on_it, sources = find_actor_points(scene.ego, 30), deletion.views[0].sources
    grid = fit_beam_grid(scene.ego)
    seen = sources == FROM_AGENT
    cells = grid.rings[on_it][seen], grid.column_of[on_it][seen]
    apart = np.linalg.norm(
        in_cells(deletion.scene.ego)[0][cells][:, :3] - in_cells(expected)[0][cells][:, :3], axis=1
    )
    assert seen.sum() > 30
    assert np.nanmedian(apart) < 0.3
    assert hits_of(deletion.scene.ego)[31] > hits_of(scene.ego)[31]
    ours = sum(int((view.sources != FROM_AGENT).sum()) for view in deletion.views)
    assert deletion.made_up_share == pytest.approx(ours / deletion.changed)


def test_what_stands_behind_is_not_judged_if_too_much_is_made_up() -> None:
    users = {
        7: USERS[7],
        30: Standing(VAN, 10.0, 0.0, 0.0),
        31: Standing(TESLA, 18.0, 0.5, 0.0),
        32: Standing(TESLA, 12.0, -7.0, 0.0),
    }
    scene = scene_of(bare_town(0), users, carriers=(7,))
    deletion = delete_actor(scene, 30)
    assert deletion.unjudged == {31}
    assert deletion.views[0].made_up[31] > MOST_MADE_UP
    places = deletion.unjudged_in_ego
    assert len(places)
    box = scene.ego.truth.boxes_in_lidar.geometry[scene.ego.truth.actor_ids == 30][0]
    starts = np.hypot(*places.geometry[:, :2].T) - places.geometry[:, 3] / 2
    assert starts.min() >= np.hypot(box[0], box[1]) + box[3] / 2 - 1e-6
    assert not delete_actor(scene, 32).unjudged


def test_beams_through_another_box_come_back_with_nothing_rather_than_ground() -> None:
    users = {
        7: USERS[7],
        30: Standing(VAN, 10.0, 0.0, 1.57),
        31: Standing("vehicle.carlamotors.european_hgv", 15.0, 0.0, 1.57),
    }
    deletion = delete_actor(scene_of(bare_town(0), users, carriers=(7,)), 30)
    (box,) = deletion.scene.ego.truth.boxes_in_lidar.geometry
    assert (deletion.views[0].sources == FROM_NOTHING).sum() > 100
    ground = deletion.scene.ego.points_in_lidar
    behind = ground[(np.abs(ground[:, 1]) < 2.0) & (ground[:, 0] > box[0] + box[4] / 2 + 0.5)]
    assert not len(behind[np.abs(behind[:, 2] + 1.85) < 0.1])


@pytest.mark.thorough
def test_surfaces_are_not_needed() -> None:
    scene = bare_surfaces(with_new(USER))
    for deleted, view in zip(delete_actor(scene, NEW).views, with_new(USER).views, strict=True):
        assert abs(len(deleted.sources) - hits_of(view)[NEW]) <= 0.05 * hits_of(view)[NEW]
        assert deleted.view.surfaces is None


def test_agents_of_the_scene_are_refused() -> None:
    for agent in (7, 9):
        with pytest.raises(DoesNotApplyError, match=f"actor {agent} carries a LiDAR"):
            delete_actor(sparse(), agent)


OPERATORS: dict[str, tuple[SceneOperator, Values]] = {
    "scale": (ScaleObject(), {"x": 1.1, "y": 0.92, "z": 1.08}),
    "rotate": (RotateObject(), {"degrees": 20.0, "side": "left"}),
    "translate": (TranslateObject(), {"metres": 2.0, "direction": 180.0}),
}


def applied(name: str, scene: CooperativeScene) -> ChangedScene:
    operator, values = OPERATORS[name]
    return change_scene(operator, scene, {"object": 0.6, **values}, np.random.default_rng(0))


def test_a_road_user_is_not_turned_into_another_one() -> None:
    """Two cars abreast, 0.4 m apart."""
    users = {7: USERS[7], 30: Standing(TESLA, 12.0, 0.0, 0.0), 31: Standing(TESLA, 12.0, 2.6, 0.0)}
    scene = scene_of(bare_town(0), users, carriers=(7,))
    values: Values = {"object": 0.0, "degrees": 30.0, "side": "right"}
    with pytest.raises(DoesNotApplyError, match="actor 30 would overlap"):
        RotateObject().apply(scene, values, np.random.default_rng(0))
    alone = scene_of(bare_town(0), {7: users[7], 30: users[30]}, carriers=(7,))
    changed = RotateObject().apply(alone, values, np.random.default_rng(0))
    assert box_of(changed.scene.ego, 30)[6] == pytest.approx(math.radians(30.0))


def test_a_road_user_that_moves_away_is_judged_where_it_is_now() -> None:
    users = {7: USERS[7], 30: Standing(TESLA, 12.0, 0.0, 0.0)}
    scene = scene_of(bare_town(0), users, carriers=(7,))
    changed = TranslateObject().apply(
        scene, {"object": 0.0, "metres": 4.5, "direction": 0.0}, np.random.default_rng(0)
    )
    ego = changed.scene.ego
    box = ego.truth.boxes_in_lidar.geometry
    assert box[0, 0] == pytest.approx(12.0 - 1.3 + 4.5)
    assert not (compute_bev_iou(changed.expectation.unjudged_in_ego.geometry, box) > 0).any()
    places = delete_actor(scene, 30).unjudged_in_ego
    assert (compute_bev_iou(places.geometry, box) > 0).any()


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_operators_put_one_road_user_otherwise(name: str) -> None:
    scene = sparse((NEW, USER))
    changed = applied(name, scene)
    (actor,) = changed.expectation.moved
    assert actor not in (7, 9)
    assert actor not in changed.expectation.unjudged
    for before, after in zip(scene.views, changed.scene.views, strict=True):
        assert set(before.truth.actor_ids.tolist()) == set(after.truth.actor_ids.tolist())
        one, other = box_of(before, actor), box_of(after, actor)
        expected = {
            "scale": [0, 0, 0.04 * one[5], 0.1 * one[3], -0.08 * one[4], 0.08 * one[5], 0],
            "rotate": [0, 0, 0, 0, 0, 0, -np.radians(20.0)],
            "translate": [-2 * np.cos(one[6]), -2 * np.sin(one[6]), 0, 0, 0, 0, 0],
        }[name]
        np.testing.assert_allclose(other - one, expected, atol=0.02)
        for kept in set(hits_of(before)) - {actor}:
            np.testing.assert_allclose(box_of(before, kept), box_of(after, kept))
    assert changed.changed > 20


def box_of(view: AgentView, actor: int) -> np.ndarray:
    """Return an actor's box in the world."""
    box = view.truth.boxes_in_lidar[view.truth.actor_ids == actor]
    return np.asarray(transform_boxes(box, view.lidar_in_world, Pose(0.0, 0.0)).geometry[0])


def test_a_moved_object_is_hit_where_it_is_now() -> None:
    """As often as a rendering of its shape there: the nearest in size, scaled to its box."""
    scene = sparse((NEW, USER))
    changed = TranslateObject().apply(
        scene, {"object": 0.6, "metres": 2.0, "direction": 180.0}, np.random.default_rng(0)
    )
    (actor,) = changed.expectation.moved
    user = {**USERS, NEW: USER}[actor]
    x, y = user.x - 2 * np.cos(user.yaw), user.y - 2 * np.sin(user.yaw)
    there = scene_of(
        bare_town(40),
        {**USERS, NEW: USER, actor: replace(user, x=float(x), y=float(y))},
        carriers=(7, 9),
        roadside=(MAST,),
    )
    for after, view in zip(changed.scene.views, there.views, strict=True):
        assert hits_of(after)[actor] == pytest.approx(hits_of(view)[actor], rel=0.05, abs=3)
    assert not any(
        np.hypot(*(place[:2] - box_of(changed.scene.ego, actor)[:2])) < 0.5
        for place in changed.expectation.unjudged_in_ego.geometry
    )


def test_the_operator_deletes_a_road_user_that_was_seen() -> None:
    scene = sparse()
    for share in (0.0, 0.4, 1.0):
        changed = DeleteObject().apply(scene, {"object": share}, np.random.default_rng(0))
        (actor,) = changed.expectation.gone
        assert actor in (20, 21, 22)
        assert actor not in changed.scene.ego.truth.actor_ids
        assert changed.changed > 0
    alone = scene_of(bare_town(0), {7: USERS[7]}, carriers=(7,))
    with pytest.raises(DoesNotApplyError, match="no road user that could be changed"):
        DeleteObject().apply(alone, {"object": 0.5}, np.random.default_rng(0))


@pytest.mark.thorough
def test_spaces_are_those_of_the_papers() -> None:
    """V2XGen 3.2: factors 0.9 to 1.1, turns of 5 to 30 degrees; ours: shifts of 0.5 to 5 m."""
    scene, random = sparse((NEW, USER)), np.random.default_rng(2)
    refused = 0
    for operator in (DeleteObject(), ScaleObject(), RotateObject(), TranslateObject()):
        for _ in range(4):
            try:
                changed = operator.apply(scene, sample_values(operator.space, random), random)
            except DoesNotApplyError:
                refused += 1
                continue
            assert changed.expectation.moved or changed.expectation.gone
            assert (changed.expectation.unjudged_in_ego.geometry[:, 3:6] >= 0).all()
    assert refused < 8


def test_filled_points_lie_on_the_beams_of_the_grid() -> None:
    scene = with_new(USER)
    deletion = delete_actor(scene, NEW)
    ego = deletion.scene.ego
    fit_beam_grid(ego)  # refuses points off the rings
    moved = transform_points(ego.points_in_lidar, ego.lidar_in_world, Pose(0.0, 0.0))
    assert np.isfinite(moved).all()
