"""The report of ten thousand attempts, a page of 500, and 5000 route resamples of a regression.

The folder is made without driving: one try as campaigns write it, and copies with other results, in
which rates of errors differ. The report reads nothing but `result.json`. A resample is a Firth fit
here, all of them in one array; statsmodels fits the plain logit, without penalty, one by one.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import statsmodels.api as sm

from analysis.__main__ import main
from analysis.collection import collect_campaigns
from analysis.regression.design import build_regression_design
from analysis.simulation.campaigns import CampaignScenario, select_last_window, simulate_drives
from analysis.statistics.firth import fit_firth
from analysis.statistics.intervals import sample_bootstrap_weights
from harness.types.record_names import PATTERNS
from tests.analysis.little import write_little
from tests.analysis.tab import new_tab
from tests.benchmarks.bench_scale import CHOICES, measured
from tests.campaign.many import finish
from tests.campaign.tiny import composed

RESAMPLES = 5000
LOADED = """
new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
  done(performance.now()))))
"""
"""Milliseconds from the start of loading to the second picture that was painted."""


def run() -> list[tuple[str, str]]:
    """Time all."""
    return [*of_the_report(), *of_the_page(), *of_the_bootstrap()]


def of_the_report() -> list[tuple[str, str]]:
    """Make a folder and its report."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "campaign"
        attempts = len(finish(folder, composed(*CHOICES)).attempts)
        vary(folder)
        wall, processor = measured(lambda: main(["report", str(folder), "--results-only"]))
        size = (folder / "report" / "report.html").stat().st_size / 1e6
    return [
        ("attempts", str(attempts)),
        ("report from results alone, s", f"{wall:.1f}, {processor:.1f} of a processor"),
        ("page, MB", f"{size:.2f}"),
    ]


def of_the_page() -> list[tuple[str, str]]:
    """Make the page of 500 attempts with their records, and open it from the disk."""
    with tempfile.TemporaryDirectory() as parent:
        routes, seeds = list(map(str, range(25))), range(1, 6)
        folder = write_little(Path(parent) / "campaign", routes=routes, seeds=seeds)
        checked = measured(lambda: collect_campaigns([folder], whole=True))
        made = measured(lambda: main(["report", str(folder)]))
        page = folder / "report" / "report.html"
        with new_tab() as tab:
            tab.open(page)
            loaded = tab.value(LOADED)
        size = page.stat().st_size / 1e6
    return [
        ("500 attempts checked, s", f"{checked[0]:.1f}, {checked[1]:.1f} of a processor"),
        ("report of 500 attempts, s", f"{made[0]:.1f}, {made[1]:.1f} of a processor"),
        ("its page, MB", f"{size:.2f}"),
        ("opened in Chromium, s", f"{loaded / 1000:.2f}"),
    ]


def vary(folder: Path) -> None:
    """Give every result errors of its own in its last ten seconds."""
    random = np.random.default_rng(1)
    for file in sorted(folder.glob("episodes/*/*/*/*/try1/result.json")):
        result = json.loads(file.read_text())
        counts = random.poisson(random.gamma(2.0, 5.0, len(PATTERNS))).tolist()
        window = dict(zip(PATTERNS, map(float, counts), strict=True))
        result["crucible"]["patterns"]["end_10s"] = {**window, "truth_all": 250.0}
        file.write_text(json.dumps(result))


def of_the_bootstrap() -> list[tuple[str, str]]:
    """Fit every resample of a campaign of the paper's size, both ways."""
    sample = select_last_window(simulate_drives(CampaignScenario(), np.random.default_rng(3)))
    design = build_regression_design(sample)
    weights = sample_bootstrap_weights(design.groups, RESAMPLES)[:, design.clusters]
    ours = measured(lambda: fit_firth(design.y, design.matrix, weights, close=1e-4, starts=[]))[0]
    theirs = measured(lambda: one_by_one(design.y, design.matrix, weights))[0]
    return [
        (f"{RESAMPLES} Firth fits at once, s", f"{ours:.2f}"),
        (f"{RESAMPLES} plain fits by statsmodels, s", f"{theirs:.1f}, {theirs / ours:.0f} times"),
    ]


def one_by_one(y: np.ndarray, design: np.ndarray, weights: np.ndarray) -> None:
    """Fit resamples as scripts do: rows repeated, statsmodels called for each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for weight in weights:
            rows = np.repeat(np.arange(len(y)), weight.astype(int))
            try:
                sm.Logit(y[rows], design[rows]).fit(disp=0)
            except np.linalg.LinAlgError:
                continue
