"""`compare_senses`: detection where agents have LiDARs, cameras, or each one of the two.

The first question of Guo et al. (ASE 2025, section V-A): the six error patterns a frame and average
precision on recordings, for LiDARs (L), cameras (C), and one of the two for each agent at random
(M). All configurations are asked on the same samples. Early fusion has LiDARs only, since pictures
cannot be accumulated; the ego alone has no mixed variant.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, get_args

import numpy as np
from rich.box import SIMPLE_HEAD

from agents.perception.cameras.systems import make_seeing_system
from agents.perception.loading import get_weight_file_name
from agents.perception.systems import NetworkSystem, make_network_system
from agents.training.detection_metrics import LEAST_HITS, match_sample
from agents.training.frame_patterns import make_grid_settings, perceive_sample
from agents.training.fusion_names import make_fusion_module
from agents.training.operating import make_zero_thresholds
from agents.training.samples import EgoSample, RecordedSamples
from agents.training.sense_claims import (
    Cell,
    ResampledSenses,
    Sense,
    SenseClaim,
    judge_sense_claims,
)
from harness.common.console import make_console
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.fitting_table import FittingTable
from harness.common.progress_bar import track_items
from harness.common.terminal_lines import print_plain_line
from harness.datasets.opening import open_recordings
from harness.evaluation.frame_evaluation import EvaluationSettings, evaluate_frame
from harness.evaluation.patterns import Rule
from harness.types.precision import ClassMatches, compute_average_precision, pool_matches
from harness.types.record_names import BANDS, PATTERNS

SENSES: tuple[Sense, ...] = get_args(Sense)
LETTERS: dict[Sense, str] = {"lidar": "L", "camera": "C", "mixed": "M"}
EVERYWHERE = "all"
SHOWN_BANDS = {"0_30": "0-30", "30_50": "30-50", "50_100": "50-100", "": EVERYWHERE}
"""Bands of the patterns, and what average precision calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SenseOptions:
    """What is to be compared on what.

    Attributes:
        schemes: of ours.
        weights: folder of networks with cameras; None: those that come with Crucible.
        data: recordings with pictures.
        most: samples, spread evenly.
        rule: how mislocalisations are counted.
        tau: overlap that counts as detected.
        out: where the numbers go too.
    """

    schemes: tuple[str, ...]
    weights: Path | None
    data: list[Path]
    most: int
    rule: Rule
    tau: float
    out: Path | None


@dataclass(slots=True)
class SenseOutcomes:
    """What became of the detections of one configuration, sample by sample."""

    counts: list[dict[str, int]] = field(default_factory=list)  # patterns, in all and by band
    matches: dict[str, list[ClassMatches]] = field(default_factory=dict)  # vehicles, by band


SensesCompared: TypeAlias = dict[Cell, SenseOutcomes]


def compare_senses(options: SenseOptions) -> SensesCompared:
    """Print the paper's table I, figure 5 as numbers, and its sentences; return the outcomes."""
    systems = make_sense_systems(options)
    recorded = [scenario for folder in options.data for scenario in open_recordings(folder)]
    samples = RecordedSamples(recorded, units=False, pictures=True)
    if not len(samples):
        raise UserError(f"{', '.join(map(str, options.data))}: no vehicle in it is an ego")
    outcomes: SensesCompared = {cell: SenseOutcomes() for cell in systems}
    scenarios: list[str] = []
    every = max(1, math.ceil(len(samples) / options.most))
    for number in track_items(range(0, len(samples), every), "samples"):
        sample = samples.read_sample(number)
        scenarios.append(sample.scenario)
        for cell, system in systems.items():
            add_sense_outcomes(system, sample, outcomes[cell], options)
    # what it says
    resampled = ResampledSenses(
        {cell: one.counts for cell, one in outcomes.items()},
        {cell: one.matches[EVERYWHERE] for cell, one in outcomes.items()},
        scenarios,
    )
    claims = judge_sense_claims(resampled)
    console = make_console()
    console.print(make_sense_table(outcomes, resampled))
    console.print(make_sense_band_table(outcomes))
    console.print(make_sense_claim_table(claims))
    print_plain_line(
        console,
        f"{len(scenarios)} samples of {len(set(scenarios))} scenarios. True boxes count with"
        f" {LEAST_HITS} LiDAR returns of any agent, in the window of the network. Verdicts use"
        " intervals that hold for all sentences at once.",
    )
    if options.out is not None:
        record = make_sense_record(
            outcomes, resampled, claims=claims, scenarios=scenarios, options=options
        )
        write_whole(options.out, json.dumps(record, indent=1) + "\n")
    return outcomes


def make_sense_systems(options: SenseOptions) -> dict[Cell, NetworkSystem]:
    """Return a system for each scheme and each of the senses that it can have."""
    systems: dict[Cell, NetworkSystem] = {}
    for scheme in dict.fromkeys(options.schemes):
        fusion = make_fusion_module(scheme)
        if fusion.stage == "early":
            systems[scheme, "lidar"] = make_network_system(fusion)
            continue
        weights = None
        if options.weights is not None:
            weights = str(options.weights / get_weight_file_name(type(fusion)))
        for sense in SENSES:
            if sense != "mixed" or fusion.stage != "none":
                made = make_seeing_system(make_fusion_module(scheme), sense, weights)
                systems[scheme, sense] = made
    return systems


