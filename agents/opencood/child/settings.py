"""The settings of a checkpoint, made ready to be built where no data set is on the disk.

Standard library only, Python 3.8 or newer.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

BEST = re.compile(r"net_epoch_bestval_at(\d+)\.pth")
EPOCH = re.compile(r"net_epoch(\d+)\.pth")
LATEST = "latest.pth"

STAGES = {
    "late": "late",
    "lateheter": "late",
    "LateFusionDataset": "late",
    "early": "early",
    "EarlyFusionDataset": "early",
    "intermediate": "intermediate",
    "intermediateheter": "intermediate",
    "intermediateheterinfer": "intermediate",
    "intermediate2stage": "intermediate",
    "IntermediateFusionDataset": "intermediate",
    "IntermediateFusionDatasetV2": "intermediate",
}
"""What agents exchange, by `fusion.core_method`: OpenCOOD names a class, HEAL a key."""
RIGHT_HANDED = ("v2xsim", "dairv2x")
"""Data sets whose LiDAR frames have y to the left; in OPV2V's and V2XSet's, y is to the right."""
SAME_FRAMES = ("v2xsim", "dairv2x")
"""Data sets whose own class reads an index of files at once: OPV2V's class stands in for it."""
FAR = 70.0
"""Metres of communication where a file says nothing: OpenCOOD's `COM_RANGE`."""


def find_weights(folder: Path) -> Path:
    """Return the file of the best epoch by validation, else of the latest or of the last epoch."""
    files = sorted(folder.iterdir())
    for pattern in (BEST, EPOCH):
        if pattern is EPOCH and (folder / LATEST).is_file():
            return folder / LATEST
        epochs = {int(match[1]): path for path in files if (match := pattern.fullmatch(path.name))}
        if epochs:
            return epochs[max(epochs)]
    raise FileNotFoundError(
        f"{folder}: there is no net_epoch_bestval_at*.pth and no net_epoch*.pth"
    )


def name_parser(file: Path) -> str:
    """Return the function that settings name as their parser, such as `load_voxel_params`."""
    match = re.search(r"^yaml_parser:\s*(\S+)", file.read_text(errors="replace"), re.MULTILINE)
    return match[1].strip("'\"") if match else "yaml_parser"


def prepare_settings(hypes: dict[str, Any], empty: str) -> list[str]:
    """Change settings in place so that a data set is built without files; return notes.

    Args:
        hypes: as the checkout's own reader returns them.
        empty: a folder without anything in it.

    Returns:
        One line for each setting of the checkpoint that disturbs or corrects data and is left out.
    """
    notes = []
    for key in ("root_dir", "validate_dir", "test_dir"):
        hypes[key] = empty
    # what HEAL's readers take without a default
    hypes.setdefault("input_source", ["lidar"])
    hypes["input_source"] = [name for name in hypes["input_source"] if name != "depth"]
    # labels of cameras are read from pictures of a data set, and no label is used
    hypes["label_type"] = "lidar"
    hypes.setdefault("comm_range", FAR)
    hypes.setdefault("data_augment", [])
    hypes["add_data_extension"] = []
    hypes["kd_flag"] = False
    hypes.get("train_params", {}).pop("supervise_single", None)
    # modalities are assigned by the parent, not by a file of a data set
    if isinstance(hypes.get("heter"), dict):
        hypes["heter"]["assignment_path"] = None
    # disturbances are the channel's business; poses are not corrected from files
    if hypes.get("noise_setting", {}).get("add_noise"):
        notes.append("noise_setting.add_noise is switched off: interference disturbs poses")
    hypes["noise_setting"] = {"add_noise": False}
    wild = hypes.get("wild_setting", {})
    if wild.get("async") or wild.get("loc_err"):
        notes.append("wild_setting is switched off: interference delays and displaces messages")
        wild["async"] = wild["loc_err"] = False
    if hypes.pop("box_align", None) is not None:
        notes.append("box_align is switched off: it reads poses from a file of its data set")
    prepare_network(hypes.get("model", {}).get("args", {}))
    return notes


def cut_ranges(hypes: Any, most: float) -> None:
    """Cut all ranges of LiDARs and labels to at most so many metres, in place; heights stay.

    HEAL's `inference.py --range` replaces the same keys. The recurrent part of V2VNet is built for
    one size of maps, which is cut alike. Camera grids stay.
    """
    old = hypes["preprocess"]["cav_lidar_range"]
    shares = {"H": min(1.0, most / old[4]), "W": min(1.0, most / old[3])}
    replace_ranges(hypes, most, shares)


def replace_ranges(hypes: Any, most: float, shares: dict[str, float]) -> None:
    """Cut the ranges of a part of the settings, in place."""
    if isinstance(hypes, list):
        for part in hypes:
            replace_ranges(part, most, shares)
    if not isinstance(hypes, dict):
        return
    for key, value in hypes.items():
        if key in ("cav_lidar_range", "lidar_range", "gt_range") and len(value) == 6:
            hypes[key] = [
                number if place % 3 == 2 else max(-most, min(most, number))
                for place, number in enumerate(value)
            ]
        elif key == "conv_gru":
            value.update({side: round(value[side] * share) for side, share in shares.items()})
        else:
            replace_ranges(value, most, shares)


def prepare_network(arguments: dict[str, Any]) -> None:
    """Change what a network needs only while it is trained; no weight depends on it."""
    for name in ("batch_size", "N"):
        if name in arguments:
            arguments[name] = 1
    for name, modality in arguments.items():
        if re.fullmatch(r"m\d+", str(name)) and isinstance(modality, dict):
            encoder = modality.get("encoder_args", {})
            if encoder.get("depth_supervision"):
                encoder["depth_supervision"] = False


def name_data_set(hypes: dict[str, Any]) -> str:
    """Return the data set that the settings were written for, such as `opv2v`."""
    return str(hypes["fusion"].get("dataset", "opv2v"))


def find_sensors(hypes: dict[str, Any]) -> dict[str, str]:
    """Return `lidar` or `camera` for each modality; without a `heter` block, `lidar` is the one."""
    heter = hypes.get("heter")
    if not isinstance(heter, dict):
        return {"lidar": "lidar"}
    return {
        str(name): str(modality["sensor_type"])
        for name, modality in heter["modality_setting"].items()
    }


def find_ego_modalities(hypes: dict[str, Any]) -> list[str]:
    """Return the modalities that the ego of this checkpoint may have."""
    heter = hypes.get("heter")
    if not isinstance(heter, dict):
        return ["lidar"]
    return str(heter.get("ego_modality", "m1")).split("&")
