"""The metrics that the settings name."""

from __future__ import annotations

from harness.campaign.settings.config import build
from harness.campaign.settings.declared import Settings
from harness.errors import UserError
from harness.evaluation.metrics.metric import Metric, measures_attempts
from harness.records.metrics import name_problem


def metrics_in(settings: Settings) -> dict[str, Metric]:
    """Return the metrics by name; refuse what is none, and names that the records need."""
    metrics = {}
    for name, part in settings["metrics"].items():
        place = f"metrics.{name}"
        if problem := name_problem(str(name)):
            raise UserError(f"configuration: {place}: {problem}")
        metric = build(part, place)
        if not isinstance(metric, Metric):
            raise UserError(f"configuration: {place} needs the _target_ of a Metric")
        if not measures_attempts(metric):
            raise UserError(
                f"configuration: {place}: {type(metric).__name__} overrides neither step nor"
                " attempt: it has no number"
            )
        metrics[name] = metric
    return metrics
