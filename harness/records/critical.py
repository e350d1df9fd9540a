"""Critical sizes in the records: `critical/NAME.json`, one file for each disturbance.

For every attempt the sizes that were tried, how the drive of each ended, and between which two the
outcome flips.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.common.files import LINK, write_whole
from harness.common.safe_reading import STUDY_RECORD
from harness.records.arms import NONE
from harness.records.keys import AttemptKey
from harness.records.reading import read_json_object

CRITICAL = "critical"
"""The folder in that of the campaign."""
VERSION = 1
NOTHING = "nothing"
Interval = tuple[float, float]
"""A size without a violation, and a larger one with the first; infinite where there is none."""


@dataclass(frozen=True, slots=True)
class PlaceboDrives:
    """Drives of one size with a placebo in addition.

    Attributes:
        violated: effective placebos that ended in a violation.
    """

    violated: int
    effective: int  # that differ from the drive without the placebo; only these are counted
    driven: int  # that have a result

    @property
    def rate(self) -> float:
        """The share of effective placebos that ended in a violation; NaN without any."""
        return self.violated / self.effective if self.effective else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeFlip:
    """Two sizes between which the outcome flips, with no size tried between them.

    Attributes:
        low: the smaller size, in the disturbance's unit.
        high: the larger size.
        at_low: placebos at the smaller size.
        at_high: placebos at the larger size.
    """

    low: float
    high: float
    into: bool  # from no violation to one; else back
    at_low: PlaceboDrives
    at_high: PlaceboDrives

    @property
    def confirmed(self) -> bool:
        """Whether on both sides more than half of the effective placebos end as the size did."""
        free, failing = (self.at_low, self.at_high) if self.into else (self.at_high, self.at_low)
        return free.rate < 1 / 2 < failing.rate


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedAttempt:
    """One attempt's sizes.

    Attributes:
        outcomes: by size.
        flips: from the smallest size on.
    """

    of: AttemptKey  # under `none`
    outcomes: Mapping[float, str | None]  # kind of violation, empty for none; None: no result
    flips: tuple[OutcomeFlip, ...]

    @property
    def interval(self) -> Interval | None:
        """Between which sizes the first violation is; nothing where no size has a result.

        Left-censored, from minus infinity, if the smallest size has one; right-censored, to
        infinity, if none has.
        """
        known = sorted(size for size, kind in self.outcomes.items() if kind is not None)
        if not known:
            return None
        first = next((size for size in known if self.outcomes[size]), math.inf)
        free = [size for size in known if size < first]
        return max(free, default=-math.inf), first

    @property
    def into(self) -> OutcomeFlip | None:
        """The flip into the first violation, if it is not censored."""
        first = min(self.flips, key=lambda flip: flip.low, default=None)
        return first if first is not None and first.into else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalSizes:
    """A search over one disturbance.

    Attributes:
        of: sizes are in the unit of this disturbance.
    """

    of: str  # the disturbance
    finest: float  # step of the grid
    coarse: tuple[float, ...]  # tried in every attempt
    placebo: str
    placebos: int  # on each side of a flip
    period: float  # s between planning steps
    searched: tuple[SearchedAttempt, ...]


def get_sizes_path(campaign: Path, name: str) -> Path:
    """Return where the critical sizes of a disturbance are.

    Args:
        campaign: the campaign's folder.
        name: of the disturbance.
    """
    return campaign / CRITICAL / f"{name}.json"


def write_critical(campaign: Path, sizes: CriticalSizes) -> None:
    """Write the file, whole or not at all.

    Args:
        campaign: the campaign's folder.
        sizes: of one disturbance.

    Raises:
        UserError: the folder of critical sizes is a link.
    """
    if (campaign / CRITICAL).is_symlink():
        raise UserError(f"{campaign / CRITICAL}: {LINK}")
    record = {
        "version": VERSION,
        "of": sizes.of,
        "finest": sizes.finest,
        "coarse": list(sizes.coarse),
        "placebo": sizes.placebo,
        "placebos": sizes.placebos,
        "period": sizes.period,
        "searched": [format_searched_attempt(one) for one in sizes.searched],
    }
    write_whole(get_sizes_path(campaign, sizes.of), json.dumps(record, indent=1) + "\n")


def format_searched_attempt(one: SearchedAttempt) -> dict[str, Any]:
    """Return an attempt's part of the file."""
    outcomes = [{"size": size, "violation": kind} for size, kind in sorted(one.outcomes.items())]
    return {
        **one.of.to_record(),
        "outcomes": outcomes,
        "flips": [asdict(flip) for flip in one.flips],
    }


