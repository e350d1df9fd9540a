"""`compare_cooperation_modes`: detection with a vehicle as the one partner, or a roadside unit.

The second question of Guo et al. (ASE 2025, section IV-B): the six error patterns and average
precision on recordings, by distance, where the ego cooperates with one vehicle (V2V) or with one
roadside unit (V2I). Partners are chosen at random, one of each mode for each ego of a scenario.
Only moments count at which both are in range, so that the modes differ by the partner alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD

from agents.perception.systems import NetworkSystem, make_network_system
from agents.training.detection_metrics import LEAST_HITS, match_sample, sample_scenario_counts
from agents.training.fusion_names import make_fusion_module
from agents.training.inference import make_ego_observation, make_partner_messages
from agents.training.operating import make_zero_thresholds
from agents.training.samples import (
    PARTNER_RANGE,
    EgoSample,
    LidarView,
    RecordedSamples,
    SamplePlace,
    compute_hits_anyone,
    read_agent_look,
)
from harness.common.console import make_console
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.fitting_table import FittingTable
from harness.common.progress_bar import track_items
from harness.common.randomness import make_named_stream
from harness.common.recordings import AgentLook
from harness.common.terminal_lines import print_plain_line
from harness.datasets.opening import open_recordings
from harness.evaluation.frame_evaluation import EvaluationSettings, evaluate_frame
from harness.evaluation.patterns import Rule
from harness.types.precision import ClassMatches, compute_average_precision, pool_matches
from harness.types.record_names import BANDS, PATTERNS
from harness.types.vocabulary import Boxes, Floats, Perceived

V2V, V2I, ALONE = "V2V", "V2I", "alone"
MODES = (V2V, V2I)
COMPARED_SAMPLES = 400
"""Resampled sets of scenarios."""
SHOWN_BANDS = {"0_30": "0-30", "30_50": "30-50", "50_100": "50-100"}
"""Bands of the patterns, and what average precision calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeOptions:
    """What is to be compared on what."""

    schemes: tuple[str, ...]  # of ours, or package.module:Class
    data: list[Path]
    most: int  # samples, spread evenly
    rule: Rule  # how mislocalisations are counted
    tau: float  # overlap that counts as detected
    out: Path | None  # where the numbers go too


@dataclass(slots=True)
class ModeOutcomes:
    """What became of the detections of one system under one mode, sample by sample."""

    counts: list[dict[str, int]] = field(default_factory=list)  # patterns, in all and by band
    matches: dict[str, list[ClassMatches]] = field(default_factory=dict)  # vehicles, by band


@dataclass(frozen=True, slots=True, eq=False)
class ModeSample:
    """An ego's view of a moment, and that of one partner of each mode."""

    scenario: str
    ego: AgentLook
    partners: Mapping[str, AgentLook]  # by mode

    def make_sample(self, mode: str) -> EgoSample:
        """Return the sample under a mode; hits are of the ego and of both partners in any case."""
        chosen = [self.partners[mode]] if mode in self.partners else []
        return EgoSample(
            scenario=self.scenario,
            ego=LidarView(self.ego.points_in_lidar, self.ego.lidar_in_world),
            partners=tuple(LidarView(one.points_in_lidar, one.lidar_in_world) for one in chosen),
            truth=self.ego.truth,
            hits_anyone=compute_hits_anyone(self.ego.truth, self.partners.values()),
            parked=self.ego.parked_in_lidar,
        )


def compare_cooperation_modes(options: ModeOptions) -> dict[str, dict[str, ModeOutcomes]]:
    """Print tables of errors and precision, by scheme and mode; return what they are made from."""
    systems = {}
    for scheme in options.schemes:
        system = make_network_system(make_fusion_module(scheme))
        if not system.reads_messages:
            raise UserError(f"--schemes {scheme}: reads no messages; every answer has it alone")
        systems[scheme] = system
    # samples that have a partner of both modes
    recorded = [scenario for folder in options.data for scenario in open_recordings(folder)]
    places = RecordedSamples(recorded, units=False).places
    every = max(1, math.ceil(len(places) / options.most))
    outcomes: dict[str, dict[str, ModeOutcomes]] = {
        scheme: {mode: ModeOutcomes() for mode in (ALONE, *MODES)} for scheme in systems
    }
    scenarios: list[str] = []
    for place in track_items(places[::every], "samples"):
        sample = read_mode_sample(place)
        if sample is None:
            continue
        scenarios.append(sample.scenario)
        for scheme, system in systems.items():
            add_system_outcomes(system, sample, outcomes[scheme], options)
    if not scenarios:
        where = ", ".join(map(str, options.data))
        raise UserError(
            f"{where}: no vehicle in it has both a vehicle and a roadside unit within"
            f" {PARTNER_RANGE:g} m"
        )
    # tables
    console = make_console()
    console.print(make_error_table(outcomes))
    console.print(make_difference_table(outcomes, scenarios))
    console.print(make_pattern_table(outcomes))
    print_plain_line(
        console,
        f"{len(scenarios)} samples of {len(set(scenarios))} scenarios. True boxes count with"
        f" {LEAST_HITS} LiDAR returns of the ego or of a partner of either mode, in the window of"
        " the network.",
    )
    if options.out is not None:
        record = make_mode_record(outcomes, scenarios, options)
        write_whole(options.out, json.dumps(record, indent=1) + "\n")
    return outcomes


