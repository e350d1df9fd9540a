"""A folder with a model: its form, what it was made for, and whether it is whole."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.opencood.child.settings import find_weights, name_data_set
from agents.perception.published_settings import read_settings
from harness.common.errors import UserError
from harness.common.safe_reading import STUDY_RECORD, read_text_within

CONFIG, META = "config.yaml", "meta.yaml"
DEPTH = 4
"""Folders below the one that is named in which bundles are looked for."""
V2XVERSE_PARTS = ("perception", "planner", "planning")
OPENCOOD, HEAL, HEAL_UNLIKE = "OpenCOOD", "HEAL", "HEAL, unlike agents"
V2XVERSE, V2XVERSE_PERCEPTION = "V2Xverse", "V2Xverse, perception"
NO_SETTINGS = "-"
"""Form of a folder that has a `meta.yaml` and no `config.yaml`."""
MEASURABLE = (OPENCOOD, HEAL, HEAL_UNLIKE)
"""Forms whose detector is measured on recorded scenes."""
V2XVERSE_FUSIONS = ("codriving", "intermediatemultiscale", "multiclass")
"""Words in `core_method` of a network or a data set that V2Xverse alone has."""
DATA_SETS = ("opv2v", "v2xset", "v2xsim", "dairv2x", "v2xverse", "v2x-real", "irv2v")
SETTINGS_PATHS = ("root_dir", "validate_dir", "test_dir")
EVALUATION = "eval*.yaml"
"""What `inference.py` of OpenCOOD and HEAL writes into a model's folder."""
PRECISION_LINE = re.compile(r"^ap_?50:[ ]*([0-9.eE+-]+)[ ]*$", re.MULTILINE)
"""AP@0.5 in such a file: `ap_50`, in V2Xverse's `ap50`."""


@dataclass(frozen=True, slots=True)
class ExpectedPrecision:
    """AP@0.5 on a model's own data set, 0 to 1, and which file or option says so."""

    value: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBundle:
    """A folder, and what its settings say.

    Attributes:
        form: whose code reads it.
        settings: of `config.yaml`, as plain data.
        meta: of `meta.yaml`; empty without one.
    """

    folder: Path
    form: str
    settings: Mapping[str, Any]
    meta: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What it is called: by its `meta.yaml`, else as its folder."""
        return str(self.meta.get("id") or self.folder.name)

    @property
    def kind(self) -> str:
        """What `meta.yaml` calls it; CAVISE's catalogue has assets among its models."""
        return str(self.meta.get("kind") or "of no kind")

    @property
    def network(self) -> str:
        """The network's name in its code."""
        return str(get_part(self.settings, "model").get("core_method", "-"))

    @property
    def data_set(self) -> str:
        """The data set that it was trained on; a question mark where it is only guessed."""
        named = get_part(self.meta, "compatibility").get("dataset")
        if named:
            return str(named)
        fusion = get_part(self.settings, "fusion")
        if fusion.get("dataset"):
            return name_data_set({"fusion": dict(fusion)})
        # HEAL's oldest files and OpenCOOD's do not name it: their paths do
        paths = " ".join(str(self.settings.get(name, "")) for name in SETTINGS_PATHS).lower()
        guessed = [name for name in DATA_SETS if name.replace("-", "") in paths.replace("-", "")]
        return f"{guessed[0]}?" if guessed else "?"

    @property
    def window(self) -> tuple[float, float] | None:
        """Metres ahead and aside that the network sees; None where the settings do not say."""
        limits = get_part(self.settings, "preprocess").get("cav_lidar_range")
        if not isinstance(limits, list) or len(limits) != 6:
            return None
        try:
            return float(limits[3]), float(limits[4])
        except (TypeError, ValueError):
            return None

    @property
    def precision_rule(self) -> str:
        """How its own code computes average precision."""
        sorting = "each frame" if self.form == OPENCOOD else "all frames"
        window = "" if self.window is None else f", ±{self.window[0]:g} m"
        return f"sorted over {sorting}{window}"

    @property
    def licence(self) -> str:
        """The licence that `meta.yaml` names."""
        return str(get_part(self.meta, "source").get("license") or "not named")

    def list_dead_paths(self) -> list[str]:
        """Return the settings that name a place which is not there."""
        return [
            name
            for name in SETTINGS_PATHS
            if isinstance(path := self.settings.get(name), str)
            and path
            and not os.path.lexists(path)
        ]


