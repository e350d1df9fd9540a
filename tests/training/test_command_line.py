"""Bad input at the command line is one line, said before any work is done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.perception.fusion.base import NoFusion
from agents.perception.loading import FOLDER, get_weight_file_name
from agents.training.__main__ import main
from crucible.check import main as check
from harness.common.recordings import PROTOCOL
from tests.training.made_up import write_recording


def said(error: str) -> str:
    """Return the one line."""
    assert error.count("\n") == 1, error
    return error


@pytest.fixture
def data(tmp_path: Path) -> str:
    write_recording(tmp_path / "data")
    return str(tmp_path / "data")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--batch", "0"], "--batch 0: must be 1 or more"),
        (["--epochs", "-1"], "--epochs -1: must be 1 or more"),
        (["--trial", "0"], "--trial 0: must be 1 or more"),
        (["--most", "0"], "--most 0: must be 1 or more"),
        (["--peak-rate", "-1"], "--peak-rate -1: must be > 0"),
        (["--peak-rate", "nan"], "--peak-rate nan: must be > 0"),
        (["--most", "2"], "9 samples, of which --most shows 2, are fewer than a batch"),
        (["--start", "none.safetensors"], "none.safetensors: No such file"),
        (["--all-layers"], "--all-layers: needs --start"),
    ],
)
def test_train(
    data: str, tmp_path: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "run"), "--weights", str(tmp_path / "weights")]
    words = ["train", "--scheme", "single", "--data", data, "--held-out", data, *out]
    assert main([*words, *more]) == 2
    assert message in said(capsys.readouterr().err)


@pytest.mark.parametrize("text", ["{", '{"town": "Nowhere"}', "[]"])
def test_a_broken_scenario(data: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(data) / "made-up" / PROTOCOL
    file.write_text(text)
    assert main(["evaluate", "--scheme", "single", "--data", data]) == 2
    assert f"{file}: not of a recorded scenario" in said(capsys.readouterr().err)


def test_an_evaluation_needs_looks_a_second_apart(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(data) / "made-up" / PROTOCOL
    file.write_text(json.dumps({**json.loads(file.read_text()), "interval": 0.3}))
    assert main(["evaluate", "--scheme", "single", "--data", data]) == 2
    assert "made-up: looks are 0.3 s apart; an evaluation" in said(capsys.readouterr().err)


@pytest.mark.parametrize("suffix", [".npy", ".yaml"])
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_a_look_that_is_cut_off(
    data: str, suffix: str, share: float, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(data) / "made-up" / "9" / f"000001{suffix}"
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    assert main(["evaluate", "--scheme", "single", "--data", data]) == 2
    assert f"{file.with_suffix('')}: .yaml and .npy are no look" in said(capsys.readouterr().err)


@pytest.mark.parametrize("card", [None, "{", "[]"])
def test_evaluate_needs_the_card_that_it_writes_into(
    data: str, tmp_path: Path, card: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.safetensors"
    mine.write_bytes((FOLDER / get_weight_file_name(NoFusion)).read_bytes())
    if card is not None:
        mine.with_suffix(".json").write_text(card)
    words = ["evaluate", "--scheme", "single", "--data", data, "--weights", str(mine), "--card"]
    assert main(words) == 2
    printed = capsys.readouterr()
    assert str(mine.with_suffix(".json")) in said(printed.err)
    assert printed.out == ""


def test_evaluate_wants_a_sample(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--scheme", "single", "--data", data, "--most", "0"]) == 2
    assert "--most 0: must be 1 or more" in said(capsys.readouterr().err)
    for file in Path(data).glob("*/*/00000[12].*"):
        file.unlink()
    assert main(["evaluate", "--scheme", "single", "--data", data]) == 2
    assert "nothing to evaluate on" in said(capsys.readouterr().err)


@pytest.mark.parametrize("content", [b"# Words", b"", b"PK\x05\x06" + bytes(18)])
def test_check_wants_a_recording(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "words.npz"
    file.write_bytes(content)
    words = ["agents.examples.clusters:Clusters", "--recording"]
    assert check([*words, str(file)]) == 2
    assert f"{file}: not a recording for `check`" in said(capsys.readouterr().err)
    assert check([*words, str(file / "street.npz")]) == 2
    assert f"{file}: " in said(capsys.readouterr().err)
