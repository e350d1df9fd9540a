"""What twins say of violations under interference: did they need the disturbance, and when?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.attempt import checked_table, read_result
from analysis.cases import Case
from analysis.collection import KEY, row_key, settings_of
from analysis.statistics.intervals import NOTHING, Estimate, rate
from analysis.tables.table import scaled
from harness.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign, broken
from harness.records.twins import TWINS, Change, Window, twins_of

COLUMNS = [
    "folder",
    "case",
    *KEY,
    "violation",
    "again",
    "without",
    "without one",
    "redrawn",
    "of draws",
    "low, %",
    "high, %",
    "windows, s",
    "conclusion",
]
TOLD = ["twin", "violation", "time, s", "messages", "heard", "median age, s", "greatest age, s"]


@dataclass(frozen=True, slots=True)
class Twin:
    """One drive of an attempt anew: how it ended, and how old its messages were at delivery."""

    change: str
    violation: str  # its kind; empty for none
    time: float  # s: the end
    messages: int
    heard: int  # of them
    median_age: float  # s; NaN if none was heard
    greatest_age: float


@dataclass(frozen=True, slots=True)
class Attribution:
    """A violation's twins: true where the same kind of violation ended them, none if not driven."""

    case: Case
    tick: float  # s
    again: bool | None
    without: bool | None  # all disturbances
    without_one: Mapping[str, bool]
    redrawn: tuple[bool, ...]
    drawn: bool  # whether other draws were driven at all; equal ones are not in `redrawn`
    windows: tuple[Window, ...] | None  # the fewest of which none can be spared
    twins: tuple[Twin, ...]

    @property
    def seconds(self) -> str:
        """The windows, in seconds."""
        return ", ".join(
            f"{first * self.tick:.1f} to {end * self.tick:.1f}" for first, end in self.windows or ()
        )

    @property
    def anyway(self) -> Estimate:
        """How often it happens under other draws, in per cent."""
        if not self.redrawn:
            return NOTHING
        hits = np.array(self.redrawn, np.float64)
        return scaled(rate(hits, np.arange(len(hits), dtype=np.float64)), 100)

    @property
    def conclusion(self) -> str:
        """What can be said."""
        if self.again is None or self.without is None:
            return "not all of its twins have been driven"
        if not self.again:
            return "the attempt does not repeat, so its twins say nothing"
        if self.without:
            return "it happens without the disturbance too: not due to it"
        needed = "it needed the disturbance"
        when = f", at {self.seconds} s" if self.windows else ""
        hits, draws = sum(self.redrawn), len(self.redrawn)
        if draws and hits == draws:
            return f"{needed}{when}; every other draw leads there too"
        if draws and not hits:
            return f"{needed}{when}, and this very draw: none of {draws} others leads there"
        anew = f"{hits} of {draws} other draws lead there"
        if not draws:
            alike = "it draws nothing at random"
            anew = alike if self.drawn else "no other draw has been driven"
        return f"{needed}{when}; {anew}"


def attributions_of(cases: Sequence[Case]) -> list[Attribution]:
    """Return what is known of every violation that has twins."""
    found = []
    for folder in dict.fromkeys(case.folder for case in cases):
        if (folder / TWINS / "campaign.yaml").is_file():
            twins = Campaign(folder / TWINS)
            own = [case for case in cases if case.folder == folder]
            found += [each for case in own if (each := attribution_of(case, twins)) is not None]
    return found


def attribution_of(case: Case, twins: Campaign) -> Attribution | None:
    """Return what an attempt's twins say, if it has any."""
    driven = twins_of(case.key, twins.attempts())
    if not driven:
        return None
    happened = {change: ends_alike(twins, key, case.kind) for change, key in driven.items()}
    count, tick = disturbances_and_tick(case)
    left_out = {change.without: hit for change, hit in happened.items() if only_without(change)}
    draws = dict(other_draws(happened))
    random = any(differs(case, twins, driven[change]) for change in draws)
    return Attribution(
        case,
        tick,
        happened.get(Change()),
        next((hit for names, hit in left_out.items() if len(names) == count), None),
        {names[0]: hit for names, hit in left_out.items() if len(names) == 1 < count},
        tuple(draws.values()) if random else (),
        bool(draws),
        fewest_windows(happened),
        tuple(twin_of(twins, change, key) for change, key in sorted_twins(driven)),
    )