def get_part(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a mapping within settings; an empty one where there is none."""
    part = settings.get(name)
    return part if isinstance(part, Mapping) else {}


def find_bundles(folder: Path) -> Iterator[Path]:
    """Yield the folders of bundles, in the order of their names.

    Args:
        folder: a bundle itself, or a folder with bundles up to four folders below.
    """
    for place, inner, files in os.walk(folder):
        inner.sort()
        here = Path(place)
        if CONFIG in files or META in files or is_v2xverse_pair(here):
            yield here
            inner.clear()  # what is inside belongs to it
        elif len(here.relative_to(folder).parts) >= DEPTH:
            inner.clear()


def is_v2xverse_pair(folder: Path) -> bool:
    """Return whether a folder holds perception and planner in folders of V2Xverse's names."""
    return (folder / V2XVERSE_PARTS[0]).is_dir() and any(
        (folder / name).is_dir() for name in V2XVERSE_PARTS[1:]
    )


def read_bundle(folder: Path) -> ModelBundle:
    """Return a bundle by its settings; nothing of it is executed.

    Raises:
        UserError: its settings cannot be read.
    """
    meta = read_settings(folder / META) if (folder / META).is_file() else {}
    if is_v2xverse_pair(folder):
        return ModelBundle(folder=folder, form=V2XVERSE, settings={}, meta=meta)
    if not (folder / CONFIG).is_file():
        # what its card says is shown, also where the settings were left out
        return ModelBundle(folder=folder, form=NO_SETTINGS, settings={}, meta=meta)
    settings = read_settings(folder / CONFIG)
    return ModelBundle(folder=folder, form=name_form(settings), settings=settings, meta=meta)


def name_form(settings: Mapping[str, Any]) -> str:
    """Return whose code reads these settings.

    OpenCOOD names a class of data sets (`IntermediateFusionDataset`), HEAL a key
    (`intermediate`), and HEAL with unlike agents has a block `heter`. V2Xverse's come from HEAL,
    with several classes.
    """
    network = str(get_part(settings, "model").get("core_method", ""))
    fusion = str(get_part(settings, "fusion").get("core_method", ""))
    if any(word in f"{network} {fusion}" for word in V2XVERSE_FUSIONS):
        return V2XVERSE_PERCEPTION
    if isinstance(settings.get("heter"), Mapping):
        return HEAL_UNLIKE
    if re.search(r"Dataset(V\d+)?$", fusion):
        return OPENCOOD
    named = {"model.core_method": network, "fusion.core_method": fusion}
    if missing := [f"no {name}" for name, value in named.items() if not value]:
        raise UserError(f"its settings name {' and '.join(missing)}")
    return HEAL


def find_expected_precision(bundle: ModelBundle) -> ExpectedPrecision | None:
    """Return AP@0.5 as the code that trained it wrote it; None where no file says so.

    OpenCOOD writes `eval.yaml`, HEAL `eval_METHOD.yaml` with a note of the user's behind it: the
    shortest name is that of the plain evaluation.
    """
    for file in sorted(bundle.folder.glob(EVALUATION), key=lambda file: (len(file.name), file)):
        try:
            # curves of ten thousands of numbers stand in it: one line is looked for
            match = PRECISION_LINE.search(read_text_within(file, STUDY_RECORD))
            value = math.nan if match is None else float(match[1])
        except (OSError, ValueError, UserError):
            continue
        if 0.0 <= value <= 1.0:
            return ExpectedPrecision(value, file.name)
    return None


def find_bundle_weights(folder: Path) -> Path:
    """Return the weights that its code would load.

    Raises:
        UserError: there are none.
    """
    try:
        return find_weights(folder)
    except FileNotFoundError:
        raise UserError("no net_epoch_bestval_at*.pth and no net_epoch*.pth") from None
