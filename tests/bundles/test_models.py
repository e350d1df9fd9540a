"""Folders of published models, made here from what is public about their form."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from rich.console import Console

from agents.bundles.bundle import find_bundles, name_form, read_bundle
from agents.bundles.bundle_check import HEAD, CheckedBundle, check_bundle, find_kernel_layout
from crucible.subcommands import dispatch_subcommand
from harness.common.errors import UserError
from harness.common.fitting_table import FittingTable

OPENCOOD: dict[str, Any] = {
    "name": "second_intermediate_fusion",
    "root_dir": "/home/lab/opv2v_data_dumping/validate",
    "validate_dir": "",
    "fusion": {"core_method": "IntermediateFusionDataset", "args": []},
    "model": {"core_method": "second_intermediate", "args": {}},
    "preprocess": {"cav_lidar_range": [-140.8, -40, -3, 140.8, 40, 1]},
}
HEAL: dict[str, Any] = {
    "fusion": {"core_method": "intermediate", "dataset": "dairv2x", "args": {}},
    "model": {"core_method": "point_pillar_coalign", "args": {}},
    "preprocess": {"cav_lidar_range": [-100.8, -40, -3.5, 100.8, 40, 1.5]},
}
ARRAY = """grid: !!python/object/apply:numpy.core.multiarray._reconstruct
  args: [!!python/name:numpy.ndarray '', !!python/tuple [0], !!binary "Yg=="]
  state: !!python/tuple
  - 1
  - !!python/tuple [1]
  - !!python/object/apply:numpy.dtype
    args: [i8, false, true]
    state: !!python/tuple [3, "<", null, null, null, -1, -1, 0]
  - false
  - !!binary "AAsAAAAAAAA="
"""


def weights(layout: int | None = None) -> dict[str, torch.Tensor]:
    """Return weights, with a sparse kernel in the order of that version of spconv."""
    state = {"head.weight": torch.ones(2, 8), "norm.num_batches_tracked": torch.tensor(3)}
    if layout is not None:
        shape = (3, 3, 3, 4, 16) if layout == 1 else (16, 3, 3, 3, 4)
        state["backbone_3d.conv_input.0.weight"] = torch.zeros(shape)
    return state


def write_bundle(
    folder: Path,
    settings: dict[str, Any],
    state: dict[str, torch.Tensor] | None = None,
    **meta: Any,
) -> Path:
    """Write a bundle; keywords are those of a `meta.yaml`, which lists all files."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(settings) + ARRAY)
    torch.save(weights() if state is None else state, folder / "net_epoch7.pth")
    if meta:
        artifacts = [
            {
                "path": path.name,
                "size": path.stat().st_size,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            for path in sorted(folder.iterdir())
        ]
        text = yaml.safe_dump({"schema_version": 1, "artifacts": artifacts, **meta})
        (folder / "meta.yaml").write_text(text)
    return folder


def sentences(checked: CheckedBundle, verdict: str) -> str:
    """Return what was said with this verdict."""
    return " | ".join(one.sentence for one in checked.findings if one.verdict == verdict)


def test_a_whole_bundle_says_what_it_is(tmp_path: Path) -> None:
    folder = write_bundle(
        tmp_path / "second-opv2v-7",
        OPENCOOD,
        weights(1),
        id="second-opv2v-7",
        compatibility={"framework": "OpenCOOD", "dataset": "opv2v"},
        source={"license": "MIT"},
    )
    checked = check_bundle(folder)
    assert checked.list_cells() == (
        "second-opv2v-7",
        "OpenCOOD",
        "second_intermediate",
        "opv2v",
        "±140.8 by ±40",
        f"{2 * 8 + 27 * 4 * 16:,}",
        "MIT",
        "passed",
    )
    assert "sorted over each frame, ±140.8 m" in sentences(checked, "passed")
    assert "2 of their size and digest" in sentences(checked, "passed")
    notes = sentences(checked, "note")
    assert "root_dir leads nowhere" in notes
    assert "kernels of spconv 1" in notes


@pytest.mark.parametrize(
    ("settings", "form", "data_set"),
    [
        (OPENCOOD, "OpenCOOD", "opv2v?"),
        (HEAL, "HEAL", "dairv2x"),
        ({**HEAL, "heter": {"ego_modality": "m1"}}, "HEAL, unlike agents", "dairv2x"),
        (
            {**HEAL, "model": {"core_method": "point_pillar_multiclass_codriving"}},
            "V2Xverse, perception",
            "dairv2x",
        ),
        ({**HEAL, "fusion": {"core_method": "late"}}, "HEAL", "?"),
    ],
)
def test_forms_and_data_sets(
    tmp_path: Path, settings: dict[str, Any], form: str, data_set: str
) -> None:
    bundle = read_bundle(write_bundle(tmp_path / "one", settings))
    assert (bundle.form, bundle.data_set) == (form, data_set)
    assert bundle.precision_rule.startswith(
        "sorted over each frame" if form == "OpenCOOD" else "sorted over all frames"
    )


def test_settings_of_something_else_are_refused() -> None:
    with pytest.raises(UserError, match=r"name no model\.core_method"):
        name_form({"model": {}})


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"fusion": {"core_method": "late"}}, "name no model.core_method"),
        ({"model": {"core_method": "pixor"}}, "name no fusion.core_method"),
    ],
)
def test_only_what_is_missing_is_named(named: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError) as refused:
        name_form(named)
    assert str(refused.value).endswith(words)


