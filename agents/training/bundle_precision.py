"""What a published detector detects on recorded scenes, by the rule of its own code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.bundles.bundle import OPENCOOD, ExpectedPrecision, ModelBundle
from agents.opencood.system import OpenCood
from agents.training.detection_metrics import LEAST_HITS
from agents.training.frame_patterns import match_vehicles
from agents.training.inference import make_ego_observation, make_partner_messages
from agents.training.samples import RecordedSamples
from harness.common.errors import UserError
from harness.common.progress_bar import track_items
from harness.common.recordings import RecordedScenario
from harness.common.safe_reading import CHECKPOINT, sum_of_file
from harness.common.scene_precision import ScenePrecision
from harness.datasets.campaign_reading import is_campaign, open_campaign
from harness.datasets.opening import open_recordings
from harness.evaluation.frame_evaluation import EvaluationSettings
from harness.evaluation.opencood_precision import Sorting, compute_opencood_precision

OVERLAP = 0.5
"""At which average precision is compared."""


def measure_scene_precision(
    bundle: ModelBundle,
    scenes: Path,
    *,
    root: str,
    python: str,
    most: int,
    expected: ExpectedPrecision | None,
    settings: Mapping[str, Any],
) -> ScenePrecision:
    """Return the average precision of a bundle's detector, with all messages at once.

    The rule is that of its code: detections above its own score threshold, sorted frame by frame in
    OpenCOOD and over all frames in HEAL; vehicles that any agent hits, in its own window.

    Args:
        bundle: of OpenCOOD's or HEAL's form.
        scenes: recordings, OPV2V's layout, or a campaign that kept its sweeps.
        root: the checkout that runs it.
        python: its interpreter.
        most: frames, spread evenly.
        expected: on its own data set.
        settings: further settings of `system=opencood`.

    Raises:
        UserError: nothing can be measured, and why.
    """
    if bundle.window is None:
        raise UserError(f"{bundle.name}: its settings name no preprocess.cav_lidar_range")
    samples = RecordedSamples(open_scenes(scenes), units=False)
    if not len(samples):
        raise UserError(f"{scenes}: no vehicle in it has a sweep: nothing to measure on")
    try:
        system = OpenCood(root, str(bundle.folder), python=python, **settings)
    except TypeError as problem:
        raise UserError(f"--set: {problem}") from None
    # the window of the network, in which detections and ground truth count
    cut = settings.get("cut_range") or math.inf
    ahead, aside = (min(metres, cut) for metres in bundle.window)
    window = EvaluationSettings(
        truth_filter="anyone", least_hits=LEAST_HITS, ahead=ahead, behind=ahead, lateral=aside
    )
    partners = int(system.properties["most_agents"]) - 1
    every = math.ceil(len(samples) / most)
    frames = []
    for number in track_items(range(0, len(samples), every), bundle.name):
        sample = samples.read_sample(number, partners)
        received = make_partner_messages(system, sample)
        detected = system.perceive(make_ego_observation(sample.ego), received).cooperative
        frames.append(match_vehicles(sample, detected, window, OVERLAP))
    sorting: Sorting = "frame" if bundle.form == OPENCOOD else "global"
    measured = compute_opencood_precision(frames, sorting)
    if math.isnan(measured):
        raise UserError(f"{scenes}: no vehicle in the window of {bundle.name} is hit by any sweep")
    return ScenePrecision(
        measured=round(measured, 4),
        expected=None if expected is None else expected.value,
        expected_from="" if expected is None else expected.source,
        overlap=OVERLAP,
        rule=bundle.precision_rule,
        data_set=bundle.data_set.removesuffix("?"),
        scenes=str(scenes),
        frames=len(frames),
        vehicles=sum(frame.truths for frame in frames),
        settings=dict(settings),
        files={
            file.name: sum_of_file(file, follow=True, kind=CHECKPOINT)
            for file in OpenCood.files(root, str(bundle.folder), python=python)
        },
    )


def open_scenes(folder: Path) -> list[RecordedScenario]:
    """Return the scenarios of a folder: of a campaign, or recorded."""
    return open_campaign(folder) if is_campaign(folder) else open_recordings(folder)
