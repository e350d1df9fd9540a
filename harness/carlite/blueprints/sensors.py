"""Sensors, controllers and triggers: CARLA's ids with their attributes and defaults.

The list has what can be spawned. CARLA's `sensor.other.rss` is left out: a program that looks it up
reads "blueprint not found".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from harness.carlite.actors import ActorKind
from harness.carlite.blueprints.model import (
    ActorAttribute,
    ActorBlueprint,
    AttributeType,
    format_blueprint_tags,
    make_choice_attribute,
    make_role_attribute,
)

Defaults: TypeAlias = dict[str, bool | int | float | tuple[str, ...]]

_ROLES = ("front", "back", "left", "right", "front_left", "front_right", "back_left", "back_right")
_TICK: Defaults = {"sensor_tick": 0.0}
_IMAGE: Defaults = {
    "image_size_x": 800,
    "image_size_y": 600,
    "fov": 90.0,
    "lens_circle_falloff": 5.0,
    "lens_circle_multiplier": 0.0,
    "lens_k": -1.0,
    "lens_kcube": 0.0,
    "lens_x_size": 0.08,
    "lens_y_size": 0.08,
}
_FILM: Defaults = {
    "exposure_mode": ("histogram", "manual"),
    "exposure_compensation": 0.0,
    "shutter_speed": 200.0,
    "iso": 100.0,
    "fstop": 1.4,
    "enable_postprocess_effects": True,
    "gamma": 2.2,
    "motion_blur_intensity": 0.45,
    "motion_blur_max_distortion": 0.35,
    "lens_flare_intensity": 0.1,
    "bloom_intensity": 0.675,
    "motion_blur_min_object_screen_size": 0.1,
    "exposure_min_bright": 10.0,
    "exposure_max_bright": 12.0,
    "exposure_speed_up": 3.0,
    "exposure_speed_down": 1.0,
    "calibration_constant": 16.0,
    "focal_distance": 1000.0,
    "min_fstop": 1.2,
    "blade_count": 5,
    "blur_amount": 1.0,
    "blur_radius": 0.0,
    "slope": 0.88,
    "toe": 0.55,
    "shoulder": 0.26,
    "black_clip": 0.0,
    "white_clip": 0.04,
    "temp": 6500.0,
    "tint": 0.0,
    "chromatic_aberration_intensity": 0.0,
    "chromatic_aberration_offset": 0.0,
}
_WORKING = (
    "exposure_mode", "exposure_compensation", "shutter_speed", "iso", "fstop", "gamma",
    "enable_postprocess_effects",
)  # fmt: skip
"""Attributes of films that change a picture; those of lenses and the other ones of films do not."""
_IDLE = {
    name: value
    for name, value in {**_IMAGE, **_FILM}.items()
    if name.startswith("lens_") or (name in _FILM and name not in _WORKING)
}
_EVENTS: Defaults = {
    "positive_threshold": 0.3,
    "negative_threshold": 0.3,
    "sigma_positive_threshold": 0.0,
    "sigma_negative_threshold": 0.0,
    "refractory_period_ns": 0,
    "use_log": True,
    "log_eps": 0.001,
}
_SCAN: Defaults = {
    "channels": 32,
    "range": 10.0,
    "points_per_second": 56000,
    "rotation_frequency": 10.0,
    "upper_fov": 10.0,
    "lower_fov": -30.0,
    "horizontal_fov": 360.0,
}
_RETURN: Defaults = {
    "atmosphere_attenuation_rate": 0.004,
    "noise_seed": 0,
    "dropoff_general_rate": 0.45,
    "dropoff_intensity_limit": 0.8,
    "dropoff_zero_intensity": 0.4,
    "noise_stddev": 0.0,
}
_RADAR: Defaults = {
    "horizontal_fov": 30.0,
    "vertical_fov": 30.0,
    "range": 100.0,
    "points_per_second": 1500,
    "noise_seed": 0,
}
_POSITION_NOISE: Defaults = {
    f"noise_{axis}_{kind}": 0.0 for axis in ("lat", "lon", "alt") for kind in ("stddev", "bias")
}
_INERTIAL_NOISE: Defaults = {
    f"noise_{kind}_{axis}": 0.0
    for kind in ("accel_stddev", "gyro_stddev", "gyro_bias")
    for axis in "xyz"
}
_OBSTACLE: Defaults = {
    "distance": 5.0,
    "hit_radius": 0.5,
    "only_dynamics": False,
    "debug_linetrace": False,
}
_RADIO: Defaults = {
    "noise_seed": 0,
    "transmit_power": 21.5,
    "receiver_sensitivity": -99.0,
    "frequency_ghz": 5.9,
    "combined_antenna_gain": 10.0,
    "scenario": ("highway", "rural", "urban"),
    "path_loss_model": ("winner", "geometric"),
    "path_loss_exponent": 2.7,
    "d_ref": 1.0,
    "filter_distance": 500.0,
    "use_etsi_fading": True,
    "custom_fading_stddev": 0.0,
}
_AWARENESS: Defaults = {
    "gen_cam_min": 0.1,
    "gen_cam_max": 1.0,
    "fixed_rate": False,
    **{
        f"noise_{name}_{kind}": 0.0
        for name in ("lat", "lon", "alt", "head")
        for kind in ("stddev", "bias")
    },
    **{f"noise_accel_stddev_{axis}": 0.0 for axis in "xyz"},
    "noise_yawrate_stddev": 0.0,
    "noise_yawrate_bias": 0.0,
    "noise_vel_stddev_x": 0.0,
}
_SENSORS: dict[str, Defaults] = {
    "camera.cosmos_visualization": {**_TICK, **_IMAGE},
    "camera.depth": {**_TICK, **_IMAGE},
    "camera.dvs": {**_TICK, **_IMAGE, **_FILM, **_EVENTS},
    "camera.instance_segmentation": {**_TICK, **_IMAGE},
    "camera.normals": {**_TICK, **_IMAGE},
    "camera.optical_flow": {**_TICK, **_IMAGE},
    "camera.rgb": {**_TICK, **_IMAGE, **_FILM},
    "camera.semantic_segmentation": {**_TICK, **_IMAGE},
    "lidar.ray_cast": {**_TICK, **_SCAN, **_RETURN},
    "lidar.ray_cast_semantic": {**_TICK, **_SCAN},
    "other.collision": {},
    "other.gnss": {**_TICK, "noise_seed": 0, **_POSITION_NOISE},
    "other.imu": {**_TICK, "noise_seed": 0, **_INERTIAL_NOISE},
    "other.lane_invasion": {},
    "other.obstacle": {**_TICK, **_OBSTACLE},
    "other.radar": {**_TICK, **_RADAR},
    "other.v2x": {**_TICK, **_RADIO, **_AWARENESS},
    "other.v2x_custom": {**_TICK, **_RADIO},
}
_PLAIN_ROLE = ("other.gnss", "other.imu", "other.radar")
_TRIGGER: Defaults = {"friction": 3.5, "extent_x": 1.0, "extent_y": 1.0, "extent_z": 1.0}


def list_sensor_blueprints() -> list[ActorBlueprint]:
    """Return the sensor blueprints."""
    return [_make_sensor_blueprint(name, defaults) for name, defaults in _SENSORS.items()]


def list_idle_attributes(type_id: str, attributes: Mapping[str, str]) -> list[str]:
    """Return the attributes of a camera that a client has set and that change nothing here."""
    if not type_id.startswith("sensor.camera."):
        return []
    return [
        name
        for name, default in _IDLE.items()
        if name in attributes and not _is_default(attributes[name], default)
    ]


def _is_default(text: str, default: object) -> bool:
    try:
        return float(text) == float(str(default))
    except ValueError:
        return text.lower() == str(default).lower()


def list_helper_blueprints() -> list[ActorBlueprint]:
    """Return what is neither seen nor sees: the walkers' controller and the friction trigger."""
    controller, trigger = "controller.ai.walker", "static.trigger.friction"
    return [
        ActorBlueprint(
            id=controller,
            tags=format_blueprint_tags(controller),
            attributes=(make_role_attribute("default"),),
            kind=ActorKind.CONTROLLER,
        ),
        ActorBlueprint(
            id=trigger,
            tags=format_blueprint_tags(trigger),
            attributes=(make_role_attribute("default"), *_make_sensor_attributes(_TRIGGER)),
            kind=ActorKind.OTHER,
        ),
    ]


def _make_sensor_blueprint(name: str, defaults: Defaults) -> ActorBlueprint:
    blueprint_id = f"sensor.{name}"
    roles = ("default",) if name in _PLAIN_ROLE else _ROLES
    attributes = (make_role_attribute(*roles), *_make_sensor_attributes(defaults))
    return ActorBlueprint(
        id=blueprint_id,
        tags=format_blueprint_tags(blueprint_id),
        attributes=attributes,
        kind=ActorKind.SENSOR,
    )


def _make_sensor_attributes(defaults: Defaults) -> list[ActorAttribute]:
    return [_make_sensor_attribute(name, value) for name, value in defaults.items()]


def _make_sensor_attribute(
    name: str, value: bool | int | float | tuple[str, ...]
) -> ActorAttribute:
    if isinstance(value, tuple):
        return make_choice_attribute(name, AttributeType.STRING, *value, restrict=True)
    if isinstance(value, bool):
        return make_choice_attribute(name, AttributeType.BOOL, str(value).lower())
    if isinstance(value, int):
        return make_choice_attribute(name, AttributeType.INT, str(value))
    return make_choice_attribute(name, AttributeType.FLOAT, str(value))
