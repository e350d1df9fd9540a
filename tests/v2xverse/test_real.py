"""V2Xverse itself, with weights initialised at random: its output is that of our networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agents.conformance.recorded_steps import Recording
from agents.conformance.recording import load_or_make_recording
from agents.perception.fusion.codriving import CoDriving
from agents.perception.fusion.fcooper import FCooper
from agents.perception.systems import Intermediate
from agents.v2xverse.system import V2Xverse
from harness.common.errors import UserError
from harness.types.overlap import compute_bev_iou
from harness.types.systems import System
from harness.types.vocabulary import Boxes, Message
from tests.v2xverse.made_up import PYTHON, ROOT, agent, needs_v2xverse
from tests.v2xverse.published_folder import write_published_folder

pytestmark = [pytest.mark.thorough, needs_v2xverse]


@pytest.fixture(scope="module")
def street() -> Recording:
    return load_or_make_recording(None)


def of_unit(system: System, street: Recording) -> tuple[Message, ...]:
    (sight,) = (e for e in street.steps[0].partners if e.observation.kind == "roadside")
    seen = sight.observation
    shared = system.share(seen)
    at = seen.lidar_in_world
    return (
        Message(
            sender=seen.sender,
            kind=seen.kind,
            capture_frame=seen.frame,
            capture_time=seen.time,
            lidar_in_world=at,
            payload=shared,
        ),
    )


def assert_the_same(theirs: Boxes, ours: Boxes) -> None:
    """A crowded pillar takes 32 of its points, and each takes others: not to the last digit."""
    assert len(theirs) == len(ours) > 0
    overlap = compute_bev_iou(theirs.geometry, ours.geometry)
    assert overlap.max(axis=1).min() > 0.9
    assert np.array_equal(theirs.classes, ours.classes[overlap.argmax(axis=1)])
    heights = theirs.geometry[:, 2] - ours.geometry[overlap.argmax(axis=1), 2]
    assert np.abs(heights).max() < 0.1


def test_the_published_folder_drives_through_both_doors(street: Recording, tmp_path: Path) -> None:
    folder = write_published_folder(tmp_path / "codriving")
    theirs = V2Xverse(ROOT, "codriving", python=PYTHON, checkpoint=str(folder))
    ours = Intermediate(CoDriving(), checkpoint=str(folder / "perception"))
    for system in (theirs, ours):
        system.reset(1, street.route)
    now = street.steps[0].observation
    step = theirs.step(now, of_unit(theirs, street))
    expected = ours.step(now, of_unit(ours, street))
    assert_the_same(step.ego_alone, expected.ego_alone)
    assert len(step.cooperative) != len(step.ego_alone)
    assert step.control.throttle > 0.0
    assert expected.control.throttle > 0.0


def test_one_more_missing_key_stops_v2xverse_too(tmp_path: Path) -> None:
    folder = write_published_folder(tmp_path / "codriving", without=("cls_head.bias",))
    with pytest.raises(UserError, match=r"lacks 1 keys, cls_head\.bias among them"):
        V2Xverse(ROOT, "codriving", python=PYTHON, checkpoint=str(folder))


def test_it_sees_what_our_network_sees_and_drives_ahead(street: Recording, tmp_path: Path) -> None:
    theirs = V2Xverse(ROOT, "fcooper", python=PYTHON, agent_config=str(agent("fcooper", tmp_path)))
    ours = Intermediate(FCooper(), checkpoint=str(tmp_path / "perception"))
    now = street.steps[0].observation
    for system in (theirs, ours):
        system.reset(1, street.route)
    step, expected = (
        theirs.step(now, of_unit(theirs, street)),
        ours.step(now, of_unit(ours, street)),
    )
    assert_the_same(step.ego_alone, expected.ego_alone)
    assert_the_same(step.cooperative, expected.cooperative)
    assert len(step.ego_alone) != len(step.cooperative)
    assert step.control.throttle == 0.75
    assert step.control.brake == 0.0
    assert abs(step.control.steer) < 0.05
