"""`compare_compensation`: detection with late messages, as old as they are and compensated.

Every scheme is asked at the same moments of the same recordings, for each latency: with messages as
they arrive, and with boxes or feature maps moved by age (`compensate=boxes`, `features`). Messages
arrive moment after moment, so that velocities are estimated as in a drive. Differences are paired;
intervals are of a bootstrap over scenarios.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console

from agents.training.compensation_tables import (
    BOXES,
    FEATURES,
    NONE,
    ArmKey,
    CompensationOptions,
    LateOutcomes,
    make_record,
    make_tables,
)
from agents.training.detection_metrics import (
    HEADLINE,
    LEAST_HITS,
    match_sample,
)
from agents.training.late_messages import RecordedSharing, ScenarioLooks, make_recorded_sharing
from harness.channel.compensation.boxes import WORLD, BoxCompensation
from harness.channel.compensation.compensation import Compensation, MovedBoxes
from harness.channel.compensation.features import FeatureCompensation
from harness.common.console import make_console
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.progress_bar import track_items
from harness.common.recordings import RecordedScenario
from harness.common.terminal_lines import print_plain_line
from harness.datasets.opening import open_recordings
from harness.evaluation.box_residuals import UserPlaces, measure_box_residuals
from harness.evaluation.frame_evaluation import EvaluationSettings, evaluate_frame
from harness.types.geometry import transform_boxes
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import CLASSES

HISTORY = 5
"""Moments with messages before the first that is evaluated."""


@dataclass(frozen=True, slots=True, eq=False)
class EgoMoments:
    """An ego of a scenario, and its moments that are evaluated."""

    scene: ScenarioLooks
    ego: int
    moments: Sequence[int]


def compare_compensation(options: CompensationOptions) -> dict[ArmKey, LateOutcomes]:
    """Print tables of precision, patterns and errors of position; return their outcomes."""
    schemes = {name: make_recorded_sharing(name) for name in options.schemes}
    for name, sharing in schemes.items():
        if not sharing.system.reads_messages:
            raise UserError(f"--schemes {name}: reads no messages; none of them is late")
    console = make_console()
    movers = {name: choose_compensation(one, options, console) for name, one in schemes.items()}
    recorded = [scenario for folder in options.data for scenario in open_recordings(folder)]
    late = count_late_moments(recorded, options.latencies)
    first = max(late.values()) + HISTORY
    places = list_evaluated_places(recorded, first, options.most)
    outcomes: dict[ArmKey, LateOutcomes] = {}
    scenarios: list[str] = []
    for scenario in track_items([*places], "scenarios"):
        scene = ScenarioLooks.read(recorded[scenario])
        for ego, moments in places[scenario].items():
            scenarios += [scene.scenario.folder.name] * len(moments)
            place = EgoMoments(scene, ego, moments)
            for sharing in schemes.values():
                arms = (NONE,) if (named := movers[sharing.name]) is None else (NONE, named)
                add_ego_outcomes(
                    place, sharing, late, arms=arms, options=options, outcomes=outcomes
                )
        for sharing in schemes.values():
            sharing.forget_payloads()
    for table in make_tables(outcomes, scenarios):
        console.print(table)
    print_plain_line(
        console,
        f"{len(scenarios)} samples of {len(set(scenarios))} scenarios. True boxes count with"
        f" {LEAST_HITS} LiDAR returns of the ego or of a partner, in the window of the network.",
    )
    if options.out is not None:
        record = make_record(outcomes, scenarios, options)
        write_whole(options.out, json.dumps(record, indent=1) + "\n")
    return outcomes


def count_late_moments(
    recorded: Sequence[RecordedScenario], latencies: Sequence[float]
) -> dict[float, int]:
    """Return how many looks make each latency, which is 0 or a multiple of the interval."""
    interval = recorded[0].interval
    for scenario in recorded:
        if not math.isclose(scenario.interval, interval):
            raise UserError(
                f"{scenario.folder}: looks are {scenario.interval:g} s apart, those of"
                f" {recorded[0].folder.name} {interval:g} s; recordings of one interval are needed"
            )
    looks = {latency: round(latency / interval) for latency in latencies}
    for latency, count in looks.items():
        if not math.isclose(latency, count * interval, abs_tol=1e-9):
            raise UserError(
                f"--latencies {latency:g}: looks are {interval:g} s apart; a multiple is needed;"
                " `crucible collect --interval 0.1` records looks for 0.1 s, 0.2 s, ..."
            )
    return looks


def list_evaluated_places(
    recorded: Sequence[RecordedScenario], first: int, most: int
) -> dict[int, dict[int, list[int]]]:
    """Return the moments that are evaluated, by scenario (its number) and ego."""
    every = [
        (number, ego, moment)
        for number, scenario in enumerate(recorded)
        for ego in scenario.list_egos()
        for moment in range(first, len(scenario.list_moments(ego)))
    ]
    if not every:
        raise UserError(
            f"{recorded[0].folder.parent}: no vehicle in it has {first + 1} looks, which the"
            f" longest latency needs; `crucible collect --looks {first + 6} --interval 0.1` records"
            " more"
        )
    chosen: dict[int, dict[int, list[int]]] = {}
    for number, ego, moment in every[:: math.ceil(len(every) / most)]:
        chosen.setdefault(number, {}).setdefault(ego, []).append(moment)
    return chosen


def add_ego_outcomes(
    place: EgoMoments,
    sharing: RecordedSharing,
    late: Mapping[float, int],
    *,
    arms: Sequence[str],
    options: CompensationOptions,
    outcomes: dict[ArmKey, LateOutcomes],
) -> None:
    """Ask a scheme at an ego's moments under all latencies, and add what becomes of it."""
    for latency, looks in late.items():
        for compensate in arms:
            arm = outcomes.setdefault((sharing.name, latency, compensate), LateOutcomes())
            for every_score in (False, True):
                moving = None
                if compensate != NONE:
                    moving = make_compensation(sharing, compensate, options)
                add_arm_outcomes(
                    place, sharing, looks=looks, moving=moving, arm=arm, every_score=every_score
                )


