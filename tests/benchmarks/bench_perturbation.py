"""What a perturbation hides on recorded scenes, by knowledge, and how often `match` notices it.

A scene of Crucible05 is recorded. In each of its samples the roadside unit, or the nearest vehicle
where there is none, is the insider, and no other message is fused. It hides all vehicles that the
ego detects with its honest message within 40 m. A vehicle is hidden if no detection is left within
1 m. Seconds are the core's own, of all steps for a message.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from agents.perception.fusion.catalogue import INTERMEDIATE
from agents.perception.systems import Intermediate
from agents.training.collect import RecordingPlan, collect_recordings
from agents.training.samples import RecordedSamples
from harness.channel.attacks.attack import find_same_boxes
from harness.channel.attacks.perturbation import add_to_maps, descend_gradient
from harness.channel.defences.defence import DefenceScene
from harness.channel.defences.match import Match
from harness.common.recordings import list_scenarios
from harness.types.geometry import compute_relative_pose
from harness.types.gradients import ObjectiveRequest
from harness.types.vocabulary import VEHICLE, Boxes, Features, Message
from tests.benchmarks.bench_defences import make_scene

BOUND, STEPS, REACH = 1.0, 10, 40.0
SURROGATES = {"fcooper": "attfuse", "attfuse": "fcooper"}
LEVELS = ("victim", "network", "surrogate", "none")


def run() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        plan = RecordingPlan(
            out=folder, towns=("Crucible05",), scenarios=1, seed=21, looks=2, for_testing=True
        )
        collect_recordings(plan)
        return [row for scheme in SURROGATES for row in iterate_rows(folder, scheme)]


def iterate_rows(folder: Path, scheme: str) -> Iterator[tuple[str, str]]:
    """Yield what is hidden and what is noticed, by knowledge."""
    system, check = Intermediate(INTERMEDIATE[scheme]()), Match()
    samples = RecordedSamples(list_scenarios(folder), units=False)
    hidden: dict[str, list[bool]] = {level: [] for level in ("honest", *LEVELS)}
    noticed: dict[str, list[bool]] = {level: [] for level in hidden}
    seconds: dict[str, list[float]] = {level: [] for level in hidden}
    for number in range(len(samples)):
        scene, messages = make_scene(system, samples, number)
        assert scene.perceive_with is not None
        if not messages:
            continue
        sent = messages[0]
        seen = scene.perceive_with([sent])
        near = np.hypot(*seen.geometry[:, :2].T) <= REACH
        targets = seen[near & (seen.classes == VEHICLE)]
        for level in hidden:
            began = time.process_time()
            lie = sent if level == "honest" else perturb(system, scene, sent, targets, level)
            seconds[level].append(time.process_time() - began)
            left = scene.perceive_with([lie])
            hidden[level] += (~find_same_boxes(targets, left)).tolist()
            lost, added = check.measure_message(scene, lie)
            noticed[level].append(lost > check.loss or added > check.added_score)
    for level, share in hidden.items():
        yield f"{scheme}, {level}: of {len(share)} vehicles hidden", f"{100 * np.mean(share):.0f} %"
        known = noticed[level]
        yield f"{scheme}, {level}: of {len(known)} messages rejected by match", f"{sum(known)}"
        if level not in ("honest", "none"):
            yield f"{scheme}, {level}: s for a message", f"{np.median(seconds[level]):.2f}"


def perturb(
    system: Intermediate, scene: DefenceScene, message: Message, targets: Boxes, level: str
) -> Message:
    """Return the message as an insider of this knowledge sends it."""
    honest, ego = message.payload, scene.observation
    assert isinstance(honest, Features)
    if level == "none":
        random = np.random.default_rng(1)
        signs = [random.choice([-1.0, 1.0], one.shape) for one in honest.maps]
        changes = [np.asarray(BOUND * sign, np.float32) for sign in signs]
        return replace(message, payload=add_to_maps(honest, changes))
    objective = system.make_objective(
        ObjectiveRequest(
            goal="hide",
            targets_in_ego=targets,
            sender_in_ego=compute_relative_pose(message.lidar_in_world, ego.lidar_in_world),
            ego_lidar_in_world=ego.lidar_in_world,
            honest=honest,
            ego=ego if level == "victim" else None,
            surrogate=SURROGATES[system.fusion.scheme] if level == "surrogate" else None,
        )
    )
    if objective is None:
        return message
    payload = descend_gradient(objective, honest, bound=BOUND, steps=STEPS)
    return replace(message, payload=payload)


if __name__ == "__main__":  # of a folder that was recorded before: FOLDER SCHEME
    for what, value in iterate_rows(Path(sys.argv[1]), sys.argv[2]):
        print(f"{what:60} {value}", flush=True)
