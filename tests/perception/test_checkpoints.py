"""Folders of V2Xverse's: read as data, taken whole or refused with reasons."""

from __future__ import annotations

import os
from collections import OrderedDict
from copy import deepcopy
from pathlib import Path
from shutil import copy
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import save_file

from agents.perception.checkpoint_files import find_newest_weights
from agents.perception.checkpoints import read_checkpoint_design, read_state_dict
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.loading import fill_network, load_network
from agents.perception.network import PerceptionNetwork
from agents.perception.published_settings import read_settings
from agents.perception.random_weights import make_random_weights
from harness.common.errors import UserError

WINDOW = [-36, -12, -22, 36, 12, 14]


def settings(core: str = "intermediatemulticlass", factor: int = 2) -> dict[str, Any]:
    """What V2Xverse's trainer dumps, with the numpy objects that it leaves in it."""
    return {
        "name": "a run",
        "fusion": {"core_method": core},
        "model": {
            "args": {
                "out_size_factor": factor,
                "fusion_method": "max",
                "point_pillar_scatter": {"grid_size": np.array([576, 192, 1])},
            }
        },
        "noise_setting": OrderedDict([("add_noise", False)]),
        "postprocess": {
            "gt_range": list(WINDOW),
            "nms_thresh": np.float64(0.15),
            "target_args": {"score_threshold": np.float32(0.25)},
        },
        "preprocess": {
            "args": {"max_points_per_voxel": np.int64(32), "voxel_size": (0.125, 0.125, 36)},
            "cav_lidar_range": list(WINDOW),
        },
    }


def written(folder: Path, given: dict[str, Any]) -> Path:
    (folder / "config.yaml").write_text(yaml.dump(given))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole folder of F-Cooper's."""
    folder = written(tmp_path_factory.mktemp("fcooper"), settings())
    design = SCHEMES["fcooper"].choose_design("full")
    state = make_random_weights(
        PerceptionNetwork(SCHEMES["fcooper"](), design).state_dict(), design.grid
    )
    torch.save(state, folder / "net_epoch7.pth")
    return folder


@pytest.mark.thorough
def test_a_whole_folder_is_taken_whole(folder: Path) -> None:
    network = load_network(SCHEMES["fcooper"](), "lite", None, str(folder))
    given = torch.load(folder / "net_epoch7.pth", weights_only=True)
    assert all(torch.equal(tensor, given[key]) for key, tensor in network.state_dict().items())
    assert network.design.grid == SCHEMES["fcooper"].choose_design("full").grid
    assert network.design.decoding.score == 0.25
    assert network.design.decoding.nms_overlap == 0.15


def test_numpys_numbers_are_read_and_nothing_executed(tmp_path: Path) -> None:
    given = {
        **settings(),
        "more": [np.int8(-3), np.bool_(True), np.arange(6.0).reshape(2, 3), np.float32(0.5)],
        "tuple": (1, "two", None),
    }
    values = read_settings(written(tmp_path, given) / "config.yaml")
    assert values["more"] == [-3, True, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], 0.5]
    assert values["tuple"] == [1, "two", None]
    assert values["noise_setting"] == {"add_noise": False}
    assert values["model"]["args"]["point_pillar_scatter"]["grid_size"] == [576, 192, 1]


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.system ['touch {there}']",
        "a: !!python/object/new:subprocess.Popen [['touch', '{there}']]",
        "a: !!python/name:os.system ''",
        "a: !!python/module:os ''",
        "a: !!python/object/apply:numpy.core.multiarray.scalar\n- !!python/name:os.system ''\n- 1",
        "a: !!python/object/apply:numpy.dtype {{args: [O8], state: [3, '|']}}",
        "a: !!python/object/apply:numpy.core.multiarray.scalar [f8, 3]",
        "a: !!python/object/apply:numpy.core.multiarray._reconstruct {{state: 3}}",
        "a: !something 3",
        "a: [1, 2",
        "a: &x [*x",
        "- only\n- a list",
        "a: \x00",
        "[" * 400,
    ],
)
def test_hostile_settings_are_refused_in_one_line(tmp_path: Path, text: str) -> None:
    there = tmp_path / "executed"
    path = tmp_path / "config.yaml"
    path.write_text(text.format(there=there))
    with pytest.raises(UserError) as refused:
        read_settings(path)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)
    assert not there.exists()


def test_bytes_and_endless_settings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(UserError, match="cannot be read"):
        read_settings(path)
    path.write_text("a: 1\n" * 250_000)
    with pytest.raises(UserError, match="1,000,000 at most"):
        read_settings(path)
    with pytest.raises(UserError, match="No such file"):
        read_settings(tmp_path / "absent.yaml")