def choose_compensation(
    sharing: RecordedSharing, options: CompensationOptions, console: Console
) -> str | None:
    """Return what moves what partners of a scheme send; None, and a line, where nothing can.

    Raises:
        UserError: a flow network is named, and does not move the maps of this scheme.
    """
    if sharing.sends_boxes:
        return BOXES
    if not sharing.sends_features:
        print_plain_line(console, f"{sharing.name}: points are not moved")
        return None
    try:
        make_compensation(sharing, FEATURES, options)
    except UserError as problem:
        if options.flow_settings.get("weights") is not None:
            raise
        print_plain_line(console, f"{sharing.name}: {problem}")
        return None
    return FEATURES


def make_compensation(
    sharing: RecordedSharing, named: str, options: CompensationOptions
) -> Compensation:
    """Return what moves what partners of a scheme send."""
    if named == BOXES:
        return BoxCompensation(**options.settings)
    moving = FeatureCompensation(**options.flow_settings)
    moving.use_system(sharing.system)
    return moving


def add_arm_outcomes(
    place: EgoMoments,
    sharing: RecordedSharing,
    *,
    looks: int,
    moving: Compensation | None,
    arm: LateOutcomes,
    every_score: bool,
) -> None:
    """Let messages arrive so many looks late, moment after moment; evaluate at some moments.

    Detections of every score are for precision, those at the operating point for patterns.
    """
    settings = make_window(sharing)
    scene, ego, moments = place.scene, place.ego, place.moments
    for moment in range(looks, max(moments) + 1):
        # boxes are followed from the first message on; of maps, the message before is enough
        unread = moving is None or (moving.moves_features and moment + 1 not in moments)
        if unread and moment not in moments:
            continue
        observation = scene.observe_ego(ego, moment)
        messages = [
            sharing.make_message(
                scene, partner.agent, moment - looks, ego=ego, every_score=every_score
            )
            for partner in scene.list_partners(ego, moment)
        ]
        if moving is not None:
            moving.rows, moving.moved_maps = [], []
            began = time.process_time()
            messages = [*moving.compensate_messages(observation, messages)]
            seconds = time.process_time() - began
        if moment not in moments:
            continue
        answer = sharing.perceive(
            observation, messages, scene.looks[ego][moment], every_score=every_score
        )
        sample = scene.make_sample(ego, moment)
        if every_score:
            # precision of all detections, whatever their score
            for cell, matches in match_sample(sample, answer.cooperative, sharing.grid):
                visible, overlap, kind, band = cell
                if (visible, overlap, band) == ("anyone", 0.5, HEADLINE[kind]):
                    arm.matches[kind].append(matches)
            continue
        frame = evaluate_frame(
            sample.truth,
            sample.hits_anyone,
            ego_alone=answer.ego_alone,
            cooperative=answer.cooperative,
            settings=settings,
            parked=sample.parked,
        )
        counts = frame.count_patterns()
        arm.counts.append({name: int(counts[name]) for name in PATTERNS})
        if moving is not None:
            arm.boxes += list_moved_rows(scene, ego, moving.rows)
            arm.maps += moving.moved_maps
            arm.seconds += seconds if moving.moved_maps else 0.0


def make_window(sharing: RecordedSharing) -> EvaluationSettings:
    """Return how frames are evaluated: in the window of the network."""
    return EvaluationSettings(
        truth_filter="anyone",
        least_hits=LEAST_HITS,
        ahead=sharing.grid.high[0],
        behind=-sharing.grid.low[0],
        lateral=sharing.grid.high[1],
    )


def list_moved_rows(
    scene: ScenarioLooks, ego: int, moved: Sequence[MovedBoxes]
) -> list[dict[str, Any]]:
    """Return a row for each box of late messages that stands for a road user: moved, errors (m)."""
    rows = []
    for one in moved:
        residuals = measure_box_residuals(
            one.stated[:, :2],
            one.moved[:, :2],
            one.classes,
            captured=get_user_places(scene, ego, one.capture_frame),
            now=get_user_places(scene, ego, one.frame),
        )
        metres = np.linalg.norm((one.moved - one.stated)[:, :2], axis=1)
        rows += [
            {
                "class": CLASSES[int(one.classes[number])],
                "known": one.sources[number] != "none",
                "moved": float(metres[number]),
                "stated": float(residuals.stated[number]),
                "left": float(residuals.moved[number]),
            }
            for number in np.flatnonzero(~np.isnan(residuals.stated)).tolist()
        ]
    return rows


def get_user_places(scene: ScenarioLooks, ego: int, moment: int) -> UserPlaces:
    """Return where road users around an ego are at a moment; the ego is not among them."""
    look = scene.looks[ego][moment]
    in_world = transform_boxes(look.truth.boxes_in_lidar, look.lidar_in_world, WORLD)
    return UserPlaces(
        ids=look.truth.actor_ids, classes=in_world.classes, xy=in_world.geometry[:, :2]
    )
