"""What to know of a regression before believing it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.regression.design import Design
from analysis.regression.matched import Matched, separated
from analysis.regression.sample import Sample
from analysis.regression.stretches import Passages
from analysis.statistics.collinearity import condition_number, inflation
from analysis.statistics.separation import separation
from harness.vocabulary import PATTERNS

FEW_ROUTES = 15
"""Below this, jackknife and GEE rest on little."""


def checks(sample: Sample, design: Design | None) -> pd.DataFrame:
    """Return one line for each thing to know: `what`, `says`."""
    events = int(sample.y.sum())
    rarer = min(events, len(sample.y) - events)
    lines = [
        ("rows", f"{len(sample.y)}, of which {events} with violation"),
        ("systems", ", ".join(sorted(set(sample.systems.tolist()))) or "none"),
        *(("left out", f"{name}: {reason}") for name, reason in sample.left_out.items()),
        *(("rows dropped", f"{count}: {reason}") for reason, count in sample.dropped.items()),
    ]
    if len(sample.y):
        routes = len(np.unique(sample.clusters))
        few = "" if routes >= FEW_ROUTES else "; few: intervals and p-values rest on little"
        lines.append(("clusters", f"{routes} routes{few}"))
        each = events_per_predictor(sample)
        lines.append(("events per predictor", f"{each:.1f} ({rarer} of the rarer outcome / 6)"))
    if design is not None:
        lines += [("not estimated", f"{name}: {why}") for name, why in design.refused.items()]
        lines += on_design(design)
    return pd.DataFrame(lines, columns=["what", "says"])


def checks_of_sets(passed: Passages, design: Matched | None) -> pd.DataFrame:
    """Return one line for each thing to know of the risk sets: `what`, `says`."""
    sample = passed.sample
    lines = [
        ("systems", ", ".join(sorted(set(sample.systems.tolist()))) or "none"),
        *(("left out", f"{name}: {reason}") for name, reason in sample.left_out.items()),
        *(("dropped", f"{count}: {reason}") for reason, count in sample.dropped.items()),
    ]
    if len(sample.y):
        events, routes = int(sample.y.sum()), len(np.unique(sample.clusters))
        few = "" if routes >= FEW_ROUTES else "; few: intervals and p-values rest on little"
        each = events_per_predictor(sample)
        lines += [
            ("risk sets", f"{events} violations, each with {len(sample.y) / events:.1f} drives"),
            ("clusters", f"{routes} routes{few}"),
            ("events per predictor", f"{each:.1f} ({events} violations / {len(PATTERNS)})"),
        ]
    if design is not None:
        factors = zip(design.predictors, inflation(design.tested), strict=True)
        lines += [("not estimated", f"{name}: {why}") for name, why in design.refused.items()]
        lines += [
            ("separation", separated(design)),
            ("VIF", ", ".join(f"{name} {factor:.1f}" for name, factor in factors)),
            ("condition number", f"{condition_number(design.tested):.1f}"),
        ]
    return pd.DataFrame(lines, columns=["what", "says"])


def events_per_predictor(sample: Sample) -> float:
    """Return how many of the rarer outcome there are for each of the six patterns."""
    events = int(sample.y.sum())
    return min(events, len(sample.y) - events) / len(PATTERNS)


def on_design(design: Design) -> list[tuple[str, str]]:
    """Return what to know of the matrix."""
    apart = separation(design.y, design.matrix)
    runaway = [
        name for name, each in zip(design.names[1:], apart.infinite[1:], strict=True) if each
    ]
    told = (
        f" ({', '.join(runaway)}); only Firth's penalty keeps estimates finite" if runaway else ""
    )
    factors = zip(design.predictors, inflation(design.tested), strict=True)
    return [
        ("separation", f"{apart.kind}{told}"),
        ("VIF", ", ".join(f"{name} {factor:.1f}" for name, factor in factors)),
        ("condition number", f"{condition_number(design.tested):.1f}"),
    ]
