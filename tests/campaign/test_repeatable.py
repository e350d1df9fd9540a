"""With `repeatable=true`, networks give equal bytes on processors of other makers and widths."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from harness.campaign.settings.config import hash_settings
from harness.campaign.settings.repeatable import refuse_unrepeatable
from harness.common import kernels
from harness.common.errors import UserError
from harness.common.kernels import (
    NEEDED,
    hold_torch_kernels,
    is_mkl_compatible,
    make_repeatable_environment,
    make_shared_kernel_environment,
    read_processor_features,
)
from tests.campaign import tiny
from tests.conftest import ROOT
from tests.profiles import ONLY_WITH_ALL

HAVE = pytest.mark.skipif(not read_processor_features() >= NEEDED, reason="no AVX2, or not known")
TRAPS = pytest.mark.skipif(
    "cpuid_fault" not in read_processor_features() or shutil.which("gcc") is None,
    reason="CPUID does not trap here, or there is no gcc",
)
NARROW = {
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_CBWR": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
}
"""A shell in which torch takes this processor for an old one."""
AMD_AND_INTEL = {"v2vnet": "a7cc0690bdfe88fc", "v2xvit": "2cac11155c1cad71"}
"""What an AMD EPYC (family 25, model 17) and an Intel Xeon (family 6, model 207) gave."""
SOURCE = Path(__file__).parent / "other_processor.c"
STEP = """
import hashlib, json, sys
import numpy as np
import torch
from agents.perception.detector import Detector
from agents.perception.fusion.base import Partner
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.loading import load_network
from harness.common.kernels import hold_torch_kernels
from harness.types.vocabulary import Pose
if sys.argv[1] == "hold":
    hold_torch_kernels()
random = np.random.Generator(np.random.PCG64(7))
# x and y to 40 m, z from -1.5 to 1.5 m, intensity from 0 to 1: exact in binary
clouds = random.integers(-2560, 2560, (2, 6000, 4)) / np.array([64, 64, 2048, 4096])
clouds[..., 3] = np.abs(clouds[..., 3])
digests = {}
for name in ("v2vnet", "v2xvit"):
    detector = Detector(load_network(SCHEMES[name](), "lite", None, None))
    ego, partner = (detector.encode_points(one.astype(np.float32), 1.85) for one in clouds)
    with torch.inference_mode():
        fused = detector.network.fuse_maps(ego, [Partner(partner, Pose(3.0, 1.0, yaw=0.25))])
        raw = detector.network.run_heads(fused)
    parts = [raw.logits.contiguous().numpy(), raw.codes.contiguous().numpy()]
    assert all(np.ptp(part) > 0 for part in parts)
    digests[name] = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