def disturbances_and_tick(case: Case) -> tuple[int, float]:
    """Return how many disturbances a case was under, and how long a tick is, s."""
    settings = settings_of(case.campaign)
    try:
        return len(settings["interference"].get(case.key.arm.condition, [])), float(
            settings["tick"]
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        file = case.folder / "campaign.yaml"
        raise UserError(
            f"{file}: not the settings of a campaign with twins ({problem!r})"
        ) from None


def sorted_twins(driven: Mapping[Change, AttemptKey]) -> list[tuple[Change, AttemptKey]]:
    """Return twins in the order in which they are driven: once more, without, windows, draws."""
    return sorted(
        driven.items(), key=lambda each: (each[0].sample, each[0].windows or (), each[0].without)
    )


def twin_of(twins: Campaign, change: Change, key: AttemptKey) -> Twin:
    """Return what a twin's records say."""
    result, messages = read_result(twins, key), checked_table(twins, "messages", key)
    ages = messages["age_found"].dropna()
    return Twin(
        change.condition("").strip() or "once more",
        result["violation"],
        result["violation_time" if result["violated"] else "duration"],
        len(messages),
        len(ages),
        float(ages.median()),
        float(ages.max()),
    )


def ends_alike(twins: Campaign, key: AttemptKey, kind: str) -> bool:
    """Return whether a twin ended in a violation of that kind."""
    result = read_result(twins, key)
    return bool(result["violated"] and result["violation"] == kind)


def only_without(change: Change) -> bool:
    """Return whether a change is that disturbances are left out."""
    return bool(change.without) and change.windows is None and not change.sample


def differs(case: Case, twins: Campaign, key: AttemptKey) -> bool:
    """Return whether anything else became of a twin's messages; never, where nothing is random."""
    files = [
        campaign.file_of(of).with_name("messages.parquet")
        for campaign, of in ((case.campaign, case.key), (twins, key))
    ]
    try:
        return files[0].read_bytes() != files[1].read_bytes()
    except OSError as problem:
        raise broken(Path(problem.filename), problem) from None


def other_draws(happened: Mapping[Change, bool]) -> Iterator[tuple[Change, bool]]:
    """Yield the twins whose disturbances were drawn anew."""
    for change in sorted(happened, key=lambda each: each.sample):
        if change.sample and not change.without and change.windows is None:
            yield change, happened[change]


def fewest_windows(happened: Mapping[Change, bool]) -> tuple[Window, ...] | None:
    """Return the fewest windows with which it happened, if without any one of them it did not."""
    tried = {
        change.windows: hit
        for change, hit in happened.items()
        if change.windows is not None and not change.without and not change.sample
    }
    for windows in sorted((each for each, hit in tried.items() if hit), key=len):
        rests = [tuple(w for w in windows if w != each) for each in windows]
        if all(tried.get(rest, bool(rest)) is False for rest in rests):
            return windows
    return None


def table_of(found: Sequence[Attribution]) -> pd.DataFrame:
    """Return a row for each violation."""
    rows = []
    for each in found:
        anyway = each.anyway
        rows.append(
            (
                str(each.case.folder),
                each.case.number,
                *row_key(each.case.key),
                each.case.kind,
                told(each.again),
                told(each.without),
                ", ".join(f"{name}: {told(hit)}" for name, hit in each.without_one.items()),
                sum(each.redrawn),
                len(each.redrawn),
                anyway.low,
                anyway.high,
                each.seconds,
                each.conclusion,
            )
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def table_of_twins(found: Sequence[Attribution]) -> pd.DataFrame:
    """Return a row for each twin of each violation."""
    rows = [
        (str(of.case.folder), of.case.number, *row_key(of.case.key), *each)
        for of in found
        for each in map(astuple, of.twins)
    ]
    return pd.DataFrame(rows, columns=["folder", "case", *KEY, *TOLD])


def told(hit: bool | None) -> str:
    """Return whether it happened, in a word."""
    return {None: "not driven", True: "happens", False: "does not"}[hit]
