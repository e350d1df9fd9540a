"""The replication's tables as Markdown, from packed drives: what its page shows.

python -m studies.replication.markdown packed/filter.parquet packed/seed-1.parquet
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.collection import collect_campaigns
from analysis.tables.markdown import format_markdown_table
from harness.records.packing.unpack import unpack_campaigns
from studies.replication.drives import select_replication_drives
from studies.replication.findings import replicate_findings
from studies.replication.replication import build_driving_frame, build_findings_frame


def build_packed_frames(filter_part: Path, parts: Sequence[Path]) -> list[pd.DataFrame]:
    """Return table II and the findings of packed drives.

    Args:
        filter_part: the packed drives of `oracle`.
        parts: packed drives of the study, under one driver.
    """
    with tempfile.TemporaryDirectory() as folder:
        filtered = collect_campaigns(unpack_campaigns([filter_part], Path(folder, "filter")))
        study = collect_campaigns(unpack_campaigns(parts, Path(folder, "study")))
    drives = select_replication_drives(study.attempts, filtered.attempts)
    return [build_driving_frame(drives), build_findings_frame(replicate_findings(drives))]


if __name__ == "__main__":
    first, *others = [Path(word) for word in sys.argv[1:]]
    for table in build_packed_frames(first, others):
        print(format_markdown_table(table), end="\n\n")
