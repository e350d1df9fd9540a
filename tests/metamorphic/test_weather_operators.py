"""Weather over scenes: one for all agents, chance for every sweep, ground truth as before."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.channel.interference.extinction import fog_extinction, rain, snow
from harness.randomness import stream
from harness.vocabulary import Surfaces
from metamorphic.operators.operator import (
    ChangedNothingError,
    DoesNotApplyError,
    Operator,
    changed_something,
    unmet,
)
from metamorphic.operators.weather import Dry, Fog, Rain, Snow, Weather, WetGround
from metamorphic.scene import Scene, View
from metamorphic.space import Values, sampled
from tests.metamorphic.made_boxes import made_up_scenes

WEATHERS: tuple[tuple[Weather, dict[str, float]], ...] = (
    (Rain(), {"rate": 20.0}),
    (Snow(), {"rate": 2.4}),
    (Fog(), {"visibility": 100.0}),
    (Fog(calibration="lambert"), {"visibility": 100.0}),
    (WetGround(), {"water": 0.6}),
    (Dry(), {}),
)
IDS = ("rain", "snow", "fog", "bright fog", "wet ground", "dry")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A scene with surfaces: the flat points are road, the others cars."""
    bare = made_up_scenes(tmp_path_factory.mktemp("recording"))[1]
    return replace(
        bare, ego=with_surfaces(bare.ego), partners=tuple(map(with_surfaces, bare.partners))
    )


def with_surfaces(view: View) -> View:
    points = view.points_in_lidar
    road = np.arange(len(points)) < 4000
    slant = view.lidar_in_world.z / np.linalg.norm(points[:, :3], axis=1)
    cosines = np.where(road, np.minimum(slant, 1), 0.8).astype(np.float32)
    return replace(view, surfaces=Surfaces(np.where(road, 1, 14).astype(np.uint8), cosines))


def applied(operator: Operator, scene: Scene, values: Values, seed: int = 1) -> Scene:
    return operator.apply(scene, values, stream(seed)).scene


def sweeps(scene: Scene) -> list[bytes]:
    return [view.points_in_lidar.tobytes() for view in scene.views]


@pytest.mark.parametrize(("operator", "values"), WEATHERS, ids=IDS)
def test_all_views_change_and_ground_truth_does_not(
    operator: Weather, values: dict[str, float], scene: Scene
) -> None:
    before = sweeps(scene)
    changed = changed_something(operator, scene, values, stream(1))
    expectation = changed.expectation
    assert not expectation.gone | expectation.moved | expectation.new | expectation.unjudged
    count = 0
    for view, old in zip(changed.scene.views, scene.views, strict=True):
        assert view.truth is old.truth
        assert (view.lidar_in_world, view.time) == (old.lidar_in_world, old.time)
        assert view.surfaces is not None
        assert len(view.surfaces) == len(view.points_in_lidar) <= len(old.points_in_lidar)
        assert view.points_in_lidar.tobytes() != old.points_in_lidar.tobytes()
        assert np.linalg.norm(view.points_in_lidar[:, :3], axis=1).min() > 0.5  # none at the origin
        count += len(old.points_in_lidar)
    assert 0.9 * count < changed.changed <= count
    assert sweeps(scene) == before
    assert np.array_equal(changed.scene.hits_anyone, scene.hits_anyone)


