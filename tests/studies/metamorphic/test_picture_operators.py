"""Operators on pictures: what they change, what they leave, and which systems are asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.channel.picture_effects import is_same_image
from studies.metamorphic.catalogue import MAKERS, select_catalogue_entries
from studies.metamorphic.commands.metamorphic import list_usual_operators
from studies.metamorphic.judging.windows import describe_unread_change
from studies.metamorphic.operators.pictures import SameView
from studies.metamorphic.operators.symmetries import MirroredWorld
from studies.metamorphic.running.systems import build_named_system
from studies.metamorphic.scenes.operator import DoesNotApplyError, change_scene
from studies.metamorphic.scenes.scene import CooperativeScene
from studies.space import sample_values
from tests.channel.test_pictures import make_images
from tests.studies.metamorphic.rendered import sparse

PIXELS = ("blur", "glare", "brightness", "placebo_pixels")


def seen() -> CooperativeScene:
    """Return a scene whose agents have made-up pictures."""
    ego, *partners = (replace(view, images=make_images()) for view in sparse().views)
    return replace(sparse(), ego=ego, partners=tuple(partners))


@pytest.mark.parametrize("name", [*PIXELS, "dropped_camera", "miscalibration"])
def test_an_operator_changes_pictures_and_nothing_else(name: str) -> None:
    entry = select_catalogue_entries((name,))[name]
    before = seen()
    values = sample_values(entry.operator.space, np.random.default_rng(4))
    first, again = (
        change_scene(entry.operator, before, values, np.random.default_rng(7)) for _ in range(2)
    )
    changed = 0
    for one, other, copy in zip(before.views, first.scene.views, again.scene.views, strict=True):
        assert other.points_in_lidar is one.points_in_lidar
        assert other.truth is one.truth
        for image, after, same in zip(one.images, other.images, copy.images, strict=True):
            changed += not is_same_image(image, after)
            assert is_same_image(after, same)
            assert (after.camera_in_lidar == image.camera_in_lidar) == (name != "miscalibration")
    assert changed == first.changed
    every = 4 * len(before.views)
    if name == "glare":  # cameras that look elsewhere are not dazzled
        assert 0 < changed < every
    else:
        assert changed == (1 if name == "dropped_camera" else every)
    with pytest.raises(DoesNotApplyError, match="has no pictures"):
        entry.operator.apply(sparse(), values, np.random.default_rng(7))


def test_a_placebo_moves_numbers_by_one() -> None:
    (entry,) = select_catalogue_entries(("placebo_pixels",)).values()
    after = entry.operator.apply(seen(), {}, np.random.default_rng(2)).scene
    for one, other in zip(seen().ego.images, after.ego.images, strict=True):
        apart = np.abs(one.pixels.astype(int) - other.pixels)
        assert apart.max() == 1
        assert 0.5 < (apart > 0).mean() < 0.8
    assert entry.placebo


def test_a_mirrored_scene_has_mirrored_pictures() -> None:
    once = MirroredWorld().apply(seen(), {}, np.random.default_rng(1)).scene
    twice = MirroredWorld().apply(once, {}, np.random.default_rng(1)).scene
    for one, other, back in zip(seen().ego.images, once.ego.images, twice.ego.images, strict=True):
        np.testing.assert_array_equal(other.pixels, one.pixels[:, ::-1])
        assert is_same_image(one, back)


def test_the_same_view_is_the_egos_under_another_name() -> None:
    scene = SameView().apply(seen(), {}, np.random.default_rng(1)).scene
    (partner,) = scene.partners
    assert partner.points_in_lidar is scene.ego.points_in_lidar
    assert partner.images is scene.ego.images
    assert partner.name not in {view.name for view in seen().views}
    assert partner.lidar_in_world == scene.ego.lidar_in_world


def test_systems_that_read_no_images_are_not_asked() -> None:
    late, camera = build_named_system("late"), build_named_system("camera_late")
    blur, rain = (MAKERS[name]().operator for name in ("blur", "rain"))
    assert describe_unread_change(blur, late) == "the system reads no images"
    assert describe_unread_change(blur, camera) is None
    assert describe_unread_change(rain, late) is None


def test_operators_of_pictures_are_usual_where_there_are_some(recording: Path) -> None:
    usual = list_usual_operators([recording])
    assert set(MAKERS) - set(usual) == {
        *PIXELS,
        "night",
        "dropped_camera",
        "miscalibration",
    }
