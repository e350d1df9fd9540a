"""Layouts of feature maps agree exactly where one network can receive what another sends."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from agents.perception.cameras.systems import CameraIntermediate, CameraLate, MixedIntermediate
from agents.perception.fusion.catalogue import INTERMEDIATE
from agents.perception.systems import Intermediate, Late, Single
from harness.types.sharing import FeatureLayout, describe_features
from harness.types.vocabulary import Boxes, Message
from tests.agents.little_world import straight
from tests.perception.street import ego, partner

CONF = Path(__file__).parents[2] / "conf" / "system"


@cache
def settings_of(scheme: str) -> dict[str, Any]:
    settings: dict[str, Any] = yaml.safe_load((CONF / f"{scheme}.yaml").read_text())[scheme]
    return {name: value for name, value in settings.items() if name != "_target_"}


@cache
def system_of(scheme: str) -> Intermediate:
    system = Intermediate(INTERMEDIATE[scheme](), weights="random")
    system.reset(1, straight())
    return system


@cache
def layout_of(scheme: str) -> FeatureLayout:
    layout = describe_features(Intermediate, settings_of(scheme))
    assert layout is not None
    return layout


@pytest.mark.parametrize(("reader", "sender"), list(product(INTERMEDIATE, INTERMEDIATE)))
def test_equal_layouts_are_received_and_others_are_not(reader: str, sender: str) -> None:
    observation = partner()
    message = Message(
        sender=observation.sender,
        kind=observation.kind,
        capture_frame=observation.frame,
        capture_time=observation.time,
        lidar_in_world=observation.lidar_in_world,
        payload=system_of(sender).share(observation),
    )
    difference = layout_of(reader).describe_difference(layout_of(sender))
    if difference:
        with pytest.raises(TypeError, match="sent maps of"):
            system_of(reader).perceive(ego(), (message,))
    else:
        assert np.isfinite(system_of(reader).perceive(ego(), (message,)).cooperative.scores).all()


def test_encoders_of_cameras_are_another_kind() -> None:
    fusion = {"fusion": {"_target_": "agents.perception.fusion.fcooper.FCooper"}}
    lidar, camera, mixed = (
        describe_features(kind, fusion)
        for kind in (Intermediate, CameraIntermediate, MixedIntermediate)
    )
    assert lidar is not None
    assert camera is not None
    assert camera == mixed
    assert lidar.shapes == camera.shapes
    assert "pillars and aligned cameras" in lidar.describe_difference(camera)
    wide = describe_features(Intermediate, {**fusion, "size": "full"})
    assert wide is not None
    assert "in size full" in lidar.describe_difference(wide)


def test_nothing_is_known_of_systems_without_features_or_of_modules_of_others() -> None:
    assert describe_features(Late, {}) is None
    assert describe_features(CameraLate, {}) is None
    mine = {"fusion": {"_target_": "tests.perception.street.Mine"}}
    assert describe_features(Intermediate, mine) is None


def test_a_network_detects_alone_what_late_fusion_would_send() -> None:
    late, single = Late(weights="random"), Single(weights="random")
    for system in (late, single):
        system.reset(1, straight())
    sent, alone = late.share(partner()), single.detect_alone(partner())
    assert len(sent) > 0
    assert sent.geometry.tobytes() == alone.geometry.tobytes()
    assert isinstance(system_of("fcooper").detect_alone(partner()), Boxes)
