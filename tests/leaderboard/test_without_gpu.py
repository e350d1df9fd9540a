"""What published agents send to a GPU stays on the processor of a machine that has none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import agents.foreign

CHILD = Path(agents.foreign.__file__).parent / "child"
READ = """
import sys
sys.path.insert(0, sys.argv[1])
import substitutes, torch
substitutes.send_cuda_to_processor()
device = torch.device("cuda:0")
for state in (
    torch.load(sys.argv[2]),
    torch.load(sys.argv[2], device),
    torch.load(sys.argv[2], map_location="cuda"),
    torch.load(sys.argv[2], map_location=lambda storage, _: storage),
    torch.load(sys.argv[2], weights_only=True),
):
    layer = torch.nn.Linear(2, 1)
    layer.load_state_dict(state)
    layer.cuda(device=device)
    print(layer(torch.ones(2).to(device)).item())
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_weights_that_were_written_on_a_gpu_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "weights.pth"
    # the file says of each weight where it lay
    monkeypatch.setattr(torch.serialization, "location_tag", lambda _: "cuda:0")
    torch.save({"weight": torch.tensor([[1.0, 2.0]]), "bias": torch.tensor([0.5])}, file)
    with pytest.raises(RuntimeError, match="CUDA"):
        torch.load(file)
    done = subprocess.run(
        [sys.executable, "-c", READ, str(CHILD), str(file)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["3.5"] * 5
