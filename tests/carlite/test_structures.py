"""Structures that an OpenDRIVE file names: they stand where it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.carlite import towns
from harness.carlite.labels import SemanticLabel
from harness.carlite.towns import opendrive, structures
from harness.carlite.towns.model import SceneryShape
from tests.carlite.opendrive_samples import straight_road


def with_objects(*objects: str) -> str:
    """The straight road with things along it."""
    text = straight_road()
    assert "</road>" in text
    assert "<objects" not in text
    return text.replace("</road>", f"<objects>{''.join(objects)}</objects></road>", 1)


BARN = '<object type="building" id="1" s="20" t="12" hdg="0.5" length="8" width="6" height="5"/>'
OAK = '<object type="tree" id="2" s="40" t="-14" radius="0.4" height="7"/>'
FLAT = '<object type="building" id="3" s="60" t="12" length="8" width="6" height="0"/>'
PAINT = '<object type="-1" id="4" s="20" t="0" length="3" width="2" height="1"/>'


def test_a_building_stands_where_the_file_says() -> None:
    (barn,) = structures.build_structures(opendrive.parse_opendrive(with_objects(BARN)))
    lane = towns.from_opendrive("Test", straight_road()).lanes
    right = int(np.flatnonzero(lane.key[:, 2] == -1)[0])
    start = lane.points[lane.first[right]]
    yaw = float(lane.yaw[lane.first[right]])
    away = np.array([barn.x - start[0], barn.y - start[1]])
    along = away @ [math.cos(yaw), math.sin(yaw)]
    aside = away @ [-math.sin(yaw), math.cos(yaw)]
    assert along == pytest.approx(20.0, abs=1e-3)
    assert -aside == pytest.approx(12.0 + lane.width[lane.first[right]] / 2, abs=1e-3)
    assert math.remainder(barn.yaw - (yaw - 0.5), math.tau) == pytest.approx(0.0)
    assert barn.half == (4.0, 3.0, 2.5)


def test_towns_hold_their_structures() -> None:
    town = towns.from_opendrive("Test", with_objects(BARN, OAK))
    assert town.scenery.label[:2].tolist() == [SemanticLabel.BUILDING, SemanticLabel.VEGETATION]
    assert town.scenery.shape[:2].tolist() == [SceneryShape.BOX, SceneryShape.CYLINDER]
    base = town.scenery.centre[:2, 2] - town.scenery.extent[:2, 2]
    top = town.scenery.centre[:2, 2] + town.scenery.extent[:2, 2]
    assert (base < 0).all()
    assert top == pytest.approx([5.0, 7.0], abs=0.05)


def test_what_has_no_size_or_is_paint_is_no_structure() -> None:
    assert structures.build_structures(opendrive.parse_opendrive(with_objects(FLAT, PAINT))) == ()


def test_sizes_must_be_numbers() -> None:
    broken = BARN.replace('width="6"', 'width="wide"')
    with pytest.raises(ValueError, match="object 1"):
        opendrive.parse_opendrive(with_objects(broken))


def test_the_default_town_has_a_hall_in_a_yard() -> None:
    scenery = towns.load_town("Crucible05", None).scenery
    assert scenery.label[0] == SemanticLabel.BUILDING
    assert scenery.extent[0, :2] == pytest.approx([6.0, 9.0])
