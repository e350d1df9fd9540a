"""V2Xverse's published folder, as a stand-in: found, described, taken whole, or refused by key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import nn

from agents.foreign.child.absent_keys import (
    GAUSSIAN,
    MAY_BE_ABSENT,
    make_gaussian_kernel,
    refuse_missing_keys,
)
from agents.perception.fusion.codriving import CoDriving
from agents.perception.loading import load_network
from agents.v2xverse.agent_files import WHERE, find_agent_files, find_perception, find_planner
from agents.v2xverse.checkpoint_report import describe_checkpoint
from agents.v2xverse.child.stack import link_checkpoint
from crucible.check import main
from harness.common.errors import UserError
from harness.common.findings import Finding
from harness.world.routes.checkout import CLONE
from tests.v2xverse.published_folder import (
    AGENT,
    WEIGHTS,
    published_settings,
    write_published_folder,
)

ONE_MORE = "cls_head.bias"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_published_folder(tmp_path_factory.mktemp("hub") / "codriving")


def sentences(findings: list[Finding]) -> list[str]:
    return [f"{finding.check} {finding.verdict}: {finding.sentence}" for finding in findings]


def test_our_network_takes_all_of_it(folder: Path) -> None:
    fusion = CoDriving()
    network = load_network(fusion, checkpoint=str(folder / "perception"))
    given = torch.load(folder / "perception" / WEIGHTS, weights_only=True)
    state = network.state_dict()
    assert state.keys() == given.keys()
    assert all(torch.equal(state[key], given[key]) for key in given)
    assert network.parameter_count == 8_177_435
    assert fusion.confidence == 0.01
    assert not fusion.reads_requests


def test_a_file_that_has_the_filter_is_the_same_network(folder: Path, tmp_path: Path) -> None:
    weights = torch.load(folder / "perception" / WEIGHTS, weights_only=True)
    weights |= {f"{GAUSSIAN}.weight": torch.ones(1, 1, 5, 5), f"{GAUSSIAN}.bias": torch.zeros(1)}
    torch.save(weights, tmp_path / "net_epoch1.pth")
    (tmp_path / "config.yaml").write_text(yaml.dump(published_settings()))
    load_network(CoDriving(), checkpoint=str(tmp_path))


@pytest.mark.thorough
def test_one_more_key_missing_is_refused(tmp_path: Path) -> None:
    folder = write_published_folder(
        tmp_path / "codriving", without=(ONE_MORE, "decoder.layers.2.bias")
    )
    with pytest.raises(UserError, match=f"1 keys are wrong\n *missing *{ONE_MORE}"):
        load_network(CoDriving(), checkpoint=str(folder / "perception"))
    said = sentences(list(describe_checkpoint(folder)))
    assert f"perception failed: codriving: 1 keys are wrong, missing {ONE_MORE} (3)" in said[1]
    assert "planner failed: 1 keys missing, decoder.layers.2.bias among them" in said


def test_check_says_what_is_in_the_folder(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    assert main(["v2xverse", f"checkpoint={folder}"]) == 0
    said = capsys.readouterr().out
    assert "8,177,435 parameters, 8,187,194 numbers" in said
    assert "1,660,229 parameters, 1,662,290 numbers" in said
    assert said.count("as the published CoDriving has") == 2
    assert "it is whole: system=codriving takes all of it" in said
    assert "it is whole: V2Xverse's waypoint planner" in said
    assert f"2 keys are absent and not needed: {GAUSSIAN}.weight, {GAUSSIAN}.bias" in said
    assert "2 passed, 3 note" in said


def test_check_without_a_checkpoint_says_what_to_get(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["v2xverse"]) == 2
    said = capsys.readouterr().err
    assert WHERE in said
    assert "https://huggingface.co/gjliu/v2xverse" in said
    assert CLONE in said
    assert said.count("\n") == 1
    assert main(["v2xverse", f"checkpoint={tmp_path / 'nowhere'}"]) == 2
    said = capsys.readouterr().err
    assert f"folder not found: {tmp_path / 'nowhere'}; {WHERE}" in said
    assert said.count("\n") == 1
    assert main(["v2xverse", f"checkpoint={tmp_path}"]) == 1
    assert "no perception checkpoint" in " ".join(capsys.readouterr().out.split())


class Communication(nn.Module):
    """A filter as OpenCOOD's family makes it: a random convolution, then the formula."""

    def __init__(self, sigma: float, *, filled: bool = True) -> None:
        super().__init__()
        self.gaussian_filter = nn.Conv2d(1, 1, 5, padding=2)
        if filled:
            kernel = torch.tensor(make_gaussian_kernel(5, sigma), dtype=torch.float32)
            self.gaussian_filter.weight.data = kernel[None, None]
            assert self.gaussian_filter.bias is not None
            self.gaussian_filter.bias.data.zero_()


