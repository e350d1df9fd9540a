"""Weather over scenes: one for all agents, chance for every sweep, ground truth as before."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.channel.interference.extinction import (
    compute_fog_extinction,
    make_rain_drops,
    make_snow_flakes,
)
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Surfaces
from studies.metamorphic.operators.weather import (
    DryAir,
    FogOperator,
    RainOperator,
    SnowOperator,
    WeatherOperator,
    WetGroundOperator,
)
from studies.metamorphic.scenes.operator import (
    ChangedNothingError,
    DoesNotApplyError,
    SceneOperator,
    change_scene,
    list_unmet_needs,
)
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene
from studies.space import Values, sample_values
from tests.studies.metamorphic.made_boxes import made_up_scenes

WEATHERS: tuple[tuple[WeatherOperator, dict[str, float]], ...] = (
    (RainOperator(), {"rate": 20.0}),
    (SnowOperator(), {"rate": 2.4}),
    (FogOperator(), {"visibility": 100.0}),
    (FogOperator(calibration="lambert"), {"visibility": 100.0}),
    (WetGroundOperator(), {"water": 0.6}),
    (DryAir(), {}),
)
IDS = ("rain", "snow", "fog", "bright fog", "wet ground", "dry")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> CooperativeScene:
    """A scene with surfaces: the flat points are road, the others cars."""
    bare = made_up_scenes(tmp_path_factory.mktemp("recording"))[1]
    return replace(
        bare, ego=with_surfaces(bare.ego), partners=tuple(map(with_surfaces, bare.partners))
    )


def with_surfaces(view: AgentView) -> AgentView:
    points = view.points_in_lidar
    road = np.arange(len(points)) < 4000
    slant = view.lidar_in_world.z / np.linalg.norm(points[:, :3], axis=1)
    cosines = np.where(road, np.minimum(slant, 1), 0.8).astype(np.float32)
    return replace(view, surfaces=Surfaces(np.where(road, 1, 14).astype(np.uint8), cosines))


def applied(
    operator: SceneOperator, scene: CooperativeScene, values: Values, seed: int = 1
) -> CooperativeScene:
    return operator.apply(scene, values, make_named_stream(seed)).scene


def sweeps(scene: CooperativeScene) -> list[bytes]:
    return [view.points_in_lidar.tobytes() for view in scene.views]


@pytest.mark.parametrize(("operator", "values"), WEATHERS, ids=IDS)
def test_all_views_change_and_ground_truth_does_not(
    operator: WeatherOperator, values: dict[str, float], scene: CooperativeScene
) -> None:
    before = sweeps(scene)
    changed = change_scene(operator, scene, values, make_named_stream(1))
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
    operator: WeatherOperator, values: dict[str, float], scene: CooperativeScene
) -> None:
    one, again, other = (sweeps(applied(operator, scene, values, seed)) for seed in (5, 5, 6))
    assert one == again
    assert all(a != b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("operator", "values", "alpha"),
    [
        (RainOperator(), {"rate": 8.0}, make_rain_drops(8.0).extinction),
        (SnowOperator(), {"rate": 1.5}, make_snow_flakes(1.5).extinction),
        (FogOperator(), {"visibility": 300.0}, compute_fog_extinction(300.0)),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_all_agents_are_in_the_same_weather(
    operator: WeatherOperator, values: dict[str, float], alpha: float, scene: CooperativeScene
) -> None:
    """Intensities give the extinction: a mutant that samples a rate for every agent has others."""
    for view in applied(operator, scene, values).views:
        far = view.points_in_lidar[np.linalg.norm(view.points_in_lidar[:, :3], axis=1) > 5]
        ranges = np.linalg.norm(far[:, :3].astype(np.float64), axis=1)
        measured = (-np.log(far[:, 3]) / ranges - 0.004) / 2
        assert np.abs(measured - alpha).max() < 1e-6 + 1e-3 * alpha


def test_sweeps_have_streams_that_do_not_depend_on_partners(scene: CooperativeScene) -> None:
    """Equal sweeps of two agents get other noise; without partners, the ego's stays the same."""
    twice = replace(scene, partners=(replace(scene.ego, agent=99), *scene.partners))
    rainy = applied(RainOperator(), twice, {"rate": 5.0})
    assert sweeps(rainy)[0] != sweeps(rainy)[1]
    alone = applied(RainOperator(), replace(scene, partners=()), {"rate": 5.0})
    assert sweeps(alone)[0] == sweeps(rainy)[0]


