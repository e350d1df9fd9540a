"""The metrics that the settings name."""

from __future__ import annotations

from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.common.errors import UserError
from harness.evaluation.metrics.metric import Metric, has_attempt_number
from harness.records.metrics import find_metric_name_problem


def build_metrics(settings: CampaignSettings) -> dict[str, Metric]:
    """Return the metrics by name; refuse what is none, and names that the records need."""
    metrics = {}
    for name, part in settings["metrics"].items():
        place = f"metrics.{name}"
        if problem := find_metric_name_problem(str(name)):
            raise UserError(f"configuration: {place}: {problem}")
        metric = build_part(part, place)
        if not isinstance(metric, Metric):
            raise UserError(f"configuration: {place} needs the _target_ of a Metric")
        if not has_attempt_number(metric):
            raise UserError(
                f"configuration: {place}: {type(metric).__name__} overrides neither step nor"
                " attempt: it has no number"
            )
        metrics[name] = metric
    return metrics