class Bomb:
    """Runs a command when it is unpickled."""

    def __init__(self, there: Path) -> None:
        self.there = there

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.there}",)


def test_a_pickled_bomb_does_not_go_off(tmp_path: Path) -> None:
    there, path = tmp_path / "executed", tmp_path / "net_epoch1.pth"
    torch.save({"cls_head.weight": Bomb(there)}, path)
    with pytest.raises(UserError, match="cannot be read as weights alone") as refused:
        read_state_dict(path)
    assert "\n" not in str(refused.value)
    assert not there.exists()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_cut_off_file_is_refused(tmp_path: Path, share: float) -> None:
    path = tmp_path / "net_epoch1.pth"
    torch.save({"cls_head.weight": torch.ones(1000)}, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(UserError, match="not a whole ZIP file"):
        read_state_dict(path)


@pytest.mark.parametrize(
    "content", [torch.ones(3), [torch.ones(3)], {}, {"a": 3}, {3: torch.ones(1)}]
)
def test_weights_come_by_name(tmp_path: Path, content: object) -> None:
    path = tmp_path / "net_epoch1.pth"
    torch.save(content, path)
    with pytest.raises(UserError, match=r"weights"):
        read_state_dict(path)


def test_the_best_epoch_is_taken_else_the_last(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no net_epoch_bestval"):
        find_newest_weights(tmp_path)
    for name in ("net_epoch9.pth", "net_epoch10.pth", "net_epoch11.pth.old", "net_epochx.pth"):
        (tmp_path / name).touch()
    assert find_newest_weights(tmp_path).name == "net_epoch10.pth"
    (tmp_path / "net_epoch_bestval_at3.pth").touch()
    assert find_newest_weights(tmp_path).name == "net_epoch_bestval_at3.pth"


def lite(scheme: str = "fcooper") -> PerceptionNetwork:
    return PerceptionNetwork(SCHEMES[scheme](), SCHEMES[scheme].choose_design("lite"))


def test_misfits_are_reported_in_one_table_and_nothing_is_loaded() -> None:
    network = lite()
    before = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    state = {key: torch.zeros_like(tensor) for key, tensor in before.items()}
    del state["cls_head.bias"]
    state["fusion_net.mlp.weight"] = torch.ones(2, 2)
    state["reg_head.weight"] = torch.ones(8, 4)
    with pytest.raises(UserError) as refused:
        fill_network(network, state, Path("some.pth"))
    assert str(refused.value).splitlines() == [
        "system: some.pth does not fit fcooper: 3 keys are wrong",
        "  missing    cls_head.bias  3",
        "  unexpected fusion_net.mlp.weight  2 x 2",
        "  reshaped   reg_head.weight  8 x 4, needed 24 x 16 x 1 x 1",
    ]
    assert all(torch.equal(tensor, before[key]) for key, tensor in network.state_dict().items())


def test_a_long_table_is_cut() -> None:
    with pytest.raises(UserError) as refused:
        fill_network(lite(), {"a": torch.ones(1)}, Path("some.pth"))
    lines = str(refused.value).splitlines()
    assert len(lines) == 14
    assert lines[-1] == f"  and {len(lite().state_dict()) + 1 - 12} more"


def test_numbers_that_are_none_are_refused() -> None:
    network = lite()
    state = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    state["reg_head.bias"][2] = torch.nan
    with pytest.raises(UserError, match=r"reg_head\.bias holds numbers that are not finite"):
        fill_network(network, state, Path("some.pth"))


def test_half_numbers_become_whole_ones(tmp_path: Path) -> None:
    network = lite()
    random = make_random_weights(network.state_dict(), network.design.grid)
    halves = {key: e.half() if e.is_floating_point() else e for key, e in random.items()}
    save_file(halves, tmp_path / "w.safetensors")
    file = str(tmp_path / "w.safetensors")
    loaded = load_network(SCHEMES["fcooper"](), "lite", file)
    for key, tensor in loaded.state_dict().items():
        assert tensor.dtype == random[key].dtype
        assert torch.allclose(tensor, random[key], atol=1e-2)
    (tmp_path / "w.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(UserError, match="holds no weights"):
        load_network(SCHEMES["fcooper"](), "lite", str(tmp_path / "w.safetensors"), None)


def changed(place: str, value: Any) -> dict[str, Any]:
    given = settings()
    *outer, last = place.split(".")
    inner = given
    for name in outer:
        inner = inner[name]
    inner[last] = value
    return given


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("fusion.core_method", "earlymulticlass", "which fits early"),
        ("fusion.core_method", "somethingelse", "which fits no scheme of ours"),
        ("model.args.out_size_factor", 4, "out_size_factor is 4, not 2"),
        ("postprocess.nms_thresh", "much", "a number is needed"),
        ("postprocess.nms_thresh", float("nan"), "a number is needed"),
        ("postprocess.target_args", {}, "there is no postprocess.target_args.score_threshold"),
        ("postprocess.gt_range", [-1, -1, -1, 1, 1, 1], "gt_range is not"),
        ("preprocess.args", {}, "there is no preprocess.args.voxel_size"),
        ("preprocess.args.voxel_size", [0.1, 0.2, 36], "pillars are square"),
        ("preprocess.args.voxel_size", [0.125, 0.125, 4], "as tall as the window"),
        ("preprocess.args.max_points_per_voxel", 0, "at least one is needed"),
        ("preprocess.cav_lidar_range", [1, 2], "6 numbers are needed"),
        ("preprocess.cav_lidar_range", [1, 2, 3, 4, 5, "x"], "6 numbers are needed"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    tmp_path: Path, place: str, value: Any, said: str
) -> None:
    with pytest.raises(UserError, match=said.replace(".", r"\.")):
        read_checkpoint_design(written(tmp_path, changed(place, value)), SCHEMES["fcooper"]())


FUSIONS: dict[str, dict[str, Any]] = {
    "fcooper": {"fusion_method": "max"},
    "v2vnet": {"v2vnet": {"num_iteration": 2, "agg_operator": "max", "gru_flag": True}},
    "codriving": {"fusion_args": {"multi_scale": True, "agg_operator": {"mode": "ATTEN"}}},
}


@pytest.mark.parametrize(
    ("scheme", "place", "value", "said"),
    [
        ("fcooper", "fusion_method", "att", "fusion_method is 'att'; V2Xverse's fcooper"),
        ("v2vnet", "v2vnet.num_iteration", 3, "v2vnet.num_iteration is 3; .* has 2"),
        ("v2vnet", "v2vnet.agg_operator", "avg", "v2vnet.agg_operator is 'avg'; .* has 'max'"),
        ("v2vnet", "v2vnet.gru_flag", False, "v2vnet.gru_flag is False; .* has True"),
        ("codriving", "fusion_args.multi_scale", False, "multi_scale is False; .* has True"),
        ("codriving", "fusion_args.agg_operator", {"mode": "MAX"}, "mode is 'MAX'; .* has 'ATTEN'"),
        ("codriving", "fusion_args.communication", {"thre": 1}, "communication: cav_lidar_range"),
        ("codriving", "fusion_args", None, "multi_scale is None; .* has True"),
    ],
)
def test_another_fusion_whose_weights_would_fit_is_refused(
    tmp_path: Path, scheme: str, place: str, value: Any, said: str
) -> None:
    factor = 4 if scheme == "v2vnet" else 2
    given = settings(factor=factor)
    given["model"]["args"] |= deepcopy(FUSIONS[scheme])
    assert read_checkpoint_design(written(tmp_path, given), SCHEMES[scheme]()).grid.stride == factor
    inner = given["model"]["args"]
    *outer, last = place.split(".")
    for name in outer:
        inner = inner[name]
    inner[last] = value
    with pytest.raises(UserError, match=rf"config\.yaml: model\.args\..*{said}"):
        read_checkpoint_design(written(tmp_path, given), SCHEMES[scheme]())


def test_a_window_that_does_not_divide_is_refused(tmp_path: Path) -> None:
    given = settings()
    for group, name in (("preprocess", "cav_lidar_range"), ("postprocess", "gt_range")):
        given[group][name] = [-30.1, -12, -22, 36, 12, 14]
    given["preprocess"]["args"]["max_points_per_voxel"] = 32
    with pytest.raises(UserError, match="is no multiple of 8 pillars"):
        read_checkpoint_design(written(tmp_path, given), SCHEMES["fcooper"]())


def test_a_folder_without_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no config\.yaml"):
        load_network(SCHEMES["fcooper"](), "lite", None, str(tmp_path))


def test_schemes_without_a_folder_of_v2xverse_are_refused(folder: Path) -> None:
    with pytest.raises(UserError, match="which fits fcooper, v2vnet, v2xvit, codriving"):
        load_network(SCHEMES["attfuse"](), "lite", None, str(folder))


def test_a_folder_of_another_scheme_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="V2Xverse's codriving, which is all"):
        load_network(SCHEMES["codriving"](), "lite", None, str(folder))
    given = settings()
    given["model"]["args"] |= FUSIONS["codriving"]
    copy(folder / "net_epoch7.pth", written(tmp_path, given))
    with pytest.raises(UserError, match=r"does not fit codriving: [0-9]+ keys"):
        load_network(SCHEMES["codriving"](), "lite", None, str(tmp_path))
