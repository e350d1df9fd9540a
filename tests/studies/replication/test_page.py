"""The replication's page shows what its packed drives give."""

from __future__ import annotations

import pytest

from analysis.tables.markdown import format_markdown_table
from studies.replication.markdown import build_packed_frames
from tests.conftest import ROOT

PACKED = ROOT / "studies" / "replication" / "packed"
PAGE = ROOT / "docs" / "study" / "replication.md"


@pytest.mark.thorough
@pytest.mark.parametrize("parts", ["seed-*", "idm-seed-*"])
def test_the_page_has_the_tables_of_the_packed_drives(parts: str) -> None:
    page, files = PAGE.read_text(), sorted(PACKED.glob(f"{parts}.parquet"))
    for frame in build_packed_frames(PACKED / "filter.parquet", files):
        assert len(frame) > 10
        assert format_markdown_table(frame) in page
