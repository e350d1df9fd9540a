from __future__ import annotations

import re

import pytest

from harness.carlite.actors import ActorKind
from harness.carlite.blueprints import (
    ActorAttribute,
    AttributeType,
    build_blueprint_library,
    resolve_actor_attributes,
)
from harness.carlite.errors import CallError
from harness.carlite.labels import SemanticLabel


def test_enough_of_everything() -> None:
    kinds = [blueprint.kind for blueprint in build_blueprint_library().values()]
    assert kinds.count(ActorKind.VEHICLE) >= 25
    assert kinds.count(ActorKind.WALKER) >= 20
    assert sum(name.startswith("static.prop.") for name in build_blueprint_library()) >= 40


def test_ids_and_tags_are_searchable() -> None:
    for name, blueprint in build_blueprint_library().items():
        assert name == blueprint.id
        assert re.match(r"\S+\.\S+\.\S+", name)
        assert blueprint.tags.split(",") == name.split(".")


def test_every_attribute_is_well_formed() -> None:
    for blueprint in build_blueprint_library().values():
        names = [attribute.id for attribute in blueprint.attributes]
        assert len(set(names)) == len(names)
        assert names[0] == "role_name"
        for attribute in blueprint.attributes:
            if attribute.modifiable:
                assert attribute.recommended[0] == attribute.value
            else:
                assert attribute.recommended == ()


@pytest.mark.parametrize("name", sorted(build_blueprint_library()))
def test_defaults_are_valid(name: str) -> None:
    blueprint = build_blueprint_library()[name]
    defaults = {attribute.id: attribute.value for attribute in blueprint.attributes}
    assert (
        resolve_actor_attributes(blueprint, {})
        == resolve_actor_attributes(blueprint, defaults)
        == defaults
    )
    for attribute in blueprint.attributes:
        for value in attribute.recommended:
            assert resolve_actor_attributes(blueprint, {attribute.id: value})[attribute.id] == value


def test_bodies_stand_on_the_ground_and_have_mass() -> None:
    for blueprint in build_blueprint_library().values():
        if blueprint.kind in (ActorKind.VEHICLE, ActorKind.WALKER, ActorKind.PROP):
            assert min(blueprint.extent) > 0
            assert blueprint.mass > 0
            assert blueprint.body
            assert blueprint.label is not SemanticLabel.NONE
            centred = blueprint.kind is ActorKind.WALKER
            assert blueprint.box_centre == (0, 0, 0 if centred else blueprint.extent[2])


@pytest.mark.parametrize(
    ("name", "half_sizes"),
    [
        ("vehicle.tesla.model3", (2.396, 1.082, 0.744)),
        ("vehicle.lincoln.mkz_2017", (2.451, 1.064, 0.755)),
        ("vehicle.audi.a2", (1.853, 0.894, 0.775)),
        ("vehicle.carlamotors.firetruck", (4.234, 1.446, 1.914)),
        ("walker.pedestrian.0001", (0.188, 0.188, 0.93)),
        ("static.prop.kiosk_01", (0.813, 0.827, 1.623)),
    ],
)
def test_sizes_are_those_of_carla(name: str, half_sizes: tuple[float, float, float]) -> None:
    assert build_blueprint_library()[name].extent == pytest.approx(half_sizes, abs=0.002)


def test_attributes_that_client_code_relies_on() -> None:
    for name, blueprint in build_blueprint_library().items():
        names = {attribute.id for attribute in blueprint.attributes}
        if blueprint.kind is ActorKind.VEHICLE:
            assert {"base_type", "special_type", "number_of_wheels", "generation"} <= names
            assert {"has_dynamic_doors", "has_lights", "object_type", "sticky_control"} <= names
        if blueprint.kind is ActorKind.WALKER:
            assert {"speed", "is_invincible", "gender", "age", "generation"} <= names
        if name.startswith("sensor.camera."):
            assert {"image_size_x", "image_size_y", "fov", "sensor_tick"} <= names
        if name.startswith("sensor.lidar."):
            assert {"channels", "range", "points_per_second", "horizontal_fov"} <= names


def test_only_two_wheelers_have_two_wheels() -> None:
    for blueprint in build_blueprint_library().values():
        if blueprint.kind is ActorKind.VEHICLE:
            two_wheeler = blueprint.label in (SemanticLabel.MOTORCYCLE, SemanticLabel.BICYCLE)
            assert blueprint.wheels == (2 if two_wheeler else 4)


@pytest.mark.parametrize(
    ("name", "attribute", "value", "complaint"),
    [
        ("vehicle.tesla.model3", "colour", "0,0,0", "has no attribute 'colour'"),
        ("vehicle.tesla.model3", "color", "0,0,256", "is not a colour"),
        ("vehicle.tesla.model3", "color", "red", "is not a colour"),
        ("vehicle.tesla.model3", "number_of_wheels", "3", "cannot be changed from '4'"),
        ("vehicle.tesla.model3", "sticky_control", "perhaps", "neither true nor false"),
        ("vehicle.bh.crossbike", "driver_id", "9", "is not one of"),
        ("walker.pedestrian.0001", "speed", "fast", "is not a number"),
        ("sensor.lidar.ray_cast", "range", "nan", "is not finite"),
        ("sensor.lidar.ray_cast", "channels", "0", "is not between 1 and 1024"),
        ("sensor.lidar.ray_cast", "channels", "1.5", "is not a whole number"),
        ("sensor.lidar.ray_cast", "noise_stddev", "-1", "is not between 0 and"),
        ("sensor.camera.rgb", "image_size_x", "100000", "is not between 1 and 8192"),
        ("sensor.camera.rgb", "exposure_mode", "auto", "is not one of histogram, manual"),
    ],
)
def test_bad_values_are_named(name: str, attribute: str, value: str, complaint: str) -> None:
    with pytest.raises(CallError, match=complaint) as failure:
        resolve_actor_attributes(build_blueprint_library()[name], {attribute: value})
    assert attribute in str(failure.value)


def test_any_walker_may_be_asked_to_use_a_wheelchair_as_generate_traffic_does() -> None:
    for name, blueprint in build_blueprint_library().items():
        if blueprint.kind is ActorKind.WALKER:
            assert (
                resolve_actor_attributes(blueprint, {"use_wheelchair": "true"})["use_wheelchair"]
                == "true"
            ), name


def test_attribute_types_are_numbered_as_the_client_does() -> None:
    assert [kind.value for kind in AttributeType] == [1, 2, 3, 4, 5]
    speed = next(
        a for a in build_blueprint_library()["walker.pedestrian.0001"].attributes if a.id == "speed"
    )
    assert speed == ActorAttribute(
        id="speed", type=AttributeType.FLOAT, value="0.0", recommended=("0.0", "1.4", "2.8")
    )
