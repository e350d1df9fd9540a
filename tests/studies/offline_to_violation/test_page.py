"""The page shows what the packed routes give."""

from __future__ import annotations

import pytest

from analysis.tables.markdown import format_markdown_table
from studies.offline_to_violation.markdown import build_packed_tables
from tests.conftest import ROOT

PACKED = ROOT / "studies" / "offline_to_violation" / "packed"
PAGE = ROOT / "docs" / "study" / "offline-to-violation.md"


@pytest.mark.thorough
def test_the_page_has_the_tables_of_the_packed_routes() -> None:
    page = PAGE.read_text()
    for frame in build_packed_tables(PACKED):
        assert len(frame) > 5
        assert format_markdown_table(frame) in page
