"""What honest partners look like to `match` and `omission`, on scenes of the training towns.

Thresholds of both are quantiles of these numbers (decision 0137). Scenes are recorded for it: three
groups of agents in each town, five moments a second apart; every vehicle is the ego once, its
partners are the roadside unit and the nearest vehicle.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from agents.perception.fusion.catalogue import INTERMEDIATE, SCHEMES
from agents.perception.systems import NetworkSystem, make_network_system
from agents.training.collect import RecordingPlan, collect_recordings
from agents.training.inference import make_ego_observation, make_partner_messages
from agents.training.samples import RecordedSamples
from agents.training.towns import TRAINING_TOWNS
from analysis.statistics.intervals import estimate_share
from harness.channel.defences.defence import DefenceScene, place_in_ego_lidar
from harness.channel.defences.match import Match
from harness.channel.defences.omission import Omission
from harness.common.recordings import list_scenarios
from harness.types.vocabulary import Floats, Integers, Message

QUANTILES = (0.5, 0.9, 0.95, 0.975, 0.99)
SHOWN = ("late", *INTERMEDIATE)


def run() -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        plan = RecordingPlan(
            out=folder, towns=TRAINING_TOWNS, scenarios=9, seed=41, looks=5, for_testing=False
        )
        collect_recordings(plan)
        return list(iterate_rows(folder, SHOWN, every=1))


def iterate_rows(folder: Path, schemes: Sequence[str], every: int) -> Iterator[tuple[str, str]]:
    """Yield quantiles of honest messages, by scheme, and false rejections under the settings."""
    for scheme in schemes:
        system = make_network_system(SCHEMES[scheme]())
        samples = RecordedSamples(list_scenarios(folder), units=False)
        values, scenes = measure_matches(system, samples, every)
        shown = [f"{quantile:.3f}" for quantile in np.quantile(values[:, 0], QUANTILES)]
        yield f"{scheme}: match loss, n = {len(values)}", " ".join(shown)
        shown = [f"{quantile:.3f}" for quantile in np.quantile(values[:, 1], QUANTILES)]
        yield f"{scheme}: added score", " ".join(shown)
        check = Match()
        false = (values[:, 0] > check.loss) | (values[:, 1] > check.added_score)
        share = estimate_share(false.astype(np.float64), scenes.astype(np.float64))
        yield (
            f"{scheme}: rejected by match, n = {len(values)}, {len(set(scenes.tolist()))} scenes",
            f"{100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})",
        )
        if scheme == "late":
            yield from iterate_omissions(system, samples)


def make_scene(
    system: NetworkSystem, samples: RecordedSamples, number: int
) -> tuple[DefenceScene, tuple[Message, ...]]:
    """Return what the ego judges by in a sample, and the messages of its partners."""
    sample = samples.read_sample(number)
    ego = make_ego_observation(sample.ego)
    messages = make_partner_messages(system, sample)
    scene = DefenceScene(
        observation=ego,
        ego_boxes=system.perceive(ego, ()).ego_alone,
        find_on_road=lambda points: np.ones(len(points), np.bool_),
        perceive_with=lambda chosen: system.perceive(ego, tuple(chosen)).cooperative,
    )
    return scene, messages


def measure_matches(
    system: NetworkSystem, samples: RecordedSamples, every: int
) -> tuple[Floats, Integers]:
    """Return (messages, 2) match loss and added score of honest messages, and their scenes."""
    check = Match()
    rows, scenes = [], []
    for number in range(0, len(samples), every):
        scene, messages = make_scene(system, samples, number)
        rows += [check.measure_message(scene, message) for message in messages]
        scenes += [samples.places[number].scenario] * len(messages)
    numbers = np.unique(list(map(str, scenes)), return_inverse=True)[1]
    return np.array(rows).reshape(-1, 2), numbers.astype(np.int64)


def iterate_omissions(system: NetworkSystem, samples: RecordedSamples) -> Iterator[tuple[str, str]]:
    """Yield what share of the road users that they must see honest senders leave out."""
    check = Omission()
    had, left_out, rejected, judged = 0, 0, 0, 0
    shares = []
    ego = None
    for number, place in enumerate(samples.places):
        # senders are known within the moments of one ego
        if (place.scenario, place.ego) != ego:
            check.reset(0)
            ego = (place.scenario, place.ego)
        scene, messages = make_scene(system, samples, number)
        sent = [replace(message, capture_frame=number) for message in messages]
        placed = [place_in_ego_lidar(message, scene) for message in sent]
        for at in range(len(sent)):
            expected, stated = check.find_expected(scene, sent, placed, at)
            had += len(expected)
            left_out += int((~stated).sum())
            if len(expected):
                shares.append(float((~stated).mean()))
        for judgement in check.judge_messages(scene, sent):
            rejected += judgement.whole
            judged += judgement.judged
    yield "late: road users that senders must see", str(had)
    yield "late: of them, left out", f"{100 * left_out / max(had, 1):.1f} %"
    shown = [f"{quantile:.2f}" for quantile in np.quantile(shares, QUANTILES)]
    yield f"late: share left out by a message, n = {len(shares)}", " ".join(shown)
    yield f"late: rejected by omission, of {judged} judged", str(rejected)


if __name__ == "__main__":  # of a folder that was recorded before: FOLDER EVERY SCHEME ...
    for what, value in iterate_rows(Path(sys.argv[1]), sys.argv[3:], int(sys.argv[2])):
        print(f"{what:60} {value}", flush=True)
