"""Opens folders of recorded scenes, whatever their layout."""

from __future__ import annotations

from pathlib import Path

from harness.common.errors import UserError
from harness.common.recordings import RecordedScenario, list_scenarios
from harness.datasets.opv2v_reading import is_opv2v_scenario, open_opv2v_scenario


def open_recordings(folder: Path) -> list[RecordedScenario]:
    """Return the scenarios of a folder: recordings of `collect`, or in OPV2V's or V2XSet's layout.

    Args:
        folder: one that holds scenarios.

    Raises:
        UserError: no scenario, files that are missing, or a layout that is not read.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: not a folder")
    below = sorted(path for path in folder.iterdir() if path.is_dir())
    shown = [path for path in below if not path.name.startswith(".")]
    if foreign := [path for path in shown if is_opv2v_scenario(path)]:
        return [open_opv2v_scenario(path) for path in foreign]
    return list_scenarios(folder)
