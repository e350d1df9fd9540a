"""MLflow: a run for each arm in the study's experiment."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from itertools import islice
from typing import Any

from harness.campaign.exports.export import (
    AttemptValues,
    CampaignFacts,
    Export,
    name_attempt_values,
    name_mean_values,
    require_package,
)
from harness.records.arms import Arm

MOST = 100
"""Parameters that MLflow takes at once."""
LONGEST = 500
"""Characters of a parameter's value."""
REFUSED = re.compile(r"[^\w\-. /]")
"""What MLflow has in no name."""


class MLflow(Export):
    """Logs metrics by step, settings as parameters, digest and revision as tags."""

    def __init__(
        self,
        uri: str | None = None,  # server, database or folder; null: MLFLOW_TRACKING_URI, or default
        experiment: str | None = None,  # name of the experiment; null: the name of the study
    ) -> None:
        require_package("mlflow")
        self._uri = uri
        self._experiment = experiment
        self._runs: dict[Arm, str] = {}

    def start(self, campaign: CampaignFacts) -> None:
        """Find the experiment, or create it."""
        from mlflow.tracking import MlflowClient  # noqa: PLC0415

        self._campaign = campaign
        self._client: Any = MlflowClient(tracking_uri=self._uri)
        name = self._experiment or campaign.study or "crucible"
        known = self._client.get_experiment_by_name(name)
        self._id = known.experiment_id if known else self._client.create_experiment(name)

    def attempt(self, attempt: AttemptValues) -> None:
        """Log an attempt's numbers."""
        self._log_values(attempt.arm, name_attempt_values(attempt), attempt.step)

    def end(self, means: Mapping[Arm, Mapping[str, float]]) -> None:
        """Log the means, and finish the runs."""
        for arm, values in means.items():
            self._log_values(arm, name_mean_values(values), int(values["attempts"]))
        for run in self._runs.values():
            self._client.set_terminated(run)

    def _log_values(self, arm: Arm, values: Mapping[str, float], step: int) -> None:
        from mlflow.entities import Metric  # noqa: PLC0415

        now = int(1000 * time.time())
        metrics = [Metric(name, value, now, step) for name, value in values.items()]
        self._client.log_batch(self._find_run(arm), metrics=metrics)

    def _find_run(self, arm: Arm) -> str:
        """Return the run of an arm: the one of this campaign that was interrupted, or a new one."""
        if arm not in self._runs:
            tags = {f"crucible.{name}": value for name, value in self._campaign.tags.items()}
            tags["crucible.arm"] = str(arm)
            marks = ("crucible.digest", "crucible.folder", "crucible.arm")
            wanted = " and ".join(
                f"tags.`{name}` = '{escape_quotes(tags[name])}'" for name in marks
            )
            known = self._client.search_runs([self._id], wanted, max_results=1)
            run = (
                known[0]
                if known
                else self._client.create_run(self._id, tags=tags, run_name=str(arm))
            )
            self._runs[arm] = run.info.run_id
            self._client.update_run(run.info.run_id, status="RUNNING")
            self._log_parameters(run.info.run_id, arm)
        return self._runs[arm]

    def _log_parameters(self, run: str, arm: Arm) -> None:
        from mlflow.entities import Param  # noqa: PLC0415

        named = {**self._campaign.settings, **{f"arm.{name}": value for name, value in arm.factors}}
        left = iter(
            Param(REFUSED.sub("_", name), str(value)[:LONGEST]) for name, value in named.items()
        )
        while part := list(islice(left, MOST)):
            self._client.log_batch(run, params=part)


def escape_quotes(text: str) -> str:
    """Return a text as it stands within quotation marks."""
    return text.replace("\\", "\\\\").replace("'", "\\'")