def network_of(communication: nn.Module) -> nn.Module:
    fusion = nn.Module()
    fusion.naive_communication = communication
    network = nn.Module()
    network.fusion_net, network.cls_head = fusion, nn.Conv2d(4, 3, 1)
    return network


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
def test_only_what_the_constructor_fills_may_be_absent(sigma: float) -> None:
    needed = network_of(Communication(sigma)).state_dict()
    file = {key: value for key, value in needed.items() if key not in MAY_BE_ABSENT}
    assert refuse_missing_keys(needed, needed) == []
    assert refuse_missing_keys(needed, file) == sorted(MAY_BE_ABSENT)
    with pytest.raises(KeyError, match=f"lacks 1 keys, {ONE_MORE} among them"):
        refuse_missing_keys(needed, {k: v for k, v in file.items() if k != ONE_MORE})
    left_random = network_of(Communication(sigma, filled=False)).state_dict()
    with pytest.raises(KeyError, match="constructor does not set it to a Gaussian kernel"):
        refuse_missing_keys(left_random, file)


def checkout_with(root: Path, folder: Path, agent: dict[str, Any]) -> Path:
    """A checkout's paths: the planner's settings, `checkpoints/codriving`, an agent."""
    (root / "checkpoints").mkdir(parents=True)
    (root / "checkpoints/codriving").symlink_to(folder)
    (root / "end2end.yaml").write_text("{}")
    (root / "agent.yaml").write_text(yaml.dump(agent))
    return root


def changed(section: str, **values: Any) -> dict[str, Any]:
    return {**AGENT, section: {**AGENT[section], **values}}


@pytest.mark.parametrize(
    "agent",
    [AGENT, changed("perception", perception_model_dir="checkpoints/codriving")],
    ids=["planner, where the hub has planning", "codriving_8_10: without perception"],
)
def test_paths_that_lead_nowhere_are_replaced(
    folder: Path, tmp_path: Path, agent: dict[str, Any]
) -> None:
    root = checkout_with(tmp_path / "root", folder, agent)
    files = find_agent_files(root, root / "agent.yaml", None)
    hub = root / "checkpoints/codriving"
    assert files.all_files() == [
        root / "agent.yaml",
        hub / "perception/config.yaml",
        hub / "perception" / WEIGHTS,
        root / "end2end.yaml",
        hub / "planning/codriving_planner.ckpt",
    ]
    (root / "checkpoints/codriving").unlink()
    with pytest.raises(UserError, match=r"no perception checkpoint .* set checkpoint=FOLDER"):
        find_agent_files(root, root / "agent.yaml", None)
    other = find_agent_files(root, root / "agent.yaml", str(folder))
    assert other.planner == folder / "planning/codriving_planner.ckpt"


def test_every_place_of_a_folder_may_be_named(folder: Path, tmp_path: Path) -> None:
    planner = folder / "planning/codriving_planner.ckpt"
    assert find_perception(folder) == find_perception(folder / "perception")
    assert find_planner(folder) == find_planner(folder / "perception") == find_planner(planner)
    for name in ("a.ckpt", "b.ckpt"):
        (tmp_path / "planner").mkdir(exist_ok=True)
        (tmp_path / "planner" / name).touch()
    with pytest.raises(UserError, match=r"has 2 planners: a\.ckpt, b\.ckpt"):
        find_planner(tmp_path)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ({"ckpt_path": "x", "target_point_distance": 10}, "there is no control.max_speed: not a"),
        (changed("simulation", ego_num=2), "simulation.ego_num is 2, not 1: one vehicle"),
        (changed("simulation", skip_frames=2), "simulation.skip_frames is 2, not 4"),
        (changed("simulation", comm_latency=3), "simulation.comm_latency of the agent is set"),
        (changed("perception", pose_error={"pos_std": 1}), "perception.pose_error of the agent"),
        (changed("perception", use_semantic=True), "perception.use_semantic is True, not False"),
        (changed("planning", planner_config="none.yaml"), "planner_config: file not found"),
    ],
)
def test_agents_that_cannot_be_followed_are_refused(
    folder: Path, tmp_path: Path, agent: dict[str, Any], said: str
) -> None:
    root = checkout_with(tmp_path / "root", folder, agent)
    with pytest.raises(UserError, match=said.replace(".", r"\.")) as refused:
        find_agent_files(root, root / "agent.yaml", None)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("test_dir", ["/somewhere/OPV2V/validate", None, "absent"])
def test_dead_paths_are_put_aside(folder: Path, tmp_path: Path, test_dir: str | None) -> None:
    settings = published_settings() | {"test_dir": test_dir, "rate": "1e-10"}
    if test_dir == "absent":
        del settings["test_dir"], settings["root_dir"]
    source = tmp_path / "source"
    source.mkdir()
    text = yaml.dump(settings) + "plain: 1.0e-10\ntuple: !!python/tuple [1, 2]\n"
    (source / "config.yaml").write_text(text)
    (source / WEIGHTS).touch()
    linked = Path(link_checkpoint(str(source), WEIGHTS, str(tmp_path / "linked")))
    assert sorted(path.name for path in linked.iterdir()) == ["config.yaml", WEIGHTS]
    read = yaml.load((linked / "config.yaml").read_text(), yaml.UnsafeLoader)  # as V2Xverse does
    paths = dict.fromkeys(("root_dir", "validate_dir", "test_dir"), "none")
    assert read == {**settings, **paths, "plain": 1e-10, "tuple": (1, 2)}