def read_mode_sample(place: SamplePlace) -> ModeSample | None:
    """Read a moment with one partner of each mode; None where a mode has no partner in range."""
    ego = read_agent_look(place, place.ego)
    kinds = {
        V2V: [a for a in place.scenario.list_agents() if a >= 0 and a != place.ego],
        V2I: [a for a in place.scenario.list_agents() if a < 0],
    }
    # one order for all moments of the ego in a scenario: the first in range is the partner
    partners = {}
    for mode, agents in kinds.items():
        random = make_named_stream(0, "modes", mode, place.scenario.folder.name, str(place.ego))
        looks = (read_agent_look(place, agent) for agent in random.permutation(agents).tolist())
        chosen = next((look for look in looks if is_in_partner_range(ego, look)), None)
        if chosen is None:
            return None
        partners[mode] = chosen
    return ModeSample(place.scenario.folder.name, ego, partners)


def is_in_partner_range(ego: AgentLook, other: AgentLook) -> bool:
    """Return whether a partner's LiDAR is near enough to the ego's to cooperate."""
    here, there = ego.lidar_in_world, other.lidar_in_world
    return math.hypot(here.x - there.x, here.y - there.y) <= PARTNER_RANGE


def add_system_outcomes(
    system: NetworkSystem,
    sample: ModeSample,
    outcomes: Mapping[str, ModeOutcomes],
    options: ModeOptions,
) -> None:
    """Ask a system under each mode, and add what becomes of its detections."""
    settings = make_window_settings(system, options)
    point = system.operating_point
    for mode in (ALONE, *MODES):
        given = sample.make_sample(mode)
        # patterns at the operating point, at which the system drives
        counts, _ = evaluate_mode(system, given, settings)
        outcomes[mode].counts.append(counts)
        # precision of all detections, whatever their score
        system.operating_point = make_zero_thresholds(point.calibration)
        _, detected = evaluate_mode(system, given, settings)
        system.operating_point = point
        for cell, matches in match_sample(given, detected, system.detector.design.grid):
            visible, overlap, kind, band = cell
            if (visible, overlap, kind) == ("anyone", 0.5, "vehicle"):
                outcomes[mode].matches.setdefault(band, []).append(matches)


def evaluate_mode(
    system: NetworkSystem, given: EgoSample, settings: EvaluationSettings
) -> tuple[dict[str, int], Boxes]:
    """Return the pattern counts of one answer, and its detections."""
    answer: Perceived = system.perceive(
        make_ego_observation(given.ego), make_partner_messages(system, given)
    )
    evaluated = evaluate_frame(
        given.truth,
        given.hits_anyone,
        ego_alone=answer.ego_alone,
        cooperative=answer.cooperative,
        settings=settings,
        parked=given.parked,
    )
    return evaluated.count_patterns(), answer.cooperative


def make_window_settings(system: NetworkSystem, options: ModeOptions) -> EvaluationSettings:
    """Return how frames are evaluated: in the window of the network."""
    grid = system.detector.design.grid
    return EvaluationSettings(
        tau_vehicle=options.tau,
        tau_pedestrian=options.tau,
        tau_cyclist=options.tau,
        rule=options.rule,
        truth_filter="anyone",
        least_hits=LEAST_HITS,
        ahead=grid.high[0],
        behind=-grid.low[0],
        lateral=grid.high[1],
    )


def sum_errors(counts: Mapping[str, int], part: str = "") -> int:
    """Return all six patterns together, in all or of a band."""
    return sum(counts[f"{name}_{part}" if part else name] for name in PATTERNS)


def resample_error_difference(
    first: ModeOutcomes, second: ModeOutcomes, scenarios: list[str]
) -> tuple[float, float, float]:
    """Return errors a sample of one mode less those of another, with a 95 % interval.

    Args:
        first: of one mode.
        second: of the other, on the same samples.
        scenarios: of each sample; they are resampled whole.
    """
    names, number = np.unique(scenarios, return_inverse=True)
    apart = np.array([sum_errors(one) for one in first.counts], np.float64)
    apart -= [sum_errors(other) for other in second.counts]
    # (scenarios,) sums, then (resamples,) means over samples
    sums: Floats = np.asarray(np.bincount(number, apart, len(names)), np.float64)
    sizes = np.bincount(number, minlength=len(names))
    weights = sample_scenario_counts(len(names), COMPARED_SAMPLES)
    low, high = np.percentile(weights @ sums / (weights @ sizes), (2.5, 97.5))
    return float(apart.mean()), float(low), float(high)


