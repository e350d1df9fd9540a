"""The page shows what the packed routes give, and a count that shares no code agrees."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pandas as pd
import pytest

from analysis.tables.markdown import format_markdown_table
from studies.offline_to_violation.markdown import build_page_parts, read_study_step
from tests.conftest import ROOT

STUDY = ROOT / "studies" / "offline_to_violation"
PACKED = STUDY / "packed"
PAGE = ROOT / "docs" / "study" / "offline-to-violation.md"
FIGURE = ROOT / "docs" / "images" / "offline-to-violation.svg"


@pytest.fixture(scope="module")
def recount() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recount_alone", STUDY / "recount.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_tables_and_the_figure_of_the_packed_routes() -> None:
    page, parts = PAGE.read_text(), build_page_parts(PACKED)
    for table in parts.tables:
        assert format_markdown_table(table).strip() in page
    assert FIGURE.read_text() == parts.figure


def test_repairs_wait_until_all_routes_have_them() -> None:
    study, tests_to_come = read_study_step(PACKED)
    repaired = {len(drives) for drives in study.repairs.values()}
    routes = pd.read_parquet(PACKED / "outcomes.parquet").groupby("route").size()
    if (routes == 48).all():
        assert (tests_to_come, repaired) == (0, {6 * len(study.routes)})
    else:
        assert (tests_to_come, repaired) == (6, {0})


def test_a_count_that_shares_no_code_gives_the_effect_of_latency(recount: ModuleType) -> None:
    effect = recount.recount_effects(PACKED).loc["messages on time"]
    cells = (f"{effect['points']:+.1f}", f"{effect['p']:.4f}")
    assert cells == ("-12.1", "0.0011")
    assert (effect["fewer"], effect["more"], effect["pairs"]) == (26, 5, 174)
    page = PAGE.read_text()
    assert "| latency | all | -0.0042 | -0.0109 .. +0.0003 | 1.000 | -12.1 |" in page
    assert "p 0.0011 before and 0.053 after" in page


def test_another_optimiser_that_leaves_out_single_routes_gives_close_losses(
    recount: ModuleType,
) -> None:
    models = build_page_parts(PACKED).tables[1].set_index("model")["log loss"].astype(float)
    losses = recount.recount_losses(PACKED)
    page = PAGE.read_text()
    for name, loss in losses.items():
        # with more routes to learn from, and folds of one route
        assert loss == pytest.approx(models[name], abs=0.03)
        assert f"{loss:.3f} ({name})" in page
    assert losses["all patterns"] > losses["base rate"] > losses["reveal time"]
