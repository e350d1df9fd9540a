"""What exports are given, from a campaign's folder: facts, one attempt's numbers, arms' means."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.campaign.exports.export import AttemptValues, CampaignFacts
from harness.campaign.folder.assignments import list_assigned_routes
from harness.campaign.folder.campaign_folder import load_campaign_header
from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.message_usage import MessageUsage, find_arm_fault
from harness.records.metrics import parse_result_metrics
from harness.records.reading import CampaignRecords
from harness.records.surrogates import read_surrogates, round_clock_noise
from harness.types.record_names import PATTERNS

COUNTED = (*PATTERNS, "truth_all")
INCOMPLETE = (KeyError, TypeError, ValueError, AttributeError)


def read_campaign_facts(folder: Path) -> CampaignFacts:
    """Return the facts of a campaign."""
    header = load_campaign_header(folder / "campaign.yaml")
    settings: Mapping[str, Any] = header["settings"]
    study = settings.get("study")
    return CampaignFacts(
        folder=folder,
        study=str(study["name"]) if isinstance(study, dict) and "name" in study else "",
        digest=str(header.get("digest", "")),
        revision=str(header.get("git") or ""),
        simulator=str(header.get("simulator", "")),
        settings=dict(iter_dotted_settings(settings)),
    )


def iter_dotted_settings(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield settings by dotted name; lists of plain values are one text."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from iter_dotted_settings(inner, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for number, inner in enumerate(value):
            yield from iter_dotted_settings(inner, f"{place}.{number}")
    else:
        plain = value is None or isinstance(value, bool | int | float | str)
        yield place, value if plain else str(value)


def number_steps(folder: Path) -> dict[tuple[str, int], int]:
    """Return the step of every route and seed: by seed, then by route."""
    seeds = load_campaign_header(folder / "campaign.yaml")["settings"].get("seeds", [])
    routes = sorted(list_assigned_routes(folder), key=lambda name: (len(name), name))
    pairs = [(route, seed) for seed in sorted(seeds) for route in routes]
    return {pair: step for step, pair in enumerate(pairs)}


def read_attempt_values(
    campaign: CampaignRecords, key: AttemptKey, steps: Mapping[tuple[str, int], int]
) -> AttemptValues:
    """Return a finished attempt as exports are given it.

    Args:
        campaign: its records.
        key: a finished attempt.
        steps: by route and seed, the number that is the same in all arms.

    Raises:
        UserError: the result is incomplete.
    """
    result = campaign.read_result(key)
    try:
        violation = result["crucible"]["violation"]
        return AttemptValues(
            arm=key.arm,
            route=key.route,
            seed=key.seed,
            step=steps.get((key.route, key.seed), len(steps)),
            values={**select_result_numbers(result), **read_attempt_seconds(campaign, key)},
            violation="" if violation is None else str(violation["kind"]),
        )
    except INCOMPLETE as problem:
        raise make_incomplete_error(campaign, key, problem) from None


def make_incomplete_error(
    campaign: CampaignRecords, key: AttemptKey, problem: Exception
) -> UserError:
    """Return the error for a result that lacks something."""
    return UserError(f"{campaign.get_result_path(key)}: incomplete result ({problem!r})")


def select_result_numbers(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the known numbers of a result, named as in a table of attempts."""
    ours = result["crucible"]
    total, precision = ours["patterns"]["total"], ours["average_precision"]
    numbers = {
        "driving_score": ours["driving_score"],
        "completion": ours["completion"],
        "penalty": ours["penalty"],
        "collided": ours["collided"],
        "violated": ours["violation"] is not None,
        "duration": round_clock_noise(result["meta"]["duration_game"]),
        **{f"{name}_total": total[name] for name in COUNTED},
        "ap": precision["cooperative"]["eleven_point"],
        "ap_ego_alone": precision["ego_alone"]["eleven_point"],
        **{f"surrogate_{name}": value for name, value in read_surrogates(result).items()},
        **{name: metric.value for name, metric in parse_result_metrics(result).items()},
    }
    known = {name: float(value) for name, value in numbers.items() if value is not None}
    return {name: value for name, value in known.items() if math.isfinite(value)}


def read_attempt_seconds(campaign: CampaignRecords, key: AttemptKey) -> dict[str, float]:
    """Return how long an attempt took on the clock, if that is known."""
    try:
        return {"wall_seconds": float(campaign.read_timing(key)["seconds"]["total"])}
    except (UserError, *INCOMPLETE):
        return {}


def compute_arm_means(
    campaign: CampaignRecords, keys: Sequence[AttemptKey]
) -> dict[Arm, dict[str, float]]:
    """Return each arm's means over the finished attempts in which a number is known.

    Arms that do not show what they are called after are left out, as in every table.
    """
    values: dict[Arm, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    usage: dict[Arm, list[MessageUsage]] = defaultdict(list)
    # numbers of attempts: one may be missing in some of them
    for key in keys:
        result = campaign.read_result(key)
        try:
            usage[key.arm].append(MessageUsage.from_result(result))
            numbers = {**select_result_numbers(result), **read_attempt_seconds(campaign, key)}
        except INCOMPLETE as problem:
            raise make_incomplete_error(campaign, key, problem) from None
        for name, value in numbers.items():
            values[key.arm][name].append(value)
    # means over the attempts that have the number
    return {
        arm: {
            "attempts": float(len(usage[arm])),
            **{name: sum(known) / len(known) for name, known in by_name.items()},
        }
        for arm, by_name in values.items()
        if find_arm_fault(usage[arm]) is None
    }
