"""TensorBoard: event files with a run for each arm, which `tensorboard --logdir` shows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
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


class TensorBoard(Export):
    """Writes scalars by step, the arm and its means as hyperparameters, the settings as a text."""

    def __init__(
        self,
        out: str | None = None,  # folder; null: tensorboard/ in the campaign folder
    ) -> None:
        require_package("tensorboard")
        self._out = None if out is None else Path(out).expanduser()
        self._writers: dict[Arm, Any] = {}

    def start(self, campaign: CampaignFacts) -> None:
        """Take the folder."""
        self._campaign = campaign

    def attempt(self, attempt: AttemptValues) -> None:
        """Add a point to each curve of the arm."""
        self._add_scalars(attempt.arm, name_attempt_values(attempt), attempt.step)

    def end(self, means: Mapping[Arm, Mapping[str, float]]) -> None:
        """Add the means and close the files."""
        for arm, values in means.items():
            self._add_scalars(arm, name_mean_values(values), int(values["attempts"]))
        for writer in self._writers.values():
            writer.close()

    def _add_scalars(self, arm: Arm, values: Mapping[str, float], step: int) -> None:
        from tensorboard.plugins.scalar.summary_v2 import scalar_pb  # noqa: PLC0415

        for tag, value in values.items():
            self._add_summary(arm, scalar_pb(tag, value), step)

    def _add_summary(self, arm: Arm, summary: Any, step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event  # noqa: PLC0415
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb  # noqa: PLC0415
        from tensorboard.plugins.text.summary_v2 import text_pb  # noqa: PLC0415
        from tensorboard.summary.writer.event_file_writer import (  # noqa: PLC0415
            EventFileWriter,
        )

        if arm not in self._writers:
            folder = self._out or self._campaign.folder / "tensorboard"
            self._writers[arm] = EventFileWriter(str(folder / arm.path))
            tags = {**dict(arm.factors), **self._campaign.tags}
            self._add_summary(arm, hparams_pb(tags, trial_id=f"{self._campaign.digest}/{arm}"), 0)
            self._add_summary(
                arm, text_pb("settings", format_settings_table(self._campaign.settings)), 0
            )
        now = time.time()
        self._writers[arm].add_event(Event(wall_time=now, step=step, summary=summary))


def format_settings_table(settings: Mapping[str, Any]) -> str:
    """Return settings as a table in Markdown."""
    rows = [
        f"| `{name}` | `{str(value).replace('|', '&#124;')}` |" for name, value in settings.items()
    ]
    return "\n".join(["| setting | value |", "|---|---|", *rows])