@pytest.mark.parametrize(("operator", "values"), WEATHERS, ids=IDS)
def test_equal_seeds_give_equal_bytes(
    operator: Weather, values: dict[str, float], scene: Scene
) -> None:
    one, again, other = (sweeps(applied(operator, scene, values, seed)) for seed in (5, 5, 6))
    assert one == again
    assert all(a != b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("operator", "values", "alpha"),
    [
        (Rain(), {"rate": 8.0}, rain(8.0).extinction),
        (Snow(), {"rate": 1.5}, snow(1.5).extinction),
        (Fog(), {"visibility": 300.0}, fog_extinction(300.0)),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_all_agents_are_in_the_same_weather(
    operator: Weather, values: dict[str, float], alpha: float, scene: Scene
) -> None:
    """Intensities give the extinction: a mutant that samples a rate for every agent has others."""
    for view in applied(operator, scene, values).views:
        far = view.points_in_lidar[np.linalg.norm(view.points_in_lidar[:, :3], axis=1) > 5]
        ranges = np.linalg.norm(far[:, :3].astype(np.float64), axis=1)
        measured = (-np.log(far[:, 3]) / ranges - 0.004) / 2
        assert np.abs(measured - alpha).max() < 1e-6 + 1e-3 * alpha


def test_sweeps_have_streams_that_do_not_depend_on_partners(scene: Scene) -> None:
    """Equal sweeps of two agents get other noise; without partners, the ego's stays the same."""
    twice = replace(scene, partners=(replace(scene.ego, agent=99), *scene.partners))
    rainy = applied(Rain(), twice, {"rate": 5.0})
    assert sweeps(rainy)[0] != sweeps(rainy)[1]
    alone = applied(Rain(), replace(scene, partners=()), {"rate": 5.0})
    assert sweeps(alone)[0] == sweeps(rainy)[0]


@pytest.mark.parametrize(
    ("operator", "still"),
    [
        (Rain(), {"rate": 0.0}),
        (Snow(), {"rate": 0.0}),
        (Fog(), {"visibility": math.inf}),
        (WetGround(), {"water": 0.0}),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_no_weather_is_the_same_scene(operator: Weather, still: Values, scene: Scene) -> None:
    changed = operator.apply(scene, still, stream(1))
    assert changed.scene is scene
    assert changed.changed == 0


def test_an_infinite_visibility_asks_for_a_change_and_changes_nothing(scene: Scene) -> None:
    with pytest.raises(ChangedNothingError):
        changed_something(Fog(), scene, {"visibility": math.inf}, stream(1))


def test_dry_air_is_the_source_of_weather(scene: Scene) -> None:
    """With equal generators, rain that vanishes gives the bytes of dry air, but for rounding."""
    dry, drizzle = applied(Dry(), scene, {}), applied(Rain(), scene, {"rate": 1e-9})
    for one, other, raw in zip(dry.views, drizzle.views, scene.views, strict=True):
        assert len(one.points_in_lidar) == len(other.points_in_lidar) < len(raw.points_in_lidar)
        assert np.allclose(one.points_in_lidar, other.points_in_lidar, atol=1e-4)
    longer = applied(Dry(r_max=2000.0), scene, {})
    assert len(longer.ego.points_in_lidar) > len(dry.ego.points_in_lidar)


def test_wet_ground_loses_road_alone(scene: Scene) -> None:
    dry, wet = applied(Dry(), scene, {}), applied(WetGround(), scene, {"water": 1.2})
    for one, other in zip(dry.views, wet.views, strict=True):
        assert one.surfaces is not None
        assert other.surfaces is not None
        assert (one.surfaces.labels == 14).sum() == (other.surfaces.labels == 14).sum()
        assert (one.surfaces.labels == 1).sum() > (other.surfaces.labels == 1).sum()


def test_wet_ground_needs_surfaces(scene: Scene) -> None:
    bare = replace(scene, ego=replace(scene.ego, surfaces=None))
    assert unmet(WetGround(), ()) == ["surfaces"]
    with pytest.raises(DoesNotApplyError, match="no surfaces"):
        applied(WetGround(), bare, {"water": 0.5})
    assert len(applied(Rain(), bare, {"rate": 5.0}).ego.points_in_lidar)


def test_spaces_hold_published_ranges(scene: Scene) -> None:
    ends = {
        operator.name: [(one.low, one.high, one.kind) for one in operator.space]
        for operator in (Rain(), Snow(), Fog(), WetGround(), Dry())
    }
    assert ends == {
        "rain": [(0.1, 50.0, "log")],
        "snow": [(0.1, 10.0, "log")],
        "fog": [(30.0, 1000.0, "log")],
        "wet_ground": [(0.1, 1.2, "number")],
        "dry": [],
    }
    for operator in (Rain(), Snow(), Fog(), WetGround()):
        for seed in range(5):
            values = sampled(operator.space, stream(seed, "values"))
            assert operator.apply(scene, values, stream(seed)).changed


def test_intensity_may_stay_as_in_dry_air(scene: Scene) -> None:
    kept = applied(Fog(keep_intensity=True), scene, {"visibility": 200.0})
    assert set(kept.ego.points_in_lidar[:, 3].tolist()) == set(
        scene.ego.points_in_lidar[:, 3].tolist()
    )
