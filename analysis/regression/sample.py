"""The rows a regression stands on, and what did not get in."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.arms import ARM
from harness.common.errors import UserError
from harness.common.parquet_reading import TableLimits, read_parquet_within
from harness.common.safe_reading import TEXT_TABLE, read_within
from harness.records.arms import Arm
from harness.records.reading import BROKEN, make_unreadable_error
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats, Integers

LAST_TEN_SECONDS = "end_10s"
COUNTS = [f"{name}_{LAST_TEN_SECONDS}" for name in PATTERNS]
TRUTHS = f"truth_all_{LAST_TEN_SECONDS}"
NEEDED = ["system", "condition", "route", "violated", *COUNTS, TRUTHS]
TEXT_COLUMNS = ("system", "condition", "route", "cluster")
SHORT = "drive shorter than 10 s"
NO_TRUTH = "no ground-truth box in the last 10 s"
APOSTROPHE = r"^'(?=[=+\-@\t'])"
"""What `tables` puts before a name that a spreadsheet would take for a formula."""
MOST_ROWS = 1_000_000
"""Of a table of attempts, or of moments of attempts."""
MOST_COLUMNS = 5_000
"""Of a CSV: a table of attempts has some 150."""
LONGEST_NAMES = 1_000_000
"""Bytes within which the line of column names of a CSV ends."""
LONGEST = 40
"""Characters of a wrong value that are shown."""
BOOLEANS = {True: 1, False: 0, "True": 1, "False": 0, "true": 1, "false": 0}
ALONE = "reads no messages: its cooperative boxes are its own"
SILENT = "was given no message here: its cooperative boxes are its own"
UNMOVED = "no message changed what it detects: its cooperative boxes are its own"


class NoFitError(ValueError):
    """Why nothing can be estimated."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RegressionSample:
    """Attempts, or moments of attempts, that may end in a violation.

    Attributes:
        y: (rows,).
        exposure: (rows,).
        systems: (rows,) names.
        clusters: (rows,) numbers.
    """

    y: Floats  # 1 for a violation
    counts: Floats  # (rows, six)
    exposure: Floats  # true boxes that errors could be made on
    systems: np.ndarray[tuple[int], np.dtype[np.str_]]
    clusters: Integers  # route geometry
    dropped: dict[str, int]  # rows left out, by reason
    left_out: dict[str, str]  # systems left out, and why

    @property
    def rates(self) -> Floats:
        """Errors for each true box."""
        return self.counts / self.exposure[:, None]

    def describe_rows(self) -> str:
        """Return how many rows of which systems: sentences about them speak of no others."""
        who = format_counted_names(sorted({str(name) for name in self.systems}), "systems")
        count = format_noun_count(len(self.y), "row")
        return f"{count} of {who}" if who else count

    def describe_violations(self) -> str:
        """Return how many rows end in a violation, of how many of which systems."""
        return f"{int(self.y.sum())} of {self.describe_rows()} with violation"

    def describe_nothing(self) -> str:
        """Return why no row is left."""
        dropped = [f"{count} dropped, {reason}" for reason, count in self.dropped.items()]
        why = "no row is left" if dropped else "no row of a system that messages can affect"
        return "; ".join([why, *dropped])


def format_noun_count(count: int, noun: str) -> str:
    """Return a number of things: 1 route, 2 routes."""
    return f"{count} {noun}{'s' * (count != 1)}"


def format_counted_names(names: Sequence[str], noun: str) -> str:
    """Return up to three names, or how many there are."""
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} {noun}"


def read_attempts_table(file: Path) -> pd.DataFrame:
    """Return a table of attempts from CSV or Parquet, as `tables` writes it.

    Args:
        file: CSV or Parquet.

    Returns:
        The columns that regressions need, checked.

    Raises:
        UserError: the file cannot be read, or a row is not valid.
    """
    try:
        frame = read_stored(file) if file.suffix == ".parquet" else read_attempts_csv(file)
    except OSError as problem:
        raise make_unreadable_error(file, problem) from None
    except BROKEN:  # what pandas says of it helps no_truth
        raise UserError(
            f"{file}: cannot be read as a table; CSV with a line of column names, or Parquet"
        ) from None
    # the columns
    if frame.columns.has_duplicates:
        raise UserError(f"{file}: duplicate column names")
    if lacking := [name for name in NEEDED if name not in frame.columns]:
        raise UserError(
            f"{file}: missing column {', '.join(lacking)}; a table of attempts is needed"
        )
    # names of arms and routes, which spreadsheets may have changed
    words = [name for name in TEXT_COLUMNS if name in frame]
    frame[words] = frame[words].map(get_plain_cell)
    if frame[words].isna().any(axis=None) or (frame[words] == "").any(axis=None):
        raise UserError(f"{file}: a row lacks its {', '.join(words[:-1])} or {words[-1]}")
    frame[words] = frame[words].astype(str)
    if ARM in frame:
        wrong = ~frame[ARM].map(is_arm_name).astype(bool)
        needed = "a whole name, such as late/ahead/latency,"
        refuse_wrong_row(file, frame, column=ARM, wrong=wrong, needed=needed)
    # numbers
    for name in (*COUNTS, TRUTHS):
        values = pd.to_numeric(frame[name].map(get_plain_cell), errors="coerce").astype(float)
        refuse_wrong_row(
            file, frame, column=name, wrong=values.isna() & frame[name].notna(), needed="a number"
        )
        frame[name] = values
    happened = frame["violated"].map(get_plain_cell).map(BOOLEANS)
    refuse_wrong_row(file, frame, column="violated", wrong=happened.isna(), needed="True or False")
    frame["violated"] = happened.astype(bool)
    numbers = frame[[*COUNTS, TRUTHS]]
    if ((numbers < 0) | np.isinf(numbers)).any(axis=None):
        raise UserError(f"{file}: negative or infinite count")
    return frame if "cluster" in frame.columns else frame.assign(cluster=frame["route"])


