"""The rows a regression stands on, and what did not get in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from harness.errors import UserError
from harness.records.reading import BROKEN, broken
from harness.vocabulary import PATTERNS, Floats, Integers

WINDOW = "end_10s"
COUNTS = [f"{name}_{WINDOW}" for name in PATTERNS]
TRUTHS = f"truth_all_{WINDOW}"
NEEDED = ["system", "condition", "route", "violated", *COUNTS, TRUTHS]
WORDS = ("system", "condition", "route", "cluster")
SHORT = "drive shorter than 10 s"
NOBODY = "nobody to be seen in the last 10 s"
TRUTH = {True: 1, False: 0, "True": 1, "False": 0, "true": 1, "false": 0}
ALONE = "reads no messages: its cooperative boxes are its own"


class NoFitError(ValueError):
    """Why there is nothing to estimate, in words."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Attempts, or moments of attempts, that may end in a violation."""

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


def read_table(file: Path) -> pd.DataFrame:
    """Return a table of attempts from CSV or Parquet, as `tables` writes it."""
    try:
        frame = pd.read_parquet(file) if file.suffix == ".parquet" else read_csv(file)
    except (*BROKEN, UnicodeError) as problem:
        raise broken(file, problem) from None
    if lacking := [name for name in NEEDED if name not in frame.columns]:
        raise UserError(f"{file}: no column {', '.join(lacking)}; a table of attempts is needed")
    words = [name for name in WORDS if name in frame]
    if frame[words].isna().any(axis=None) or (frame[words] == "").any(axis=None):
        raise UserError(f"{file}: a row lacks its {', '.join(words[:-1])} or {words[-1]}")
    frame[words] = frame[words].astype(str)
    try:
        frame[[*COUNTS, TRUTHS]] = frame[[*COUNTS, TRUTHS]].astype(float)
        frame["violated"] = frame["violated"].map(TRUTH).astype(int).astype(bool)
    except (TypeError, ValueError) as problem:
        raise UserError(f"{file}: {problem}") from None
    numbers = frame[[*COUNTS, TRUTHS]]
    if ((numbers < 0) | np.isinf(numbers)).any(axis=None):
        raise UserError(f"{file}: a count is below nought or without end")
    return frame if "cluster" in frame.columns else frame.assign(cluster=frame["route"])


def read_csv(file: Path) -> pd.DataFrame:
    """Return a CSV whose names stay as they are written: `01`, `None`."""
    frame = pd.read_csv(file)
    names = pd.read_csv(file, dtype=str, usecols=lambda name: name in WORDS, na_filter=False)
    return frame.assign(**{str(name): names[name] for name in names})


def sample_of(attempts: pd.DataFrame, systems: Sequence[str] | None = None) -> Sample:
    """Return the rows of one condition; `systems` overrules which are left out."""
    left_out = {} if systems is not None else alone(attempts)
    wanted = attempts["system"].isin(systems) if systems else ~attempts["system"].isin(left_out)
    own = attempts[wanted]
    counts = own[COUNTS].to_numpy(np.float64)
    exposure = own[TRUTHS].to_numpy(np.float64)
    short = np.isnan(counts).any(axis=1) | np.isnan(exposure)
    nobody = ~short & (exposure <= 0)
    keep = ~short & ~nobody
    dropped = {reason: int(mask.sum()) for reason, mask in ((SHORT, short), (NOBODY, nobody))}
    return Sample(
        own["violated"].to_numpy(np.float64)[keep],
        counts[keep],
        exposure[keep],
        own["system"].to_numpy(str)[keep],
        np.unique(own["cluster"].to_numpy(str)[keep], return_inverse=True)[1],
        {reason: count for reason, count in dropped.items() if count},
        left_out,
    )


def alone(attempts: pd.DataFrame) -> dict[str, str]:
    """Return the systems that do not cooperate: never better or worse than the ego alone.

    They have no errors introduced by cooperation, by construction, and would say of those patterns
    only that they do not cooperate.
    """
    if not {"ap", "ap_ego_alone"} <= set(attempts.columns):
        return {}
    introduced = attempts[[f"{name}_{WINDOW}" for name in PATTERNS if name.startswith("L")]]
    same = attempts["ap"].eq(attempts["ap_ego_alone"]) | attempts["ap"].isna()
    mute = same & introduced.fillna(0).eq(0).all(axis=1)
    return {str(name): ALONE for name, own in mute.groupby(attempts["system"]) if own.all()}
