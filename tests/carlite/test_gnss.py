from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import carla
import msgpack
import numpy as np
import pytest

from harness.carlite.blueprints import build_blueprint_library, resolve_actor_attributes
from harness.carlite.sensors import SensorPose
from harness.carlite.sensors.gnss import GeoReference, GnssSensor, TownScene, read_geo_reference
from harness.carlite.towns import load_town

ROAD = """<road name="r" length="100" id="1" junction="-1"><planView><geometry s="0" x="0" y="0"
hdg="0" length="100"><line/></geometry></planView><lanes><laneSection s="0"><center><lane id="0"
type="none" level="false"/></center><right><lane id="-1" type="driving" level="false"><width
sOffset="0" a="3.5" b="0" c="0" d="0"/></lane></right></laneSection></lanes></road>"""
HEADERS = [
    "",
    "<geoReference><![CDATA[+proj=tmerc +lat_0=49.5 +lon_0=8 +k=1]]></geoReference>",
    "<geoReference>+proj=tmerc +lat_0=0 +lon_0=0 +datum=WGS84</geoReference>",
    "<geoReference>+lat_0=-3.37e+1 +lon_0=151.2</geoReference>",
    "<geoReference>+proj=utm +zone=32</geoReference>",
]
PLACES = [(0, 0, 0), (1000, 0, 0), (0, 1000, 1), (300.5, -700.25, 12.5), (20000, 30000, 5)]


def text_with(header: str) -> str:
    return (
        '<?xml version="1.0"?><OpenDRIVE><header revMajor="1" revMinor="4" north="0" south="0" '
        f'east="0" west="0">{header}</header>{ROAD}</OpenDRIVE>'
    )


def scene(opendrive: str) -> TownScene:
    return cast(TownScene, SimpleNamespace(town=SimpleNamespace(opendrive=opendrive)))


def sensor(noise: dict[str, str] | None = None, seed: int = 1, sensor_id: int = 5) -> GnssSensor:
    attributes = resolve_actor_attributes(
        build_blueprint_library()["sensor.other.gnss"], noise or {}
    )
    return GnssSensor(attributes, seed, sensor_id)


def assert_agrees(opendrive: str) -> None:
    client_map = carla.Map("town", opendrive)
    for place in PLACES:
        expected = client_map.transform_to_geolocation(carla.Location(*place))
        located = read_geo_reference(opendrive).to_geodetic(*place)
        assert located[0] == pytest.approx(expected.latitude, abs=1e-12)
        assert located[1] == pytest.approx(expected.longitude, abs=1e-12)
        assert located[2] == pytest.approx(expected.altitude, abs=1e-9)


@pytest.mark.parametrize("header", HEADERS)
def test_agrees_with_the_clients_projection(header: str) -> None:
    assert_agrees(text_with(header))


@pytest.mark.parametrize("town", ["Crucible05", "Town01", "Town05"])
def test_agrees_on_shipped_towns(town: str) -> None:
    assert_agrees(load_town(town, None).opendrive)


def test_body_is_the_position_where_there_is_no_noise() -> None:
    opendrive = text_with(HEADERS[1])
    body = sensor().capture(scene(opendrive), SensorPose((10.0, 20.0, 3.0), (0, 0, 0)), 1, 0.05)
    assert msgpack.unpackb(body) == list(GeoReference(49.5, 8.0).to_geodetic(10.0, 20.0, 3.0))


def test_noise_has_the_bias_and_spread_asked_for_and_repeats() -> None:
    noise = {
        "noise_lat_stddev": "0.001", "noise_lat_bias": "0.5",
        "noise_alt_stddev": "2.0", "noise_alt_bias": "-1.0",
    }  # fmt: skip
    here, pose = scene(text_with("")), SensorPose((0.0, 0.0, 0.0), (0, 0, 0))
    gnss = sensor(noise)
    frames: list[Any] = [
        msgpack.unpackb(gnss.capture(here, pose, frame, 0.05)) for frame in range(2000)
    ]
    measured = np.array(frames)
    assert measured.mean(axis=0) == pytest.approx((42.5, 2.0, -1.0), abs=0.2)
    assert measured.std(axis=0) == pytest.approx((0.001, 0.0, 2.0), rel=0.08)
    later, other = sensor(noise, sensor_id=6), sensor({"noise_seed": "1", **noise})
    first = gnss.capture(here, pose, 0, 0.05)
    assert later.capture(here, pose, 5000, 0.05) == first
    assert later.capture(here, pose, 5001, 0.05) != first
    assert other.capture(here, pose, 0, 0.05) != first
