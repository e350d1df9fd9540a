"""What is trained, on what, and how; by it a run is known from others."""

from __future__ import annotations

from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agents.perception.cameras.systems import Modality
from agents.perception.designs import Size
from agents.perception.fusion.base import FusionModule
from agents.training.detection_metrics import Visible
from agents.training.fusion_names import make_fusion_module
from harness.common.recordings import list_scenarios
from harness.common.safe_reading import CHECKPOINT, sum_of_file

Trained: TypeAlias = Literal["camera", "mixed"]
"""`camera`: the camera branch, for heads trained on points; `mixed`: fusion of unlike agents."""
FILES = ("data", "held_out", "start", "out", "weights")
"""Options that name files: where those lie does not matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """The options of `train`."""

    scheme: str  # one of ours, or package.module:Class
    settings: tuple[str, ...] = ()  # of its fusion module, name=value
    data: list[Path]  # folders of recordings
    held_out: list[Path]
    out: Path  # folder of this run
    weights: Path | None  # folder that the best weights go to; none: see `choose_weights_folder`
    start: Path | None  # weights whose shared layers it starts with
    epochs: int
    batch: int
    peak_rate: float
    seed: int
    interference: bool  # train with late messages and pose errors
    trial: int  # held-out samples after each epoch
    most: int | None  # samples an epoch; all of them
    freeze: bool  # train fusion and heads only
    all_layers: bool = False  # take all layers from `start`: train the same scheme further
    whole: bool  # show the whole window to networks that can be trained on parts of it
    senses: Trained | None = None  # what is trained of a network with cameras; none without them
    size: Size = "lite"  # full: V2Xverse's layers, a hundred times as many weights

    def make_fusion(self) -> FusionModule:
        """Return a new fusion module, without weights yet."""
        return make_fusion_module(self.scheme, self.settings)

    @property
    def validated(self) -> Modality:
        """What agents perceive with where the best epoch is chosen: single is never mixed."""
        alone = self.make_fusion().stage == "none"
        return ("both" if alone else "mixed") if self.senses == "mixed" else "camera"

    @property
    def visible(self) -> Visible:
        """Whose returns make a road user one that should be detected."""
        return "anyone" if self.make_fusion().trained_with_partners else "ego"


def make_run_identity(config: TrainingConfig) -> dict[str, Any]:
    """Return what makes a run this one; where its files lie does not."""
    options = {option.name: getattr(config, option.name) for option in fields(config)}
    # runs that do not know newer options yet go on
    for newer, usual in (("all_layers", False), ("senses", None), ("size", "lite")):
        if options[newer] == usual:
            del options[newer]
    return {
        **{name: value for name, value in options.items() if name not in FILES},
        "data": [hash_recording(folder) for folder in config.data],
        "held_out": [hash_recording(folder) for folder in config.held_out],
        "start": config.start and sum_of_file(config.start, follow=True, kind=CHECKPOINT),
    }


def hash_recording(recording: Path) -> str:
    """Return a digest of a recording: of its scenarios, and how many points each sweep has."""
    digest = sha256()
    for scenario in list_scenarios(recording):
        facts = (scenario.folder.name, scenario.town, scenario.purpose, scenario.seed)
        digest.update(repr(facts).encode())
        for file in sorted(scenario.folder.glob("*/*.npy")):
            digest.update(repr((file.parent.name, file.name, file.stat().st_size)).encode())
    return digest.hexdigest()
