"""Attribution of violations by twins: whether the disturbance is necessary, and when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.attempt import read_checked_table, read_result
from analysis.cases import ViolationCase
from analysis.collection import ATTEMPT_KEY, get_campaign_settings, make_row_key
from analysis.report.html import format_counted_noun
from analysis.statistics.intervals import NO_ESTIMATE, IntervalEstimate, estimate_share
from analysis.tables.table import scale_estimate
from harness.common.errors import UserError
from harness.common.safe_reading import sum_of_file
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords, make_unreadable_error
from harness.records.twins import TWINS, TwinChange, Window, list_attempt_twins

COLUMNS = [
    "folder",
    "case",
    *ATTEMPT_KEY,
    "violation",
    "reproduced",
    "without",
    "without one",
    "other samples with violation",
    "other samples",
    "low, %",
    "high, %",
    "windows, s",
    "conclusion",
]
TWIN_COLUMNS = [
    "twin",
    "violation",
    "time, s",
    "messages",
    "delivered",
    "median age, s",
    "greatest age, s",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinOutcome:
    """An attempt driven again: how it ended, and the ages of its messages at delivery."""

    change: str
    violation: str  # its kind; empty for none
    time: float  # s: the end
    messages: int
    delivered: int  # of them
    median_age: float  # s; NaN if none was delivered
    greatest_age: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationAttribution:
    """A violation and its twins: True where it happened again, None where not run."""

    case: ViolationCase
    tick: float  # s
    repeats: bool | None
    without: bool | None  # all disturbances
    without_one: Mapping[str, bool]
    other_samples: tuple[bool, ...]
    sampled: bool  # whether other samples were run; identical ones are not in `other_samples`
    windows: tuple[Window, ...] | None  # the smallest set that is sufficient
    twins: tuple[TwinOutcome, ...]

    @property
    def seconds(self) -> str:
        """The windows, in seconds."""
        return ", ".join(
            f"{first * self.tick:.1f} to {end * self.tick:.1f}" for first, end in self.windows or ()
        )

    @property
    def anyway(self) -> IntervalEstimate:
        """How often it happens with other samples of the disturbance, in per cent."""
        if not self.other_samples:
            return NO_ESTIMATE
        hits = np.array(self.other_samples, np.float64)
        return scale_estimate(estimate_share(hits, np.arange(len(hits), dtype=np.float64)), 100)

    @property
    def conclusion(self) -> str:
        """The conclusion, in one sentence."""
        # without these two twins nothing follows
        if self.repeats is None or self.without is None:
            return "its twins are incomplete"
        if not self.repeats:
            return "the attempt is not reproducible, so its twins show nothing"
        if self.without:
            return "it happens without the disturbance too: not caused by it"
        # necessary: then whether it is sufficient, by other samples of it
        needed = "the disturbance is necessary"
        when = f", at {self.seconds} s" if self.windows else ""
        hits, samples = sum(self.other_samples), len(self.other_samples)
        if samples and hits == samples:
            return f"{needed}{when}; it happens with every other sample too"
        if samples and not hits:
            return f"{needed}{when}; it does not happen with any of {samples} other samples"
        others = f"it happens with {hits} of {samples} other samples"
        if not samples:
            alike = "it is not random"
            others = alike if self.sampled else "no other sample has been run"
        return f"{needed}{when}; {others}"


def attribute_violations(
    cases: Sequence[ViolationCase],
) -> tuple[list[ViolationAttribution], list[str]]:
    """Return the attribution of every violation that has twins, and twins' broken records.

    A violation with a broken twin has none. Twins that were unpacked have no messages, and show
    nothing here.
    """
    attributions, broken_twins = [], []
    for twins, with_twins in iterate_cases_with_twins(cases):
        for case in () if twins.packed else with_twins:
            if problem := check_twin_records(case, twins):
                broken_twins.append(f"twin of case {case.number}: {problem}")
            elif (attribution := build_attribution(case, twins)) is not None:
                attributions.append(attribution)
    return attributions, broken_twins


def describe_unpacked_twins(cases: Sequence[ViolationCase]) -> list[str]:
    """Return a note for each campaign whose twins were unpacked."""
    return [
        f"{twins.folder}: unpacked, so that {format_counted_noun(len(with_twins), 'violation')}"
        " with twins"
        " cannot be attributed"
        for twins, with_twins in iterate_cases_with_twins(cases)
        if with_twins and twins.packed
    ]


def iterate_cases_with_twins(
    cases: Sequence[ViolationCase],
) -> Iterator[tuple[CampaignRecords, list[ViolationCase]]]:
    """Yield each campaign of twins, and the violations that have some in it."""
    for folder in dict.fromkeys(case.folder for case in cases):
        if (folder / TWINS / "campaign.yaml").is_file():
            twins = CampaignRecords(folder / TWINS, within=folder)
            there = twins.find_attempts()
            of_folder = (case for case in cases if case.folder == folder)
            yield twins, [case for case in of_folder if list_attempt_twins(case.key, there)]


def check_twin_records(case: ViolationCase, twins: CampaignRecords) -> str:
    """Return what is wrong with the records of a violation's twins, or nothing."""
    try:
        for key in list_attempt_twins(case.key, twins.find_attempts()).values():
            read_result(twins, key)
            read_checked_table(twins, "messages", key)
    except UserError as problem:
        return str(problem)
    return ""


