"""Our full networks say what V2Xverse's own code said, in raw output and in boxes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.perception.parity import golden, theirs
from tests.perception.parity.__main__ import apart, corners, differences
from tests.perception.parity.ours import network_of, together

SCHEMES = sorted(golden.FULL_SCHEMES)
CLOSE = 1e-4


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", SCHEMES)
def test_outputs_and_boxes_are_v2xverses(scheme: str) -> None:
    grid = golden.small(scheme)
    seen = together(network_of(scheme, grid), *golden.scene(grid))
    with np.load(golden.FOLDER / f"{scheme}.npz") as stored:
        for number, raw in enumerate(seen.raws):
            assert np.abs(golden.sampled(raw.logits) - stored["logits"][number]).max() < CLOSE
            assert np.abs(golden.sampled(raw.codes) - stored["codes"][number]).max() < CLOSE
        assert len(seen.boxes) == len(stored["classes"]) > 0
        for kind, place, score in zip(
            stored["classes"], stored["corners"], stored["scores"], strict=True
        ):
            same = seen.boxes[seen.boxes.classes == kind]
            away = apart(corners(same.geometry), place)
            assert away.min() < 5 * CLOSE
            assert abs(same.scores[away.argmin()] - score) < CLOSE


@pytest.mark.parametrize("scheme", SCHEMES)
def test_v2xverse_itself_agrees(scheme: str) -> None:
    reason = theirs.missing()
    if reason:
        pytest.skip(reason)
    grid = golden.small(scheme)
    clouds, poses = golden.scene(grid)
    network = network_of(scheme, grid)
    other = theirs.Theirs(scheme, grid)
    mine = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    assert mine == {n: tuple(tensor.shape) for n, tensor in other.network.state_dict().items()}
    other.network.load_state_dict(network.state_dict())
    with torch.inference_mode():
        raw, corner, boxes = differences(other, network, clouds, poses)
    assert raw < CLOSE
    assert corner < 5 * CLOSE
    assert boxes > 0