def read_critical(campaign: Path, name: str) -> CriticalSizes:
    """Return the critical sizes of a disturbance; a broken file is one line.

    Args:
        campaign: the campaign's folder.
        name: the disturbance.

    Raises:
        UserError: the file cannot be read, or its contents are not valid.
    """
    file = get_sizes_path(campaign, name)
    record = read_json_object(file, STUDY_RECORD, within=campaign)
    try:
        if record["version"] != VERSION or record["of"] != name:
            raise ValueError("another version or disturbance")
        return CriticalSizes(
            of=name,
            finest=parse_positive_number(record["finest"]),
            coarse=tuple(map(parse_size, record["coarse"])),
            placebo=str(record["placebo"])[:80],
            placebos=parse_count(record["placebos"]),
            period=parse_positive_number(record["period"]),
            searched=tuple(map(parse_searched_attempt, record["searched"])),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise UserError(f"{file}: not a file of critical sizes ({problem!r})") from None


def parse_searched_attempt(record: Mapping[str, Any]) -> SearchedAttempt:
    """Return an attempt's part of the file."""
    # sizes and outcomes: a word for a violation, empty for none, null without a result
    kinds = {parse_size(one["size"]): one["violation"] for one in record["outcomes"]}
    if not all(kind is None or isinstance(kind, str) for kind in kinds.values()):
        raise ValueError("a violation is no word")
    flips = tuple(
        OutcomeFlip(
            low=parse_size(one["low"]),
            high=parse_size(one["high"]),
            into=bool(one["into"]),
            at_low=parse_placebos(one["at_low"]),
            at_high=parse_placebos(one["at_high"]),
        )
        for one in record["flips"]
    )
    # a flip needs a result on both of its sides
    if not all(kinds.get(size) is not None for one in flips for size in (one.low, one.high)):
        raise ValueError("a flip at a size without a result")
    return SearchedAttempt(of=AttemptKey.from_record(record), outcomes=kinds, flips=flips)


def parse_placebos(record: Mapping[str, Any]) -> PlaceboDrives:
    """Return the placebos of one side of a flip."""
    one = PlaceboDrives(
        *(parse_count(record[name]) for name in ("violated", "effective", "driven"))
    )
    if not one.violated <= one.effective <= one.driven:
        raise ValueError("more placebos than were driven")
    return one


def parse_size(value: Any) -> float:
    """Return a size: a number ≥ 0."""
    size = float(value)
    if not 0 <= size < math.inf or isinstance(value, bool | str):
        raise ValueError(f"a size is {value!r}")
    return size


def parse_positive_number(value: Any) -> float:
    """Return a number above 0."""
    if not parse_size(value) > 0:
        raise ValueError(f"{value!r} is not above 0")
    return float(value)


def parse_count(value: Any) -> int:
    """Return a number of things."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def format_twin_condition(name: str, size: float, placebo: str = "", sample: int = 0) -> str:
    """Return the condition of a twin with a disturbance of some size added to `none`.

    Args:
        name: the disturbance.
        size: in its unit; 0 for nothing added.
        placebo: a disturbance that should not matter; empty for none.
        sample: number of the placebo's sample.
    """
    added = f"{name}={size:.12g}" if size else NOTHING
    return f"{NONE} with {added}" + (f" placebo {placebo} {sample}" if placebo else "")
