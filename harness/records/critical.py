"""Critical sizes in the records: `critical/NAME.json`, one file for each disturbance.

For every attempt the sizes that were tried, how the drive of each ended, and between which two the
outcome flips.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Callable, Mapping
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
SIZE_VALUE, POSITIVE_VALUE, COUNT_VALUE = "a number ≥ 0", "a number > 0", "a whole number ≥ 0"
FLAG_VALUE, KIND_VALUE, LIST_VALUE = "true or false", "a word or null", "a list"
EXPECTED_VALUES: Mapping[str, Callable[[Any], bool]] = {
    SIZE_VALUE: lambda value: type(value) in (int, float) and 0 <= value < LARGEST_SIZE,
    POSITIVE_VALUE: lambda value: type(value) in (int, float) and 0 < value < LARGEST_SIZE,
    COUNT_VALUE: lambda value: type(value) is int and value >= 0,
    FLAG_VALUE: lambda value: type(value) is bool,
    KIND_VALUE: lambda value: value is None or type(value) is str,
    LIST_VALUE: lambda value: type(value) is list,
}
"""What values must be, in words, and whether one is."""
LARGEST_SIZE = 1e300
"""Whole numbers beyond have no floating-point number."""
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
    """Return the critical sizes of a disturbance; a broken file is one line that names the key.

    Values are checked without a library: decision 0083.
    """
    file = get_sizes_path(campaign, name)
    record = read_json_object(file, STUDY_RECORD, within=campaign)
    try:
        if record["version"] != VERSION or record["of"] != name:
            raise ValueError("another version or disturbance")
        return CriticalSizes(
            of=name,
            finest=get_checked_size(record, "finest", POSITIVE_VALUE),
            coarse=tuple(
                get_checked_size({"coarse": one}, "coarse")
                for one in get_checked(record, "coarse", LIST_VALUE)
            ),
            placebo=str(record["placebo"])[:80],
            placebos=get_checked(record, "placebos", COUNT_VALUE),
            period=get_checked_size(record, "period", POSITIVE_VALUE),
            searched=tuple(
                map(parse_searched_attempt, get_checked(record, "searched", LIST_VALUE))
            ),
        )
    except KeyError as problem:
        raise make_sizes_error(file, f"{problem.args[0]} is missing") from None
    except (TypeError, ValueError, AttributeError) as problem:
        raise make_sizes_error(file, str(problem)) from None


def make_sizes_error(file: Path, reason: str) -> UserError:
    """Return the error for a broken file."""
    return UserError(f"{file}: not a file of critical sizes: {reason}")


def parse_searched_attempt(record: Mapping[str, Any]) -> SearchedAttempt:
    """Return an attempt's part of the file."""
    kinds = {
        get_checked_size(one, "size"): get_checked(one, "violation", KIND_VALUE)
        for one in get_checked(record, "outcomes", LIST_VALUE)
    }
    flips = tuple(
        OutcomeFlip(
            low=get_checked_size(one, "low"),
            high=get_checked_size(one, "high"),
            into=get_checked(one, "into", FLAG_VALUE),
            at_low=parse_placebos(one["at_low"]),
            at_high=parse_placebos(one["at_high"]),
        )
        for one in get_checked(record, "flips", LIST_VALUE)
    )
    # a flip needs a result on both of its sides
    if not all(kinds.get(size) is not None for one in flips for size in (one.low, one.high)):
        raise ValueError("flips: one at a size without a result")
    return SearchedAttempt(of=AttemptKey.from_record(record), outcomes=kinds, flips=flips)


def parse_placebos(record: Mapping[str, Any]) -> PlaceboDrives:
    """Return the placebos of one side of a flip."""
    one = PlaceboDrives(
        *(get_checked(record, name, COUNT_VALUE) for name in ("violated", "effective", "driven"))
    )
    if not one.violated <= one.effective <= one.driven:
        raise ValueError("flips: more placebos than were driven")
    return one


def get_checked_size(record: Mapping[str, Any], key: str, expected: str = SIZE_VALUE) -> float:
    """Return the size behind a key."""
    return float(get_checked(record, key, expected))


def get_checked(record: Mapping[str, Any], key: str, expected: str) -> Any:
    """Return the value behind a key; ValueError if `EXPECTED_VALUES` does not accept it."""
    value = record[key]
    if not EXPECTED_VALUES[expected](value):
        raise ValueError(f"{key} is {reprlib.repr(value)}; {expected} is needed")
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
