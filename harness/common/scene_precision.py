"""A detector's average precision on recorded scenes, next to that on its own data set.

`crucible models check --scenes` writes the file into the folder of a model; plans and reports of
campaigns that drive with the same weights read it (decision 0138).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.safe_reading import CHECKPOINT, read_json_within, sum_of_file

SCENE_PRECISION = "scene_precision.json"
"""The file in a model's folder."""
SCENE_PRECISION_KEY = "scene_precision"
"""The field of `campaign.yaml`: records by system, of systems far below their own data set."""
FAR_BELOW = 0.75
"""Share of the expected average precision below which a detector is off its domain.

The same published bundle has 0.945 on OPV2V's validation set and 0.766 on its test set: 81 % on
another split of one data set, from one simulator with one rig. In CARLA it has 0.10 to 0.64, which
is 68 % at most. A loss of more than a quarter is no difference between splits.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenePrecision:
    """What a detector detects on recorded scenes.

    Attributes:
        measured: average precision of vehicles, 0 to 1.
        expected: on its own data set, 0 to 1; None where it is not known.
        expected_from: the file or option that says so.
        overlap: the overlap ratio of a match.
        rule: how detections are sorted, and the window.
        data_set: its own.
        scenes: folder of the recorded scenes, as it was given.
        frames: how many.
        vehicles: true boxes in them.
        settings: of the system that detected, where they are not the defaults.
        files: SHA-256 of settings and weights, by name.
    """

    measured: float
    expected: float | None
    expected_from: str
    overlap: float
    rule: str
    data_set: str
    scenes: str
    frames: int
    vehicles: int
    settings: dict[str, Any]
    files: dict[str, str]

    @property
    def far_below(self) -> bool:
        """Whether it detects far less than on its own data set."""
        return self.expected is not None and self.measured < FAR_BELOW * self.expected

    def describe_precision(self) -> str:
        """Return both numbers, and what they are of."""
        given = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        here = (
            f"AP@{self.overlap:g} {self.measured:.3f} in {self.frames} frames of {self.scenes}"
            f" ({self.vehicles} vehicles{f'; {given}' if given else ''})"
        )
        if self.expected is None:
            return here
        return f"{here}, {self.expected:.3f} on {self.data_set} ({self.expected_from})"


def describe_off_domain(systems: Mapping[str, ScenePrecision]) -> str:
    """Return the sentence of plan and report on systems far below; nothing without any."""
    if not systems:
        return ""
    listed = "; ".join(f"{name}: {one.describe_precision()}" for name, one in systems.items())
    return f"detectors off their domain are compared: {listed}"


def write_scene_precision(folder: Path, precision: ScenePrecision) -> Path:
    """Write the file of a model, and return its path.

    Raises:
        UserError: the folder cannot be written.
    """
    file = folder / SCENE_PRECISION
    write_whole(file, json.dumps(asdict(precision), indent=1) + "\n")
    return file


def read_scene_precision(files: Iterable[Path]) -> ScenePrecision | None:
    """Return what was measured of these very files; None if nothing was.

    Args:
        files: settings and weights of a system; the record lies in a folder of theirs.

    Raises:
        UserError: there is a record that cannot be read.
    """
    by_name = {file.name: file for file in files}
    for folder in dict.fromkeys(file.parent for file in by_name.values()):
        place = folder / SCENE_PRECISION
        if not os.path.lexists(place):
            continue
        try:
            known = parse_scene_precision(read_json_within(place))
        except (OSError, ValueError) as problem:
            raise UserError(f"{place}: cannot be read ({problem}); measure again") from None
        # other weights, or none at all: nothing was measured of these
        same = all(
            name in by_name and sum_of_file(by_name[name], follow=True, kind=CHECKPOINT) == digest
            for name, digest in known.files.items()
        )
        if same and known.files:
            return known
    return None


def parse_scene_precision(record: Any) -> ScenePrecision:
    """Return a record as it was written; ValueError if it is none."""
    names = ScenePrecision.__dataclass_fields__
    if not isinstance(record, dict) or set(record) != set(names):
        raise ValueError(f"not a record of {', '.join(names)}")
    numbers = [record["measured"], record["overlap"], record["frames"], record["vehicles"]]
    if record["expected"] is not None:
        numbers.append(record["expected"])
    texts = [record[name] for name in ("expected_from", "rule", "data_set", "scenes")]
    tables = [record["settings"], record["files"]]
    if (
        not all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers)
        or not all(isinstance(one, str) and one.isprintable() for one in texts)
        or not all(isinstance(one, dict) for one in tables)
        or not all(isinstance(digest, str) for digest in record["files"].values())
    ):
        raise ValueError("a value of another type")
    return ScenePrecision(**record)


def parse_system_records(header: Mapping[str, Any], file: Path) -> dict[str, ScenePrecision]:
    """Return the records by system in a campaign's header; nothing without any.

    Args:
        header: contents of `campaign.yaml`.
        file: its path, for messages.

    Raises:
        UserError: a record cannot be read.
    """
    records = header.get(SCENE_PRECISION_KEY, {})
    try:
        return {str(name): parse_scene_precision(record) for name, record in records.items()}
    except (ValueError, AttributeError) as problem:
        raise UserError(f"{file}: {SCENE_PRECISION_KEY} cannot be read: {problem}") from None
