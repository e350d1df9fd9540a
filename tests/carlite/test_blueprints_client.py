"""The blueprint library as the real client sees it, and what happens when it spawns from it."""

from __future__ import annotations

import carla
import pytest

from harness.carlite.actors import ActorKind
from harness.carlite.blueprints import AttributeType, build_blueprint_library

HEIGHT = 3.0
"""Metres between spawned actors: each gets a storey of its own, so that none touches another."""


def test_the_client_sees_every_blueprint_and_attribute(world: carla.World) -> None:
    seen = {blueprint.id: blueprint for blueprint in world.get_blueprint_library()}
    assert set(seen) == set(build_blueprint_library())
    for name, blueprint in build_blueprint_library().items():
        assert set(seen[name].tags) == set(blueprint.tags.split(","))
        assert len(seen[name]) == len(blueprint.attributes)
        for attribute in blueprint.attributes:
            shown = seen[name].get_attribute(attribute.id)
            assert int(shown.type) == attribute.type
            assert shown.is_modifiable == attribute.modifiable
            assert tuple(shown.recommended_values) == attribute.recommended
            if attribute.type is AttributeType.FLOAT:
                assert shown.as_float() == pytest.approx(float(attribute.value))
            elif attribute.type is AttributeType.STRING:
                assert shown.as_str() == attribute.value


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [ActorKind.VEHICLE, ActorKind.WALKER, ActorKind.PROP])
def test_everything_of_a_kind_can_be_spawned(world: carla.World, kind: ActorKind) -> None:
    point = world.get_map().get_spawn_points()[0]
    names = [
        name for name, blueprint in build_blueprint_library().items() if blueprint.kind is kind
    ]
    spawned = []
    for name in names:
        point.location.z += 2 * build_blueprint_library()[name].extent[2] + HEIGHT
        spawned.append(world.spawn_actor(world.get_blueprint_library().find(name), point))
    world.tick()
    for name, actor in zip(names, spawned, strict=True):
        assert actor.type_id == name
        assert int(build_blueprint_library()[name].label) in actor.semantic_tags
        box, extent = actor.bounding_box, build_blueprint_library()[name].extent
        assert (box.extent.x, box.extent.y, box.extent.z) == pytest.approx(extent, abs=1e-6)
        assert box.location.z == pytest.approx(
            build_blueprint_library()[name].box_centre[2], abs=1e-6
        )
    for actor in spawned:
        actor.destroy()
    world.tick()


def test_every_sensor_of_the_list_can_be_spawned(world: carla.World) -> None:
    """CARLA's `manual_control.py` looks cameras up when it starts, and shows any of them."""
    place = world.get_map().get_spawn_points()[0]
    place.location.z += 30.0
    names = [name for name in build_blueprint_library() if name.startswith("sensor.")]
    assert len(names) == 18
    for name in names:
        sensor = world.spawn_actor(world.get_blueprint_library().find(name), place)
        assert sensor.type_id == name
        assert sensor.destroy()


def test_bad_attributes_are_refused_by_name(world: carla.World) -> None:
    point = world.get_map().get_spawn_points()[0]
    for name, attribute, value in (
        ("sensor.lidar.ray_cast", "channels", "0"),
        ("sensor.camera.rgb", "image_size_x", "1000000"),
        ("walker.pedestrian.0001", "speed", "1000"),
    ):
        blueprint = world.get_blueprint_library().find(name)
        blueprint.set_attribute(attribute, value)
        with pytest.raises(RuntimeError, match=attribute):
            world.spawn_actor(blueprint, point)