def add_sense_outcomes(
    system: NetworkSystem, sample: EgoSample, outcomes: SenseOutcomes, options: SenseOptions
) -> None:
    """Ask a system, and add what becomes of its detections."""
    # patterns at the operating point, at which the system drives
    point = system.operating_point
    answer = perceive_sample(system, sample)
    evaluated = evaluate_frame(
        sample.truth,
        sample.hits_anyone,
        ego_alone=answer.ego_alone,
        cooperative=answer.cooperative,
        settings=make_sense_settings(system, options),
        parked=sample.parked,
    )
    outcomes.counts.append(evaluated.count_patterns())
    # precision of all detections, whatever their score
    system.operating_point = make_zero_thresholds(point.calibration)
    detected = perceive_sample(system, sample).cooperative
    system.operating_point = point
    for cell, matches in match_sample(sample, detected, system.detector.design.grid):
        visible, overlap, kind, band = cell
        if (visible, overlap, kind) == ("anyone", 0.5, "vehicle"):
            outcomes.matches.setdefault(band, []).append(matches)


def make_sense_settings(system: NetworkSystem, options: SenseOptions) -> EvaluationSettings:
    """Return how frames are evaluated: in the window of the network."""
    return replace(
        make_grid_settings(system),
        tau_vehicle=options.tau,
        tau_pedestrian=options.tau,
        tau_cyclist=options.tau,
        rule=options.rule,
    )


def compute_sense_precision(outcomes: SenseOutcomes, band: str) -> float | None:
    """Return the average precision of vehicles at IoU 0.5; None without a true vehicle."""
    pool = pool_matches(outcomes.matches[band])
    return compute_average_precision(pool, "eleven_point") if pool.truths else None


def make_sense_table(
    outcomes: Mapping[Cell, SenseOutcomes], resampled: ResampledSenses
) -> FittingTable:
    """Return table I of the paper: patterns a frame and AP, by scheme and sensors."""
    title = "Error patterns a frame, and AP of vehicles @0.5"
    table = FittingTable("scheme", "sensors", title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in (*PATTERNS, "AP", "AP, all-point,\n95 % interval"):
        table.add_column(head, justify="right")
    for (scheme, sense), one in outcomes.items():
        means = (float(np.mean([frame[name] for frame in one.counts])) for name in PATTERNS)
        precision = compute_sense_precision(one, EVERYWHERE)
        low, high = resampled.compute_precision_interval((scheme, sense))
        table.add_row(
            *(scheme, LETTERS[sense]),
            *(f"{mean:.2f}" for mean in means),
            "-" if precision is None else f"{precision:.3f}",
            "-" if math.isnan(low) else f"{low:.3f} to {high:.3f}",
        )
    return table


def make_sense_band_table(outcomes: Mapping[Cell, SenseOutcomes]) -> FittingTable:
    """Return precision and all errors by distance."""
    title = "AP of vehicles @0.5, and errors a frame, by metres"
    table = FittingTable("scheme", "sensors", title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    near = [name for band, name in SHOWN_BANDS.items() if band]
    for head in (*(f"AP\n{name}" for name in near), *(f"errors\n{name}" for name in near)):
        table.add_column(head, justify="right")
    for (scheme, sense), one in outcomes.items():
        precisions = [compute_sense_precision(one, name) for name in near]
        errors = [
            float(
                np.mean([sum(frame[f"{name}_{band}"] for name in PATTERNS) for frame in one.counts])
            )
            for band in BANDS
        ]
        table.add_row(
            *(scheme, LETTERS[sense]),
            *("-" if number is None else f"{number:.3f}" for number in precisions),
            *(f"{number:.2f}" for number in errors),
        )
    return table


def make_sense_claim_table(claims: Sequence[SenseClaim]) -> FittingTable:
    """Return the paper's sentences with both numbers and a verdict."""
    title = "Sentences of Guo et al., section V-A"
    table = FittingTable("sentence", title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in ("paper", "here", "95 % interval"):
        table.add_column(head, justify="right")
    table.add_column("verdict")
    for claim in claims:
        low, high = claim.interval
        table.add_row(
            claim.text,
            "-" if math.isnan(claim.printed) else f"{claim.printed:g}",
            "-" if math.isnan(claim.value) else f"{claim.value:.3g}",
            "-" if math.isnan(low) else f"{low:.3g} to {high:.3g}",
            claim.verdict,
        )
    return table


def iterate_sense_rows(outcomes: Mapping[Cell, SenseOutcomes]) -> Iterator[dict[str, Any]]:
    """Yield patterns a frame and precision, by scheme, sensors and band."""
    for (scheme, sense), one in outcomes.items():
        for band, metres in SHOWN_BANDS.items():
            keys = {name: f"{name}_{band}" if band else name for name in PATTERNS}
            yield {
                "scheme": scheme,
                "sensors": sense,
                "metres": metres,
                **{
                    n: round(float(np.mean([f[k] for f in one.counts])), 4) for n, k in keys.items()
                },
                "vehicles@0.5": compute_sense_precision(one, metres),
            }


def make_sense_record(
    outcomes: Mapping[Cell, SenseOutcomes],
    resampled: ResampledSenses,
    *,
    claims: Sequence[SenseClaim],
    scenarios: Sequence[str],
    options: SenseOptions,
) -> dict[str, Any]:
    """Return the numbers of all tables for a file."""
    return {
        "samples": len(scenarios),
        "scenarios": len(set(scenarios)),
        "rule": options.rule,
        "tau": options.tau,
        "rows": list(iterate_sense_rows(outcomes)),
        "average precision, all-point": {
            f"{scheme}/{sense}": [
                float(numbers[0]),
                *resampled.compute_precision_interval((scheme, sense)),
            ]
            for (scheme, sense), numbers in resampled.precision.items()
        },
        "sentences": [{**asdict(claim), "verdict": claim.verdict} for claim in claims],
    }