print(json.dumps([torch.backends.cpu.get_cpu_capability(), digests]))
"""


def compute_digests(environment: Mapping[str, str], *, hold: bool) -> tuple[str, dict[str, str]]:
    """Return torch's kernels, and digests of what networks give, in a process of its own."""
    one = {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", STEP, "hold" if hold else "free"],
        cwd=ROOT,
        env={**os.environ, **one, **make_shared_kernel_environment(), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kind, digests = json.loads(done.stdout)
    return kind, digests


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    """What networks give in a process that this processor runs as it is, with the setting."""
    _, digests = compute_digests(make_repeatable_environment(), hold=True)
    return digests


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of processes that are to take this processor for another one, but for its name."""
    library = tmp_path_factory.mktemp("stand_in") / "other_processor.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    # numba's code is the same for all processors, and takes a minute to compile again
    ours = {
        "NUMBA_CPU_NAME": import_module("llvmlite.binding").get_host_cpu_name(),
        "NUMBA_CPU_FEATURES": import_module("numba.core.codegen").get_host_cpu_features(),
    }
    return {"LD_PRELOAD": str(library), **ours}


@HAVE
@pytest.mark.thorough
def test_networks_give_the_bytes_of_two_real_processors(here: dict[str, str]) -> None:
    packages = (ROOT / "requirements.lock").read_text()
    for name in ("torch", "numpy"):
        have = version(name).partition("+")[0]
        if f"{name}=={have}" not in packages:
            pytest.skip(f"{name} {have} is not the version of requirements.lock")
    assert {name: digest[:16] for name, digest in here.items()} == AMD_AND_INTEL


@TRAPS
@HAVE
@pytest.mark.thorough
@pytest.mark.parametrize("name", ["zen2", pytest.param("haswell", marks=ONLY_WITH_ALL), "skylake"])
def test_networks_give_equal_bytes_on_another_processor(
    here: dict[str, str], stand_in: dict[str, str], name: str
) -> None:
    other = {**stand_in, "OTHER_PROCESSOR": name}
    assert compute_digests({**other, **make_repeatable_environment()}, hold=True)[1] == here


@TRAPS
@HAVE
@pytest.mark.thorough
def test_without_the_setting_the_maker_and_the_width_make_other_bytes(
    stand_in: dict[str, str],
) -> None:
    given = {
        name: compute_digests({**stand_in, "OTHER_PROCESSOR": name}, hold=False)
        for name in ("zen2", "skylake")
    }
    if "avx512f" in read_processor_features():
        assert [given[name][0] for name in ("zen2", "skylake")] == ["AVX2", "AVX512"]
    assert given["zen2"][1] != given["skylake"][1]


@HAVE
@pytest.mark.thorough
def test_what_the_shell_asks_for_changes_bytes_only_without_the_setting(
    here: dict[str, str],
) -> None:
    assert compute_digests({**NARROW, **make_repeatable_environment()}, hold=True)[1] == here
    free, narrow = compute_digests({}, hold=False)[1], compute_digests(NARROW, hold=False)[1]
    assert all(free[name] != narrow[name] for name in free)


def test_a_torch_with_other_kernels_is_refused(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    before = torch.backends.mkldnn.enabled
    # the process of the tests started without the variables of the setting
    with pytest.raises(UserError, match="repeatable=true"):
        hold_torch_kernels()
    assert torch.backends.mkldnn.enabled == before
    assert not is_mkl_compatible(tmp_path)


def test_a_processor_without_the_kernels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "read_processor_features", lambda: frozenset({"fma"}))
    with pytest.raises(UserError, match="has no avx2, bmi2"):
        make_repeatable_environment()


@HAVE
def test_settings_name_it_only_where_it_is_true() -> None:
    as_ever = tiny.composed("seeds=[1]")
    held = tiny.composed("seeds=[1]", "repeatable=true")
    assert "repeatable" not in as_ever
    assert held["repeatable"] is True
    assert hash_settings(held) != hash_settings(as_ever)
    assert hash_settings(tiny.composed("seeds=[1]", "repeatable=false")) == hash_settings(as_ever)


@HAVE
@pytest.mark.parametrize("system", ["v2xverse", "opencood", "leaderboard_agent"])
def test_systems_in_another_python_are_refused(system: str) -> None:
    file = yaml.safe_load((ROOT / "conf" / "system" / f"{system}.yaml").read_text())
    settings = tiny.composed("seeds=[1]", "repeatable=true")
    settings["system"] = file if "_target_" not in file else {system: file}
    with pytest.raises(UserError, match=f"system.{system} computes in a Python of its own"):
        refuse_unrepeatable(settings)
    as_ever = tiny.composed("seeds=[1]")
    as_ever["system"] = settings["system"]
    refuse_unrepeatable(as_ever)


@HAVE
@pytest.mark.thorough
def test_records_are_equal_whatever_the_shell_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the setting, the same shell changes what networks give (the test before)."""
    routes = tiny.write_route(tmp_path, "step")
    arm = ("system=v2xvit", "interference=none", "routes.hazards=null", "repeatable=true")
    outs = []
    for name, variables in {"as_it_is": {}, "narrow": NARROW}.items():
        for variable, value in variables.items():
            monkeypatch.setenv(variable, value)
        out = tmp_path / name
        done = tiny.run(routes, *arm, f"out={out}")
        assert done.returncode == 0, done.stderr
        outs.append(dict(read_episodes(out)))
        kept = yaml.safe_load((out / "campaign.yaml").read_text())["settings"]
        assert kept["repeatable"] is True
    assert outs[0] == outs[1]


def read_episodes(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the records of a campaign but for the timing."""
    for path in tiny.files(folder):
        if path.name != "timing.json":
            yield path, (folder / path).read_bytes()
