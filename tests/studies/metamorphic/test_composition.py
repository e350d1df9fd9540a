"""One to three manipulations in one scene: every scene on the way is valid."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.common.randomness import make_named_stream
from harness.common.recordings import PROTOCOL
from studies.metamorphic.__main__ import main
from studies.metamorphic.catalogue import select_catalogue_entries
from studies.metamorphic.geometry.ground import collect_standing_boxes
from studies.metamorphic.geometry.placement import compute_carrier_box
from studies.metamorphic.judging.following import apply_operator
from studies.metamorphic.operators.composition import (
    iterate_manipulations,
    list_touched_actors,
    make_manipulations,
)
from studies.metamorphic.scenes.operator import DoesNotApplyError
from studies.metamorphic.scenes.scene import CooperativeScene
from tests.studies.metamorphic.rendered import (
    CARRIER,
    MAST,
    TESLA,
    USERS,
    VAN,
    Standing,
    bare_town,
    scene_of,
    surveyed,
)
from tests.studies.metamorphic.test_insertion import hits_of
from tests.studies.metamorphic.test_placement import outline, with_labels

PEOPLE = {
    30: Standing(VAN, -17.0, 3.0, 0.2),
    31: Standing(TESLA, -9.0, -3.2, 3.0),
    32: Standing(CARRIER, 33.0, 2.5, 0.0),
}


def busy() -> CooperativeScene:
    scene = scene_of(bare_town(40), {**USERS, **PEOPLE}, carriers=(7, 9), roadside=(MAST,))
    return replace(scene, ground=surveyed(0.0, 40))


def assert_valid(scene: CooperativeScene, changed: frozenset[int], placed: frozenset[int]) -> None:
    """Changed road users overlap nothing; those that were put somewhere stand on the road."""
    boxes = collect_standing_boxes(scene).geometry
    boxes = np.concatenate([boxes, *(compute_carrier_box(view) for view in scene.views[:2])])
    for actor in changed:
        for view in scene.views:
            assert (view.truth.actor_ids == actor).sum() == 1
        one = world_box(scene, actor)
        same = np.isclose(boxes, one, atol=1e-3).all(axis=1)
        assert same.sum() == 1
        others = [outline(box) for box in boxes[~same]]
        assert max(outline(one).intersection(other).area for other in others) < 1e-6
        assert scene.hits_anyone[scene.ego.truth.actor_ids == actor] > 0
        if actor in placed:
            assert np.abs(np.array(outline(one).exterior.coords)[:, 1]).max() <= 6.0
            assert one[2] - one[5] / 2 == pytest.approx(0.0, abs=0.02)


def world_box(scene: CooperativeScene, actor: int) -> np.ndarray:
    known = collect_standing_boxes(replace(scene, partners=()))
    return np.asarray(known.geometry[: len(scene.ego.truth)][scene.ego.truth.actor_ids == actor][0])


@pytest.mark.thorough
def test_every_scene_on_the_way_is_valid() -> None:
    scene, kinds = busy(), set()
    for seed in range(8):
        before, changed, placed = scene, frozenset[int](), frozenset[int]()
        steps = list(iterate_manipulations(scene, 3, make_named_stream(seed, "composed")))
        assert len(steps) == 3
        for number, step in enumerate(steps, 1):
            after, expectation = step.so_far.scene, step.so_far.expectation
            (actor,) = list_touched_actors(expectation) - changed
            changed |= {actor}
            assert len(changed) == number
            if step.name in ("insert", "translate"):
                placed |= {actor}
            assert_valid(after, changed - expectation.gone, placed)
            gone = {int(one) for view in after.views for one in view.truth.actor_ids}
            assert not gone & expectation.gone
            # all others keep their boxes
            for other in set(hits_of(before.ego)) - {actor}:
                np.testing.assert_allclose(
                    world_box(before, other), world_box(after, other), atol=1e-6
                )
            kinds.add(step.name)
            before = after
    assert kinds == set(make_manipulations())


def test_values_have_the_order_and_equal_seeds_equal_scenes() -> None:
    scene = busy()
    test = select_catalogue_entries(("composed_2",))["composed_2"]
    one, again, other = (apply_operator(scene, "composed_2", test, seed) for seed in (4, 4, 5))
    assert not isinstance(one, str)
    assert not isinstance(again, str)
    assert not isinstance(other, str)
    assert one.values == again.values != other.values
    for first, second in zip(one.scene.views, again.scene.views, strict=True):
        np.testing.assert_array_equal(first.points_in_lidar, second.points_in_lidar)
    steps = list(
        iterate_manipulations(
            scene, 2, make_named_stream(4, "operator", "composed_2", scene.source.name)
        )
    )
    assert [one.values["1"], one.values["2"]] == [step.name for step in steps]
    for number, step in enumerate(steps, 1):
        assert {f"{number}.{name}" for name in step.values} <= set(one.values)
    assert one.values["manipulations"] == 2
    assert len(list_touched_actors(one.expectation)) == 2
    np.testing.assert_array_equal(
        one.scene.ego.points_in_lidar, steps[-1].so_far.scene.ego.points_in_lidar
    )


def test_scenes_without_room_or_road_users_are_refused() -> None:
    """A lone ego on terrain: no road user to change, and no road to put one on."""
    alone = scene_of(bare_town(0), {7: USERS[7]}, carriers=(7,))
    with pytest.raises(DoesNotApplyError, match="no manipulation 1 of 2"):
        list(iterate_manipulations(with_labels(alone, 10), 2, np.random.default_rng(1)))


@pytest.mark.thorough
def test_the_command_writes_composed_scenes(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bytes_of = []
    for name in ("first", "second"):
        out = tmp_path / name
        words = ["metamorphic", "generate", "--scenes", str(recording), "--out", str(out)]
        assert main([*words, "--operators", "composed_2", "--workers", "1", "--seed", "3"]) == 0
        files = sorted(path for path in out.rglob("*") if path.is_file())
        bytes_of.append({str(file.relative_to(out)): file.read_bytes() for file in files})
    assert bytes_of[0] == bytes_of[1]
    made = sorted(out.glob(f"[!.]*composed_2/{PROTOCOL}"))
    assert made
    for protocol in made:
        values = json.loads(protocol.read_text())["values"]
        order = [name for name in values if name in "123"]
        assert order == ["1", "2"]
        assert {values["1"], values["2"]} <= set(make_manipulations())
    capsys.readouterr()
