"""What a campaign of `crucible decide` keeps of its plan: `decide.jsonl`.

The first line is the declaration, with the strata. Then, batch by batch: a line for each pair of
route and seed that was sampled, and a line with what is known of each comparison after the batch.
The file says in which order and why routes were taken, so that any mean can be weighted back.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.common.nesting import parse_json
from harness.common.safe_reading import STUDY_RECORD, read_within
from harness.records.arms import Arm

DECIDE_FILE = "decide.jsonl"
DECIDED_BY = "decide"
"""The key of `campaign.yaml` with the name of the study that chose routes and seeds."""
DECIDE_VERSION = 1
PLAN, PAIR, LOOK = "plan", "pair", "look"
"""What a line is: the declaration, a pair that was sampled, what is known after a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledPair:
    """A route and a seed that were sampled.

    Attributes:
        batch: from 1 on.
        stratum: the name of the route's stratum.
        share: of the stratum in the population.
        chance: with which the stratum was sampled.
    """

    batch: int
    route: str
    seed: int
    stratum: str
    share: float
    chance: float

    @property
    def weight(self) -> float:
        """What the pair counts in a mean of the population."""
        return self.share / self.chance


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedComparison:
    """What is known of a comparison after a batch.

    Attributes:
        name: as declared.
        a: the arm that is compared with.
        b: the arm that is compared.
        outcome: what is compared.
        pairs: that were sampled for it.
        estimate: weighted mean difference, b less a.
        low: limit of the mean that holds at any time.
        high: the other limit.
        state: `open`, `superior`, `inferior`, `equivalent` or `out of budget`.
    """

    name: str
    a: Arm
    b: Arm
    outcome: str
    pairs: int
    estimate: float
    low: float
    high: float
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideRecord:
    """A plan of `crucible decide`, as far as it was driven.

    Attributes:
        name: of the study.
        level: family-wise error rate.
        batches: after which something is known.
        pairs: in the order in which they were sampled.
        comparisons: after the last of these batches.
    """

    name: str
    level: float
    batches: int
    pairs: tuple[SampledPair, ...]
    comparisons: tuple[DecidedComparison, ...]


def format_decide_line(line: Mapping[str, Any]) -> str:
    """Return a line of the file, without its end."""
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def read_decide_record(campaign: Path) -> DecideRecord | None:
    """Return the plan that a campaign's routes were chosen by; None if by none.

    A last line that was cut off is left out.

    Raises:
        UserError: a line that is none of this file.
    """
    file = campaign / DECIDE_FILE
    if not os.path.lexists(file):
        return None
    try:
        data = read_within(file, STUDY_RECORD, within=campaign)
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}") from None
    reader = _DecideReader()
    for number, text in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        if mistake := reader.take_line(text):
            raise UserError(f"{file}: line {number}: not of a decide plan ({mistake})")
    return reader.make_record()


class _DecideReader:
    """Takes in the lines of a file, one after another."""

    def __init__(self) -> None:
        self._plan: dict[str, Any] = {}
        self._pairs: list[SampledPair] = []
        self._batches = 0
        self._comparisons: tuple[DecidedComparison, ...] = ()

    def take_line(self, text: bytes) -> str:
        """Take in a line; return what is wrong with it, empty if nothing is."""
        try:
            self._take(parse_json(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
            return str(problem) or type(problem).__name__
        return ""

    def _take(self, line: dict[str, Any]) -> None:
        what = line["is"]
        if (what == PLAN) == bool(self._plan):
            raise ValueError("the plan must be the first line")
        if what == PLAN:
            self._plan = check_plan_line(line)
        elif what == PAIR:
            self._pairs.append(parse_pair_line(line))
        elif what == LOOK:
            self._batches = require_count(line["batch"])
            self._comparisons = parse_look_line(line, self._plan)
        else:
            raise ValueError(f"unknown line {what!r}")

    def make_record(self) -> DecideRecord | None:
        """Return what the lines say; None if there was none."""
        if not self._plan:
            return None
        study = self._plan["study"]
        return DecideRecord(
            name=study["name"],
            level=study["level"],
            batches=self._batches,
            # pairs of a batch that is not whole show nothing yet
            pairs=tuple(pair for pair in self._pairs if pair.batch <= self._batches),
            comparisons=self._comparisons,
        )


def check_plan_line(line: dict[str, Any]) -> dict[str, Any]:
    """Return the first line; ValueError if it is of another version, or not whole."""
    if line["version"] != DECIDE_VERSION:
        raise ValueError(f"version {line['version']!r}, not {DECIDE_VERSION}")
    study = line["study"]
    require_text(study["name"])
    require_number(study["level"])
    for comparison in study["comparisons"].values():
        for side in ("a", "b"):
            Arm.parse_name(require_text(comparison[side]))
        require_text(comparison["outcome"])
    return line


def parse_pair_line(line: Mapping[str, Any]) -> SampledPair:
    """Return a pair; ValueError if a value is not what it must be."""
    pair = SampledPair(
        batch=require_count(line["batch"]),
        route=require_text(line["route"]),
        seed=require_count(line["seed"]),
        stratum=require_text(line["stratum"]),
        share=require_number(line["share"]),
        chance=require_number(line["chance"]),
    )
    if not (0 < pair.share <= 1 and 0 < pair.chance <= 1):
        raise ValueError("share and chance must be > 0 and ≤ 1")
    return pair


def parse_look_line(
    line: Mapping[str, Any], plan: Mapping[str, Any]
) -> tuple[DecidedComparison, ...]:
    """Return what is known of each comparison; ValueError if a value is not what it must be."""
    declared = plan["study"]["comparisons"]
    return tuple(
        DecidedComparison(
            name=require_text(one["name"]),
            a=Arm.parse_name(declared[one["name"]]["a"]),
            b=Arm.parse_name(declared[one["name"]]["b"]),
            outcome=declared[one["name"]]["outcome"],
            pairs=require_count(one["pairs"]),
            estimate=require_number(one["estimate"]),
            low=require_number(one["low"]),
            high=require_number(one["high"]),
            state=require_text(one["state"]),
        )
        for one in line["comparisons"]
    )


def require_text(value: Any) -> str:
    """Return a text; ValueError if it is none."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value


def require_count(value: Any) -> int:
    """Return a whole number ≥ 0; ValueError if it is none."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a whole number ≥ 0")
    return value


def require_number(value: Any) -> float:
    """Return a finite number; ValueError if it is none."""
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)