def build_attribution(case: ViolationCase, twins: CampaignRecords) -> ViolationAttribution | None:
    """Return the attribution of a violation, if its attempt has twins."""
    driven = list_attempt_twins(case.key, twins.find_attempts())
    if not driven:
        return None
    # whether the violation happens again, by change
    happened = {change: has_same_violation(twins, key, case.kind) for change, key in driven.items()}
    count, tick = read_disturbances_and_tick(case)
    # changes that only leave disturbances out: all of them, or one of several
    left_out = {change.without: hit for change, hit in happened.items() if is_omission_only(change)}
    # other samples count only where some message differs by them
    samples = dict(select_other_samples(happened))
    random = any(has_different_messages(case, twins, driven[change]) for change in samples)
    return ViolationAttribution(
        case=case,
        tick=tick,
        repeats=happened.get(TwinChange()),
        without=next((hit for names, hit in left_out.items() if len(names) == count), None),
        without_one={names[0]: hit for names, hit in left_out.items() if len(names) == 1 < count},
        other_samples=tuple(samples.values()) if random else (),
        sampled=bool(samples),
        windows=find_smallest_windows(happened),
        twins=tuple(read_twin_outcome(twins, change, key) for change, key in sort_twins(driven)),
    )


def read_disturbances_and_tick(case: ViolationCase) -> tuple[int, float]:
    """Return the number of disturbances of a case, and the length of a tick in s."""
    settings = get_campaign_settings(case.campaign)
    try:
        return len(settings["interference"].get(case.key.arm.condition, [])), float(
            settings["tick"]
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        file = case.folder / "campaign.yaml"
        raise UserError(
            f"{file}: not the settings of a campaign with twins ({problem!r})"
        ) from None


def sort_twins(driven: Mapping[TwinChange, AttemptKey]) -> list[tuple[TwinChange, AttemptKey]]:
    """Return twins in the order in which they are run: unchanged, without, windows, samples."""
    return sorted(
        driven.items(), key=lambda twin: (twin[0].sample, twin[0].windows or (), twin[0].without)
    )


def read_twin_outcome(twins: CampaignRecords, change: TwinChange, key: AttemptKey) -> TwinOutcome:
    """Return a twin's outcome from its records."""
    result, messages = read_result(twins, key), read_checked_table(twins, "messages", key)
    ages = messages["age_measured"].dropna()
    return TwinOutcome(
        change=change.format_condition("").strip() or "unchanged",
        violation=result["violation"],
        time=result["violation_time" if result["violated"] else "duration"],
        messages=len(messages),
        delivered=len(ages),
        median_age=float(ages.median()),
        greatest_age=float(ages.max()),
    )


def has_same_violation(twins: CampaignRecords, key: AttemptKey, kind: str) -> bool:
    """Return whether a twin ended in a violation of that kind."""
    result = read_result(twins, key)
    return bool(result["violated"] and result["violation"] == kind)


def is_omission_only(change: TwinChange) -> bool:
    """Return whether a change only leaves out disturbances."""
    return bool(change.without) and change.windows is None and not change.sample


def has_different_messages(case: ViolationCase, twins: CampaignRecords, key: AttemptKey) -> bool:
    """Return whether a twin's messages differ; they do not where nothing is random."""
    files = [
        campaign.get_result_path(of).with_name("messages.parquet")
        for campaign, of in ((case.campaign, case.key), (twins, key))
    ]
    try:
        first, second = (
            sum_of_file(file, within=campaign.folder)
            for file, campaign in zip(files, (case.campaign, twins), strict=True)
        )
        return first != second
    except OSError as problem:
        raise make_unreadable_error(Path(problem.filename), problem) from None


def select_other_samples(happened: Mapping[TwinChange, bool]) -> Iterator[tuple[TwinChange, bool]]:
    """Yield the twins whose disturbances use another sample."""
    for change in sorted(happened, key=lambda change: change.sample):
        if change.sample and not change.without and change.windows is None:
            yield change, happened[change]


def find_smallest_windows(happened: Mapping[TwinChange, bool]) -> tuple[Window, ...] | None:
    """Return the smallest set of windows with which it happened, none of which can be left out."""
    tried = {
        change.windows: hit
        for change, hit in happened.items()
        if change.windows is not None and not change.without and not change.sample
    }
    for windows in sorted((windows for windows, hit in tried.items() if hit), key=len):
        rests = [tuple(w for w in windows if w != left_out) for left_out in windows]
        if all(tried.get(rest, bool(rest)) is False for rest in rests):
            return windows
    return None


def build_attributions_frame(attributions: Sequence[ViolationAttribution]) -> pd.DataFrame:
    """Return a row for each violation.

    Args:
        attributions: one for each violation that has twins.
    """
    rows = []
    for attribution in attributions:
        anyway = attribution.anyway
        rows.append(
            (
                str(attribution.case.folder),
                attribution.case.number,
                *make_row_key(attribution.case.key),
                attribution.case.kind,
                format_twin_outcome(attribution.repeats),
                format_twin_outcome(attribution.without),
                ", ".join(
                    f"{name}: {format_twin_outcome(hit)}"
                    for name, hit in attribution.without_one.items()
                ),
                sum(attribution.other_samples),
                len(attribution.other_samples),
                anyway.low,
                anyway.high,
                attribution.seconds,
                attribution.conclusion,
            )
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def build_twins_table(attributions: Sequence[ViolationAttribution]) -> pd.DataFrame:
    """Return a row for each twin of each violation.

    Args:
        attributions: one for each violation that has twins.
    """
    rows = [
        (str(of.case.folder), of.case.number, *make_row_key(of.case.key), *twin)
        for of in attributions
        for twin in map(astuple, of.twins)
    ]
    return pd.DataFrame(rows, columns=["folder", "case", *ATTEMPT_KEY, *TWIN_COLUMNS])


def format_twin_outcome(hit: bool | None) -> str:
    """Return an outcome as text."""
    return {None: "not run", True: "happens", False: "does not happen"}[hit]
