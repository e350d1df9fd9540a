"""`networks`: evaluations of networks side by side.

Several evaluations of a scheme are of several training seeds: figures are their mean, and their
standard deviation stands next to them. Intervals are of a bootstrap over scenarios. It takes the
same scenarios for all, so differences from a scheme are paired; evaluations of other recordings are
refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from rich.box import SIMPLE_HEAD

from agents.training.detection_metrics import HEADLINE
from agents.training.samples import CONDITIONS
from harness.common.console import make_console
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.fitting_table import FittingTable
from harness.common.safe_reading import STUDY_RECORD, read_json_within
from harness.types.vocabulary import Floats

Rows: TypeAlias = list[list[str]]
LEVEL = (2.5, 97.5)
VISIBLE = "anyone"


@dataclass(frozen=True, slots=True)
class SchemeEvaluations:
    """The evaluations of a scheme, one for each training seed."""

    name: str
    records: list[dict[str, Any]]

    def list_precisions(self, condition: str, kind: str) -> Floats | None:
        """Return AP by seed; none if there are no messages to disturb."""
        values = [
            row["all-point"]
            for record in self.records
            for row in record["average precision"]
            if (row["condition"], row["class"], row["metres"]) == (condition, kind, HEADLINE[kind])
            and (row["visible to"], row["overlap"]) == (VISIBLE, 0.5)
        ]
        return np.array(values, np.float64) if values else None

    def average_bootstrap(self, condition: str, kind: str) -> Floats:
        """Return the mean AP over seeds of each bootstrap sample."""
        samples = [
            record["conditions"][condition]["resampled"][VISIBLE][kind] for record in self.records
        ]
        return np.asarray(np.mean(np.array(samples), axis=0))

    def compute_mean_figure(self, condition: str, *names: str) -> float:
        """Return the mean over seeds of another figure of a condition."""
        values = []
        for record in self.records:
            value = record["conditions"][condition]
            for name in names:
                value = value[name]
            values.append(np.nan if value is None else value)
        return float(np.mean(values))


def print_side_by_side(files: Sequence[Path], against: str, out: Path | None) -> None:
    """Print tables of evaluations; write them as Markdown too."""
    schemes = read_schemes(files)
    tables = {
        "Average precision, all-point": (
            ["scheme", "seeds", *list_column_names()],
            make_precision_rows(schemes),
        ),
        "At the operating point, undisturbed": (
            ["scheme", *(f"{kind}: recall, false a frame, error" for kind in HEADLINE), "bytes"],
            make_operating_rows(schemes),
        ),
    }
    if against in schemes:
        title = f"Difference of average precision from {against}"
        tables[title] = (["scheme", *list_column_names()], make_difference_rows(schemes, against))
    console = make_console()
    for title, (head, rows) in tables.items():
        console.print(make_terminal_table(title, head, rows))
    if out is not None:
        parts = [format_markdown_table(title, head, rows) for title, (head, rows) in tables.items()]
        write_whole(out, "\n".join(parts))


def read_schemes(files: Sequence[Path]) -> dict[str, SchemeEvaluations]:
    """Return the evaluations in files, by scheme; robust weights and kinds of agents apart."""
    schemes: dict[str, SchemeEvaluations] = {}
    data = None
    for file in files:
        record = read_evaluation(file)
        if data not in (None, record["data"]):
            raise UserError(f"{file}: evaluated on other recordings than {files[0]}")
        data = record["data"]
        name = f"{record['scheme']}{' robust' if record['training'].get('robust') else ''}"
        if "senses" in record:  # of a network with cameras
            name += f"/{record['senses']}"
        schemes.setdefault(name, SchemeEvaluations(name, [])).records.append(record)
    return schemes


def read_evaluation(file: Path) -> dict[str, Any]:
    """Return what `evaluate --out` wrote."""
    try:
        record = read_json_within(file, STUDY_RECORD, follow=True)
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:
        raise UserError(f"{file}: no evaluation ({problem})") from None
    needed = {"scheme", "training", "data", "conditions", "average precision"}
    if not isinstance(record, dict) or not needed <= set(record):
        raise UserError(f"{file}: no evaluation: write one with `crucible evaluate --out FILE`")
    return record


def list_column_names() -> list[str]:
    """Return a column for each condition and class."""
    return [f"{condition}: {kind}" for condition in CONDITIONS for kind in HEADLINE]


def make_precision_rows(schemes: Mapping[str, SchemeEvaluations]) -> Rows:
    """Return AP with its interval, and its standard deviation over seeds."""
    rows = []
    for scheme in schemes.values():
        row = [scheme.name, str(len(scheme.records))]
        for condition in CONDITIONS:
            for kind in HEADLINE:
                values = scheme.list_precisions(condition, kind)
                row.append(
                    "-" if values is None else format_seed_mean(values, scheme, condition, kind)
                )
        rows.append(row)
    return rows


def format_seed_mean(values: Floats, scheme: SchemeEvaluations, condition: str, kind: str) -> str:
    """Return a mean, its interval, and its spread if there is one."""
    low, high = np.percentile(scheme.average_bootstrap(condition, kind), LEVEL)
    spread = f" ±{values.std(ddof=1):.2f}" if len(values) > 1 else ""
    return f"{values.mean():.2f} ({low:.2f} to {high:.2f}){spread}"


def make_difference_rows(schemes: Mapping[str, SchemeEvaluations], against: str) -> Rows:
    """Return the paired difference of AP from a scheme; undisturbed, if that is all it has."""
    rows, other = [], schemes[against]
    for scheme in schemes.values():
        if scheme.name == against:
            continue
        row = [scheme.name]
        for condition in CONDITIONS:
            for kind in HEADLINE:
                values = scheme.list_precisions(condition, kind)
                # a scheme without messages has undisturbed figures only
                base = condition if other.list_precisions(condition, kind) is not None else "none"
                reference = other.list_precisions(base, kind)
                if values is None or reference is None:
                    row.append("-")
                    continue
                # resamples are of the same scenarios, so their differences are paired
                apart = scheme.average_bootstrap(condition, kind) - other.average_bootstrap(
                    base, kind
                )
                low, high = np.percentile(apart, LEVEL)
                mean = values.mean() - reference.mean()
                row.append(f"{mean:+.2f} ({low:+.2f} to {high:+.2f})")
        rows.append(row)
    return rows


def make_operating_rows(schemes: Mapping[str, SchemeEvaluations]) -> Rows:
    """Return recall, false detections a frame and calibration error of each class; bytes."""
    rows = []
    for scheme in schemes.values():
        row = [scheme.name]
        for kind in HEADLINE:
            recall, false, error = (
                scheme.compute_mean_figure("none", "at the operating point", kind, name)
                for name in ("recall", "false_a_frame", "calibration_error")
            )
            row.append(f"{recall:.2f}, {false:.2f}, {error:.2f}")
        sent = scheme.compute_mean_figure("none", "message bytes")
        rows.append([*row, "-" if np.isnan(sent) else f"{sent:,.0f}"])
    return rows


def make_terminal_table(title: str, head: Sequence[str], rows: Rows) -> FittingTable:
    """Return a table for the terminal."""
    table = FittingTable(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in head:
        table.add_column(name)
    for row in rows:
        table.add_row(*row)
    return table


def format_markdown_table(title: str, head: Sequence[str], rows: Rows) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join([f"{title}\n", *("| " + " | ".join(line) + " |" for line in lines), ""])