def compute_mode_precision(outcomes: ModeOutcomes, band: str) -> float | None:
    """Return the average precision of vehicles at IoU 0.5; None without a true vehicle."""
    pool = pool_matches(outcomes.matches[band])
    return compute_average_precision(pool, "eleven_point") if pool.truths else None


def make_error_table(outcomes: Mapping[str, Mapping[str, ModeOutcomes]]) -> FittingTable:
    """Return a table: scheme and mode down; precision and errors by distance across."""
    title = "AP of vehicles @0.5, and errors a sample, by metres"
    table = FittingTable("scheme", "partner", title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in ("AP\n0-30", "AP\n30-50", "AP\n50-100"):
        table.add_column(head, justify="right")
    for head in ("errors\n0-30", "errors\n30-50", "errors\n50-100", "errors\nall"):
        table.add_column(head, justify="right")
    for scheme, modes in outcomes.items():
        for mode, one in modes.items():
            precisions = [compute_mode_precision(one, band) for band in SHOWN_BANDS.values()]
            errors = [np.mean([sum_errors(c, band) for c in one.counts]) for band in (*BANDS, "")]
            table.add_row(
                *(scheme, mode),
                *("-" if number is None else f"{number:.3f}" for number in precisions),
                *(f"{number:.2f}" for number in errors),
            )
    return table


def make_difference_table(
    outcomes: Mapping[str, Mapping[str, ModeOutcomes]], scenarios: list[str]
) -> FittingTable:
    """Return a table of errors a sample, V2V less V2I, with intervals over scenarios."""
    title = "Errors a sample, V2V less V2I"
    table = FittingTable("scheme", title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in ("difference", "95 % interval"):
        table.add_column(head, justify="right")
    for scheme, modes in outcomes.items():
        mean, low, high = resample_error_difference(modes[V2V], modes[V2I], scenarios)
        table.add_row(scheme, f"{mean:+.2f}", f"{low:+.2f} to {high:+.2f}")
    return table


def make_pattern_table(outcomes: Mapping[str, Mapping[str, ModeOutcomes]]) -> FittingTable:
    """Return a table: scheme, mode and distance down; patterns a sample across."""
    table = FittingTable(
        *("scheme", "partner", "metres"), title="Error patterns a sample", box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )  # fmt: skip
    for name in PATTERNS:
        table.add_column(name, justify="right")
    for row in iterate_pattern_rows(outcomes):
        numbers = (f"{row[name]:.2f}" for name in PATTERNS)
        table.add_row(row["scheme"], row["mode"], row["metres"], *numbers)
    return table


def iterate_pattern_rows(
    outcomes: Mapping[str, Mapping[str, ModeOutcomes]],
) -> Iterator[dict[str, Any]]:
    """Yield patterns a sample, by scheme, mode and band."""
    for scheme, modes in outcomes.items():
        for mode in MODES:
            counts = modes[mode].counts
            for band, metres in (*SHOWN_BANDS.items(), ("", "all")):
                keys = {name: f"{name}_{band}" if band else name for name in PATTERNS}
                means = {n: float(np.mean([one[k] for one in counts])) for n, k in keys.items()}
                yield {"scheme": scheme, "mode": mode, "metres": metres, **means}


def make_mode_record(
    outcomes: Mapping[str, Mapping[str, ModeOutcomes]],
    scenarios: list[str],
    options: ModeOptions,
) -> dict[str, Any]:
    """Return the numbers of both tables for a file."""
    return {
        "samples": len(scenarios),
        "scenarios": len(set(scenarios)),
        "rule": options.rule,
        "tau": options.tau,
        "patterns": [
            {
                key: value if isinstance(value, str) else round(value, 4)
                for key, value in row.items()
            }
            for row in iterate_pattern_rows(outcomes)
        ],
        "average precision": [
            {"scheme": scheme, "mode": mode, "metres": band, "vehicles@0.5": precision}
            for scheme, modes in outcomes.items()
            for mode, one in modes.items()
            for band in SHOWN_BANDS.values()
            for precision in [compute_mode_precision(one, band)]
        ],
        "errors, V2V less V2I": {
            scheme: resample_error_difference(modes[V2V], modes[V2I], scenarios)
            for scheme, modes in outcomes.items()
        },
    }