def read_stored(file: Path) -> pd.DataFrame:
    """Return a table in Parquet, whichever columns it has."""
    limits = TableLimits(rows=MOST_ROWS)
    frame: pd.DataFrame = read_parquet_within(file, limits, follow=True).to_pandas()
    return frame


def refuse_wrong_row(
    file: Path, frame: pd.DataFrame, *, column: str, wrong: pd.Series[bool], needed: str
) -> None:
    """Refuse the first row that holds something else than a column needs."""
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        value = str(frame[column].iloc[row])[:LONGEST]
        raise UserError(f"{file}: row {row + 1}: {column} is {value!r}; {needed} is needed")


def is_arm_name(value: object) -> bool:
    """Return whether a cell is the whole name of an arm."""
    if not isinstance(value, str):
        return False
    try:
        Arm.parse_name(value)
    except ValueError:
        return False
    return True


def get_plain_cell(value: object) -> object:
    """Return a cell, or nothing where it holds several values."""
    return value if isinstance(value, (str, int, float, np.generic)) else None


def read_attempts_csv(file: Path) -> pd.DataFrame:
    """Return a CSV whose names stay as they are written: `01`, `None`."""
    content = read_within(file, TEXT_TABLE, follow=True)
    refuse_large(file, content)
    frame = pd.read_csv(BytesIO(content))
    names = pd.read_csv(
        BytesIO(content), dtype=str, usecols=lambda name: name in TEXT_COLUMNS, na_filter=False
    )
    words = {str(name): names[name].str.replace(APOSTROPHE, "", regex=True) for name in names}
    return frame.assign(**words)


def refuse_large(file: Path, content: bytes) -> None:
    """Refuse a CSV larger than a table of attempts can be, before pandas reads it."""
    if content.count(b"\n") > MOST_ROWS:
        raise UserError(f"{file}: more than {MOST_ROWS:,} lines")
    start = content[:LONGEST_NAMES]
    rows = csv.reader(StringIO(start.decode(errors="replace")))
    try:
        names = next(rows, [])
        whole = len(content) == len(start) or next(rows, None) is not None
    except csv.Error:
        whole = False
    if not whole or len(names) > MOST_COLUMNS:
        raise UserError(
            f"{file}: more than {MOST_COLUMNS:,} columns, or {LONGEST_NAMES:,} bytes of names"
        )


def build_regression_sample(
    attempts: pd.DataFrame, systems: Sequence[str] | None = None
) -> RegressionSample:
    """Return the rows of one condition; `systems` overrules which are left out.

    Args:
        attempts: a table of one condition.
        systems: which of them; None for all but those that messages cannot affect.
    """
    left_out = {} if systems is not None else find_unaffected_systems(attempts)
    wanted = attempts["system"].isin(systems) if systems else ~attempts["system"].isin(left_out)
    rows = attempts[wanted]
    counts = rows[COUNTS].to_numpy(np.float64)
    exposure = rows[TRUTHS].to_numpy(np.float64)
    # (attempts,) without ten seconds, or without anything to detect
    short = np.isnan(counts).any(axis=1) | np.isnan(exposure)
    no_truth = ~short & (exposure <= 0)
    keep = ~short & ~no_truth
    dropped = {reason: int(mask.sum()) for reason, mask in ((SHORT, short), (NO_TRUTH, no_truth))}
    return RegressionSample(
        y=rows["violated"].to_numpy(np.float64)[keep],
        counts=counts[keep],
        exposure=exposure[keep],
        systems=rows["system"].to_numpy(str)[keep],
        clusters=np.unique(rows["cluster"].to_numpy(str)[keep], return_inverse=True)[1],
        dropped={reason: count for reason, count in dropped.items() if count},
        left_out=left_out,
    )


def find_unaffected_systems(attempts: pd.DataFrame) -> dict[str, str]:
    """Return the systems that were never better or worse than the ego alone, and why.

    Some read no messages; others were given none, or nothing but empty ones. They have no errors
    introduced by cooperation, by construction, and would show only that there
    was no cooperation.
    """
    if not {"ap", "ap_ego_alone"} <= set(attempts.columns):
        return {}
    introduced = attempts[
        [f"{name}_{LAST_TEN_SECONDS}" for name in PATTERNS if name.startswith("L")]
    ]
    same = attempts["ap"].eq(attempts["ap_ego_alone"]) | attempts["ap"].isna()
    mute = same & introduced.fillna(0).eq(0).all(axis=1)
    groups = mute.groupby(attempts["system"])
    return {
        str(name): describe_unaffected(attempts.loc[mute_rows.index])
        for name, mute_rows in groups
        if mute_rows.all()
    }


def describe_unaffected(attempts: pd.DataFrame) -> str:
    """Return why a system's cooperative boxes are its own, as far as its attempts say."""
    if not {"reads_messages", "messages_used"} <= set(attempts.columns):
        return UNMOVED
    if not attempts["reads_messages"].astype(bool).any():
        return ALONE
    return UNMOVED if attempts["messages_used"].astype(bool).any() else SILENT