def test_what_is_wrong_is_one_line(tmp_path: Path) -> None:
    changed = write_bundle(tmp_path / "changed", HEAL, id="changed")
    with (changed / "net_epoch7.pth").open("ab") as opened:
        opened.write(b"x")
    assert "net_epoch7.pth has" in sentences(check_bundle(changed), "failed")

    same_size = write_bundle(tmp_path / "same_size", HEAL, id="same")
    config = (same_size / "config.yaml").read_text()
    (same_size / "config.yaml").write_text(config.replace("dairv2x", "dairv2y"))
    assert "config.yaml: its SHA-256 is" in sentences(check_bundle(same_size), "failed")

    outside = write_bundle(tmp_path / "outside", HEAL)
    listed = {"artifacts": [{"path": "../changed/config.yaml", "size": 1, "sha256": "0"}]}
    (outside / "meta.yaml").write_text(yaml.safe_dump(listed))
    assert "is no file of the bundle" in sentences(check_bundle(outside), "failed")

    infinite = write_bundle(tmp_path / "inf", HEAL, {"w": torch.tensor([1.0, float("inf")])})
    assert "w is not finite" in sentences(check_bundle(infinite), "failed")

    without = write_bundle(tmp_path / "without", HEAL)
    (without / "net_epoch7.pth").unlink()
    assert "no net_epoch_bestval_at*.pth" in sentences(check_bundle(without), "failed")


def test_a_card_without_settings_is_still_read(tmp_path: Path) -> None:
    """Assets among models are no failure; a model without its settings is one."""
    cards = {"asset": "advcp-assets", "model": "coperception-checkpoint"}
    for name, kind in cards.items():
        folder = write_bundle(
            tmp_path / name, HEAL, id=name, kind=kind, source={"license": "MIT"},
            compatibility={"dataset": "v2xsim"},
        )  # fmt: skip
        (folder / "config.yaml").unlink()
    asset, model = (check_bundle(tmp_path / name) for name in cards)
    assert model.list_cells()[3] == "v2xsim"
    assert model.list_cells()[-2:] == ("MIT", "failed")
    assert "config.yaml is missing" in sentences(model, "failed")
    assert "it has no config.yaml; meta.yaml: coperception-checkpoint" in sentences(model, "failed")
    assert "no model: meta.yaml calls it advcp-assets" in sentences(asset, "note")
    # assets fail by their files alone
    assert sentences(asset, "failed") == "config.yaml is missing"
    (tmp_path / "asset" / "meta.yaml").write_text("kind: advcp-assets\nartifacts: []\n")
    assert check_bundle(tmp_path / "asset").verdict == "passed"


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("model", True),
        ("perception", True),
        ("opencood-checkpoint", True),
        ("advcp-assets", False),
        ("meshes", False),
    ],
)
def test_kinds_that_are_models_need_settings(tmp_path: Path, kind: str, model: bool) -> None:
    (tmp_path / "meta.yaml").write_text(f"id: x\nkind: {kind}\n")
    checked = check_bundle(tmp_path)
    assert checked.verdict == ("failed" if model else "passed")
    assert f"no model: meta.yaml calls it {kind}" in sentences(checked, "note") or model


