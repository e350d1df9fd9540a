"""Weights & Biases: a run for each arm, grouped by campaign; offline unless asked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from harness.campaign.exports.export import (
    AttemptValues,
    CampaignFacts,
    Export,
    name_attempt_values,
    name_mean_values,
    require_package,
)
from harness.records.arms import Arm

STEP = "attempt/step"


class WeightsAndBiases(Export):
    """Logs attempts by step, means as the summary, settings as the configuration."""

    def __init__(
        self,
        mode: Literal["offline", "online"] = "offline",  # offline: upload later by `wandb sync`
        project: str = "crucible",  # project of Weights & Biases
        entity: str | None = None,  # user or team; null: your default
        out: str | None = None,  # folder of local files; null: wandb/ in the campaign folder
    ) -> None:
        require_package("wandb")
        self._mode = mode
        self._project = project
        self._entity = entity
        self._out = None if out is None else Path(out).expanduser()
        self._runs: dict[Arm, Any] = {}

    def start(self, campaign: CampaignFacts) -> None:
        """Take the facts; runs start with their first attempt."""
        self._campaign = campaign

    def attempt(self, attempt: AttemptValues) -> None:
        """Log an attempt."""
        names = {"attempt/route": attempt.route, "attempt/violation": attempt.violation}
        numbers = {STEP: attempt.step, "attempt/seed": attempt.seed, **name_attempt_values(attempt)}
        self._open_run(attempt.arm).log({**names, **numbers})

    def end(self, means: Mapping[Arm, Mapping[str, float]]) -> None:
        """Keep the means, and finish the runs."""
        for arm, values in means.items():
            self._open_run(arm).summary.update(name_mean_values(values))
        for run in self._runs.values():
            run.finish()

    def _open_run(self, arm: Arm) -> Any:
        import wandb  # noqa: PLC0415

        if arm not in self._runs:
            facts = self._campaign
            out = self._out or facts.folder
            out.mkdir(parents=True, exist_ok=True)
            # the same folder, settings and arm resume the same run
            name = f"{facts.folder}/{facts.digest}/{arm}"
            run = wandb.init(
                entity=self._entity,
                project=self._project,
                group=f"{facts.study}-{facts.digest}",
                name=str(arm),
                id=hashlib.sha256(name.encode()).hexdigest()[:16],
                config={**facts.settings, **facts.tags, "arm": dict(arm.factors)},
                tags=[f"digest {facts.digest}", f"revision {facts.revision}"[:64]],
                dir=str(out),
                mode=self._mode,
                resume="allow" if self._mode == "online" else None,
                reinit="create_new",
                settings=wandb.Settings(silent=True, console="off"),
            )
            # curves run over the number of the attempt
            run.define_metric(STEP)
            run.define_metric("attempt/*", step_metric=STEP)
            self._runs[arm] = run
        return self._runs[arm]
