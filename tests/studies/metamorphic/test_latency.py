"""Partners that send what they sensed earlier: by looks, and by CooTest's milliseconds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.common.randomness import make_named_stream
from studies.metamorphic.operators.sharing import PartnerDelay, PartnerLatency
from studies.metamorphic.scenes.operator import DoesNotApplyError, SceneOperator
from studies.metamorphic.scenes.scene import CooperativeScene
from studies.space import Values
from tests.studies.metamorphic.made_boxes import made_up_scenes


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> list[CooperativeScene]:
    return made_up_scenes(tmp_path_factory.mktemp("recording"))


@pytest.fixture
def scene(scenes: list[CooperativeScene]) -> CooperativeScene:
    """The last moment of the first ego."""
    return scenes[2]


def applied(operator: SceneOperator, scene: CooperativeScene, values: Values) -> CooperativeScene:
    return operator.apply(scene, values, make_named_stream(1, operator.name)).scene


def test_a_late_partner_sends_an_earlier_moment(scene: CooperativeScene) -> None:
    late = applied(PartnerLatency(), scene, {"looks": 2.0})
    assert [view.time for view in scene.partners] == [2.0, 2.0]
    assert [view.time for view in late.partners] == [0.0, 0.0]
    assert late.ego is scene.ego
    assert not np.array_equal(late.partners[0].points_in_lidar, scene.partners[0].points_in_lidar)
    assert PartnerLatency().apply(scene, {"looks": 0.0}, make_named_stream(1)).changed == 0


def test_a_delay_is_milliseconds_of_a_recording_with_looks_as_close(
    scene: CooperativeScene,
) -> None:
    scenario = replace(scene.source.scenario, interval=0.1)
    close = replace(scene, source=replace(scene.source, scenario=scenario))
    # two looks of 100 ms
    late = applied(PartnerDelay(), close, {"milliseconds": 200.0})
    assert [view.time for view in late.partners] == [0.0, 0.0]
    assert late.ego is close.ego
    with pytest.raises(DoesNotApplyError, match="no moment 3 looks earlier"):
        applied(PartnerDelay(), close, {"milliseconds": 300.0})
    with pytest.raises(DoesNotApplyError, match=r"looks are 1 s apart: no moment 200 ms earlier"):
        applied(PartnerDelay(), scene, {"milliseconds": 200.0})


def test_latency_needs_earlier_moments_and_partners(scenes: list[CooperativeScene]) -> None:
    with pytest.raises(DoesNotApplyError, match="no moment 1 looks earlier"):
        applied(PartnerLatency(), scenes[0], {"looks": 1.0})
    with pytest.raises(DoesNotApplyError, match="no partners"):
        applied(PartnerLatency(), replace(scenes[2], partners=()), {"looks": 1.0})