def test_half_a_pair_of_v2xverse_is_explained_without_settings_of_a_run(tmp_path: Path) -> None:
    for second in ("planning", "planner"):
        folder = tmp_path / second
        (folder / "perception").mkdir(parents=True)
        (folder / second).mkdir()
        assert list(find_bundles(folder)) == [folder]
        said = sentences(check_bundle(folder), "failed")
        assert "no planner checkpoint (planning/*.ckpt or planner/*.ckpt) in" in said
        assert "no perception checkpoint" in said
        assert "system:" not in said
        assert "checkpoint=" not in said


def test_a_place_in_a_broken_file_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("model: [1\nfusion: }")
    said = sentences(check_bundle(tmp_path), "failed")
    assert str(tmp_path / "config.yaml") in said
    assert "unicode string" not in said
    assert "line 2" in said


def test_what_stands_for_a_missing_folder_depends_on_the_code(tmp_path: Path) -> None:
    gone = {**HEAL, "root_dir": "/nowhere/at/all"}
    heal = check_bundle(write_bundle(tmp_path / "heal", gone))
    assert "Crucible gives it an empty folder" in sentences(heal, "note")
    codriving = {**gone, "model": {"core_method": "point_pillar_multiclass_codriving"}}
    ours = check_bundle(write_bundle(tmp_path / "codriving", codriving))
    assert "nothing is read from there" in sentences(ours, "note")


def test_the_help_says_what_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    for action, words in (("check", "Print a row for each"), ("export", "Write a network of size")):
        with pytest.raises(SystemExit):
            dispatch_subcommand(["models", action, "--help"])
        assert words in capsys.readouterr().out


def test_a_file_that_would_be_executed_is_not_read(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "evil", HEAL)
    with (folder / "config.yaml").open("a") as opened:
        opened.write("more: !!python/object/apply:os.system ['true']\n")
    checked = check_bundle(folder)
    assert checked.verdict == "failed"
    assert "would have to be executed" in sentences(checked, "failed")


def test_all_kernels_decide_on_their_order() -> None:
    assert find_kernel_layout(weights()) is None
    assert find_kernel_layout(weights(1)) == "spconv 1"
    assert find_kernel_layout(weights(2)) == "spconv 2"
    # three channels in and out fit both; another kernel decides
    both = {**weights(2), "other": torch.zeros(3, 3, 3, 3, 3)}
    assert find_kernel_layout(both) == "spconv 2"
    assert find_kernel_layout({"other": torch.zeros(3, 3, 3, 3, 3)}) == "unknown"
    assert find_kernel_layout({"other": torch.zeros(9, 9, 9, 9, 9)}) == "unknown"


def test_a_catalogue_is_checked_bundle_by_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    write_bundle(tmp_path / "models" / "coperception" / "b", HEAL, source={"license": "MIT"})
    write_bundle(tmp_path / "models" / "coperception" / "a", OPENCOOD, source={})
    (tmp_path / "models" / "coperception" / "a" / "net_epoch7.pth").unlink()
    folders = list(find_bundles(tmp_path / "models"))
    assert [folder.name for folder in folders] == ["a", "b"]
    assert dispatch_subcommand(["models", "check", str(tmp_path / "models")]) == 1
    printed = capsys.readouterr().out
    assert printed.count("\n") > 5
    assert "a: files failed: net_epoch7.pth is missing" in printed
    assert "a: licence warning: meta.yaml names no licence" in printed
    assert "2 checked, 1 failed" in printed
    assert dispatch_subcommand(["models", "check", str(folders[1])]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere", "nowhere: folder not found"),
        ("file", "file: is a file; a folder is needed"),
        ("empty", "config.yaml, with meta.yaml, or with the folders perception and planning (or"),
    ],
)
def test_a_folder_without_models_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, words: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    assert dispatch_subcommand(["models", "check", str(tmp_path / name)]) == 2
    assert words in capsys.readouterr().err


def test_the_row_fits_a_terminal(tmp_path: Path) -> None:
    table = FittingTable(*HEAD)
    table.add_row(*check_bundle(write_bundle(tmp_path / "one", HEAL)).list_cells())
    out = io.StringIO()
    Console(file=out, width=80).print(table)
    assert all(len(line) <= 80 for line in out.getvalue().splitlines())
    assert "point_pillar_coalign" in out.getvalue()