@pytest.mark.parametrize(
    ("operator", "still"),
    [
        (RainOperator(), {"rate": 0.0}),
        (SnowOperator(), {"rate": 0.0}),
        (FogOperator(), {"visibility": math.inf}),
        (WetGroundOperator(), {"water": 0.0}),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_no_weather_is_the_same_scene(
    operator: WeatherOperator, still: Values, scene: CooperativeScene
) -> None:
    changed = operator.apply(scene, still, make_named_stream(1))
    assert changed.scene is scene
    assert changed.changed == 0


def test_an_infinite_visibility_asks_for_a_change_and_changes_nothing(
    scene: CooperativeScene,
) -> None:
    with pytest.raises(ChangedNothingError):
        change_scene(FogOperator(), scene, {"visibility": math.inf}, make_named_stream(1))


def test_dry_air_is_the_source_of_weather(scene: CooperativeScene) -> None:
    """With equal generators, rain that vanishes gives the bytes of dry air, but for rounding."""
    dry, drizzle = applied(DryAir(), scene, {}), applied(RainOperator(), scene, {"rate": 1e-9})
    for one, other, raw in zip(dry.views, drizzle.views, scene.views, strict=True):
        assert len(one.points_in_lidar) == len(other.points_in_lidar) < len(raw.points_in_lidar)
        assert np.allclose(one.points_in_lidar, other.points_in_lidar, atol=1e-4)
    longer = applied(DryAir(r_max=2000.0), scene, {})
    assert len(longer.ego.points_in_lidar) > len(dry.ego.points_in_lidar)


def test_wet_ground_loses_road_alone(scene: CooperativeScene) -> None:
    dry, wet = applied(DryAir(), scene, {}), applied(WetGroundOperator(), scene, {"water": 1.2})
    for one, other in zip(dry.views, wet.views, strict=True):
        assert one.surfaces is not None
        assert other.surfaces is not None
        assert (one.surfaces.labels == 14).sum() == (other.surfaces.labels == 14).sum()
        assert (one.surfaces.labels == 1).sum() > (other.surfaces.labels == 1).sum()


def test_wet_ground_needs_surfaces(scene: CooperativeScene) -> None:
    bare = replace(scene, ego=replace(scene.ego, surfaces=None))
    assert list_unmet_needs(WetGroundOperator(), ()) == ["surfaces"]
    with pytest.raises(DoesNotApplyError, match="no surfaces"):
        applied(WetGroundOperator(), bare, {"water": 0.5})
    assert len(applied(RainOperator(), bare, {"rate": 5.0}).ego.points_in_lidar)


def test_spaces_hold_published_ranges(scene: CooperativeScene) -> None:
    ends = {
        operator.name: [(one.low, one.high, one.kind) for one in operator.space]
        for operator in (
            RainOperator(),
            SnowOperator(),
            FogOperator(),
            WetGroundOperator(),
            DryAir(),
        )
    }
    assert ends == {
        "rain": [(0.1, 50.0, "log")],
        "snow": [(0.1, 10.0, "log")],
        "fog": [(30.0, 1000.0, "log")],
        "wet_ground": [(0.1, 1.2, "number")],
        "dry": [],
    }
    for operator in (RainOperator(), SnowOperator(), FogOperator(), WetGroundOperator()):
        for seed in range(5):
            values = sample_values(operator.space, make_named_stream(seed, "values"))
            assert operator.apply(scene, values, make_named_stream(seed)).changed


def test_intensity_may_stay_as_in_dry_air(scene: CooperativeScene) -> None:
    kept = applied(FogOperator(keep_intensity=True), scene, {"visibility": 200.0})
    assert set(kept.ego.points_in_lidar[:, 3].tolist()) == set(
        scene.ego.points_in_lidar[:, 3].tolist()
    )


def test_no_weather_shows_nothing_in_pictures() -> None:
    assert not SnowOperator().describe_air({"rate": 0.0})
    assert not FogOperator().describe_air({"visibility": math.inf})
    assert not WetGroundOperator().describe_air({"water": 0.0})
    assert not DryAir().describe_air({})
    assert RainOperator().describe_air({"rate": 25.0}) == {"precipitation": 50.0}
